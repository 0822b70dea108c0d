package server

import (
	"strings"
	"testing"

	"strata/compaction"
	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
	"strata/session/compacting"
)

// heldCompaction starts a compaction that has streamed part of its summary and waits for the gate.
func heldCompaction(ts *testServer, s *scribe, e *testclient.Editor, sid string) (r *testclient.Request, gate chan struct{}) {
	ts.t.Helper()
	gate = make(chan struct{})
	s.says(upstream.Text(strings.Repeat("Half a summary. ", 20)), upstream.Hold(gate), upstream.Text("The other half."))
	r = e.Go("_strata/history/compact", map[string]any{"sessionId": sid, "strategy": "rolling"})
	e.Expect(testclient.Sees(sid, "compaction_summary_chunk"))
	return r, gate
}

func TestACancelledCompactionIsRememberedAsThat(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t))
	e, sid := attached(t, ts)
	ts.talk(e, sid, 12)
	before := ts.stored(sid)
	r, _ := heldCompaction(ts, s, e, sid)
	if err := r.Cancel(); err != nil {
		t.Fatal(err)
	}
	var c compacting.Result
	if err := r.Wait(&c); err != nil || c.Outcome != string(compaction.Cancelled) || c.Reason != "" {
		t.Fatalf("%+v, %v", c, err)
	}
	ts.settle(e)
	if got := ts.stored(sid); got.Compaction.Outcome != "cancelled" || len(got.Edits) != 0 || len(got.Heads) != len(before.Heads) {
		t.Errorf("stored: %+v, %d edits", got.Compaction, len(got.Edits))
	}
	ts.close()
	ts.start(withCompaction(t))
	if got := statusOf(ts, ts.editor(), sid); got.LastOutcome != "cancelled" || got.Running {
		t.Errorf("after a restart: %+v", got)
	}
}

func TestACompactionThatTheServersEndStopsIsInterrupted(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t))
	e, sid := attached(t, ts)
	ts.talk(e, sid, 12)
	r, _ := heldCompaction(ts, s, e, sid)
	ts.close()
	var c compacting.Result
	if err := r.Wait(&c); err != nil || c.Outcome != compacting.Interrupted || c.Reason != "" {
		t.Errorf("%+v, %v", c, err)
	}
	e.Expect(testclient.Sees(sid, "closed"))
	if got := outcomes(e.Frames(), sid); strings.Join(got, " ") != "running interrupted" {
		t.Errorf("received: %v", got)
	}
	ts.start(withCompaction(t))
	if got := statusOf(ts, ts.editor(), sid); got.LastOutcome != compacting.Interrupted || got.Running {
		t.Errorf("after a restart: %+v", got)
	}
}

func TestACompactionIsSupersededByAnotherEdit(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t))
	e, sid := attached(t, ts)
	ts.talk(e, sid, 12)
	r, gate := heldCompaction(ts, s, e, sid)
	call[map[string]any](ts, e, "_strata/history/clear", sid, nil)
	ts.talk(e, sid, 1)
	close(gate)
	var c compacting.Result
	if err := r.Wait(&c); err != nil || c.Outcome != compacting.Superseded {
		t.Fatalf("%+v, %v", c, err)
	}
	ts.catchUp(e, sid)
	updates := e.Frames().Of(sid).Kind("compaction_update")
	if last := string(updates[len(updates)-1].Params); !strings.Contains(last, `"status":"cancelled"`) || !strings.Contains(last, `"summary":[]`) {
		t.Errorf("received: %s", last)
	}
	ts.settle(e)
	if info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil); info.InView != 2 {
		t.Errorf("%d messages are in view", info.InView)
	}
	if got := ts.stored(sid); got.Compaction.Outcome != compacting.Superseded {
		t.Errorf("stored: %+v", got.Compaction)
	}
}

