package history

import (
	"strings"
	"testing"
)

func TestWhatClientsWereShownIsBounded(t *testing.T) {
	long, large := strings.Repeat("x", MaxShownText), strings.Repeat("x", MaxDiff)
	result := func(c CallShown) Block { return Block{Type: BlockToolResult, CallID: "c", Call: &c} }
	for want, b := range map[string]Block{
		"":                               result(CallShown{}),
		"[1].call.title: 4097 bytes exc": result(CallShown{Title: long + "x"}),
		"[1].call.kind: 4097 bytes":      result(CallShown{Kind: long + "x"}),
		"[1].call.outcome: 4097 bytes":   result(CallShown{Outcome: CallOutcome(long + "x")}),
		"[1].call.locations: 101 elements exceeds the limit of 100":  result(CallShown{Locations: make([]Location, MaxShownLocations+1)}),
		"[1].call.locations[1].path: 4097 bytes":                     result(CallShown{Locations: []Location{{Path: long}, {Path: long + "x"}}}),
		"[1].call.locations[0].line: must be a whole number from 0":  result(CallShown{Locations: []Location{{Path: "a", Line: -1}}}),
		"[1].call.locations[0].line: must":                           result(CallShown{Locations: []Location{{Path: "a", Line: maxShownLine + 1}}}),
		"[1].call.diffs: 101 elements exceeds the limit of 100":      result(CallShown{Diffs: make([]Diff, maxDiffs+1)}),
		"[1].call.diffs[0].path: 4097 bytes":                         result(CallShown{Diffs: []Diff{{Path: long + "x"}}}),
		"[1].call.diffs: 65537 bytes in 2 hunks exceeds":             result(CallShown{Diffs: []Diff{{Hunks: []TextHunk{{Old: large}, {New: "x"}}}}}),
		"[1].call.diffs: 0 bytes in 10001 hunks exceeds":             result(CallShown{Diffs: []Diff{{Hunks: make([]TextHunk, maxDiffHunks+1)}}}),
		"[1].call.diffs[0].hunks[0]: must start at a line from 0 to": result(CallShown{Diffs: []Diff{{Hunks: []TextHunk{{OldStart: -1}}}}}),
		"[1].call: is only allowed in a tool result":                 {Type: BlockText, Call: &CallShown{Title: "a"}},
		"[1].content[0].call: is only":                               {Type: BlockToolResult, Content: []Block{{Type: BlockText, Call: &CallShown{}}}},
	} {
		largest := result(CallShown{Title: long, Kind: long, Locations: make([]Location, MaxShownLocations)})
		largest.Call.Diffs = []Diff{{Path: long, Hunks: []TextHunk{{Old: large}}}}
		largest.Call.Locations[MaxShownLocations-1] = Location{Path: long, Line: maxShownLine}
		err := CheckShown([]Block{largest, b})
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A patch of a result, or of its call, changes only the request: clients are shown the same.
func TestAPatchedResultKeepsWhatWasShown(t *testing.T) {
	shown := &CallShown{Title: "Read a.go"}
	m := Message{Role: RoleTool, Blocks: []Block{{Type: BlockToolResult, CallID: "c", Content: []Block{{Type: BlockText, Text: "long"}}, Call: shown}}}
	got := Patched(m, []Patch{{Text: "short"}}).Blocks[0]
	if got.Call != shown || got.Content[0].Text != "short" {
		t.Errorf("%+v", got)
	}
}
