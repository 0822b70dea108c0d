package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVisibility(t *testing.T) {
	heads := func(seqs ...int64) []Head {
		var all []Head
		for _, seq := range seqs {
			all = append(all, Head{ID: "msg_" + string(rune('0'+seq)), Seq: seq, Tokens: 1})
		}
		return all
	}
	patch := Patch{Message: "msg_3", Block: 0, Text: "see below", Saved: 1}
	in := Visibility{InView: true}
	tests := map[string]struct {
		heads []Head
		edits []Edit
		want  map[int64]Visibility
	}{
		"in view": {heads(1), nil, map[int64]Visibility{1: in}},
		"summarised": {heads(1, 2, 4), []Edit{{ID: "e", Seq: 3, Kind: EditCompact, Messages: []string{"msg_1"}, Summary: "short"}},
			map[int64]Visibility{1: {Edit: "e", Reason: HiddenSummarised}, 2: in, 4: in}},
		"left out": {heads(1, 2), []Edit{{ID: "e", Seq: 3, Kind: EditTruncate, Messages: []string{"msg_1"}}},
			map[int64]Visibility{1: {Edit: "e", Reason: HiddenLeftOut}, 2: in}},
		"dropped without a summary": {heads(1, 2), []Edit{{ID: "e", Seq: 3, Kind: EditCompact, Messages: []string{"msg_1"}}},
			map[int64]Visibility{1: {Edit: "e", Reason: HiddenLeftOut}, 2: in}},
		"cleared": {heads(1, 3), []Edit{{ID: "e", Seq: 2, Kind: EditClear}},
			map[int64]Visibility{1: {Edit: "e", Reason: HiddenCleared}, 3: in}},
		"replaced": {heads(1, 3), []Edit{{ID: "e", Seq: 2, Kind: EditReplace}},
			map[int64]Visibility{1: {Edit: "e", Reason: HiddenReplaced}, 3: in}},
		"cleared after it was summarised": {heads(1, 2), []Edit{
			{ID: "e", Seq: 3, Kind: EditCompact, Messages: []string{"msg_1"}, Summary: "short"}, {ID: "f", Seq: 4, Kind: EditClear}},
			map[int64]Visibility{1: {Edit: "e", Reason: HiddenSummarised}, 2: {Edit: "f", Reason: HiddenCleared}}},
		"restored": {heads(1, 2), []Edit{{ID: "e", Seq: 3, Kind: EditRestore, To: 1}},
			map[int64]Visibility{1: in, 2: {Reason: HiddenTakenBack}}},
		"restored and undone": {heads(1, 2), []Edit{
			{ID: "e", Seq: 3, Kind: EditRestore, To: 1}, {ID: "f", Seq: 4, Kind: EditRestore, Undoes: "e"}},
			map[int64]Visibility{1: in, 2: in}},
		"duplicate": {heads(1, 3), []Edit{{ID: "e", Seq: 4, Kind: EditDedupe, Patches: []Patch{patch}}},
			map[int64]Visibility{1: in, 3: {InView: true, Patches: []ShownPatch{{Patch: patch, Kind: EditDedupe}}}}},
		"patched and removed": {heads(1, 3), []Edit{
			{ID: "e", Seq: 4, Kind: EditDedupe, Patches: []Patch{patch}}, {ID: "f", Seq: 5, Kind: EditTruncate, Messages: []string{"msg_3"}}},
			map[int64]Visibility{1: in, 3: {Edit: "f", Reason: HiddenLeftOut}}},
		"not a message": {heads(1), nil, map[int64]Visibility{7: {}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := NewLog(tt.heads, tt.edits)
			for seq, want := range tt.want {
				got := l.Visibility([]int64{seq})
				if diff := cmp.Diff([]Visibility{want}, got); diff != "" {
					t.Errorf("message %d (-want +got):\n%s", seq, diff)
				}
				if _, in := l.Find(seq); in != want.InView {
					t.Errorf("message %d: in view: %v", seq, in)
				}
			}
		})
	}
}
