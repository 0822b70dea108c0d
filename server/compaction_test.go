package server

import (
	"errors"
	"testing"

	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/compacting"
)

func TestAHistoryOverItsTriggerIsCompactedAfterTheAnswer(t *testing.T) {
	t.Parallel()
	ts := startServer(t, func(opt *Options) { opt.Sessions.Rules.Profiles = profiles(t, true) })
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	before := call[compacting.Status](ts, e, "_strata/context/compaction", sid, nil)
	if !before.Enabled || before.Strategy != "topic" || before.TriggerTokens != 24_000 {
		t.Errorf("status before: %+v", before)
	}
	ts.talk(e, sid, 60)
	if _, err := e.Prompt(sid, "What now?"); err != nil {
		t.Fatal(err)
	}
	call[map[string]any](ts, e, "_strata/debug/quiesce", sid, nil)
	after := call[compacting.Status](ts, e, "_strata/context/compaction", sid, nil)
	if after.LastOutcome != "compacted" || after.HistoryTokens >= before.TriggerTokens {
		t.Errorf("status after: %+v", after)
	}
	var page struct{ Messages []wire.Message }
	if err := e.Call("_strata/history/list", map[string]any{"sessionId": sid}, &page); err != nil {
		t.Fatal(err)
	}
	edits := call[struct{ Edits []session.EditInfo }](ts, e, "_strata/history/edits", sid, nil)
	if len(edits.Edits) != 1 || !edits.Edits[0].InForce {
		t.Fatalf("edits: %+v", edits)
	}
	undone := call[map[string]any](ts, e, "_strata/checkpoint/undo", sid, nil)
	restored := call[compacting.Status](ts, e, "_strata/context/compaction", sid, nil)
	if restored.HistoryTokens <= before.TriggerTokens {
		t.Errorf("after undo %v: %+v", undone, restored)
	}
}

// An undo that names an edit undoes no newer one in its place.
func TestAnUndoOfOneEdit(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.talk(e, sid, 40)
	done := call[compacting.Result](ts, e, "_strata/history/compact", sid, nil)
	cleared := call[struct{ Seq int64 }](ts, e, "_strata/history/clear", sid, nil)
	inView := func() int { return call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil).InView }
	undo := func(seq int64) error {
		return e.Call("_strata/checkpoint/undo", map[string]any{"sessionId": sid, "seq": seq}, nil)
	}
	err := undo(done.EditSeq)
	if failure, is := errors.AsType[*rpc.Error](err); !is || failure.Code != -32602 || inView() != 0 {
		t.Errorf("the clear was undone in the place of the compaction %+v: %v", done, err)
	}
	if err := undo(cleared.Seq); err != nil || inView() == 0 {
		t.Errorf("the clear was not undone: %v", err)
	}
	compacted := inView()
	if err := undo(done.EditSeq); err != nil || inView() <= compacted {
		t.Errorf("the compaction was not undone: %v, %d in view", err, inView())
	}
}

func TestCheckpointsTakeTheViewBack(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.talk(e, sid, 3)
	cp := call[struct{ CheckpointID string }](ts, e, "_strata/checkpoint/create", sid, map[string]any{"name": "before"})
	ts.talk(e, sid, 2)
	restored := call[struct{ Seq, Removed int }](ts, e, "_strata/checkpoint/restore", sid, map[string]any{"checkpointId": cp.CheckpointID})
	if restored.Removed != 4 {
		t.Errorf("restore: %+v", restored)
	}
	info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil)
	if info.InView != 6 || info.Messages != 10 {
		t.Errorf("after the restore %d of %d messages are in view", info.InView, info.Messages)
	}
	call[map[string]any](ts, e, "_strata/checkpoint/undo", sid, nil)
	if info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil); info.InView != 10 {
		t.Errorf("after the undo %d messages are in view", info.InView)
	}
}

func TestCheckpointsSurviveARestart(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.talk(e, sid, 2)
	made := call[struct{ CheckpointID string }](ts, e, "_strata/checkpoint/create", sid, map[string]any{"name": "here"})
	ts.close()
	ts.start()
	e = ts.editor()
	list := call[struct {
		Checkpoints []struct{ CheckpointID, Name string }
	}](ts, e, "_strata/checkpoint/list", sid, nil)
	if len(list.Checkpoints) != 1 || list.Checkpoints[0].CheckpointID != made.CheckpointID || list.Checkpoints[0].Name != "here" {
		t.Errorf("after the restart: %+v", list)
	}
}

func TestReplaceAndCount(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.talk(e, sid, 3)
	messages := []any{map[string]any{"role": "user", "content": "Only this."}}
	replaced := call[struct {
		Seq        int64
		MessageIDs []string
	}](ts, e, "_strata/history/replace", sid, map[string]any{"messages": messages})
	info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil)
	if len(replaced.MessageIDs) != 1 || info.InView != 1 || info.Messages != 7 {
		t.Errorf("replaced %+v: %d of %d in view", replaced, info.InView, info.Messages)
	}
	counted := call[struct{ Tokens int }](ts, e, "_strata/context/count", sid, map[string]any{"messages": messages})
	if counted.Tokens != info.Tokens {
		t.Errorf("counted %d, the history has %d", counted.Tokens, info.Tokens)
	}
	ts.close()
	ts.start()
	e = ts.editor()
	if info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil); info.InView != 1 || info.Messages != 7 {
		t.Errorf("after the restart %d of %d in view", info.InView, info.Messages)
	}
}

// The view is restored to the time of an edit or a message, as clients receive it. A time without a state is refused.
func TestP13TheViewIsRestoredToATime(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.talk(e, sid, 3)
	page := call[wire.HistoryPage](ts, e, "_strata/history/list", sid, nil)
	newest := page.Messages[len(page.Messages)-1].At
	ts.talk(e, sid, 2)
	restored := call[struct{ Seq, Removed int }](ts, e, "_strata/checkpoint/restore", sid, map[string]any{"at": newest})
	if info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil); restored.Removed != 4 || info.InView != 6 || info.Messages != 10 {
		t.Errorf("%+v: %d of %d messages in view", restored, info.InView, info.Messages)
	}
	for name, params := range map[string]map[string]any{
		"no time":            {"at": "yesterday"},
		"a number":           {"at": 5},
		"before the session": {"at": "2001-02-03T04:05:06Z"},
		"two ways":           {"at": newest, "seq": 1},
		"none":               {},
	} {
		params["sessionId"] = sid
		wireFault(t, e.Call("_strata/checkpoint/restore", params, nil), rpc.CodeInvalidParams)
		if info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil); info.InView != 6 {
			t.Errorf("%s: %d messages in view", name, info.InView)
		}
	}
}