// A finished compaction does not prevent the server from stopping while the end of a turn cannot be stored.
func TestACompactionBehindAnEndingThatCannotBeStored(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t))
	e, sid := attached(t, ts)
	ts.talk(e, sid, 12)
	r, gate := heldCompaction(ts, s, e, sid)
	allow := refuseAnswers(t, ts)
	if _, err := e.Prompt(sid, "What now?"); err != nil {
		t.Fatal(err)
	}
	e.Expect(testclient.Sees(sid, "save_failed"))
	cleared := call[map[string]any](ts, e, "_strata/history/clear", sid, nil)
	if cleared["afterTurn"] == nil {
		t.Errorf("clear: %v", cleared)
	}
	close(gate)
	ts.close() // discards the ending after the grace period
	var c compacting.Result
	if err := r.Wait(&c); err == nil && c.Outcome != compacting.Interrupted {
		t.Errorf("%+v", c)
	}
	e.Expect(testclient.Sees(sid, "notice"), testclient.Sees(sid, "closed")) // the clear was dropped
	allow()
	ts.start(withCompaction(t))
	e = ts.editor()
	if m := lastMessage(t, e, sid); m.Status != "complete" || !strings.Contains(m.PlainText(), "What now?") {
		t.Errorf("the transcript ends with %s %q", m.Status, m.PlainText())
	}
	if got := ts.stored(sid); len(got.Edits) != 0 || got.Compaction.Outcome != compacting.Interrupted {
		t.Errorf("stored: %+v, %+v", got.Edits, got.Compaction)
	}
}

// A backoff survives a restart, unless the history has changed since.
func TestAPauseOutlivesARestart(t *testing.T) {
	t.Parallel()
	for _, cleared := range []bool{false, true} {
		ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t))
		s.says() // empty
		e, sid := attached(t, ts)
		ts.talk(e, sid, 60)
		ts.settle(e)
		for range 3 {
			if _, err := e.Prompt(sid, "Go on."); err != nil {
				t.Fatal(err)
			}
			ts.settle(e)
		}
		if s.times() != 2 {
			t.Fatalf("%d summaries were requested, want 2 before the backoff", s.times())
		}
		if cleared {
			call[map[string]any](ts, e, "_strata/history/clear", sid, nil)
			ts.talk(e, sid, 58)
			ts.settle(e)
			if s.times() != 3 {
				t.Fatalf("%d summaries after a clear", s.times())
			}
			call[map[string]any](ts, e, "_strata/history/clear", sid, nil)
		}
		asked := s.times()
		ts.close()
		ts.start(withCompaction(t))
		e = ts.editor()
		want := asked
		if cleared {
			ts.talk(e, sid, 58)
			want++
		}
		if _, err := e.Prompt(sid, "Go on."); err != nil {
			t.Fatal(err)
		}
		ts.settle(e)
		if got := s.times(); got < want || !cleared && got != want {
			t.Errorf("cleared %v: %d summaries after the restart, %d before", cleared, got, asked)
		}
	}
}

// A model that does not end its summary is stopped.
func TestASummaryWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t))
	e, sid := attached(t, ts)
	ts.talk(e, sid, 12)
	steps := make([]upstream.Step, 400)
	for i := range steps {
		steps[i] = upstream.Text(strings.Repeat("and on ", 150))
	}
	s.says(append(steps, upstream.Hold(nil))...)
	c := compactNow(ts, e, sid, "rolling", string(compaction.Failed))
	if c.Reason != compaction.ErrTruncated.Error() {
		t.Errorf("%+v", c)
	}
}

// What a compaction asked of models is in the usage log and in the totals, whatever came of it.
func TestTheCallsOfACompactionAreInTheUsageLog(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t))
	e, sid := attached(t, ts)
	ts.talk(e, sid, 60)
	ts.settle(e) // one by topic, which asked for a boundary and a summary
	usage := upstream.Usage{Input: 900, Output: 70}
	s.does(func(*upstream.Request) upstream.Script { return upstream.Script{Usage: usage} })
	ts.talk(e, sid, 3)
	compactNow(ts, e, sid, "rolling", "failed")
	s.does(func(*upstream.Request) upstream.Script {
		return upstream.Script{Usage: usage, Steps: upstream.Texts(notes)}
	})
	compactNow(ts, e, sid, "rolling", "compacted")
	for range 2 {
		ts.settle(e)
		log := call[struct{ Calls []wire.Call }](ts, e, "_strata/usage/list", sid, nil)
		purposes := make(map[string]int)
		used := history.Usage{}
		for _, c := range log.Calls {
			purposes[c.Purpose]++
			used = used.Add(c.Usage)
		}
		totals := tokensOf(ts, e, sid).Totals
		if purposes[history.PurposeSummary] < 2 || totals.Calls != len(log.Calls) || totals.Usage != used || used.Output < 140 {
			t.Errorf("calls %v, totals %+v", purposes, totals)
		}
		ts.restart()
		e = ts.editor()
	}
}
