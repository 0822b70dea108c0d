package session

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/assembly"
	"strata/session/following"
)

// lockedStore is a fakeStore that goroutines can share.
type lockedStore struct {
	mu sync.Mutex
	*fakeStore
}

func (s *lockedStore) Commit(ctx context.Context, ch history.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fakeStore.Commit(ctx, ch)
}

func (s *lockedStore) Messages(ctx context.Context, session string, seqs []int64) ([]history.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fakeStore.Messages(ctx, session, seqs)
}

func (s *lockedStore) Blobs(ctx context.Context, hashes []string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fakeStore.Blobs(ctx, hashes)
}

// failOnce fails its first call; all others succeed.
type failOnce struct{ calls int }

func (f *failOnce) Stream(_ context.Context, _ llm.Request, on func(reply.Event)) (reply.Result, error) {
	if f.calls++; f.calls == 1 {
		return reply.Result{}, errors.New("no answer")
	}
	on(reply.Event{Kind: reply.EventText, Text: "fine"})
	return reply.Result{Blocks: []history.Block{{Type: history.BlockText, Text: "fine"}}, StopReason: reply.StopEndTurn}, nil
}

type noMeter struct{}

func (noMeter) TurnStarted()                                            {}
func (noMeter) TurnFinished(history.TurnStatus, history.Usage, float64) {}
func (noMeter) Deltas(int)                                              {}

func newLockedStore() *lockedStore {
	return &lockedStore{fakeStore: &fakeStore{messages: map[int64]history.Message{}, files: map[string]history.File{}, blobs: map[string][]byte{}}}
}

// fragile returns a session that panics on its mailbox when it describes an error.
func fragile(t *testing.T) *Session {
	t.Helper()
	return lone(t, newLockedStore(), &failOnce{})
}

// oneModel is the only model, whatever it is called.
type oneModel struct {
	Streamer
	model llm.Model
}

func (m oneModel) Model(string) (llm.Model, bool) { return m.model, true }
func (oneModel) LimitWindow(string, int)          {}

// bareHost cannot describe errors.
type bareHost struct{}

func (bareHost) Changed(string, following.Doing)                           {}
func (bareHost) Ended(string, string)                                      {}
func (bareHost) Leave(_, _ string, shut func() bool) bool                  { return shut() }
func (bareHost) Admit(context.Context, string, string) error               { return nil }
func (bareHost) Allowed(context.Context, string) error                     { return nil }
func (bareHost) Describe(error) history.Failure                            { panic("cannot be described") }
func (bareHost) Keep(history.Change) error                                 { return nil }
func (bareHost) Restore(context.Context, string) ([]history.Change, error) { return nil, nil }

// lone returns a session that is closed at the end of the test. It cannot describe errors.
func lone(t *testing.T, store Store, streamer Streamer) *Session {
	t.Helper()
	return loneOf(t, store, streamer, bareHost{})
}

// loneOf returns a session of a host that is closed at the end of the test.
func loneOf(t *testing.T, store Store, streamer Streamer, host Host, change ...func(*Deps)) *Session {
	t.Helper()
	deps := depsOf(store, streamer, host)
	for _, f := range change {
		f(deps)
	}
	return created(t, deps)
}

// depsOf returns what a session needs; its only model has a window of 8,000 tokens.
func depsOf(store Store, streamer Streamer, host Host) *Deps {
	model := llm.Model{Name: "local/test", Window: 8000, MaxOutput: 1000}
	ids := 0
	var mu sync.Mutex
	return &Deps{
		Store: store, Models: oneModel{streamer, model}, Host: host, Log: slog.New(slog.DiscardHandler), Now: time.Now, Meter: noMeter{},
		NewID: func(prefix string) string {
			mu.Lock()
			defer mu.Unlock()
			ids++
			return prefix + strings.Repeat("i", ids)
		},
		Calibrations: assembly.NewCalibrations(nil), Mirrors: assembly.NewMirrors(),
	}
}

// created returns a new session that is closed at the end of the test.
func created(t *testing.T, deps *Deps) *Session {
	t.Helper()
	return closedLater(t, Create(deps, history.Session{ID: deps.NewID("sess_"), CWD: t.TempDir()}))
}

func closedLater(t *testing.T, s *Session) *Session {
	t.Cleanup(func() {
		s.Close(ReasonClosed, func() {})
		<-s.Done()
	})
	return s
}

// answerOf waits for the result of a call.
func answerOf[T any](call func(reply func(T, error))) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	call(func(value T, err error) { answers <- answer{value, err} })
	a := <-answers
	return a.value, a.err
}

func TestPanicAtTheEndOfATurnCostsThatTurnOnly(t *testing.T) {
	s := fragile(t)
	for i, wantErr := range []bool{true, false} {
		result, err := answerOf(func(reply func(PromptResult, error)) {
			prompt := Prompt{Blocks: []history.Block{{Type: history.BlockText, Text: "hello"}}}
			s.Prompt(prompt, nil, func(result PromptResult, _ uint64, err error) { reply(result, err) })
		})
		if (err != nil) != wantErr || !wantErr && result.Turn.StopReason != "end_turn" {
			t.Errorf("prompt %d: %+v, %v", i, result.Turn, err)
		}
	}
}
