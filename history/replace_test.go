package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A clear and a replace empty the history and keep the limits of the documents, which are no part of it.
func TestDocumentsSurviveAClearAndAReplace(t *testing.T) {
	cut := DocumentCut{Name: "design", Version: "v1", Keep: 100}
	for kind, undoable := range map[EditKind]string{EditClear: "edit_2", EditReplace: "edit_1"} {
		l := NewLog([]Head{{ID: "m1", Seq: 1, Tokens: 1, Role: RoleUser}, {ID: "m2", Seq: 2, Tokens: 1}}, nil)
		l.Apply(Edit{ID: "edit_1", Seq: 3, Kind: EditCompact, Summary: "so far", SummaryTokens: 2, Messages: []string{"m1"}, Documents: []DocumentCut{cut}})
		l.Apply(Edit{ID: "edit_2", Seq: 4, Kind: kind})
		if diff := cmp.Diff(map[string]DocumentCut{"design": cut}, l.Documents()); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if len(l.View()) != 0 || l.Summary() != (Summary{}) || l.Omitted() != 0 || l.Exchanges() != 0 {
			t.Errorf("%s: the view is not empty", kind)
		}
		if e, ok := l.Undoable(); !ok || e.ID != undoable {
			t.Errorf("%s: %q can be undone, want %q", kind, e.ID, undoable)
		}
		if diff := cmp.Diff(l.Documents(), NewLog(l.Transcript(), l.Edits()).Documents()); diff != "" {
			t.Errorf("%s, loaded: %s", kind, diff)
		}
	}
}
