package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
	"strata/server/transfer"
	"strata/server/wire"
	"strata/session"
	"strata/session/workspace"
)

// forkOf forks a session; at is nil for the newest state.
func forkOf(t testing.TB, e caller, sid string, at any) (fork string, seq int64) {
	t.Helper()
	var result struct {
		SessionID     string
		Seq           int64
		ConfigOptions []wire.ConfigOption
	}
	if err := e.Call("_strata/session/fork", map[string]any{"sessionId": sid, "at": at}, &result); err != nil {
		t.Fatal(err)
	}
	if result.SessionID == sid || !sessionID().MatchString(result.SessionID) || len(result.ConfigOptions) == 0 {
		t.Fatalf("forked: %+v", result)
	}
	return result.SessionID, result.Seq
}

// texts returns the content of a session's view, without ids.
func (ts *testServer) viewed(sid string, log *history.Log) []string {
	ts.t.Helper()
	shown := []string{log.Summary().Text, fmt.Sprint(log.Omitted(), log.Tokens(), log.Summary().Messages)}
	var seqs []int64
	for _, v := range log.View() {
		seqs = append(seqs, v.Seq)
	}
	messages, err := ts.store.Messages(ts.t.Context(), sid, seqs)
	if err != nil {
		ts.t.Fatal(err)
	}
	for i := range messages {
		m := history.Patched(messages[i], log.View()[i].Patches)
		shown = append(shown, fmt.Sprintf("%d %s %s", m.Seq, m.Role, m.PlainText()))
	}
	return shown
}

// wander makes a random change of a session's view.
func (ts *testServer) wander(e caller, sid string, r *rand.Rand, step int) {
	ts.t.Helper()
	do := func(method string, params map[string]any) { call[map[string]any](ts, e, method, sid, params) }
	last := ts.stored(sid)
	switch r.IntN(8) {
	case 0:
		do("_strata/history/clear", nil)
	case 1:
		do("_strata/history/compact", map[string]any{"strategy": []string{"topic", "window", "middle", "prune", "rolling"}[r.IntN(5)]})
	case 2:
		do("_strata/history/replace", map[string]any{"messages": []any{message("user", fmt.Sprint("instead ", step)), message("assistant", "yes")}})
	case 3:
		if n := history.NewLog(last.Heads, last.Edits).LastSeq(); n > 0 {
			do("_strata/checkpoint/restore", map[string]any{"seq": 1 + r.Int64N(n)})
		}
	case 4:
		if _, ok := history.NewLog(last.Heads, last.Edits).Undoable(); ok {
			do("_strata/checkpoint/undo", nil)
		}
	case 5:
		do("_strata/checkpoint/create", map[string]any{"name": fmt.Sprint("step ", step)})
	default:
		ts.talk(e, sid, 1+r.IntN(3))
	}
}

// At every sequence number of random sessions, a fork's view equals its source's; the fork can continue, and the source
// does not change.
func TestForksAtEveryNumber(t *testing.T) {
	long(t)
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			ts := startServer(t)
			e := ts.editor()
			sid := e.NewSession(ts.work)
			ts.write("main.go", "package main\n")
			call[map[string]any](ts, e, "_strata/files/add", sid, map[string]any{"path": "main.go"})
			call[map[string]any](ts, e, "_strata/documents/set", sid, map[string]any{"name": "design", "text": "As it is."})
			r := rand.New(rand.NewPCG(seed, 7))
			for step := range 14 {
				ts.wander(e, sid, r, step)
			}
			source := ts.stored(sid)
			log := history.NewLog(source.Heads, source.Edits)
			for seq := int64(0); seq <= log.LastSeq(); seq++ {
				ts.checkFork(e, source, log, seq)
			}
			if d := cmp.Diff(source, ts.stored(sid), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("the source has changed: %s", d)
			}
		})
	}
}

func (ts *testServer) checkFork(e *testclient.Editor, source history.Loaded, log *history.Log, seq int64) {
	t := ts.t
	t.Helper()
	fork, at := forkOf(t, e, source.Session.ID, seq)
	heads, edits := log.UpTo(seq)
	got := ts.stored(fork)
	want := ts.viewed(source.Session.ID, history.NewLog(heads, edits))
	if d := cmp.Diff(want, ts.viewed(fork, history.NewLog(got.Heads, got.Edits))); d != "" || at != seq {
		t.Fatalf("forked at %d (%d): %s", seq, at, d)
	}
	checkpoints := 0
	for _, c := range source.Checkpoints {
		if c.Seq <= seq {
			checkpoints++
		}
	}
	if len(got.Checkpoints) != checkpoints || !cmp.Equal(got.Files, source.Files) || !cmp.Equal(got.Documents, source.Documents) {
		t.Fatalf("forked at %d: %d checkpoints of %d, files %+v, documents %+v", seq, len(got.Checkpoints), checkpoints, got.Files, got.Documents)
	}
	if got.Session.Title != source.Session.Title || got.Session.CWD != source.Session.CWD || got.Totals.Calls != 0 {
		t.Fatalf("forked at %d: %+v", seq, got.Session)
	}
	if _, err := e.Prompt(fork, "And here?"); err != nil {
		t.Fatal(err)
	}
	for _, id := range idsOf(got) {
		if slices.Contains(idsOf(source), id) {
			t.Fatalf("forked at %d: the fork and its source both have %s", seq, id)
		}
	}
	call[struct{}](ts, e, "session/close", fork, nil)
}

