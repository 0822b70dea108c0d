package llm

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
	"strata/internal/leak"
	"strata/internal/upstream"
	"strata/llm/reply"
)

func TestMain(m *testing.M) { leak.Main(m) }

// wires are the two wire formats, for tests of both.
var wires = []upstream.Wire{upstream.Anthropic, upstream.OpenAI}

// newUpstream starts a strict upstream that is closed at the end of the test.
func newUpstream(t *testing.T, scripts ...upstream.Script) *upstream.Server {
	t.Helper()
	up := upstream.Start(upstream.Options{Strict: true})
	t.Cleanup(up.Close)
	up.Push(scripts...)
	return up
}

// newClient returns a client for up as providers "anthropic" and "openai", without delays between attempts.
func newClient(t *testing.T, up *upstream.Server, change ...func(*Options)) *Client {
	t.Helper()
	opt := Options{
		Providers: map[string]ProviderConfig{
			"anthropic": {Kind: Anthropic, BaseURL: up.URL},
			"openai":    {Kind: OpenAI, BaseURL: up.OpenAIURL()},
			"offline":   {Kind: Offline},
		},
		Sleep:  noSleep,
		Jitter: func() float64 { return 1 },
	}
	var calls atomic.Int64
	opt.NewCallID = func() string { return fmt.Sprintf("tc_%d", calls.Add(1)) }
	for _, f := range change {
		f(&opt)
	}
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// models are known models with vision, by wire format.
var models = map[upstream.Wire]string{upstream.Anthropic: "anthropic/claude-sonnet-4-5-20250929", upstream.OpenAI: "openai/gpt-4o"}

// ask returns a request with one user message.
func ask(wire upstream.Wire, prompt string) Request {
	return Request{Model: models[wire], Entries: []Entry{user(prompt)}}
}

func text(s string) history.Block { return history.Block{Type: history.BlockText, Text: s} }

func message(role history.Role, blocks ...history.Block) Entry {
	return Entry{Kind: EntryMessage, Role: role, Blocks: blocks}
}

func user(s string) Entry { return message(history.RoleUser, text(s)) }

func assistant(s string) Entry { return message(history.RoleAssistant, text(s)) }

// recorder collects the events of a call.
type recorder struct{ events []reply.Event }

func (r *recorder) on(e reply.Event) { r.events = append(r.events, e) }

// text returns all visible text.
func (r *recorder) text() string {
	var out strings.Builder
	for _, e := range r.events {
		if e.Kind == reply.EventText {
			out.WriteString(e.Text)
		}
	}
	return out.String()
}

func (r *recorder) retries() (out []reply.Retry) {
	for _, e := range r.events {
		if e.Kind == reply.EventRetrying {
			out = append(out, *e.Retry)
		}
	}
	return out
}

// answerText returns the text of a reply's text blocks.
func answerText(res reply.Result) string {
	m := history.Message{Blocks: res.Blocks}
	return m.PlainText()
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
