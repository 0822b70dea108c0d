package llm

import (
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
	interrupted = "The call was interrupted; it has no result."
	cutOff      = "The call was not carried out: its arguments were cut off."
)

// maxMarks is how many cache marks Anthropic takes in one request.
const maxMarks = 4

// conversation is a request in the order and roles in which every provider takes it: user and assistant alternate,
// beginning and ending with the user; each call is answered at the start of the turn behind it; nothing is blank.
type conversation struct {
	system []*part
	turns  []*turn
	marked *part // the last part so far that can carry a mark
}

type turn struct {
	assistant bool
	parts     []*part
}

// part is one content block of a turn.
type part struct {
	kind    partKind
	text    string         // of partText
	block   *history.Block // of all others
	content []*part        // of partResult: text and pictures
	mark    Mark
}

type partKind int

const (
	partText partKind = iota
	partImage
	partThinking
	partCall
	partResult
)

// newConversation lays out entries. tools says that the request declares tools, without which calls go as text.
func newConversation(entries []Entry, tools, vision bool) *conversation {
	c := &conversation{}
	leading := true
	for _, e := range entries {
		leading = leading && e.Kind == EntrySystem
		if leading {
			c.addSystem(e)
		} else {
			c.addEntry(e, vision)
		}
	}
	c.pair(tools)
	c.complete()
	c.limitMarks()
	return c
}

func (c *conversation) addSystem(e Entry) {
	for i := range e.Blocks {
		if text := textOf(&e.Blocks[i]); text != "" {
			p := &part{kind: partText, text: text}
			c.system = append(c.system, p)
			c.marked = p
		}
	}
	c.mark(e.Mark)
}

// addEntry adds an entry's blocks to the turns. A message without any block is a damaged one and is left out;
// one whose blocks all go away keeps its place in the conversation.
func (c *conversation) addEntry(e Entry, vision bool) {
	assistant := e.Kind == EntryMessage && e.Role == history.RoleAssistant
	said := false
	for i := range e.Blocks {
		b := &e.Blocks[i]
		if p := newPart(b, vision); p != nil {
			if assistant && p.kind == partImage {
				p = &part{text: imageNote(b)} // only users and tools may show pictures
			}
			c.add(p.spokenBy(assistant), p)
			said = said || p.kind != partThinking
		}
	}
	if !said && len(e.Blocks) > 0 && e.Kind == EntryMessage {
		c.add(assistant, placeholder(assistant))
	}
	c.mark(e.Mark)
}

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

func (c *conversation) add(assistant bool, p *part) {
	if n := len(c.turns); n == 0 || c.turns[n-1].assistant != assistant {
		c.turns = append(c.turns, &turn{assistant: assistant})
	}
	last := c.turns[len(c.turns)-1]
	last.parts = append(last.parts, p)
	if p.kind != partThinking {
		c.marked = p
	}
}

// mark marks the last part so far. An entry of which nothing is sent so hands its mark to the one before: the prefix is the same.
func (c *conversation) mark(m Mark) {
	if c.marked != nil && m > c.marked.mark {
		c.marked.mark = m
	}
}

// pair makes each call be answered once, directly behind it. What cannot be paired goes as text.
func (c *conversation) pair(tools bool) {
	names := map[string]string{} // of all calls so far, by safe id, in which they are sent and must differ
	for i := 0; i < len(c.turns); i++ {
		if !c.turns[i].assistant {
			c.turns[i].parts = resultsFirst(c.turns[i].parts, nil, names)
			continue
		}
		calls := c.turns[i].takeCalls(tools, names)
		if len(calls) == 0 {
			continue
		}
		if i++; i == len(c.turns) {
			c.turns = append(c.turns, &turn{})
		}
		c.turns[i].parts = resultsFirst(c.turns[i].parts, calls, names)
	}
}

// takeCalls returns the calls of t that stay calls. Others become text: all without tools, and those without an id of their own.
func (t *turn) takeCalls(tools bool, names map[string]string) (calls []*history.Block) {
	for i, p := range t.parts {
		if p.kind != partCall {
			continue
		}
		id := safeName(p.block.CallID)
		_, known := names[id]
		if tools && !known && id != "" {
			calls = append(calls, p.block)
		} else {
			t.parts[i] = &part{text: callText(p.block), mark: p.mark}
		}
		names[id] = p.block.Name
	}
	return calls
}

// resultsFirst orders the parts of a user turn behind calls: one result for each of them, then everything else as it came.
func resultsFirst(parts []*part, calls []*history.Block, names map[string]string) []*part {
	open := map[string]bool{}
	for _, call := range calls {
		open[safeName(call.CallID)] = true
	}
	var results, rest []*part
	for _, p := range parts {
		if p.kind != partResult {
			rest = append(rest, p)
			continue
		}
		if id := safeName(p.block.CallID); open[id] {
			open[id] = false
			results = append(results, p)
		} else {
			rest = append(rest, resultAsText(p, names[id])...)
		}
	}
	for _, call := range calls {
		if open[safeName(call.CallID)] {
			results = append(results, missingResult(call))
		}
	}
	return append(results, rest...)
}

func missingResult(call *history.Block) *part {
	text := interrupted
	if call.Incomplete {
		text = cutOff
	}
	return &part{kind: partResult, content: []*part{{text: text}},
		block: &history.Block{Type: history.BlockToolResult, CallID: call.CallID, IsError: true}}
}

// complete makes the turns begin and end with the user, and no answer end with thinking, which would be refused.
func (c *conversation) complete() {
	for _, t := range c.turns {
		for n := len(t.parts); n > 0 && t.parts[n-1].kind == partThinking; n-- {
			t.parts = t.parts[:n-1]
		}
		if len(t.parts) == 0 {
			t.parts = []*part{placeholder(t.assistant)}
		}
	}
	if len(c.turns) == 0 {
		c.turns = []*turn{{parts: []*part{{text: noText}}}}
	}
	if c.turns[0].assistant {
		first := &turn{parts: []*part{{text: noBeginning}}}
		c.turns = append([]*turn{first}, c.turns...)
	}
	if c.turns[len(c.turns)-1].assistant {
		c.turns = append(c.turns, &turn{parts: []*part{{text: goOn}}})
	}
}

// limitMarks keeps the last four marks, which close the longest prefixes, the tail among them.
// A long lifetime behind a short one would be refused, so it is shortened.
func (c *conversation) limitMarks() {
	marked := c.markedParts()
	for len(marked) > maxMarks {
		marked[0].mark = MarkNone
		marked = marked[1:]
	}
	for i := 1; i < len(marked); i++ {
		marked[i].mark = min(marked[i].mark, marked[i-1].mark)
	}
}

func (c *conversation) markedParts() (marked []*part) {
	all := append([]*part(nil), c.system...)
	for _, t := range c.turns {
		all = append(all, t.parts...)
	}
	for _, p := range all {
		if p.mark != MarkNone {
			marked = append(marked, p)
		}
	}
	return marked
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
