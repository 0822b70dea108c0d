package history

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A change of a layout in a recovery file is read as it was written, also by an earlier version.
func TestLayoutChangesAreReadAgain(t *testing.T) {
	want := &LayoutChange{Head: []byte("head"), Len: 3, Rows: []LayoutRow{{1, []byte("one")}, {2, []byte{0, 255}}}}
	data, err := json.Marshal(Change{Session: "s", Layout: want})
	if err != nil {
		t.Fatal(err)
	}
	var got Change
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Layout); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]*LayoutChange{`{"Layout":"aGVhZA=="}`: {Head: []byte("head")}, `{"Layout":null}`: nil, `{}`: nil} {
		var old Change
		if err := json.Unmarshal([]byte(text), &old); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, old.Layout); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	if err := json.Unmarshal([]byte(`{"Layout":"%%"}`), new(Change)); err == nil {
		t.Error("a damaged layout was read")
	}
}
