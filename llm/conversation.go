package llm

import (
	"crypto/sha256"
	"encoding/hex"

	"strata/history"
)

// maxMarks is how many cache marks Anthropic takes in one request.
const maxMarks = 4

// conversation is a request in the order and roles in which every provider takes it: user and assistant alternate,
// beginning and ending with the user; each call is answered at the start of the turn behind it; nothing is blank.
type conversation struct {
	system []*part
	turns  []*turn
	marked *part // the last part so far that can carry a mark

	shape   shape
	wireIDs map[string]string // of the calls so far: the ids that they are sent with, by our ids
	used    map[string]bool   // those ids
}

// shape is what the model and its provider make of a conversation.
type shape struct {
	model    string // provider/model that is asked
	tools    bool   // the request declares tools; without them calls go as text
	vision   bool
	thinking ThinkingBack
	sealed   bool // the provider takes back thinking that it signed, the others plain thinking
	shortIDs bool
}

// shapeOf returns the shape of a request.
func shapeOf(req Request, model Model, kind Kind, d dialect) shape {
	return shape{
		model: model.Name, tools: len(req.Tools) > 0 && d.tools, vision: model.Vision,
		thinking: d.thinkingBack, sealed: kind == Anthropic, shortIDs: d.shortIDs,
	}
}

type turn struct {
	assistant bool
	parts     []*part
}

// newConversation lays out entries.
func newConversation(entries []Entry, s shape) *conversation {
	c := &conversation{shape: s, wireIDs: map[string]string{}, used: map[string]bool{}}
	leading, running := true, runningTurn(entries)
	for i, e := range entries {
		leading = leading && e.Kind == EntrySystem
		if leading {
			c.addSystem(e)
		} else {
			c.addEntry(e, i > running)
		}
	}
	c.pair(s.tools)
	c.complete()
	c.limitMarks()
	return c
}

// runningTurn returns the index of the prompt that began the running turn, -1 for none.
func runningTurn(entries []Entry) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Kind == EntryMessage && entries[i].Role == history.RoleUser {
			return i
		}
	}
	return -1
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
func (c *conversation) addEntry(e Entry, running bool) {
	assistant := e.Kind == EntryMessage && e.Role == history.RoleAssistant
	said := false
	for i := range e.Blocks {
		b := &e.Blocks[i]
		if b.Type == history.BlockThinking && !c.shape.takesThinking(b, e.Model, running) {
			continue
		}
		if p := c.newPart(b, e.Model); p != nil {
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

// takesThinking reports whether thinking goes back that was written by a model; its name is empty where it is not
// known. A signature is only worth something to the family that gave it.
func (s *shape) takesThinking(b *history.Block, writer string, running bool) bool {
	if s.thinking == ThinkingNone || s.thinking == ThinkingOfTurn && !running {
		return false
	}
	if s.sealed {
		return (b.Signature != "" || len(b.Data) > 0) && (writer == "" || family(writer) == family(s.model))
	}
	return b.Text != "" && providerOf(writer) == providerOf(s.model)
}

// newPart returns a block as it is sent, nil where nothing of it is. writer is the model that wrote it.
func (c *conversation) newPart(b *history.Block, writer string) *part {
	switch b.Type {
	case history.BlockThinking:
		return &part{kind: partThinking, block: b}
	case history.BlockToolCall:
		foreign := providerOf(writer) != providerOf(c.shape.model)
		return &part{kind: partCall, block: b, id: c.idOfCall(b, foreign), foreign: foreign}
	case history.BlockToolResult:
		return &part{kind: partResult, block: b, id: c.idOfResult(b.CallID), content: resultContent(b, c.shape.vision)}
	case history.BlockImage:
		if c.shape.vision && sendable(b) {
			return &part{kind: partImage, block: b}
		}
	}
	if text := textOf(b); text != "" {
		return &part{kind: partText, text: text}
	}
	return nil
}

// idOfCall returns the id with which a call is sent: the provider's own, unless another call has it, else ours. Two calls
// with one id of ours get the same one.
func (c *conversation) idOfCall(b *history.Block, foreign bool) string {
	if id, again := c.wireIDs[b.CallID]; again {
		return id
	}
	id := c.ownID(b.CallID)
	if b.Origin != nil && !foreign && b.Origin.ID != "" && !c.used[b.Origin.ID] {
		id = b.Origin.ID
	}
	c.wireIDs[b.CallID], c.used[id] = id, true
	return id
}

// idOfResult returns the id of the call that a result answers.
func (c *conversation) idOfResult(callID string) string {
	if id, known := c.wireIDs[callID]; known {
		return id
	}
	return c.ownID(callID)
}

// ownID returns an id of ours in the characters that providers take.
func (c *conversation) ownID(callID string) string {
	if c.shape.shortIDs && callID != "" {
		sum := sha256.Sum256([]byte(callID))
		return hex.EncodeToString(sum[:])[:shortID]
	}
	return safeName(callID)
}

// shortID is the length of ids that Mistral takes.
const shortID = 9

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
	names := map[string]string{} // of all calls so far, by the id with which they are sent, which must differ
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
func (t *turn) takeCalls(tools bool, names map[string]string) (calls []*part) {
	for i, p := range t.parts {
		if p.kind != partCall {
			continue
		}
		_, known := names[p.id]
		if tools && !known && p.id != "" {
			calls = append(calls, p)
		} else {
			t.parts[i] = &part{text: callText(p.block), mark: p.mark}
		}
		names[p.id] = p.block.Name
	}
	return calls
}

// resultsFirst orders the parts of a user turn behind calls: one result for each of them, then everything else as it came.
func resultsFirst(parts, calls []*part, names map[string]string) []*part {
	open := map[string]bool{}
	for _, call := range calls {
		open[call.id] = true
	}
	var results, rest []*part
	for _, p := range parts {
		if p.kind != partResult {
			rest = append(rest, p)
			continue
		}
		if open[p.id] {
			open[p.id] = false
			results = append(results, p)
		} else {
			rest = append(rest, resultAsText(p, names[p.id])...)
		}
	}
	for _, call := range calls {
		if open[call.id] {
			results = append(results, missingResult(call))
		}
	}
	return append(results, rest...)
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