func idsOf(l history.Loaded) (ids []string) {
	for i := range l.Heads {
		ids = append(ids, l.Heads[i].ID)
	}
	for i := range l.Edits {
		ids = append(ids, l.Edits[i].ID)
	}
	for _, c := range l.Checkpoints {
		ids = append(ids, c.ID)
	}
	return ids
}

// The requests of a fork equal those of its source.
func TestAForkAsksWhatItsSourceWouldAsk(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.talk(e, sid, 6)
	call[map[string]any](ts, e, "_strata/history/compact", sid, map[string]any{"strategy": "middle"})
	call[map[string]any](ts, e, "_strata/documents/set", sid, map[string]any{"name": "design", "text": "As it is."})
	fork, _ := forkOf(t, e, sid, nil)
	var bodies [2]string
	for i, id := range []string{sid, fork} {
		if _, err := e.Prompt(id, "What now?"); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(ts.upstream.Last().Messages)
		if err != nil {
			t.Fatal(err)
		}
		bodies[i] = string(raw)
	}
	if d := cmp.Diff(bodies[0], bodies[1]); d != "" {
		t.Error(d)
	}
	if e.Frames().Of(fork).Text(testclient.AgentChunk) == "" {
		t.Error("the client that forked the session did not receive the fork's reply")
	}
}

// A fork never contains a running turn, whatever position was requested.
func TestAForkHoldsNoRunningTurn(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	if _, err := e.Prompt(sid, "First"); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("begun"), upstream.Hold(gate), upstream.Text(" done")}})
	turn := e.Start(sid, "Second")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "begun"))
	running := call[struct{ CheckpointID string }](ts, e, "_strata/checkpoint/create", sid, map[string]any{"name": "in the turn"})

	fork, seq := forkOf(t, e, sid, nil)
	if got := ts.stored(fork); seq != 2 || len(got.Heads) != 2 || got.Unfinished != nil {
		t.Errorf("forked at %d: %+v", seq, got.Heads)
	}
	wireFault(t, e.Call("_strata/session/fork", map[string]any{"sessionId": sid, "at": 3}, nil), wire.CodeBusy)
	close(gate)
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	fork, seq = forkOf(t, e, sid, running.CheckpointID) // that is the place before the prompt
	if got := ts.stored(fork); seq != 2 || len(got.Heads) != 2 || len(got.Checkpoints) != 1 {
		t.Errorf("forked at %d: %+v, %+v", seq, got.Heads, got.Checkpoints)
	}
}

// A fork contains the configuration and unsaved text, but no cost.
func TestAForkHasTheSessionsChoicesAndUnsavedTexts(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.write("main.go", "on disk\n")
	call[map[string]any](ts, e, "_strata/files/add", sid, map[string]any{"path": "main.go", "content": "unsaved\n"})
	call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": "profile", "value": "phased"})
	call[map[string]any](ts, e, "session/set_mode", sid, map[string]any{"modeId": "planning"})
	call[map[string]any](ts, e, "_strata/session/rename", sid, map[string]any{"title": "Mine"})
	fork, _ := forkOf(t, e, sid, nil)
	ts.restart()
	e = ts.editor()
	info := call[wire.SessionDetails](ts, e, "_strata/session/info", fork, nil)
	if info.Config.Profile != "phased" || info.Config.Mode != "planning" || info.Session.Title != "Mine" || info.Files != 1 {
		t.Errorf("%+v", info)
	}
	text := call[workspace.FileText](ts, e, "_strata/files/content", fork, map[string]any{"path": "main.go"})
	if text.Content != "unsaved\n" {
		t.Errorf("the fork has %q", text.Content)
	}
	call[map[string]any](ts, e, "_strata/files/changed", fork, map[string]any{"paths": []string{"main.go"}})
	text = call[workspace.FileText](ts, e, "_strata/files/content", sid, map[string]any{"path": "main.go"})
	if text.Content != "unsaved\n" {
		t.Errorf("the source has %q", text.Content)
	}
}

