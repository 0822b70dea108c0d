package documents

import (
	"fmt"
	"testing"

	"strata/history"
)

// A session that has as many documents as it may takes a new text of one of them, and no other one.
func TestTheNumberOfDocumentsIsLimited(t *testing.T) {
	var all []history.Document
	for i := range Max {
		if _, err := New(Request{Name: fmt.Sprint("doc ", i), Text: "x"}, all); err != nil {
			t.Fatalf("document %d of %d: %v", i, Max, err)
		}
		all = With(all, history.Document{Name: fmt.Sprint("doc ", i), Text: "x"})
	}
	if _, err := New(Request{Name: "doc 7", Text: "y"}, all); err != nil {
		t.Errorf("a new text: %v", err)
	}
	if _, err := New(Request{Name: "one more", Text: "y"}, all); err == nil {
		t.Error("one more document is taken")
	}
}
