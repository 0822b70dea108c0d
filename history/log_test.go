package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// seen is everything that a log exposes of its working history.
type seen struct {
	View      []Viewed
	Summary   Summary
	Omitted   int
	Tokens    int
	Shed      []Head
	Documents map[string]DocumentCut
	Exchanges int
	First     Head
	Undoable  string
	InForce   map[string]bool
}

func look(l *Log) seen {
	undoable, _ := l.Undoable()
	first, _ := l.First()
	return seen{
		Exchanges: l.Exchanges(), First: first,
		View: slices.Clone(l.View()), Summary: l.Summary(), Omitted: l.Omitted(), Tokens: l.Tokens(), Shed: slices.Clone(l.Shed()),
		Documents: l.Documents(), Undoable: undoable.ID, InForce: l.InForce(),
	}
}

// diff compares two views. Unless whole is set, it ignores the fields that undo and restore change.
func diff(want, got seen, whole bool) string {
	if !whole {
		want.Undoable, got.Undoable, want.InForce, got.InForce = "", "", nil, nil
	}
	if fmt.Sprintf("%+v", want) == fmt.Sprintf("%+v", got) { // much faster, and usually true
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// writer appends random messages and edits to a log.
type writer struct {
	*Log
	r *rand.Rand
}

func (w *writer) next() int64 { return w.LastSeq() + 1 }

func (w *writer) message() {
	seq := w.next()
	w.Append(Head{ID: fmt.Sprint("msg_", seq), Seq: seq, Role: []Role{RoleUser, RoleAssistant, RoleTool}[w.r.IntN(3)], Tokens: w.r.IntN(100), Blocks: 2, HasCalls: w.r.IntN(2) == 0})
}

// some returns some ids of messages, including ones that are not in view.
func (w *writer) some() []string {
	var ids []string
	for _, h := range w.Transcript() {
		if w.r.IntN(4) == 0 {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

func (w *writer) edit() Edit {
	seq := w.next()
	e := Edit{ID: fmt.Sprint("edit_", seq), Seq: seq}
	switch w.r.IntN(15) {
	case 11, 12:
		e.Kind, e.Messages = EditKeep, w.some()
	case 13:
		e.Kind, e.Messages = EditTakeOut, w.some()
	case 14:
		e.Kind, e.Messages = EditRelease, w.some()
	case 9, 10:
		e.Kind = EditResult
		if n := len(w.View()); n > 0 {
			e.CallsMessage, e.Messages = w.View()[w.r.IntN(n)].ID, []string{w.View()[w.r.IntN(n)].ID}
		}
	case 0:
		e.Kind = EditClear
	case 8:
		e.Kind = EditUnanswered
		if n := len(w.Transcript()); n > 0 && w.Transcript()[n-1].Role == RoleUser { // as a session does: the newest prompt
			e.Messages = []string{w.Transcript()[n-1].ID}
		}
	case 1:
		e.Kind, e.Messages, e.Summary, e.SummaryTokens = EditCompact, w.some(), fmt.Sprint("summary ", seq), 10
	case 2:
		e.Kind, e.Messages = EditCompact, w.some()
	case 3:
		e.Kind = EditDedupe
		for _, id := range w.some() {
			e.Patches = append(e.Patches, Patch{Message: id, Block: w.r.IntN(2), Text: "notice", Saved: w.r.IntN(50)})
		}
	case 4, 5:
		e.Kind, e.Messages = EditTruncate, w.some()
		if w.r.IntN(2) == 0 {
			e.Documents = []DocumentCut{{Name: fmt.Sprint("d", w.r.IntN(3)), Version: "v", Keep: w.r.IntN(100)}}
		}
	case 6:
		e.Kind, e.To = EditRestore, 1+w.r.Int64N(seq)
	default:
		e.Kind, e.To = EditRestore, seq-1
		if undo, ok := w.Undoable(); ok {
			e.To, e.Undoes = 0, undo.ID
		}
	}
	return e
}

// A log folded from the store equals the log kept in memory, after any sequence of events, and slices held by readers do
// not change.
func TestFoldingFromTheStoreIsFoldingInMemory(t *testing.T) {
	for seed := range uint64(400) {
		w := &writer{Log: NewLog(nil, nil), r: rand.New(rand.NewPCG(seed, 4))}
		type held struct {
			view  []Viewed
			heads []Head
			copy  []Viewed
		}
		var readers []held
		for step := range 60 {
			if w.r.IntN(3) > 0 {
				w.message()
			} else {
				w.Apply(w.edit())
			}
			stored := NewLog(slices.Clone(w.Transcript()), slices.Clone(w.Edits()))
			if d := diff(look(w.Log), look(stored), true); d != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, d)
			}
			view := w.View()
			deep := make([]Viewed, len(view))
			for i, v := range view {
				deep[i] = v
				deep[i].Patches = slices.Clone(v.Patches)
			}
			readers = append(readers, held{view, w.Transcript(), deep})
		}
		for i, h := range readers {
			if d := diff(seen{View: h.copy}, seen{View: h.view}, true); d != "" {
				t.Fatalf("seed %d: the view of step %d changed: %s", seed, i, d)
			}
			if !slices.Equal(w.Transcript()[:len(h.heads)], h.heads) {
				t.Fatalf("seed %d: the transcript of step %d changed", seed, i)
			}
		}
	}
}

func TestRestoreReturnsToAnyView(t *testing.T) {
	for seed := range uint64(200) {
		w := &writer{Log: NewLog(nil, nil), r: rand.New(rand.NewPCG(seed, 5))}
		views := map[int64]seen{}
		for range 40 {
			if w.r.IntN(3) > 0 {
				w.message()
			} else {
				w.Apply(w.edit())
			}
			views[w.LastSeq()] = look(w.Log)
		}
		messages := len(w.Transcript())
		for range 5 {
			to := 1 + w.r.Int64N(w.LastSeq())
			before, known := look(w.Log), views[to]
			w.Apply(Edit{ID: fmt.Sprint("edit_", w.next()), Seq: w.next(), Kind: EditRestore, To: to})
			views[w.LastSeq()] = look(w.Log)
			if d := diff(known, look(w.Log), false); d != "" {
				t.Fatalf("seed %d: restored to %d: %s", seed, to, d)
			}
			undo, _ := w.Undoable()
			w.Apply(Edit{ID: fmt.Sprint("edit_", w.next()), Seq: w.next(), Kind: EditRestore, Undoes: undo.ID})
			views[w.LastSeq()] = look(w.Log)
			if d := diff(before, look(w.Log), false); d != "" {
				t.Fatalf("seed %d: undone the restore to %d: %s", seed, to, d)
			}
		}
		if len(w.Transcript()) != messages {
			t.Fatalf("seed %d: the transcript has %d messages of %d", seed, len(w.Transcript()), messages)
		}
	}
}

func head(seq int64, tokens int) Head {
	return Head{ID: fmt.Sprint("msg_", seq), Seq: seq, Role: RoleUser, Tokens: tokens}
}

func TestEditsChangeTheView(t *testing.T) {
	l := NewLog(nil, nil)
	if l.LastSeq() != 0 || l.Tokens() != 0 || len(l.View()) != 0 {
		t.Error("a new log is not empty")
	}
	l.Append(head(1, 10), head(2, 20), head(3, 30))
	l.Apply(Edit{ID: "e4", Seq: 4, Kind: EditTruncate, Messages: []string{"msg_2", "none"}})
	l.Append(head(5, 50))
	l.Apply(Edit{ID: "e6", Seq: 6, Kind: EditDedupe, Patches: []Patch{{Message: "msg_3", Text: "a", Saved: 10}, {Message: "msg_3", Block: 1, Text: "b", Saved: 100}}})
	if l.Tokens() != 60 || l.Omitted() != 1 || len(l.Shed()) != 1 || l.LastSeq() != 6 || len(l.Transcript()) != 4 {
		t.Errorf("%+v", look(l))
	}
	if v, ok := l.Find(3); !ok || v.Tokens != 0 || len(v.Patches) != 2 {
		t.Errorf("message 3 is %+v", v)
	}
	if _, ok := l.Find(2); ok {
		t.Error("found a removed message")
	}
	l.Apply(Edit{ID: "e7", Seq: 7, Kind: EditClear})
	l.Append(head(8, 80))
	if l.Tokens() != 80 || l.Omitted() != 0 || len(l.Shed()) != 0 {
		t.Errorf("after a clear: %+v", look(l))
	}
}

func TestPatchedDoesNotModifyTheMessage(t *testing.T) {
	m := Message{Blocks: []Block{
		{Type: BlockText, Text: "words"},
		{Type: BlockResource, URI: "file:///a", Text: "content"},
		{Type: BlockToolResult, CallID: "c", Content: []Block{{Type: BlockText, Text: "one"}, {Type: BlockImage, Data: []byte{1}}}},
	}}
	want := Message{Blocks: []Block{
		{Type: BlockText, Text: "second"},
		{Type: BlockText, Text: "notice"},
		{Type: BlockToolResult, CallID: "c", Content: []Block{{Type: BlockText, Text: "short"}, {Type: BlockImage, Data: []byte{1}}}},
	}}
	got := Patched(m, []Patch{
		{Block: 0, Text: "first"}, {Block: 0, Text: "second"}, {Block: 1, Text: "notice"}, {Block: 2, Part: 0, Text: "short"},
		{Block: 2, Part: 7, Text: "x"}, {Block: 2, Part: -1, Text: "x"}, {Block: 3, Text: "x"}, {Block: -1, Text: "x"},
	})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if m.Blocks[0].Text != "words" || m.Blocks[2].Content[0].Text != "one" {
		t.Errorf("the message was changed: %+v", m)
	}
	if d := cmp.Diff(m, Patched(m, nil)); d != "" {
		t.Error(d)
	}
}

// A time means the newest message or edit that is not later, also where the clock was set back.
func TestP13ATimeMeansAPosition(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	heads := []Head{{ID: "a", Seq: 1, At: at(10)}, {ID: "b", Seq: 2, At: at(20)}, {ID: "c", Seq: 4, At: at(40)}, {ID: "d", Seq: 6, At: at(35)}}
	edits := []Edit{{ID: "e", Seq: 3, Kind: EditDedupe, At: at(30)}, {ID: "f", Seq: 5, Kind: EditDedupe, At: at(50)}}
	l := NewLog(heads, edits)
	for second, want := range map[int64]int64{0: 0, 9: 0, 10: 1, 19: 1, 20: 2, 29: 2, 30: 3, 34: 3, 35: 6, 40: 6, 60: 6} {
		if got := l.SeqAt(at(second)); got != want {
			t.Errorf("second %d: %d, want %d", second, got, want)
		}
	}
	for second, want := range map[int64]int64{29: 0, 30: 3, 60: 5} {
		if got := NewLog(nil, edits).SeqAt(at(second)); got != want {
			t.Errorf("edits alone, second %d: %d, want %d", second, got, want)
		}
	}
	if got := NewLog(nil, nil).SeqAt(at(1)); got != 0 {
		t.Errorf("an empty log: %d", got)
	}
}

// A log with one more message and the log that it was made of go on independently, in any order.
func TestWithLeavesTheLogAlone(t *testing.T) {
	for seed := range uint64(300) {
		w := writer{NewLog(nil, nil), rand.New(rand.NewPCG(seed, 7))}
		for range 40 {
			if w.r.IntN(3) == 0 {
				w.Apply(w.edit())
			} else {
				w.message()
			}
		}
		before, heads := look(w.Log), slices.Clone(w.Transcript())
		h := Head{ID: "expected", Seq: w.next(), Role: RoleUser, Tokens: 5}
		next := w.With(h)
		if d := diff(before, look(w.Log), true); d != "" || !slices.Equal(heads, w.Transcript()) {
			t.Fatalf("seed %d: the log has changed:\n%s", seed, d)
		}
		appended := NewLog(slices.Clone(heads), slices.Clone(w.Edits()))
		appended.Append(h)
		want := look(appended)
		if d := diff(want, look(next), true); d != "" {
			t.Fatalf("seed %d: with the message:\n%s", seed, d)
		}
		w.message() // in the place of the other
		after := look(w.Log)
		if d := diff(want, look(next), true); d != "" {
			t.Fatalf("seed %d: after an append to the first log:\n%s", seed, d)
		}
		other := writer{next, w.r}
		other.message()
		other.Apply(other.edit())
		if d := diff(after, look(w.Log), true); d != "" {
			t.Fatalf("seed %d: after changes of the second log:\n%s", seed, d)
		}
	}
}

// A sequence number inside a step means the place before the step.
func TestPlace(t *testing.T) {
	l := NewLog([]Head{
		{ID: "p", Seq: 1, Role: RoleUser},
		{ID: "a", Seq: 2, Role: RoleAssistant, HasCalls: true}, {ID: "r", Seq: 4, Role: RoleTool},
		{ID: "b", Seq: 5, Role: RoleAssistant, HasCalls: true}, {ID: "s", Seq: 6, Role: RoleTool}, {ID: "t", Seq: 7, Role: RoleTool},
		{ID: "c", Seq: 8, Role: RoleAssistant},
		{ID: "lone", Seq: 9, Role: RoleTool},
	}, []Edit{{ID: "e", Seq: 3, Kind: EditDedupe}})
	for seq, want := range map[int64]int64{0: 0, 1: 1, 2: 1, 3: 1, 4: 4, 5: 4, 6: 4, 7: 7, 8: 8, 9: 9, 12: 12} {
		if got := l.Place(seq); got != want {
			t.Errorf("place of %d: %d, want %d", seq, got, want)
		}
	}
}
