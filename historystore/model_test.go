package historystore

import (
	"cmp"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"strata/history"
)

// model is an in-memory model of a store. It covers changes without files, file changes and calibrations.
type model struct {
	sessions map[string]*modelSession
}

type modelSession struct {
	record   history.Session
	messages map[int64]history.Message
	edits    map[int64]history.Edit
	turns    map[string]history.Turn
	running  []string // turns, in the order of their start
	partials map[string][]history.Partial
	totals   history.Totals
	expected map[string]int // of calls

	documents  map[string]history.Document
	compaction *history.Compaction
	layout     []byte          // head
	layoutRows map[int][]byte  // by number
	blobs      map[string]bool // hashes of its references
}

// apply applies a change, or returns the expected error of a store and changes nothing.
func (m *model) apply(ch history.Change) error {
	s := m.sessions[ch.Session]
	switch {
	case ch.Create != nil && s != nil:
		return nil // a session of the model is always created in the same way
	case ch.Create == nil && s == nil:
		return history.ErrNotFound
	case ch.Create != nil:
		s = &modelSession{record: *ch.Create, messages: map[int64]history.Message{}, edits: map[int64]history.Edit{},
			turns: map[string]history.Turn{}, partials: map[string][]history.Partial{}, expected: map[string]int{},
			documents: map[string]history.Document{}, blobs: map[string]bool{}}
	}
	if err := s.refuses(ch); err == ErrDuplicate && s.holds(ch) {
		return nil
	} else if err != nil {
		return err
	}
	stored := m.blobs()
	m.sessions[ch.Session] = s
	s.take(ch)
	s.takeContext(ch, stored)
	return nil
}

