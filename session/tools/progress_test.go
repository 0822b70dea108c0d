package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"strata/history"
)

// All texts and pictures of a call's state count towards the size of the event that tells it.
func TestSizeOfProgress(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	p := Progress{
		Description: Description{Title: text(1)}, Input: json.RawMessage(text(20)), Output: &Output{Text: text(300)},
		Diffs:  []history.Diff{{Path: text(1000), Hunks: []history.TextHunk{{Old: text(2000), New: text(3000)}}}},
		Result: &Result{Content: []history.Block{{Text: text(10_000)}, {Data: []byte(text(100_000))}}},
	}
	if n := p.Size(); n != 116_321 {
		t.Errorf("%d bytes", n)
	}
	if n := (Progress{}).Size(); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
}
