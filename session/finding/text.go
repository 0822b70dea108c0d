package finding

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"strata/history"
	"strata/internal/lazy"
)

// MaxText is the maximum length of a text to find, in bytes.
const MaxText = 64 << 10

// targets are the parts of Markdown that a page does not show: addresses of links, and the languages of code.
var targets = lazy.Regexp(`\]\([^)\n]*\)|(?m)^\s*(?:` + "```" + `|~~~)[\w+#-]*`)

// letters returns the letters and digits of a text: a page shows a text without the marks of Markdown, and with other spaces.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// contains reports whether a text, as it is written or as a page shows it, contains letters.
func contains(text, wanted string) bool {
	return strings.Contains(letters(text), wanted) || strings.Contains(letters(targets().ReplaceAllString(text, "]")), wanted)
}

// textOf returns the text that a model reads of blocks.
func textOf(blocks []history.Block) string {
	var b strings.Builder
	for i := range blocks {
		if blocks[i].Type == history.BlockThinking {
			continue
		}
		b.WriteString(blocks[i].Text)
		b.WriteString(blocks[i].Args)
		b.WriteString(textOf(blocks[i].Content))
		b.WriteByte('\n')
	}
	return b.String()
}

// text looks for the text that was asked for.
func (l *look) text(ctx context.Context, found *Found) (*Text, error) {
	wanted, in := letters(l.Text), found.State == Whole || found.State == Shortened
	here := false
	if in && l.Message != "" {
		view := slices.DeleteFunc(slices.Clone(l.state.View), func(v history.Viewed) bool { return v.ID != l.Message })
		messages, err := l.state.Messages(ctx, view)
		if err != nil {
			return nil, err
		}
		for i := range messages {
			here = here || contains(textOf(messages[i].Blocks), wanted)
		}
	}
	anywhere := here || l.anywhere(wanted)
	if l.Message == "" {
		here = in && anywhere
	}
	return &Text{Here: here, Elsewhere: anywhere && !here}, nil
}

// anywhere reports whether the request contains letters.
func (l *look) anywhere(wanted string) bool {
	var all strings.Builder
	for i := range l.built.Request.Entries {
		all.WriteString(textOf(l.built.Request.Entries[i].Blocks))
	}
	return contains(all.String(), wanted)
}
