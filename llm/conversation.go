package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"strata/history"
)

// maxMarks is how many cache marks Anthropic takes in one request.
const maxMarks = 4

// conversation is a request in the order and roles in which every provider takes it: user and assistant alternate,
// beginning and ending with the user; each call is answered at the start of the turn behind it; nothing is blank.
type conversation struct {
	system []*part
	kept   []*part // of a kept beginning, those that carry marks; they have only a mark and its place
	turns  []*turn // those after that
	marked *part   // the last part so far that can carry a mark
	ends   []*part // by entry: the value of marked at its end

	shape shape
	calls calls

	entry  int  // index of the entry that is added
	begun  bool // a part of it was added
	joined bool // the first turn is not one of the assistant's, so that it belongs to the beginning's last one
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
	entry     int   // index of the entry that begins with it; -1 if it begins within an entry
	calls     calls // that it adds
}

// newConversation lays out entries.
func newConversation(entries []Entry, s shape) *conversation {
	return new(beginning).conversation(entries, s)
}

// layOut adds the entries of a request from an index on.
func (c *conversation) layOut(entries []Entry, from int) {
	leading, running := from == 0, runningTurn(entries)
	for i := from; i < len(entries); i++ {
		c.entry, c.begun = i, false
		leading = leading && entries[i].Kind == EntrySystem
		if leading {
			c.addSystem(entries[i])
		} else {
			c.addEntry(entries[i], i > running)
		}
		c.ends = append(c.ends, c.marked)
	}
	c.pair(c.shape.tools)
	c.complete(from > 0)
	c.limitMarks()
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
			p := &part{kind: partText, text: text, place: place{system: true, at: len(c.system)}}
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
			p.update = p.kind == partText && e.Kind != EntryMessage
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
	if id, again := c.calls.id(b.CallID); again {
		return id
	}
	id := c.ownID(b.CallID)
	if b.Origin != nil && !foreign && c.shape.takesID(b.Origin.ID) && !c.calls.uses(b.Origin.ID) {
		id = b.Origin.ID
	}
	c.calls.send(b.CallID, id)
	return id
}

// takesID reports whether the model takes the id of a call that its provider gave. A provider of several models may have
// given another model's.
func (s *shape) takesID(id string) bool {
	return id != "" && (!s.shortIDs || isShortID(id))
}

// idOfResult returns the id of the call that a result answers.
func (c *conversation) idOfResult(callID string) string {
	if id, known := c.calls.id(callID); known {
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

func isShortID(id string) bool {
	return len(id) == shortID && !strings.ContainsAny(id, "-_") && safeName(id) == id
}

func (c *conversation) add(assistant bool, p *part) {
	if n := len(c.turns); n == 0 || c.turns[n-1].assistant != assistant {
		begins := &turn{assistant: assistant, entry: c.entry}
		if c.begun {
			begins.entry = -1
		}
		c.turns = append(c.turns, begins)
	}
	c.begun = true
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
	for i := 0; i < len(c.turns); i++ {
		if !c.turns[i].assistant {
			c.turns[i].parts = c.resultsFirst(c.turns[i].parts, nil)
			continue
		}
		calls := c.takeCalls(c.turns[i], tools)
		if len(calls) == 0 {
			continue
		}
		if i++; i == len(c.turns) {
			c.turns = append(c.turns, &turn{entry: -1})
		}
		c.turns[i].parts = c.resultsFirst(c.turns[i].parts, calls)
	}
}

// takeCalls returns the calls of t that stay calls. Others become text: all without tools, and those without an id of their own.
func (c *conversation) takeCalls(t *turn, tools bool) (calls []*part) {
	for _, p := range t.parts {
		if p.kind != partCall {
			continue
		}
		t.calls.send(p.block.CallID, p.id)
		t.calls.name(p.id, p.block.Name)
		_, known := c.calls.named(p.id)
		c.calls.name(p.id, p.block.Name)
		if tools && !known && p.id != "" {
			calls = append(calls, p)
		} else {
			*p = part{text: callText(p.block), mark: p.mark}
		}
	}
	return calls
}

// resultsFirst orders the parts of a user turn behind calls: one result for each of them, then everything else as it came.
func (c *conversation) resultsFirst(parts, calls []*part) []*part {
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
			name, _ := c.calls.named(p.id)
			rest = append(rest, resultAsText(p, name)...)
		}
	}
	for _, call := range calls {
		if open[call.id] {
			results = append(results, missingResult(call))
		}
	}
	return append(results, rest...)
}

// complete makes the turns begin and end with the user, and no answer end with thinking, which would be refused. continued:
// they follow a kept beginning, which begins and ends with the user.
func (c *conversation) complete(continued bool) {
	for _, t := range c.turns {
		for n := len(t.parts); n > 0 && t.parts[n-1].kind == partThinking; n-- {
			t.parts = t.parts[:n-1]
		}
		if len(t.parts) == 0 {
			t.parts = []*part{placeholder(t.assistant)}
		}
	}
	switch {
	case continued:
		c.joined = len(c.turns) > 0 && !c.turns[0].assistant
	case len(c.turns) == 0:
		c.turns = []*turn{{parts: []*part{{text: noText}}, entry: -1}}
	case c.turns[0].assistant:
		first := &turn{parts: []*part{{text: noBeginning}}, entry: -1}
		c.turns = append([]*turn{first}, c.turns...)
	}
	if n := len(c.turns); n > 0 && c.turns[n-1].assistant {
		c.turns = append(c.turns, &turn{parts: []*part{{text: goOn}}, entry: -1})
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

// markedParts returns the parts with marks, in the order in which they are sent.
func (c *conversation) markedParts() []*part {
	return slices.Concat(withMarks(c.system), withMarks(c.kept), markedIn(c.turns))
}

func markedIn(turns []*turn) (marked []*part) {
	for _, t := range turns {
		marked = append(marked, withMarks(t.parts)...)
	}
	return marked
}

func withMarks(parts []*part) (marked []*part) {
	for _, p := range parts {
		if p.mark != MarkNone {
			marked = append(marked, p)
		}
	}
	return marked
}
