package session

import (
	"slices"
	"sync"
	"testing"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/fit"
)

// shrinkingModel is a model whose window gets smaller when a provider says so.
type shrinkingModel struct {
	oneModel
	mu sync.Mutex
}

func (m *shrinkingModel) Model(string) (llm.Model, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.model, true
}

func (m *shrinkingModel) LimitWindow(_ string, tokens int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.model.Window = tokens
}

// A window that a provider names in a refusal is the session's as soon as the request is sent again.
func TestASmallerWindowCountsDuringItsTurn(t *testing.T) {
	a := &acted{t: t, store: newLockedStore(), provider: newProvider()}
	deps := depsOf(a.store, a.provider, describingHost{})
	deps.Models = &shrinkingModel{oneModel: deps.Models.(oneModel)}
	a.Session = created(t, deps)
	result := a.prompt("hello", nil)
	a.asked().done <- called{err: &llm.Error{Kind: llm.KindContext, Limit: 3000}}
	again := a.asked()
	if got := a.told().Model.Window; got != 3000 {
		t.Errorf("the window has %d tokens", got)
	}
	again.end("fine")
	if r := <-result; r.err != nil {
		t.Error(r.err)
	}
}

// What a prompt refers to and cannot be read is named with its result, beside what the request omits.
func TestLinksThatWereNotReadAreNamed(t *testing.T) {
	a := act(t)
	blocks := []history.Block{{Type: history.BlockLink, URI: "https://example.org/a", Name: "a"}, {Type: history.BlockText, Text: "hello"}}
	results := make(chan outcomeOf, 1)
	a.Prompt(Prompt{Blocks: blocks}, nil, func(r PromptResult, _ uint64, err error) { results <- outcomeOf{r, err} })
	a.asked().end("fine")
	r := <-results
	named := slices.ContainsFunc(r.LeftOut, func(o fit.Omitted) bool { return o.Key == "https://example.org/a" && o.Reason == "not_a_file" })
	if r.err != nil || !named {
		t.Errorf("%+v, %v", r.LeftOut, r.err)
	}
}

// Only a whole report of a reply that came to its end calibrates the count. The size of the request is taken from any whole
// report, never from an estimate.
func TestReportsThatAreBelieved(t *testing.T) {
	l := &ledger{lockedStore: newLockedStore()}
	a := &acted{t: t, provider: newProvider()}
	a.Session = loneOf(t, l, a.provider, describingHost{})
	blocks := []history.Block{{Type: history.BlockText, Text: "hi"}}
	broken := &llm.Error{Kind: llm.KindOverloaded}
	for _, tt := range []struct {
		name        string
		reported    bool
		input       int // of the report
		err         error
		calibrates  bool
		sizeOfModel int // of request and reply, 0 for unknown
	}{
		{"no report", false, 0, nil, false, 0},
		{"a part of the input", true, 1, nil, false, 0},
		{"broken off", true, 1800, broken, false, 1807},
		{"the whole input", true, 2500, nil, true, 2507},
	} {
		result := a.prompt(wordsOf(500), nil)
		out := reply.Result{Blocks: blocks, StopReason: reply.StopEndTurn, UsageReported: tt.reported}
		if tt.reported {
			out.Usage = history.Usage{Input: tt.input, Output: 7}
		}
		a.asked().done <- called{out, tt.err}
		<-result
		if got := l.last().Calibration != nil; got != tt.calibrates {
			t.Errorf("%s: calibrates %t", tt.name, got)
		}
		var size int
		a.mailbox.Wait(func() { size = a.context.Reported() })
		if size != tt.sizeOfModel {
			t.Errorf("%s: request and reply are taken to have %d tokens", tt.name, size)
		}
	}
}
