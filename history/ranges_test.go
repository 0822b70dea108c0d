package history

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRangesOfEdits(t *testing.T) {
	l := NewLog(nil, nil)
	l.Append(head(1, 1), head(2, 1), head(3, 1), head(4, 1))
	edits := []Edit{
		{ID: "e5", Seq: 5, Kind: EditCompact, Messages: []string{"msg_1", "msg_2", "msg_4", "none"}},
		{ID: "e8", Seq: 8, Kind: EditDedupe, Patches: []Patch{{Message: "msg_7"}, {Message: "msg_3"}, {Message: "msg_3", Block: 1}}},
		{ID: "e9", Seq: 9, Kind: EditRestore, Undoes: "e5"},
		{ID: "e10", Seq: 10, Kind: EditTruncate, Messages: []string{"msg_7", "msg_6", "msg_4"}},
		{ID: "e11", Seq: 11, Kind: EditRestore, To: 5},
		{ID: "e12", Seq: 12, Kind: EditRestore, To: 11},
		{ID: "e13", Seq: 13, Kind: EditClear},
		{ID: "e14", Seq: 14, Kind: EditRestore, Undoes: "e9"},
		{ID: "e15", Seq: 15, Kind: EditRestore, Undoes: "none"},
	}
	l.Apply(edits[0])
	l.Append(head(6, 1), head(7, 1))
	for _, e := range edits[1:] {
		l.Apply(e)
	}
	want := [][]Range{
		{{1, 2}, {4, 4}}, {{3, 3}, {7, 7}}, {{1, 2}, {4, 4}}, {{4, 7}}, {{6, 7}}, nil, {{1, 7}}, nil, nil,
	}
	if d := cmp.Diff(want, l.Ranges(edits)); d != "" {
		t.Error(d)
	}
}

// TokensWith predicts the tokens after the edit.
func TestTokensWithAnEdit(t *testing.T) {
	for seed := range uint64(50) {
		w := &writer{Log: NewLog(nil, nil), r: rand.New(rand.NewPCG(seed, 9))}
		for range 40 {
			if w.r.IntN(3) > 0 {
				w.message()
				continue
			}
			e, edits := w.edit(), len(w.Edits())
			want := w.TokensWith(e)
			if len(w.Edits()) != edits {
				t.Fatal("the edit was applied")
			}
			if w.Apply(e); w.Tokens() != want {
				t.Fatalf("seed %d: %d tokens, predicted %d", seed, w.Tokens(), want)
			}
		}
	}
}
