package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
)

// toolOf returns a tool with an input of any members.
func toolOf(name string, readOnly bool, run func(ctx context.Context, in Input) (Result, error)) Tool {
	return Tool{Definition: Definition{Name: name, Schema: json.RawMessage(`{"type":"object"}`)}, Kind: KindRead, ReadOnly: readOnly, Run: run}
}

// stepOf returns a step with calls of tools, written as name or name{json}.
func stepOf(t *testing.T, tools []Tool, tokens int, calls ...string) *Step {
	t.Helper()
	set, err := NewSet(tools...)
	must(t, err)
	message := []history.Block{textBlock("I look at that.")}
	for i, call := range calls {
		name, args, _ := strings.Cut(call, "{")
		message = append(message, history.Block{Type: history.BlockToolCall, CallID: fmt.Sprint("tc_", i), Name: name, Args: "{" + strings.TrimSuffix(args, "}") + "}"})
	}
	return set.NewStep(message, tokens, func(text string) int { return len(text) / 3 }, func(path string) string { return "/folder/" + path })
}

// finish decides on all calls and runs them.
func finish(ctx context.Context, s *Step, tell func(Progress)) {
	for {
		switch event, p := s.Review(); event {
		case Refused:
			tell(p)
		case Prepares:
			if event, p := s.Prepare(ctx, func(run func()) { go run() }); event == Refused {
				tell(p)
				continue
			}
			s.Allow()
			s.Run(ctx, func(run func()) { go run() }, tell)
		case Asks:
			if call, _ := s.Asked(); call.Tool.Name == "forbidden" {
				tell(s.Refuse("forbidden was not run: the user rejected the call."))
				continue
			}
			s.Allow()
			s.Run(ctx, func(run func()) { go run() }, tell)
		case Allowed:
			s.Run(ctx, func(run func()) { go run() }, tell)
		case Reviewed:
			return
		}
	}
}

func says(answer string) func(context.Context, Input) (Result, error) {
	return func(context.Context, Input) (Result, error) { return text("%s", answer), nil }
}

// Results are in the model's order, whichever ends first, and each call is told in order: in progress, then its result.
func TestAStepHasTheResultsInOrder(t *testing.T) {
	second := make(chan struct{})
	step := stepOf(t, []Tool{
		toolOf("slow", true, func(context.Context, Input) (Result, error) { <-second; return text("late"), nil }),
		toolOf("quick", true, func(context.Context, Input) (Result, error) { defer close(second); return text("early"), nil }),
		toolOf("breaks", true, func(context.Context, Input) (Result, error) { panic("broken") }),
	}, 1<<20, "slow", "quick", "unknown", "breaks", "slow")
	told := map[string][]Status{}
	finish(t.Context(), step, func(p Progress) { told[p.CallID] = append(told[p.CallID], p.Status) })
	var got []string
	for _, b := range step.Results() {
		got = append(got, fmt.Sprint(b.CallID, " ", b.IsError, " ", b.Content[0].Text))
	}
	equal(t, "results", got, []string{
		"tc_0 false late", "tc_1 false early", `tc_2 true there is no tool "unknown"; the tools are breaks, quick, slow`,
		"tc_3 true breaks failed: internal error", "tc_4 false late",
	})
	equal(t, "told", told, map[string][]Status{
		"tc_0": {InProgress, Completed}, "tc_1": {InProgress, Completed}, "tc_2": {Fails}, "tc_3": {InProgress, Fails}, "tc_4": {InProgress, Completed},
	})
}

func TestCallsThatDoNotRun(t *testing.T) {
	var ran atomic.Int32
	changes := toolOf("forbidden", false, func(context.Context, Input) (Result, error) { ran.Add(1); return text("done"), nil })
	step := stepOf(t, []Tool{changes, toolOf("look", true, says("seen"))}, 1<<20, "look", "forbidden", "look")
	step.calls[2].block.Incomplete = true
	finish(t.Context(), step, func(Progress) {})
	results := step.Results()
	if results[0].IsError || !results[1].IsError || !results[2].IsError || ran.Load() != 0 {
		t.Errorf("results %+v, %d calls with effects ran", results, ran.Load())
	}
	hasAll(t, results[1].Content[0].Text, "forbidden was not run", "rejected")
	hasAll(t, results[2].Content[0].Text, "incomplete")
}

