package compaction

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/history"
	"strata/internal/leak"
	"strata/tokens"
)

func TestMain(m *testing.M) { leak.Main(m) }

var counter = tokens.For(tokens.O200k)

// message returns a message with the tokens of its text.
func message(role history.Role, text string) Message {
	return Message{Role: role, Text: text, Tokens: counter.Count(text) + tokens.MessageOverhead}
}

func user(text string) Message      { return message(history.RoleUser, text) }
func assistant(text string) Message { return message(history.RoleAssistant, text) }

// calls returns an assistant's message with tool calls and their results.
func calls(results ...string) []Message {
	batch := batchOf(results...)
	for i := range batch {
		batch[i].Tokens = counter.Count(batch[i].Text) + tokens.MessageOverhead
	}
	return batch
}

// batchOf returns an assistant's message with tool calls and their results, without token counts.
func batchOf(results ...string) []Message {
	batch := []Message{{Role: history.RoleAssistant, Text: "running tools", Calls: true}}
	for _, result := range results {
		batch = append(batch, Message{Role: history.RoleTool, Text: result})
	}
	return batch
}

// talk gives messages ids by their position: m1, m2, …
func talk(messages ...Message) History {
	for i := range messages {
		messages[i].ID = fmt.Sprintf("m%d", i+1)
	}
	return History{Messages: messages}
}

// exchanges returns n exchanges of a user message and a reply, each message with the given tokens.
func exchanges(n, tokens int) []Message {
	var messages []Message
	for i := range n {
		for _, m := range []Message{user(fmt.Sprintf("question %d", i+1)), assistant(fmt.Sprintf("answer %d", i+1))} {
			m.Tokens = tokens
			messages = append(messages, m)
		}
	}
	return messages
}

// applied returns the history after an outcome.
func applied(h History, o Outcome) History {
	if o.Result != Compacted {
		return h
	}
	after := h
	after.Messages = nil
	for _, m := range h.Messages {
		if !slices.Contains(o.Plan.Drop, m.ID) {
			after.Messages = append(after.Messages, m)
		} else if m.Role == history.RoleUser {
			after.Summarised++
		}
	}
	if o.Summary != "" {
		after.Summary, after.SummaryTokens = o.Summary, o.SummaryTokens
	}
	return after
}

// kept returns the ids of the messages that a plan keeps, joined.
func kept(h History, p Plan) string {
	ids := make([]string, 0, len(h.Messages))
	for _, m := range applied(h, Outcome{Result: Compacted, Plan: p}).Messages {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

// ids returns message ids by ranges of numbers: ids(1, 3, 6, 6) is m1 m2 m3 m6.
func ids(ranges ...int) string {
	var ids []string
	for i := 0; i < len(ranges); i += 2 {
		for n := ranges[i]; n <= ranges[i+1]; n++ {
			ids = append(ids, fmt.Sprintf("m%d", n))
		}
	}
	return strings.Join(ids, " ")
}

func named(t testing.TB, name string) Strategy {
	t.Helper()
	s, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scripted is a model that replies by a function and records its calls.
type scripted struct {
	answer func(ctx context.Context, c Call) (Reply, error)

	mu    sync.Mutex
	calls []Call
}

func (m *scripted) Complete(ctx context.Context, c Call) (Reply, error) {
	m.mu.Lock()
	m.calls = append(m.calls, c)
	m.mu.Unlock()
	return m.answer(ctx, c)
}

// always returns a model with one text for all summaries, which finds no boundary.
func always(text string) *scripted {
	return &scripted{answer: func(_ context.Context, c Call) (Reply, error) {
		if c.Purpose == PurposeDetection {
			return Reply{Text: `{"boundary": null}`}, nil
		}
		return Reply{Text: text}, nil
	}}
}

func (m *scripted) count(purpose string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, c := range m.calls {
		if c.Purpose == purpose {
			n++
		}
	}
	return n
}
