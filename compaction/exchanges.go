package compaction

import (
	"strata/history"
)

// span is a range of messages by index; end is exclusive.
type span struct{ start, end int }

// exchange is a user message with all messages up to the next one.
type exchange struct {
	span
	steps []span // assistant messages after the user message, each with its tool results
}

// shape is a history divided into exchanges. A cut between steps or before a user message never separates a tool call
// from its result.
type shape struct {
	messages  []Message
	lead      exchange   // the messages before the first user message
	exchanges []exchange // the others
}

func shapeOf(messages []Message) shape {
	s := shape{messages: messages}
	for i := range messages {
		if messages[i].Role == history.RoleUser {
			s.exchanges = append(s.exchanges, exchange{span: span{i, i + 1}})
			continue
		}
		e := &s.lead
		if n := len(s.exchanges); n > 0 {
			e = &s.exchanges[n-1]
		}
		e.take(i, messages[i].Role)
	}
	return s
}

// take adds message i, which must not be a user message, to the exchange.
func (e *exchange) take(i int, role history.Role) {
	e.end = i + 1
	if n := len(e.steps); n > 0 && role == history.RoleTool {
		e.steps[n-1].end = i + 1
		return
	}
	e.steps = append(e.steps, span{i, i + 1})
}

// answer returns the reply that ends an exchange: a step without tool calls. ok is false for an exchange without one, such
// as one that is not over.
func (s *shape) answer(e *exchange) (step span, ok bool) {
	number := s.messages[e.start].Exchange
	for i := len(e.steps) - 1; i >= 0; i-- {
		if step = e.steps[i]; s.messages[step.start].Exchange == number {
			return step, step.end-step.start == 1 && !s.messages[step.start].Calls
		}
	}
	return span{}, false
}

// keepAnswers keeps the answers of all prompts that are kept: a prompt that seems to have none is carried out again.
func (s *shape) keepAnswers(k keeping) {
	for i := range s.exchanges {
		e := &s.exchanges[i]
		if answer, ok := s.answer(e); ok && k[e.start] {
			k.set(answer, true)
		}
	}
}

// tokens returns the tokens of a range.
func (s *shape) tokens(r span) int { return size(s.messages[r.start:r.end]) }

// newest returns the index of the newest user message. The history must have one.
func (s *shape) newest() int { return s.exchanges[len(s.exchanges)-1].start }

// keeping marks the messages to keep, by index.
type keeping []bool

func (k keeping) set(r span, keep bool) {
	for i := r.start; i < r.end; i++ {
		k[i] = keep
	}
}

// add also keeps the messages that other, which may be nil, keeps.
func (k keeping) add(other keeping) {
	for i := range other {
		k[i] = k[i] || other[i]
	}
}

// all returns a keeping of all messages.
func (s *shape) all() keeping {
	k := make(keeping, len(s.messages))
	k.set(span{0, len(k)}, true)
	return k
}

// none returns a keeping of only the newest user message. The history must have one.
func (s *shape) none() keeping {
	k := make(keeping, len(s.messages))
	k[s.newest()] = true
	return k
}

// from returns a keeping of the messages from index cut on.
func (s *shape) from(cut int) keeping {
	k := make(keeping, len(s.messages))
	k.set(span{cut, len(k)}, true)
	return k
}

// dropped returns the ids of the messages that are not kept. Messages before the first kept user message are always
// dropped; messages that a user keeps, and the answers to kept prompts, never.
func (s *shape) dropped(k keeping) []string {
	s.keepAnswers(k)
	var ids []string
	begun := false
	for i := range s.messages {
		begun = begun || k[i] && s.messages[i].Role == history.RoleUser
		if (!k[i] || !begun) && !s.messages[i].Kept {
			ids = append(ids, s.messages[i].ID)
		}
	}
	return ids
}