// A call that can change something runs alone, after the calls before it and before those after it.
func TestCallsWithEffectsRunAlone(t *testing.T) {
	var now, order atomic.Int32
	look := toolOf("look", true, func(context.Context, Input) (Result, error) {
		now.Add(1)
		defer now.Add(-1)
		return text("%d", order.Load()), nil
	})
	change := toolOf("change", false, func(context.Context, Input) (Result, error) {
		if now.Load() > 0 {
			t.Error("another call runs")
		}
		return text("changed %d", order.Add(1)), nil
	})
	step := stepOf(t, []Tool{look, change}, 1<<20, "look", "look", "change", "look", "change")
	finish(t.Context(), step, func(Progress) {})
	var got []string
	for _, b := range step.Results() {
		got = append(got, b.Content[0].Text)
	}
	equal(t, "results", got, []string{"0", "0", "changed 1", "1", "changed 2"})
	if !step.Changed() {
		t.Error("the newest call can have changed something")
	}
	step.Stored(2)
	if rest := step.Results(); len(rest) != 3 || rest[0].CallID != "tc_2" {
		t.Errorf("after two results were stored: %+v", rest)
	}
}

// Clients are shown the arguments of a call as the model wrote them, whether or not it runs.
func TestArgumentsAreShown(t *testing.T) {
	step := stepOf(t, []Tool{toolOf("look", true, says("seen"))}, 1<<20, "look", "look", "look", "unknown")
	for i, args := range []string{`{"path":"a"}`, ` `, `{"path":"a`, `{"b": 1}`} {
		step.calls[i].block.Args = args
	}
	step.calls[2].block.Incomplete = true
	told := map[string]string{}
	finish(t.Context(), step, func(p Progress) { told[p.CallID] = string(p.Input) })
	equal(t, "inputs", told, map[string]string{"tc_0": `{"path":"a"}`, "tc_1": "", "tc_2": `"{\"path\":\"a"`, "tc_3": `{"b": 1}`})
}

// At most four calls run at a time, and all of them run.
func TestParallelCallsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		look := toolOf("look", true, func(context.Context, Input) (Result, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return text("seen"), nil
		})
		step := stepOf(t, []Tool{look}, 1<<20, "look", "look", "look", "look", "look", "look", "look", "look", "look")
		start := time.Now()
		finish(t.Context(), step, func(Progress) {})
		if took := time.Since(start); most.Load() != maxParallel || took != 3*time.Second {
			t.Errorf("%d calls at a time, for %v", most.Load(), took)
		}
		for i := range step.calls {
			if step.calls[i].result == nil {
				t.Errorf("call %d has no result", i)
			}
		}
	})
}

// A cancel does not wait for a tool that does not listen, and what that returns later is dropped.
func TestACancelledStepIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := toolOf("deaf", true, func(context.Context, Input) (Result, error) { <-release; return text("too late"), nil })
		step := stepOf(t, []Tool{deaf, toolOf("look", true, says("seen"))}, 1<<20, "look", "deaf", "deaf", "deaf", "deaf", "deaf", "look")
		ctx, cancel := context.WithCancel(t.Context())
		var told atomic.Int32
		var all sync.WaitGroup
		event, _ := step.Review()
		equal(t, "event", event, Allowed)
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		step.Run(ctx, all.Go, func(p Progress) {
			if p.Status != InProgress {
				told.Add(1)
			}
		})
		if took := time.Since(start); took != time.Second {
			t.Errorf("the step ended after %v", took)
		}
		settled := step.Settle(Cancelled)
		close(release)
		all.Wait()
		results := step.Results()
		if len(settled) != 6 || told.Load() != 1 || results[0].Content[0].Text != "seen" || results[1].Content[0].Text != "cancelled by the user" {
			t.Errorf("%d calls are settled, %d returned, results %+v", len(settled), told.Load(), results)
		}
		equal(t, "outcome of a call with a result", results[0].Call.Outcome, history.CallOutcome(""))
		equal(t, "outcome of a call without one", results[1].Call.Outcome, history.CallCancelled)
	})
}

