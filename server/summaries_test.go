package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/session/compacting"
	"strata/session/profile"
	"strata/tokens"
)

// scribe is a scripted provider's model for summaries; it finds no topics.
type scribe struct {
	mu     sync.Mutex
	write  func(req *upstream.Request) upstream.Script
	asked  int
	begun  chan struct{} // a value for each requested summary, if there is room
	others func(req *upstream.Request) upstream.Script
}

// notes is a valid summary.
const notes = "Decided: the parser keeps its tokens; pkg/parser/file3.go is next."

func newScribe(ts *testServer) *scribe {
	s := &scribe{begun: make(chan struct{}, 64), others: upstream.Default}
	s.says(upstream.Texts("Decided: the parser keeps its tokens; ", "pkg/parser/file3.go is next.")...)
	ts.upstream.Choose(s.answer)
	return s
}

// says sets the steps of the reply to each request for a summary.
func (s *scribe) says(steps ...upstream.Step) {
	s.does(func(*upstream.Request) upstream.Script { return upstream.Script{Steps: steps} })
}

func (s *scribe) does(write func(req *upstream.Request) upstream.Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write = write
}

// times returns the number of requested summaries.
func (s *scribe) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *scribe) answer(req *upstream.Request) upstream.Script {
	switch {
	case mentions(req, "You determine where the newest topic"):
		return upstream.Script{Steps: upstream.Texts(`{"boundary": null, "reason": "one topic", "confidence": 0.9}`)}
	case !mentions(req, "You keep notes of a conversation"):
		return s.others(req)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	select {
	case s.begun <- struct{}{}:
	default:
	}
	return s.write(req)
}

func mentions(req *upstream.Request, text string) bool {
	for _, b := range req.System {
		if strings.Contains(b.Text, text) {
			return true
		}
	}
	return len(req.Messages) > 0 && strings.Contains(req.Messages[0].Text(), text)
}

// startCompacting starts a server with a model of the given window, and a scribe that writes summaries.
func startCompacting(t *testing.T, window int, up upstream.Options, adjust ...func(*Options)) (*testServer, *scribe) {
	t.Helper()
	ts := &testServer{t: t, upstream: upstream.Start(up), dir: t.TempDir(), work: t.TempDir()}
	t.Cleanup(ts.upstream.Close)
	ts.models = map[string]llm.ModelConfig{
		"local/test": {Window: window, MaxOutput: window / 10}, "claude/test": {Window: window, MaxOutput: window / 10},
	}
	ts.start(adjust...)
	return ts, newScribe(ts)
}

func statusOf(ts *testServer, e caller, sid string) compacting.Status {
	ts.t.Helper()
	return call[compacting.Status](ts, e, "_strata/context/compaction", sid, nil)
}

// compactNow compacts a session and checks the outcome.
func compactNow(ts *testServer, e caller, sid, strategy, want string) compacting.Result {
	ts.t.Helper()
	c := call[compacting.Result](ts, e, "_strata/history/compact", sid, map[string]any{"strategy": strategy})
	if c.Outcome != want {
		ts.t.Fatalf("the compaction ended as %+v, want %s", c, want)
	}
	return c
}

// outcomes returns the outcomes in a session's events, in order.
func outcomes(fs testclient.Frames, sid string) (all []string) {
	for _, f := range fs.Of(sid).Kind("compaction") {
		var c compacting.Result
		if err := json.Unmarshal(f.Params, &c); err == nil {
			all = append(all, c.Outcome)
		}
	}
	return all
}

// A model that writes four times the budget of a running summary is asked once more for less. Then its end is omitted.
func TestP09ARunningSummaryHasAtMostItsBudget(t *testing.T) {
	t.Parallel()
	const budget = 2_000 // of loop
	ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t, func(p *profile.Profile) { p.Compaction.Enabled = false }))
	s.says(upstream.Texts(strings.Repeat("They changed one more of the files. ", 1_000))...)
	e, sid := looping(t, ts)
	for i := range 3 {
		before := s.times()
		ts.talk(e, sid, 60)
		c := compactNow(ts, e, sid, "rolling", "compacted")
		counted := tokens.For(llm.Model{}.Encoding).Count(c.Summary)
		if counted > budget || counted < budget/2 || !strings.Contains(c.Summary, "the files.\n[") || s.times() != before+2 {
			t.Errorf("compaction %d: %d tokens after %d calls: %s", i, counted, s.times()-before, c.Summary[max(len(c.Summary)-100, 0):])
		}
		if shown := fmt.Sprint(tokensOf(ts, e, sid)); !strings.Contains(shown, "summary:") {
			t.Errorf("the request has no summary: %s", shown)
		}
	}
}
