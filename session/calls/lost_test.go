package calls

import (
	"testing"

	"strata/history"
	"strata/session/tools"
)

// A call without a result is told what its records say. One that changes files and has no record has not begun.
func TestLostCallsAreToldByTheirRecords(t *testing.T) {
	type states = []history.FileChange
	record := func(kind history.FileChangeKind, state history.FileChangeState) history.FileChange {
		return history.FileChange{Call: "tc_1", Kind: kind, State: state}
	}
	other := history.FileChange{Call: "tc_2", Kind: history.FileEdited, State: history.FileChangeDone}
	for _, tt := range []struct {
		tool    string
		records states
		want    tools.NoResult
	}{
		{"run_command", nil, tools.Lost},
		{"edit_file", nil, tools.LostNotMade},
		{"edit_file", states{other}, tools.LostNotMade},
		{"edit_file", states{other, record(history.FileEdited, history.FileChangeDone)}, tools.LostMade},
		{"edit_file", states{record(history.FileEdited, history.FileChangeNotDone)}, tools.LostNotMade},
		{"edit_file", states{record(history.FileEdited, history.FileChangeUnknown), other}, tools.Lost},
		{"write_file", states{record(history.FileCreated, history.FileChangeDone)}, tools.LostMade},
		{"move_file", states{record(history.FileMoved, history.FileChangeDone)}, tools.LostMade},
		{"move_file", states{record(history.FileMoved, history.FileChangeNotDone)}, tools.LostNotMade},
		{"move_file", states{record(history.FileMoved, history.FileChangeNotDone), record(history.FileCreated, history.FileChangeDone)}, tools.LostCopied},
	} {
		if got := reason(&history.Block{CallID: "tc_1", Name: tt.tool}, tt.records); got != tt.want {
			t.Errorf("%s with %+v: %q, want %q", tt.tool, tt.records, got, tt.want)
		}
	}
}