// Whatever the reason is, the result of a stored call says so in a text and in its outcome, and it is shown as its call was.
func TestResultsOfCallsWithoutATool(t *testing.T) {
	call := history.Block{Type: history.BlockToolCall, CallID: "tc_1", Name: "look", Args: "{}"}
	for why, want := range map[NoResult]string{
		CutOff: "not_run not run: the reply was cut off", BrokenOff: "not_run not run: the provider broke off",
		NoTools: "not_run not run: there are no tools", Cancelled: "cancelled cancelled by the user",
		Interrupted: "interrupted interrupted: the session was closed", Lost: "lost the server ended while this call ran; it is unknown whether the call took effect",
	} {
		r := why.Block(&call)
		equal(t, "result", string(r.Call.Outcome)+" "+r.Content[0].Text, want)
		equal(t, "call", fmt.Sprint(r.CallID, " ", r.IsError, " ", r.Call.Title, " ", r.Call.Kind), "tc_1 true look other")
	}
}

// A result that is being counted when its step is cancelled is dropped as well.
func TestAResultThatIsCountedTooLateIsDropped(t *testing.T) {
	set, err := NewSet(toolOf("look", true, says("seen")))
	must(t, err)
	counting, release := make(chan struct{}), make(chan struct{})
	count := func(text string) int {
		close(counting)
		<-release
		return len(text)
	}
	step := set.NewStep([]history.Block{{Type: history.BlockToolCall, CallID: "tc_0", Name: "look", Args: "{}"}}, 1<<20, count, func(string) string { return "" })
	step.Review()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-counting
		cancel()
	}()
	var all sync.WaitGroup
	step.Run(ctx, all.Go, func(p Progress) {
		if p.Status != InProgress {
			t.Errorf("told as %s", p.Status)
		}
	})
	step.Settle(Cancelled)
	close(release)
	all.Wait()
	equal(t, "result", step.Results()[0].Content[0].Text, "cancelled by the user")
}

// The results of a step share its limit, however many calls it has, and whatever its texts are.
func TestResultsShareTheLimit(t *testing.T) {
	long := toolOf("long", true, says(strings.Repeat("a line of a long text\n", 10_000)))
	for calls, tokens := range map[int]int{1: 10_000, 2: 10_000, 7: 10_000, 3: 1 << 20} {
		names := make([]string, calls)
		for i := range names {
			names[i] = "long"
		}
		step := stepOf(t, []Tool{long}, tokens, names...)
		finish(t.Context(), step, func(Progress) {})
		size := 0
		for i := range step.calls {
			n := step.calls[i].result.Size()
			if size += n; n > MaxResult {
				t.Errorf("%d calls within %d tokens: one has %d bytes", calls, tokens, n)
			}
		}
		if most := min(tokens*3, calls*MaxResult); size > most+3*calls || size < most*8/10 {
			t.Errorf("%d calls within %d tokens have %d bytes", calls, tokens, size)
		}
	}
}

func TestRepeatedCallsAreNoticed(t *testing.T) {
	var n atomic.Int32
	tools := []Tool{
		toolOf("same", true, says("nothing new")),
		toolOf("counts", true, func(context.Context, Input) (Result, error) { return text("%d", n.Add(1)), nil }),
	}
	var r Repeats
	for i, tt := range []struct {
		calls  []string
		told   int // index of the call that is told, -1 for none
		enough bool
	}{
		{[]string{"same", "same"}, -1, false},
		{[]string{"same{\"a\":1}"}, -1, false}, // another input
		{[]string{"same", "same", "same"}, 2, false},
		{[]string{"counts", "counts", "counts", "counts", "counts", "counts"}, -1, false},
		{[]string{"same"}, -1, false},
		{[]string{"same"}, -1, false},
		{[]string{"same"}, 0, false},
		{[]string{"same"}, -1, false},
		{[]string{"same"}, -1, true},
	} {
		step := stepOf(t, tools, 1<<20, tt.calls...)
		finish(t.Context(), step, func(Progress) {})
		enough := r.Note(step)
		for j, b := range step.Results() {
			if told := len(b.Content) > 1; told != (j == tt.told) {
				t.Errorf("step %d, call %d: told %t", i, j, told)
			}
		}
		if enough != tt.enough {
			t.Errorf("step %d: enough %t", i, enough)
		}
	}
}

// A tool that fails with an error of a context of its own has a result: the turn goes on.
func TestAToolThatRunsOutOfItsOwnTime(t *testing.T) {
	step := stepOf(t, []Tool{toolOf("slow", true, func(context.Context, Input) (Result, error) { return Result{}, context.DeadlineExceeded })}, 1<<20, "slow")
	finish(t.Context(), step, func(Progress) {})
	if results := step.Results(); len(results) != 1 || !results[0].IsError || !strings.Contains(results[0].Content[0].Text, "slow failed: context deadline exceeded") {
		t.Errorf("%+v", results)
	}
}
