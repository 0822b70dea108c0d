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

// With a turn's result are stored its call, if the provider has read the request, and the files that were sent. The record
// is as new as its last turn, and subscribers learn how full the window is either way.
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
		out   called
		calls int
	}{
		"unreachable": {called{err: &llm.Error{Kind: llm.KindOverloaded}}, 0},
		"answered":    {called{result: reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: "hi"}}, StopReason: reply.StopEndTurn}}, 1},
		"broken off":  {called{result: reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: "hi"}}}, err: &llm.Error{Kind: llm.KindOverloaded}}, 1},
	} {
		result := a.prompt("hello", reader)
		a.asked().done <- tt.out
		r := <-result
		end := l.last()
		if len(end.Calls) != tt.calls || end.End.ID != r.Turn.ID {
			t.Errorf("%s: %d calls of %+v", name, len(end.Calls), end.End)
		}
		if sent := slices.ContainsFunc(end.PutFiles, func(f history.File) bool { return f.Path == "a.go" }); tt.calls > 0 && !sent {
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