// blobs returns the hashes with references from any session.
func (m *model) blobs() map[string]bool {
	all := map[string]bool{}
	for _, s := range m.sessions {
		maps.Copy(all, s.blobs)
	}
	return all
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

// holds reports whether all that a change inserts is there already. Changes of turns differ only by their numbers.
func (s *modelSession) holds(ch history.Change) bool {
	for _, message := range ch.Messages {
		if !reflect.DeepEqual(s.messages[message.Seq], message) {
			return false
		}
	}
	for _, edit := range ch.Edits {
		if !reflect.DeepEqual(s.edits[edit.Seq], edit) {
			return false
		}
	}
	for _, call := range ch.Calls {
		if _, ok := s.expected[call.ID]; !ok {
			return false
		}
	}
	return true
}

func (s *modelSession) taken(seq int64) bool {
	_, message := s.messages[seq]
	_, edit := s.edits[seq]
	return message || edit
}

// late reports whether the message of a chunk is stored.
func (s *modelSession) late(chunk *history.Partial) bool {
	id := cmp.Or(chunk.Message, s.turns[chunk.Turn].ReplyID)
	for _, m := range s.messages {
		if m.ID == id {
			return true
		}
	}
	return false
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
	delete(s.partials, ch.DropPartials)
	if ch.Partial != nil && !s.late(ch.Partial) {
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
		s.expected[call.ID] = call.Expected
	}
}

func (s *modelSession) takeContext(ch history.Change, stored map[string]bool) {
	for _, name := range ch.DropDocuments {
		delete(s.documents, name)
	}
	for _, d := range ch.PutDocuments {
		s.documents[d.Name] = d
	}
	if ch.Layout != nil {
		rows := make(map[int][]byte)
		for n, row := range s.layoutRows {
			if n < ch.Layout.Len {
				rows[n] = row
			}
		}
		for _, row := range ch.Layout.Rows {
			rows[row.N] = row.Bytes
		}
		s.layout, s.layoutRows = ch.Layout.Head, rows
	}
	if ch.Compaction != nil {
		s.compaction = ch.Compaction
	}
	if ch.Layout != nil && ch.KeepBlobs != nil {
		s.blobs = map[string]bool{}
		for _, hash := range ch.KeepBlobs {
			if stored[hash] {
				s.blobs[hash] = true
			}
		}
	}
	for _, blob := range ch.Blobs {
		s.blobs[blob.Hash] = true
	}
}

// loaded returns the expected result of Load for s.
func (s *modelSession) loaded() history.Loaded {
	l := history.Loaded{Session: s.record, Totals: s.totals, Layout: s.loadedLayout(), Compaction: s.compaction}
	for _, seq := range slices.Sorted(maps.Keys(s.messages)) {
		l.Heads = append(l.Heads, headOf(s.messages[seq]))
	}
	for _, seq := range slices.Sorted(maps.Keys(s.edits)) {
		l.Edits = append(l.Edits, s.edits[seq])
	}
	for _, name := range slices.Sorted(maps.Keys(s.documents)) {
		l.Documents = append(l.Documents, s.documents[name])
	}
	if n := len(s.running); n > 0 {
		turn := s.turns[s.running[n-1]]
		l.Unfinished, l.Partials = &turn, s.partials[turn.ID]
	}
	return l
}

// loadedLayout returns the layout with the rows that there are.
func (s *modelSession) loadedLayout() (l history.Layout) {
	l.Head = s.layout
	for _, n := range slices.Sorted(maps.Keys(s.layoutRows)) {
		l.Rows = append(l.Rows, s.layoutRows[n])
	}
	return l
}

// randomChange returns a change with few distinct ids, so that many changes conflict.
func randomChange(r *rand.Rand) history.Change {
	session, n := fmt.Sprintf("sess_%d", r.IntN(4)), r.Int64N(40)
	switch r.IntN(12) {
	case 0:
		return createSession(session)
	case 8:
		return history.Change{Session: session, Compaction: &history.Compaction{
			ID: fmt.Sprint("cmp_", n), Outcome: "no_gain", At: epoch, Seq: n, Fruitless: r.IntN(3), Tokens: r.IntN(100)}}
	case 1, 2:
		return beginTurn(session, n)
	case 3:
		end := endTurn(session, n)
		layout := randomLayout(r, session)
		end.Layout, end.KeepBlobs, end.Blobs = layout.Layout, layout.KeepBlobs, layout.Blobs
		end.Calls[0].ID, end.Calls[0].Expected = fmt.Sprint("call_", r.Uint64()), r.IntN(1000)
		return end
	case 4:
		edit := compactEdit(session, 2*n+2, "msg_1")
		edit.Edits[0].Kind = []history.EditKind{history.EditCompact, history.EditDedupe, history.EditClear}[r.IntN(3)]
		edit.Edits[0].Patches[0].Text = fmt.Sprint("notice ", r.IntN(100))
		return edit
	case 5:
		return appendText(session, 2*n+1, "appended text")
	case 6:
		return randomLayout(r, session)
	case 7:
		ch := putDocuments(session, document(fmt.Sprint(r.IntN(5)), fmt.Sprint("text ", n)))
		ch.DropDocuments = []string{fmt.Sprint(r.IntN(5)), fmt.Sprint(r.IntN(5))}
		return ch
	case 9:
		step := appendText(session, 2*n+2+r.Int64N(4), "a step")
		step.Messages[0].Turn, step.DropPartials = turnID(n), turnID(n)
		return step
	default:
		ch := savePartial(session, n, int(r.Uint32()), "part")
		if r.IntN(2) == 0 {
			ch.Partial.Message = fmt.Sprintf("msg_%d", 2*n+2+r.Int64N(4))
		}
		return ch
	}
}

// worldBlobs are the blobs used by random changes; sessions share them.
var worldBlobs = []history.Blob{testBlob("0"), testBlob("1"), testBlob("2"), testBlob("3"), testBlob("4"), testBlob("5"), testBlob("")}

func randomLayout(r *rand.Rand, session string) history.Change {
	ch := history.Change{Session: session}
	if r.IntN(6) > 0 {
		ch.Layout = &history.LayoutChange{Head: fmt.Append(nil, "layout ", r.IntN(100)), Len: r.IntN(6)}
		for n := range ch.Layout.Len {
			if r.IntN(3) > 0 {
				ch.Layout.Rows = append(ch.Layout.Rows, history.LayoutRow{N: n, Bytes: fmt.Append(nil, "row ", r.IntN(100))})
			}
		}
	}
	if r.IntN(4) > 0 {
		ch.KeepBlobs = []string{}
	}
	for _, blob := range worldBlobs {
		if r.IntN(3) == 0 {
			ch.Blobs = append(ch.Blobs, blob)
		}
		if ch.KeepBlobs != nil && r.IntN(2) == 0 {
			ch.KeepBlobs = append(ch.KeepBlobs, blob.Hash)
		}
	}
	return ch
}

var (
	modelSeed    = flag.Uint64("seed", 1, "seed of the random changes")
	modelChanges = flag.Int("changes", 600, "how many random changes there are")
)

// After random changes, deletions and restarts the store equals a model in memory.
func TestStoreMatchesModel(t *testing.T) {
	r := rand.New(rand.NewPCG(*modelSeed, 0))
	path := t.TempDir() + "/strata.db"
	s := openTest(t, path, Options{CacheBytes: 4 << 10})
	m := &model{sessions: map[string]*modelSession{}}
	for i := range *modelChanges {
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
	compareBlobs(t, s, m)
	found := make(map[int64]bool) // equal messages of several sessions are one hit
	for id, want := range m.sessions {
		got := load(t, s, id)
		sortPartials(got.Partials)
		wanted := want.loaded()
		sortPartials(wanted.Partials)
		equal(t, "session "+id, got, wanted)
		equal(t, "expectations", expectations(t, s, id), want.expected)
		for seq, message := range want.messages {
			messages, err := s.Messages(ctx, id, []int64{seq})
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "message", messages[0], message)
			if message.Turn == "" {
				found[seq] = true
			}
		}
	}
	equal(t, "hits", len(search(t, s, SearchQuery{Query: "appended", Limit: maxLimit})), len(found))
	equal(t, "sessions", len(sessionPages(t, s, SessionQuery{})), len(m.sessions))
}

func expectations(t *testing.T, s *Store, id string) map[string]int {
	t.Helper()
	calls, _, err := s.Calls(ctx, id, "", maxLimit)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, call := range calls {
		all[call.ID] = call.Expected
	}
	return all
}

// compareBlobs compares the blobs and the references of each session.
func compareBlobs(t *testing.T, s *Store, m *model) {
	t.Helper()
	var hashes []string
	stored, want := m.blobs(), map[string][]byte{}
	for _, blob := range worldBlobs {
		hashes = append(hashes, blob.Hash)
		if stored[blob.Hash] {
			want[blob.Hash] = blob.Bytes
		}
	}
	got, err := s.Blobs(ctx, hashes)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "blobs", got, want)
	var refs []string
	for id, session := range m.sessions {
		for hash := range session.blobs {
			refs = append(refs, id+" "+hash)
		}
	}
	slices.Sort(refs)
	var gotRefs []string
	err = s.view(ctx, "refs", func(tx *sql.Tx) error {
		gotRefs, err = collect(ctx, tx, scanOne[string], "SELECT session || ' ' || hash FROM blob_ref ORDER BY 1")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "references", gotRefs, refs)
}

func sortPartials(partials []history.Partial) {
	slices.SortFunc(partials, func(a, b history.Partial) int { return a.N - b.N })
}
