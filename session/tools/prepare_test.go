package tools

import (
	"encoding/json"
	"testing"

	"strata/history"
)

// The diffs of a call are stored with its result.
func TestAResultKeepsItsDiffs(t *testing.T) {
	diff := history.Diff{Path: "a", Hunks: []history.TextHunk{{OldStart: 1, NewStart: 1, New: "x\n"}}}
	s := Step{place: func(path string) string { return "/folder/" + path }}
	b := s.resultBlock(&stepCall{block: &history.Block{Name: "edit_file"}, result: &Result{Diffs: []history.Diff{diff}}})
	diff.Path = "/folder/a"
	equal(t, "stored", b.Call.Diffs, []history.Diff{diff})
	raw, err := json.Marshal(b)
	must(t, err)
	var again history.Block
	must(t, json.Unmarshal(raw, &again))
	equal(t, "read again", again, b)
}
