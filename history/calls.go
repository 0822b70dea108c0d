package history

import (
	"fmt"
	"slices"
)

// Calls knows the tool calls of a conversation and which of them have a result. It checks messages before they are added.
// The zero value knows none.
type Calls struct {
	known map[string]knownCall // by call id; a call hides older ones with its id
	last  string               // id of the message with calls that nothing but results follows; empty for none
}

type knownCall struct {
	message  string // id
	answered bool
}

// Know adds a call of an earlier message.
func (c *Calls) Know(callID, message string, answered bool) {
	if c.known == nil {
		c.known = make(map[string]knownCall)
	}
	c.known[callID] = knownCall{message, answered}
}

// Follow says that results which come next directly follow a message with calls.
func (c *Calls) Follow(message string) { c.last = message }

// Len returns the number of known calls.
func (c *Calls) Len() int { return len(c.known) }

// Restored notes that an earlier state was restored: any call may get a result again.
func (c *Calls) Restored() {
	for id, call := range c.known {
		call.answered = false
		c.known[id] = call
	}
}

// Clone returns a copy.
func (c *Calls) Clone() Calls {
	clone := Calls{last: c.last}
	for id, call := range c.known {
		clone.Know(id, call.message, call.answered)
	}
	return clone
}

// Take adds a message. It returns the id of the message with the calls if m has their results but does not directly follow
// it, and otherwise an empty id. The error names the block with a result for a call that does not exist, that has one
// already, or that is in another message than the calls of the other results.
func (c *Calls) Take(m *Message) (late string, err error) {
	if m.Role != RoleTool {
		c.last = ""
	}
	called := ""
	for i := range m.Blocks {
		switch b := &m.Blocks[i]; b.Type {
		case BlockToolCall:
			c.Know(b.CallID, m.ID, false)
			c.last = m.ID
		case BlockToolResult:
			call, known := c.known[b.CallID]
			switch {
			case !known:
				return "", fmt.Errorf("[%d].callId: there is no tool call with this id", i)
			case call.answered:
				return "", fmt.Errorf("[%d].callId: the tool call has a result already", i)
			case called != "" && called != call.message:
				return "", fmt.Errorf("[%d].callId: the results in one message must belong to the calls of one message", i)
			}
			called = call.message
			c.Know(b.CallID, call.message, true)
		}
	}
	if called != c.last {
		late = called
	}
	return late, nil
}

// takeResult moves a late result in the view behind the calls that it belongs to, and their other results.
func (v *view) takeResult(e *Edit) {
	from := slices.IndexFunc(v.messages, func(m Viewed) bool { return len(e.Messages) == 1 && m.ID == e.Messages[0] })
	calls := slices.IndexFunc(v.messages, func(m Viewed) bool { return m.ID == e.CallsMessage })
	if from < 0 || calls < 0 || !isResultOf(&v.messages[from], &v.messages[calls]) {
		return
	}
	late := v.messages[from]
	late.Exchange = v.messages[calls].Exchange
	rest := slices.Delete(slices.Clone(v.messages), from, from+1)
	calls = slices.IndexFunc(rest, func(m Viewed) bool { return m.ID == e.CallsMessage })
	to := calls + 1
	for to < len(rest) && rest[to].Role == RoleTool && to != from {
		to++
	}
	v.messages = slices.Insert(rest, to, late)
}

// isResultOf reports whether a later message can have the results of calls.
func isResultOf(late, calls *Viewed) bool {
	return late.Role == RoleTool && calls.HasCalls && calls.Seq < late.Seq
}

// takeResult is view.takeResult.
func (f *fold) takeResult(e *Edit) {
	if len(e.Messages) != 1 {
		return
	}
	from, here := f.index[e.Messages[0]]
	calls, there := f.index[e.CallsMessage]
	if !here || !there || f.gone[from] || f.gone[calls] || !isResultOf(&f.messages[from], &f.messages[calls]) {
		return
	}
	f.messages[from].Exchange = f.messages[calls].Exchange
	f.moved, f.late[from] = true, calls
	after := calls
	for next := f.next[after]; next >= 0 && next != from && f.messages[next].Role == RoleTool; next = f.next[after] {
		after = next
	}
	if f.next[after] != from {
		f.unlink(from)
		f.link(from, after)
	}
}

// Unanswered returns the calls in messages that have no result in them.
func Unanswered(messages []Message) (calls []Block) {
	answered := make(map[string]bool)
	for i := range messages {
		for _, b := range messages[i].Blocks {
			switch b.Type {
			case BlockToolCall:
				calls = append(calls, b)
			case BlockToolResult:
				answered[b.CallID] = true
			}
		}
	}
	return slices.DeleteFunc(calls, func(call Block) bool { return answered[call.CallID] })
}