func TestForksThatAreRefused(t *testing.T) {
	t.Parallel()
	allowed := t.TempDir()
	project, further := filepath.Join(allowed, "project"), filepath.Join(allowed, "further")
	for _, dir := range []string{project, further} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ts := startServer(t, func(opt *Options) { opt.Roots = []string{allowed} })
	e := ts.editor()
	sid := e.NewSession(project)
	ts.talk(e, sid, 1)
	acp := func(cwd string, more ...string) error {
		return e.Call("session/fork", map[string]any{"sessionId": sid, "cwd": cwd, "additionalDirectories": more, "mcpServers": []any{}}, nil)
	}
	at := func(at any) error {
		return e.Call("_strata/session/fork", map[string]any{"sessionId": sid, "at": at}, nil)
	}
	tests := []struct {
		name string
		err  error
		code int
	}{
		{"another folder", acp(further), rpc.CodeInvalidParams},
		{"a folder that is not allowed", acp(ts.work), rpc.CodeInvalidParams},
		{"a further one that is not allowed", acp(project, ts.work), rpc.CodeInvalidParams},
		{"a relative one", acp("project"), rpc.CodeInvalidParams},
		{"no folder", e.Call("session/fork", map[string]any{"sessionId": sid}, nil), rpc.CodeInvalidParams},
		{"a number that is not there yet", at(3), rpc.CodeInvalidParams},
		{"a number below 0", at(-1), rpc.CodeInvalidParams},
		{"half a number", at(1.5), rpc.CodeInvalidParams},
		{"a place that is none", at([]any{1}), rpc.CodeInvalidParams},
		{"a checkpoint that is not there", at("cp_01ARZ3NDEKTSV4RRFFQ69G5FAV"), wire.CodeNotFound},
		{"a session that is not there", e.Call("_strata/session/fork", map[string]any{"sessionId": "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV"}, nil), wire.CodeNotFound},
		{"no session", e.Call("_strata/session/fork", map[string]any{}, nil), rpc.CodeInvalidParams},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wireFault(t, tt.err, tt.code) })
	}
	if err := acp(project, further); err != nil {
		t.Error(err)
	}
	list := call[wire.ListResult](ts, e, "session/list", "", nil)
	if len(list.Sessions) != 2 {
		t.Errorf("%d sessions are listed", len(list.Sessions))
	}
	if forked := list.Sessions[0]; !slices.Equal(forked.Further, []string{further}) {
		t.Errorf("the fork is %+v", forked)
	}
}

// A long session is copied in several transactions, and visible only when complete.
func TestAForkOfALongSessionIsComplete(t *testing.T) {
	long(t)
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for range 3 {
		ts.talk(e, sid, 250)
	}
	fork, seq := forkOf(t, e, sid, nil)
	got := ts.stored(fork)
	if seq != 1500 || len(got.Heads) != 1500 || got.Session.Messages != 1500 {
		t.Errorf("forked at %d: %d messages, %d counted", seq, len(got.Heads), got.Session.Messages)
	}
}

// The number of sessions in creation is limited, and a fork that fails leaves nothing visible.
func TestForksUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	const most = 16
	var begun transfer.ImportResult
	for range most {
		header := map[string]any{"format": transfer.Format, "version": transfer.Version, "session": map[string]any{"cwd": ts.work}}
		lines := []any{map[string]any{"type": "header", "header": header}}
		begun = call[transfer.ImportResult](ts, e, "_strata/session/import", "", map[string]any{"lines": lines})
	}
	wireFault(t, e.Call("_strata/session/fork", map[string]any{"sessionId": sid}, nil), wire.CodeBusy)
	call[transfer.ImportResult](ts, e, "_strata/session/import", "", map[string]any{"importId": begun.ImportID, "done": true})
	forkOf(t, e, sid, nil)
	if n := len(call[wire.ListResult](ts, e, "session/list", "", nil).Sessions); n != 3 {
		t.Errorf("%d sessions are listed", n)
	}
}

func TestAForkThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.talk(e, sid, 1)
	live, release, err := ts.server.sessions.open(sid)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	state, err := wait(t.Context(), func(reply func(session.Fork, error)) { live.Fork(session.ForkRequest{}, reply) })
	if err != nil {
		t.Fatal(err)
	}
	state.Heads = append(slices.Clone(state.Heads), history.Head{ID: "msg_none", Seq: 99}) // not in the store
	const tries = 20                                                                       // more than may run concurrently
	for range tries {
		record, err := ts.server.importer.Fork(t.Context(), state)
		if fault, refused := errors.AsType[*rpc.Error](err); err == nil || refused {
			t.Fatalf("forked as %s, error %v", record.ID, fault)
		}
	}
	purged, err := ts.store.Purge(t.Context(), ts.server.now().AddDate(0, 0, 1))
	if err != nil || purged != tries {
		t.Errorf("purged %d: %v", purged, err)
	}
}
