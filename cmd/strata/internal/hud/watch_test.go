package hud

import (
	"encoding/json"
	"testing"
)

// A report is shown again after an event that changes it. The end of the session is never lost behind another change.
func TestEventsThatChangeAReport(t *testing.T) {
	event := func(kind string) [2]string { return [2]string{"_strata/event", `{"type":"` + kind + `"}`} }
	for name, tt := range map[string]struct {
		told [][2]string
		want string
	}{
		"nothing":              {nil, ""},
		"a turn":               {[][2]string{event("turn_finished")}, "turn_finished"},
		"several changes":      {[][2]string{event("turn_started"), event("files_changed"), event("compaction")}, "turn_started"},
		"an event without any": {[][2]string{event("saved"), event("retrying")}, ""},
		"an update":            {[][2]string{{"session/update", `{"type":"turn_finished"}`}}, ""},
		"not an event":         {[][2]string{{"_strata/event", `[]`}}, ""},
		"the end":              {[][2]string{event("closed")}, "closed"},
		"the end after one":    {[][2]string{event("turn_finished"), event("closed")}, "closed"},
	} {
		changes := make(chan string, 1)
		for _, told := range tt.told {
			noteChange(changes, told[0], json.RawMessage(told[1]))
		}
		got := ""
		select {
		case got = <-changes:
		default:
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A line that the terminal would wrap is shortened: it could not be replaced.
func TestP18ALineFitsTheTerminal(t *testing.T) {
	const line = "history 24 · 3 messages · window 0 % of 200K"
	for columns, want := range map[int]string{0: line, 1: line, 200: line, 45: line, 44: "history 24 · 3 messages · window 0 % of 20…", 12: "history 24…", 2: "…"} {
		if got := fitting(line, columns); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}
