package session

import (
	"context"
	"slices"
	"sync"
	"testing"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/events"
	"strata/session/workspace"
)

// ledger is a store that remembers the results of turns.
type ledger struct {
	*lockedStore
	mu   sync.Mutex
	ends []history.Change
}

func (l *ledger) Commit(ctx context.Context, ch history.Change) error {
	if ch.End != nil {
		l.mu.Lock()
		l.ends = append(l.ends, ch)
		l.mu.Unlock()
	}
	return l.lockedStore.Commit(ctx, ch)
}

func (l *ledger) last() history.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[len(l.ends)-1]
}

// With a turn's result are stored its call, and the files that were sent if the provider has read the request. The record is
// as new as its last turn, and subscribers learn how full the window is either way.
func TestWhatIsStoredWithTheResultOfATurn(t *testing.T) {
	l := &ledger{lockedStore: newLockedStore()}
	a := &acted{t: t, provider: newProvider()}
	a.Session = loneOf(t, l, a.provider, describingHost{})
	text := "unsaved\n"
	if _, err := answerOf(func(reply func(workspace.FileInfo, error)) {
		a.Workspace().AddFile(workspace.FileRequest{Path: "a.go", Content: &text}, reply)
	}); err != nil {
		t.Fatal(err)
	}
	reader := a.NewCursor(func() {})
	if _, err := answerOf(func(reply func(Attached, error)) { a.Attach(reader, events.Since{Epoch: a.Epoch()}, reply) }); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		out    called
		status history.CallStatus
		output int // tokens
	}{
		"unreachable": {called{result: reply.Result{Attempts: 5}, err: &llm.Error{Kind: llm.KindOverloaded}}, history.CallFailed, 0},
		"answered": {called{result: reply.Result{
			Blocks: []history.Block{{Type: history.BlockText, Text: "hi"}}, StopReason: reply.StopEndTurn, Attempts: 1, Received: true,
		}}, history.CallComplete, 1},
		"broken off": {called{result: reply.Result{
			Blocks: []history.Block{{Type: history.BlockText, Text: "hi"}}, Attempts: 2, Received: true,
		}, err: &llm.Error{Kind: llm.KindOverloaded}}, history.CallFailed, 1},
		"received only": {called{result: reply.Result{Attempts: 1, Received: true}, err: &llm.Error{Kind: llm.KindNetwork}}, history.CallFailed, 0},
		"reported": {called{result: reply.Result{
			Blocks: []history.Block{{Type: history.BlockText, Text: "hi there, my friend"}}, Attempts: 1, Received: true, UsageReported: true,
			Usage: history.Usage{Input: 7, CacheRead: 1000, Output: 1},
		}, err: &llm.Error{Kind: llm.KindNetwork}}, history.CallFailed, 5},
	} {
		ended := a.prompt("hello", reader)
		a.asked().done <- tt.out
		r := <-ended
		end := l.last()
		if len(end.Calls) != 1 || end.End.ID != r.Turn.ID {
			t.Fatalf("%s: %d calls of %+v", name, len(end.Calls), end.End)
		}
		call, result := &end.Calls[0], &tt.out.result
		if call.Status != tt.status || call.Attempts != result.Attempts || call.Usage.Output != tt.output || call.Usage != end.End.Usage {
			t.Errorf("%s: %+v", name, call)
		}
		if charged := call.Usage.Context() > 0; charged != result.Received || call.Estimated != result.Received {
			t.Errorf("%s: estimated %v, charged %+v", name, call.Estimated, call.Usage)
		}
		if failed := call.Failure != nil; failed != (tt.out.err != nil) {
			t.Errorf("%s: the failure is %+v", name, call.Failure)
		}
		if result.UsageReported && call.Usage.CacheRead != 1000 {
			t.Errorf("%s: what the provider told is lost: %+v", name, call.Usage)
		}
		answered := tt.out.err == nil || len(result.Blocks) > 0
		if sent := slices.ContainsFunc(end.PutFiles, func(f history.File) bool { return f.Path == "a.go" }); answered && !sent {
			t.Errorf("%s: the file that was sent is not stored", name)
		}
		if got := a.told().Session.UpdatedAt; !got.Equal(r.Turn.EndedAt) {
			t.Errorf("%s: the record is of %v, its turn ended at %v", name, got, r.Turn.EndedAt)
		}
		used := -1
		for {
			e, ok, err := reader.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if e.Kind == events.Usage && e.Turn == r.Turn.ID {
				used = e.Data.(events.UsageInfo).Used
			}
		}
		if used <= 0 {
			t.Errorf("%s: %d tokens of the window are told", name, used)
		}
	}
}
