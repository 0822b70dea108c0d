package historystore

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"strata/history"
)

// model is what a store should hold, in memory. It knows messages, edits, turns and sessions.
type model struct {
	sessions map[string]*modelSession
}

type modelSession struct {
	record   history.Session
	messages map[int64]history.Message
	edits    map[int64]history.Edit
	turns    map[string]history.Turn
	running  []string // turns, in the order in which they began
	partials map[string][]history.Partial
	totals   history.Totals
}

// apply returns the error that a store should give, and changes nothing then.
func (m *model) apply(ch history.Change) error {
	s := m.sessions[ch.Session]
	switch {
	case ch.Create != nil && s != nil:
		return ErrDuplicate
	case ch.Create == nil && s == nil:
		return history.ErrNotFound
	case ch.Create != nil:
		s = &modelSession{record: *ch.Create, messages: map[int64]history.Message{}, edits: map[int64]history.Edit{},
			turns: map[string]history.Turn{}, partials: map[string][]history.Partial{}}
	}
	if err := s.refuses(ch); err != nil {
		return err
	}
	m.sessions[ch.Session] = s
	s.take(ch)
	return nil
}

func (s *modelSession) refuses(ch history.Change) error {
	if ch.Begin != nil {
		if _, ok := s.turns[ch.Begin.ID]; ok {
			return ErrDuplicate
		}
	}
	for _, message := range ch.Messages {
		if s.taken(message.Seq) {
			return ErrDuplicate
		}
	}
	for _, edit := range ch.Edits {
		if s.taken(edit.Seq) {
			return ErrDuplicate
		}
	}
	if ch.Partial != nil && !slices.Contains(s.running, ch.Partial.Turn) {
		return history.ErrNotFound
	}
	if ch.End != nil {
		if _, ok := s.turns[ch.End.ID]; !ok {
			return history.ErrNotFound
		}
		if s.taken(ch.Messages[0].Seq) {
			return ErrDuplicate
		}
	}
	return nil
}

func (s *modelSession) taken(seq int64) bool {
	_, message := s.messages[seq]
	_, edit := s.edits[seq]
	return message || edit
}

func (s *modelSession) take(ch history.Change) {
	if ch.Begin != nil {
		s.turns[ch.Begin.ID] = *ch.Begin
		s.running = append(s.running, ch.Begin.ID)
	}
	for _, message := range ch.Messages {
		s.messages[message.Seq] = message
		s.record.Messages++
	}
	for _, edit := range ch.Edits {
		s.edits[edit.Seq] = edit
	}
	if ch.Partial != nil {
		s.partials[ch.Partial.Turn] = append(s.partials[ch.Partial.Turn], *ch.Partial)
	}
	if ch.End != nil {
		delete(s.partials, ch.End.ID)
		if ch.End.EndedAt.After(s.record.UpdatedAt) {
			s.record.UpdatedAt = ch.End.EndedAt
		}
		s.running = slices.DeleteFunc(s.running, func(id string) bool { return id == ch.End.ID })
	}
	for _, call := range ch.Calls {
		s.totals.Calls++
		s.totals.Usage = s.totals.Usage.Add(call.Usage)
		s.totals.Cost += call.Cost
	}
}

// loaded is what Load should return of s, without layout and files.
func (s *modelSession) loaded() history.Loaded {
	l := history.Loaded{Session: s.record, Totals: s.totals}
	for _, seq := range slices.Sorted(maps.Keys(s.messages)) {
		l.Heads = append(l.Heads, headOf(s.messages[seq]))
	}
	for _, seq := range slices.Sorted(maps.Keys(s.edits)) {
		l.Edits = append(l.Edits, s.edits[seq])
	}
	if n := len(s.running); n > 0 {
		turn := s.turns[s.running[n-1]]
		l.Unfinished, l.Partials = &turn, s.partials[turn.ID]
	}
	return l
}

// randomChange is one of a small world, so that many of them collide.
func randomChange(r *rand.Rand) history.Change {
	session, n := fmt.Sprintf("sess_%d", r.IntN(4)), r.Int64N(40)
	switch r.IntN(7) {
	case 0:
		return createSession(session)
	case 1, 2:
		return beginTurn(session, n)
	case 3:
		end := endTurn(session, n)
		end.Layout, end.Calls[0].ID = nil, fmt.Sprint("call_", r.Uint64())
		return end
	case 4:
		return compactEdit(session, 2*n+2, "msg_1")
	case 5:
		return appendText(session, 2*n+1, "appended text")
	default:
		return history.Change{Session: session, Partial: &history.Partial{
			Turn: turnID(n), N: int(r.Uint32()), Kind: history.BlockText, Text: "part"}}
	}
}

// Random changes, deletions and restarts leave the store as they leave a model in memory.
func TestStoreIsAsItsModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	path := t.TempDir() + "/strata.db"
	s := openTest(t, path, Options{CacheBytes: 4 << 10})
	m := &model{sessions: map[string]*modelSession{}}
	for i := range 600 {
		ch := randomChange(r)
		got, want := s.Commit(ctx, ch), m.apply(ch)
		if !errors.Is(got, want) {
			t.Fatalf("step %d: %+v: got %v, want %v", i, ch, got, want)
		}
		switch r.IntN(60) {
		case 0:
			purgeFromBoth(t, s, m, ch.Session)
		case 1:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openTest(t, path, Options{CacheBytes: 4 << 10})
		case 2:
			compare(t, s, m)
		}
	}
	compare(t, s, m)
}

func purgeFromBoth(t *testing.T, s *Store, m *model, id string) {
	t.Helper()
	err := s.Delete(ctx, id, epoch)
	if m.sessions[id] == nil {
		wantError(t, err, history.ErrNotFound)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Purge(ctx, epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	delete(m.sessions, id)
}

func compare(t *testing.T, s *Store, m *model) {
	t.Helper()
	checkIndex(t, s)
	found := 0
	for id, want := range m.sessions {
		got := load(t, s, id)
		sortPartials(got.Partials)
		wanted := want.loaded()
		sortPartials(wanted.Partials)
		equal(t, "session "+id, got, wanted)
		for seq, message := range want.messages {
			messages, err := s.Messages(ctx, id, []int64{seq})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "message", messages[0], message)
			if message.Turn == "" {
				found++
			}
		}
	}
	equal(t, "hits", len(search(t, s, SearchQuery{Query: "appended", Limit: maxLimit})), found)
	equal(t, "sessions", len(sessionPages(t, s, SessionQuery{})), len(m.sessions))
}

func sortPartials(partials []history.Partial) {
	slices.SortFunc(partials, func(a, b history.Partial) int { return a.N - b.N })
}
