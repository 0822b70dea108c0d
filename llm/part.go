package llm

import (
	"encoding/json"
	"strings"

	"strata/history"
)

// What stands where something must stand and nothing does. A single space would be refused.
const (
	noAnswer    = "(no answer)"
	noText      = "(no text)"
	noOutput    = "(no output)"
	noBeginning = "(the conversation begins with an answer)"
	goOn        = "(continue)"
	understood  = "Understood."
	interrupted = "The call was interrupted; it has no result."
	cutOff      = "The call was not carried out: its arguments were cut off."
	noObject    = "The call was not carried out: its arguments are not a JSON object."
)

// part is one content block of a turn.
type part struct {
	kind    partKind
	text    string         // of partText
	block   *history.Block // of all others
	id      string         // of partCall and partResult: as the provider knows the call
	foreign bool           // of partCall: another provider made it, so that its Origin does not go along
	update  bool           // of partText: it belongs to no message
	content []*part        // of partResult: text and pictures
	mark    Mark
	place   place // where its mark goes, once it is known
}

// place is where the mark of a part goes: after a part of the system text, or into the JSON of the turns.
type place struct {
	system bool
	at     int // index of the part, or offset in bytes; -1 for none
}

type partKind int

const (
	partText partKind = iota
	partImage
	partThinking
	partCall
	partResult
)

// spokenBy says on which side p stands in an entry of the assistant's or of another: calls and results have sides of
// their own, whatever message they were found in.
func (p *part) spokenBy(assistant bool) (byAssistant bool) {
	return p.kind == partCall || p.kind == partThinking || assistant && p.kind != partResult
}

func placeholder(assistant bool) *part {
	if assistant {
		return &part{text: noAnswer}
	}
	return &part{text: noText}
}

func missingResult(call *part) *part {
	block := MissingResult(call.block)
	return &part{kind: partResult, id: call.id, content: []*part{{text: block.Content[0].Text}}, block: &block}
}

// MissingResult returns the result that a request contains for a call without one.
func MissingResult(call *history.Block) history.Block {
	text := interrupted
	switch {
	case call.Incomplete && json.Valid([]byte(call.Args)) && !strings.HasPrefix(strings.TrimSpace(call.Args), "{"):
		text = noObject
	case call.Incomplete:
		text = cutOff
	}
	return history.Block{
		Type: history.BlockToolResult, CallID: call.CallID, IsError: true,
		Content: []history.Block{{Type: history.BlockText, Text: text}},
	}
}

// joined puts texts together as paragraphs, for providers that take a string.
func joined(parts []*part) string {
	var texts []string
	for _, p := range parts {
		if p.kind == partText {
			texts = append(texts, p.text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// resultContent is what a tool returned: text and pictures, never empty.
func resultContent(b *history.Block, vision bool) []*part {
	var out []*part
	for i := range b.Content {
		inner := &b.Content[i]
		if inner.Type == history.BlockImage && vision && sendable(inner) {
			out = append(out, &part{kind: partImage, block: inner})
		} else if text := textOf(inner); text != "" {
			out = append(out, &part{text: text})
		}
	}
	if len(out) == 0 {
		out = []*part{{text: noOutput}}
	}
	return out
}

// resultAsText is a result for which there is no call that it could answer. The mark goes to its last part.
func resultAsText(p *part, name string) []*part {
	head := "[result of tool " + name
	if name == "" {
		head = "[result of a tool"
	}
	if p.block.IsError {
		head += ", an error"
	}
	out := []*part{{text: strings.TrimRight(head+"]\n"+joined(p.content), "\n")}}
	for _, c := range p.content {
		if c.kind == partImage {
			out = append(out, c)
		}
	}
	last := *out[len(out)-1]
	last.mark = p.mark
	*p, out[len(out)-1] = last, p // p is known as the part that the mark goes to
	return out
}

// extra returns the members of a call that its provider gave and that we do not know; nil for another provider or part.
func (p *part) extra() json.RawMessage {
	if p.kind != partCall || p.foreign || p.block.Origin == nil {
		return nil
	}
	return p.block.Origin.Extra
}
