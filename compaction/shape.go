package compaction

import (
	"strata/history"
)

// span is a run of messages: from start up to, not including, end.
type span struct{ start, end int }

// exchange is a user message and all that follows it up to the next one.
type exchange struct {
	span
	steps []span // what follows the user message: assistant messages, each with its tool results
}

// shape is how a history falls into exchanges. Cutting it between steps and user messages never parts a
// tool call from its result.
type shape struct {
	messages  []Message
	exchanges []exchange // messages before the first user message are in none
}

func shapeOf(messages []Message) shape {
	s := shape{messages: messages}
	for i := range messages {
		if messages[i].Role == history.RoleUser {
			s.exchanges = append(s.exchanges, exchange{span: span{i, i + 1}})
			continue
		}
		if len(s.exchanges) > 0 {
			s.exchanges[len(s.exchanges)-1].take(i, messages[i].Role)
		}
	}
	return s
}

// take adds the message with index i, which is no user message, to the exchange.
func (e *exchange) take(i int, role history.Role) {
	e.end = i + 1
	if n := len(e.steps); n > 0 && role == history.RoleTool {
		e.steps[n-1].end = i + 1
		return
	}
	e.steps = append(e.steps, span{i, i + 1})
}

// tokens returns the tokens of a run.
func (s *shape) tokens(r span) int { return size(s.messages[r.start:r.end]) }

// newest returns the index of the newest user message. There must be one.
func (s *shape) newest() int { return s.exchanges[len(s.exchanges)-1].start }

// keeping is a choice of messages that stay, by index.
type keeping []bool

func (k keeping) set(r span, keep bool) {
	for i := r.start; i < r.end; i++ {
		k[i] = keep
	}
}

// all returns the choice that keeps everything.
func (s *shape) all() keeping {
	k := make(keeping, len(s.messages))
	k.set(span{0, len(k)}, true)
	return k
}

// none returns the choice that keeps nothing but the newest user message. There must be one.
func (s *shape) none() keeping {
	k := make(keeping, len(s.messages))
	k[s.newest()] = true
	return k
}

// from returns the choice that keeps what begins with the message of the given index.
func (s *shape) from(cut int) keeping {
	k := make(keeping, len(s.messages))
	k.set(span{cut, len(k)}, true)
	return k
}

// dropped returns the ids of the messages that a choice does not keep. Where it drops any, it also drops
// what precedes the first user message that it keeps.
func (s *shape) dropped(k keeping) []string {
	var ids []string
	begun := false
	for i := range s.messages {
		begun = begun || k[i] && s.messages[i].Role == history.RoleUser
		if !k[i] || !begun {
			ids = append(ids, s.messages[i].ID)
		}
	}
	return ids
}
