package calls

import (
	"fmt"
	"slices"
	"testing"

	"strata/history"
	"strata/session/events"
	"strata/session/tools"
)

// lines returns events, one line each.
func lines(all []events.Event) (out []string) {
	for _, e := range all {
		switch data := e.Data.(type) {
		case tools.Progress:
			line := fmt.Sprintf("%s of %s: %s %s", e.Kind, e.Turn, data.CallID, data.Status)
			if data.Result != nil && len(data.Result.Content) > 0 {
				line += ": " + data.Title + " " + data.Result.Content[0].Text
			}
			out = append(out, line)
		case events.PlanInfo:
			out = append(out, fmt.Sprintf("%s of %s: %d", e.Kind, e.Turn, len(data.Entries)))
		}
	}
	return out
}

func want(t *testing.T, what string, got []events.Event, want ...string) {
	t.Helper()
	if !slices.Equal(lines(got), want) {
		t.Errorf("%s: %q, want %q", what, lines(got), want)
	}
}

// A client that comes is told of each call as it is, and of the newest plan last.
func TestOpenCallsAreInTheirPresentState(t *testing.T) {
	var told Told
	plan := func(entries int) *tools.Result { return &tools.Result{Plan: make([]tools.PlanEntry, entries)} }
	want(t, "started", told.Changed("t", tools.Progress{CallID: "a", Status: tools.InProgress}), "call_update of t: a in_progress")
	told.Changed("t", tools.Progress{CallID: "b", Status: tools.InProgress})
	want(t, "planned", told.Changed("t", tools.Progress{CallID: "b", Status: tools.Completed, Result: plan(1)}), "call_update of t: b completed", "plan of t: 1")
	told.Changed("t", tools.Progress{CallID: "c", Status: tools.Completed, Result: plan(2)})
	want(t, "open", told.Open(), "call_update of t: a in_progress", "call_update of t: b completed", "plan of t: 1", "call_update of t: c completed", "plan of t: 2")
	told.Changed("t", tools.Progress{CallID: "a", Status: tools.Fails})
	want(t, "afterwards", told.Open()[:1], "call_update of t: a failed")
	told.MessageStored()
	if n := len(told.Open()); n != 5 {
		t.Errorf("%d events are open after the message was stored", n)
	}
	result := func(call string) history.Block { return history.Block{Type: history.BlockToolResult, CallID: call} }
	told.ResultsStored([]history.Block{result("a"), result("b")})
	want(t, "two are stored", told.Open(), "call_update of t: c completed", "plan of t: 2")
	told.ResultsStored([]history.Block{result("c")})
	want(t, "all are stored", told.Open())
}

// The calls of a message that another one replaces fail. Those of the message before do not.
func TestCallsOfABrokenReplyFail(t *testing.T) {
	var told Told
	call := func(id string) *history.Block {
		return &history.Block{Type: history.BlockToolCall, CallID: id, Name: "read"}
	}
	told.Announce(call("a"))
	told.MessageStored()
	told.Announce(call("b"))
	told.Announce(call("c"))
	if got := told.Announced(); len(got) != 2 || got[0].CallID != "b" {
		t.Errorf("announced: %v", got)
	}
	const failed = " failed: read not run: the provider broke off"
	want(t, "ended", told.BrokenOff("t"), "call_update of t: b"+failed, "call_update of t: c"+failed)
	want(t, "once", told.BrokenOff("t"))
	want(t, "open", told.Open())
	if got := told.Announced(); len(got) > 0 {
		t.Errorf("announced afterwards: %v", got)
	}
}

// Of what a call puts out, a client that comes is told the newest, and a client that reads slowly need not be told the rest. What
// the call is, that it runs in a terminal, and what it results in does not pass.
func TestOutputPasses(t *testing.T) {
	var told Told
	output := func(text string) tools.Progress {
		return tools.Progress{CallID: "a", Status: tools.InProgress, Output: &tools.Output{Text: text}}
	}
	inTerminal := func(text string) tools.Progress {
		return tools.Progress{CallID: "a", Status: tools.InProgress, Output: &tools.Output{Text: text, Terminal: &tools.Terminal{ID: "1"}}}
	}
	ended := output("two")
	ended.Status, ended.Result = tools.Completed, &tools.Result{}
	for name, tt := range map[string]struct {
		progress tools.Progress
		passes   bool
	}{
		"started": {tools.Progress{CallID: "a", Status: tools.InProgress}, false},
		"one":     {output("one"), true},
		"shown":   {inTerminal(""), false},
		"looked":  {inTerminal("one"), true},
		"ended":   {ended, false},
	} {
		for _, e := range told.Changed("t", tt.progress) {
			if e.Call != "a" || e.Passing != tt.passes {
				t.Errorf("%s: of the call %q, passes %t", name, e.Call, e.Passing)
			}
		}
	}
	told.Changed("t", output("one"))
	told.Changed("t", output("two"))
	open := told.Open()
	if p, _ := open[0].Data.(tools.Progress); len(open) != 1 || p.Output == nil || p.Output.Text != "two" {
		t.Errorf("a client that comes is told %+v", open)
	}
}
