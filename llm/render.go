package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"strata/history"
)

// sendable reports whether b is a picture of a kind that the providers take.
func sendable(b *history.Block) bool {
	switch b.MIME {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return len(b.Data) > 0
	}
	return false
}

// textOf is a block as text; empty where it is blank or has none.
func textOf(b *history.Block) string {
	var text string
	switch b.Type {
	case history.BlockText:
		text = b.Text
	case history.BlockLink:
		text = linkText(b)
	case history.BlockResource:
		text = resourceText(b)
	case history.BlockImage:
		text = imageNote(b)
	}
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func linkText(b *history.Block) string {
	if b.Name == "" || b.Name == b.URI {
		return fmt.Sprintf("[link: %s]", b.URI)
	}
	return fmt.Sprintf("[link: %s <%s>]", b.Name, b.URI)
}

// resourceText is an embedded text in a fence that is longer than any inside it.
func resourceText(b *history.Block) string {
	if strings.TrimSpace(b.Text) == "" {
		return fmt.Sprintf("[resource: %s, empty]", b.URI)
	}
	fence := "```"
	for strings.Contains(b.Text, fence) {
		fence += "`"
	}
	return fmt.Sprintf("[resource: %s]\n%s\n%s\n%s", b.URI, fence, strings.TrimSuffix(b.Text, "\n"), fence)
}

func imageNote(b *history.Block) string {
	size := ""
	if b.Width > 0 && b.Height > 0 {
		size = fmt.Sprintf(", %d x %d", b.Width, b.Height)
	}
	return fmt.Sprintf("[picture: %s%s; not shown to this model]", b.MIME, size)
}

func callText(call *history.Block) string {
	if call.Incomplete {
		return fmt.Sprintf("[called tool %s; its arguments were cut off]", call.Name)
	}
	return strings.ToValidUTF8(fmt.Sprintf("[called tool %s with %s]", call.Name, call.Args), "\uFFFD")
}

// arguments is a call's arguments as every provider takes them: a JSON object. What was cut off becomes an empty one;
// the result behind it says so.
func arguments(call *history.Block) json.RawMessage {
	args := []byte(strings.TrimSpace(call.Args))
	if call.Incomplete || !json.Valid(args) || !bytes.HasPrefix(args, []byte("{")) {
		return json.RawMessage("{}")
	}
	return args
}

// safeName makes s an id or name of the characters that all providers take, the same for call and result.
func safeName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}
