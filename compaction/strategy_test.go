package compaction

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNamed(t *testing.T) {
	for _, name := range []string{Topic, Rolling, Prune, Middle, Window} {
		named(t, name)
	}
	if _, err := Named("magic"); err == nil {
		t.Error("an unknown strategy was found")
	}
}

func TestTopic(t *testing.T) {
	ten := talk(exchanges(10, 100)...) // 200 tokens each, m1 to m20
	numbers := Numbers{TriggerTokens: 1_600, VerbatimWindowTokens: 700, SummaryBudgetTokens: 50, MinVerbatimExchanges: 2, MinConfidence: 0.5}
	sure := func(index int) Boundary { return Boundary{Index: index, Confidence: 0.8, By: ByModel} }
	for name, c := range map[string]struct {
		change   func(n *Numbers)
		boundary Boundary
		kept     string
		summary  bool
	}{
		"no boundary":                     {nil, NoBoundary, ids(15, 20), true},
		"boundary before the window":      {nil, sure(8), ids(15, 20), true},
		"boundary where the window opens": {nil, sure(14), ids(15, 20), false},
		"boundary in the window":          {nil, sure(16), ids(17, 20), false},
		"boundary in a reply":             {nil, sure(17), ids(17, 20), false},
		"boundary in the last exchange":   {nil, sure(18), ids(17, 20), false},
		"boundary by words":               {nil, Boundary{Index: 16, Confidence: 0.8, By: ByWords}, ids(17, 20), true},
		"boundary not sure enough":        {nil, Boundary{Index: 16, Confidence: 0.4}, ids(15, 20), true},
		"exchanges at least":              {func(n *Numbers) { n.MinVerbatimExchanges = 5 }, NoBoundary, ids(11, 20), true},
		"window for all":                  {func(n *Numbers) { n.VerbatimWindowTokens, n.TriggerTokens = 5_000, 0 }, sure(16), ids(1, 20), false},
		"window above half the trigger":   {func(n *Numbers) { n.VerbatimWindowTokens = 5_000 }, NoBoundary, ids(13, 20), true},
		"no window":                       {func(n *Numbers) { n.VerbatimWindowTokens, n.MinVerbatimExchanges = 0, 0 }, NoBoundary, ids(19, 20), true},
	} {
		t.Run(name, func(t *testing.T) {
			n := numbers
			if c.change != nil {
				c.change(&n)
			}
			plan := named(t, Topic).Plan(ten, n, c.boundary)
			if got := kept(ten, plan); got != c.kept {
				t.Errorf("kept %s, want %s", got, c.kept)
			}
			if summary := len(plan.Summarise) > 0; summary != c.summary {
				t.Errorf("summary %v", summary)
			}
		})
	}
}

func TestRollingFoldsWhatLeavesTheWindow(t *testing.T) {
	n := Numbers{RawWindowSize: 5, SummarizeEvery: 10, SummaryBudgetTokens: 100}
	h := talk(exchanges(23, 100)...)
	plan := named(t, Rolling).Plan(h, n, NoBoundary)
	if got := kept(h, plan); got != ids(37, 46) {
		t.Errorf("kept %s", got)
	}
	if !slices.Equal(plan.Summarise, plan.Drop) || len(plan.Drop) != 2*18 {
		t.Errorf("summarised %v", plan.Summarise)
	}
	if few := talk(exchanges(5, 100)...); named(t, Rolling).Fill(few, n).Due {
		t.Error("iterations are dropped although all are in the window")
	}
}

func TestRollingRewritesAtIntervals(t *testing.T) {
	n := Numbers{RawWindowSize: 5, SummarizeEvery: 10}
	h := talk(exchanges(6, 100)...) // one leaves
	for summarised, rewrite := range map[int]bool{0: true, 1: false, 8: false, 9: true, 10: false, 19: true} {
		h.Summarised, h.Summary = summarised, ""
		if summarised > 0 {
			h.Summary = "notes"
		}
		if plan := named(t, Rolling).Plan(h, n, NoBoundary); plan.Rewrite != rewrite {
			t.Errorf("after %d summarized iterations: rewrite is %v", summarised, plan.Rewrite)
		}
	}
}

// stepsOf returns a history of n steps, in one exchange or one exchange each.
func stepsOf(n int, oneExchange bool, failing ...int) History {
	var messages []Message
	for i := 1; i <= n; i++ {
		if i == 1 || !oneExchange {
			messages = append(messages, Message{ID: fmt.Sprintf("u%d", i), Role: "user", Tokens: 10})
		}
		step := Message{ID: fmt.Sprintf("m%d", i), Role: "assistant", Tokens: 10, Text: "went well, no error"}
		if slices.Contains(failing, i) {
			step.Text = "Error: no such table"
		}
		messages = append(messages, step)
	}
	return History{Messages: messages}
}

// keptSteps returns the steps kept by a plan.
func keptSteps(h History, p Plan) string {
	var steps []Message
	for _, m := range h.Messages {
		if m.Role == "assistant" {
			steps = append(steps, m)
		}
	}
	return kept(History{Messages: steps}, p)
}

var steps = Numbers{SummaryThreshold: 5, MaxSteps: 15, KeepFirst: 3, KeepLast: 10, FailureWords: []string{"Error", "Failed", "Exception"}}

func TestPruneKeepsFirstLastAndFailures(t *testing.T) {
	n := steps
	n.NoSummary = true
	for _, oneExchange := range []bool{true, false} {
		h := stepsOf(20, oneExchange, 6, 16)
		plan := named(t, Prune).Plan(h, n, NoBoundary)
		if got, want := keptSteps(h, plan), ids(1, 3, 6, 6, 11, 20); got != want {
			t.Errorf("kept %s, want %s", got, want)
		}
		if len(plan.Summarise) > 0 {
			t.Error("a summary is made although summaries are off")
		}
		if again := named(t, Prune).Plan(applied(h, Outcome{Result: Compacted, Plan: plan}), n, NoBoundary); !again.Empty() {
			t.Errorf("a second plan drops %v", again.Drop)
		}
	}
}

func TestPruneSummarisesAllSteps(t *testing.T) {
	h := stepsOf(5, false)
	plan := named(t, Prune).Plan(h, steps, NoBoundary)
	if got := kept(h, plan); got != "u5 m5" || len(plan.Summarise) != 8 || plan.Reason != "4 steps summarised" {
		t.Errorf("kept %s, summarised %v, %s", got, plan.Summarise, plan.Reason)
	}
}

func TestPruneActsAtItsThresholds(t *testing.T) {
	off := steps
	off.NoSummary = true
	asked := off
	asked.Asked = true
	for _, c := range []struct {
		steps   int
		numbers Numbers
		due     bool
	}{{4, steps, false}, {5, steps, true}, {15, off, false}, {16, off, true}, {15, asked, true}} {
		h := stepsOf(c.steps, true)
		if plan := named(t, Prune).Plan(h, c.numbers, NoBoundary); plan.Empty() == c.due {
			t.Errorf("%d steps: %+v", c.steps, plan)
		}
	}
}

func TestPruneSeesFailedResults(t *testing.T) {
	n := steps
	n.NoSummary, n.KeepFirst, n.KeepLast, n.MaxSteps = true, 0, 1, 1
	failed := calls("exit status 1")
	failed[1].Failed = true
	h := talk(append(append([]Message{user("go"), assistant("an error, but not one")}, failed...), assistant("done"))...)
	if got := kept(h, named(t, Prune).Plan(h, n, NoBoundary)); got != "m1 m3 m4 m5" {
		t.Errorf("kept %s", got)
	}
}

func TestMiddle(t *testing.T) {
	h := talk(exchanges(10, 100)...)
	for mode, want := range map[string]string{
		KeepNone:    "m1 m2",
		KeepLastTwo: ids(1, 2, 19, 20),
		KeepHalf:    ids(1, 2, 11, 20),
		KeepQuarter: ids(1, 2, 15, 20),
	} {
		if got := kept(h, named(t, Middle).Plan(h, Numbers{MiddleMode: mode}, NoBoundary)); got != want {
			t.Errorf("%s: kept %s, want %s", mode, got, want)
		}
	}
}

func TestMiddleChoosesByNeed(t *testing.T) {
	h := talk(exchanges(10, 100)...) // 2,000 tokens
	for room, want := range map[int]string{0: ids(1, 2, 11, 20), 1_001: ids(1, 2, 11, 20), 1_000: ids(1, 2, 15, 20)} {
		if got := kept(h, named(t, Middle).Plan(h, Numbers{RoomTokens: room}, NoBoundary)); got != want {
			t.Errorf("room %d: kept %s, want %s", room, got, want)
		}
	}
}

// A single long exchange of tool calls can also be compacted, and roles alternate at the cut.
func TestMiddleInsideAnExchange(t *testing.T) {
	messages := []Message{user("go")}
	for range 9 {
		messages = append(messages, calls("ok")...)
	}
	h := talk(append(messages, assistant("done"))...) // m1, 9 pairs of m2 m3 …, m20
	n := Numbers{MiddleMode: KeepHalf}
	plan := named(t, Middle).Plan(h, n, NoBoundary)
	if got := kept(h, plan); got != ids(1, 3, 12, 20) {
		t.Errorf("kept %s", got)
	}
	h = applied(h, Outcome{Result: Compacted, Plan: plan})
	if got := kept(h, named(t, Middle).Plan(h, n, NoBoundary)); got != ids(1, 3, 16, 20) {
		t.Errorf("kept %s the second time", got)
	}
}

func TestWindow(t *testing.T) {
	h := talk(exchanges(25, 10)...) // 50 messages
	for room, want := range map[int]string{
		500: ids(1, 50),
		65:  ids(1, 2, 47, 50),
		60:  ids(1, 2, 47, 50),
		59:  ids(1, 2, 48, 50),
		15:  ids(1, 2, 49, 50), // the first and the newest user message are always kept, with their answers
	} {
		plan := named(t, Window).Plan(h, Numbers{RoomTokens: room}, NoBoundary)
		if got := kept(h, plan); got != want {
			t.Errorf("room %d: kept %s, want %s", room, got, want)
		}
	}
	if plan := named(t, Window).Plan(h, Numbers{RoomTokens: 60}, NoBoundary); len(plan.Drop) != 44 {
		t.Errorf("%d messages dropped", len(plan.Drop))
	}
}

func TestWindowFillsOnlyAPartOfItsRoom(t *testing.T) {
	h := talk(exchanges(25, 10)...) // 500 tokens
	n := Numbers{RoomTokens: 100, FillTokens: 60, TriggerTokens: 1}
	plan := named(t, Window).Plan(h, n, NoBoundary)
	if got := kept(h, plan); got != ids(1, 2, 47, 50) {
		t.Errorf("kept %s", got)
	}
	if h = applied(h, Outcome{Result: Compacted, Plan: plan}); named(t, Window).Fill(h, n).Due {
		t.Error("due again immediately")
	}
}

func TestWindowLeavesRoomForItsDigest(t *testing.T) {
	h := talk(exchanges(25, 10)...)
	plan := named(t, Window).Plan(h, Numbers{RoomTokens: 80, SummaryBudgetTokens: 20}, NoBoundary)
	if got := kept(h, plan); got != ids(1, 2, 47, 50) || !plan.Words || plan.Budget != 20 {
		t.Errorf("kept %s, %+v", got, plan)
	}
}

// Plans for a history without user messages are empty, except that prune counts and summarizes steps before any.
func TestWithoutUserMessages(t *testing.T) {
	n := Numbers{Asked: true, MiddleMode: KeepNone, RoomTokens: 1}
	for _, name := range []string{Topic, Rolling, Prune, Middle, Window} {
		for _, h := range []History{{}, talk(assistant("hello"), assistant("anybody?"))} {
			if plan := named(t, name).Plan(h, n, NoBoundary); plan.Empty() == (name == Prune && len(h.Messages) > 0) {
				t.Errorf("%s drops %v", name, plan.Drop)
			}
		}
	}
}

func TestDue(t *testing.T) {
	h := talk(exchanges(10, 100)...) // 2,000 tokens
	h.SummaryTokens = 1
	for name, c := range map[string]struct {
		strategy string
		numbers  Numbers
		fill     Fill
		percent  int
		shortens bool
	}{
		"topic over its trigger":         {Topic, Numbers{TriggerTokens: 2_000}, Fill{2_001, 2_000, Tokens, true}, 100, true},
		"topic far over its trigger":     {Topic, Numbers{TriggerTokens: 800}, Fill{2_001, 800, Tokens, true}, 250, true},
		"topic at its trigger":           {Topic, Numbers{TriggerTokens: 2_001}, Fill{2_001, 2_001, Tokens, false}, 99, true},
		"topic below its trigger":        {Topic, Numbers{TriggerTokens: 4_003}, Fill{2_001, 4_003, Tokens, false}, 49, true},
		"topic without one":              {Topic, Numbers{}, Fill{2_001, 0, Tokens, false}, 0, true},
		"topic with nothing to drop":     {Topic, Numbers{TriggerTokens: 1_000, MinVerbatimExchanges: 10}, Fill{2_001, 1_000, Tokens, true}, 200, false},
		"middle over its trigger":        {Middle, Numbers{TriggerTokens: 2_000}, Fill{2_001, 2_000, Tokens, true}, 100, true},
		"middle at its trigger":          {Middle, Numbers{TriggerTokens: 2_001}, Fill{2_001, 2_001, Tokens, false}, 99, true},
		"window over its room":           {Window, Numbers{TriggerTokens: 4_000, RoomTokens: 1_500}, Fill{2_001, 1_500, Tokens, true}, 133, true},
		"window with room for all":       {Window, Numbers{TriggerTokens: 1_000, RoomTokens: 2_001}, Fill{2_001, 2_001, Tokens, false}, 99, false},
		"window without a trigger":       {Window, Numbers{RoomTokens: 1_000}, Fill{2_001, 0, Tokens, false}, 0, true},
		"rolling with more than raw":     {Rolling, Numbers{RawWindowSize: 9}, Fill{10, 10, Iterations, true}, 100, true},
		"rolling with raw ones":          {Rolling, Numbers{RawWindowSize: 10}, Fill{10, 11, Iterations, false}, 90, false},
		"prune at its threshold":         {Prune, Numbers{SummaryThreshold: 10}, Fill{10, 10, Steps, true}, 100, true},
		"prune below its threshold":      {Prune, Numbers{SummaryThreshold: 11}, Fill{10, 11, Steps, false}, 90, false},
		"prune off, with many steps":     {Prune, Numbers{NoSummary: true, MaxSteps: 9, KeepFirst: 1, KeepLast: 2}, Fill{10, 10, Steps, true}, 100, true},
		"prune off, all of them pinned":  {Prune, Numbers{NoSummary: true, MaxSteps: 9, KeepFirst: 3, KeepLast: 7}, Fill{10, 10, Steps, true}, 100, false},
		"prune off, with steps as usual": {Prune, Numbers{NoSummary: true, MaxSteps: 10}, Fill{10, 11, Steps, false}, 90, false},
	} {
		compactor := New(named(t, c.strategy), c.numbers, NewSummarizer(nil, counter, Limits{}))
		if got := compactor.Fill(h); got != c.fill || got.Percent() != c.percent || compactor.Shortens(h) != c.shortens {
			t.Errorf("%s: %+v, %d %%, shortens: %v", name, got, got.Percent(), compactor.Shortens(h))
		}
	}
}

// Steps before any user message count, and are summarized.
func TestP01StepsBeforeAnyUserMessageCount(t *testing.T) {
	n := steps
	h := talk(assistant("a"), assistant("b"), assistant("c"), assistant("d"), assistant("e"))
	n.SummaryThreshold = len(h.Messages)
	if fill := named(t, Prune).Fill(h, n); !fill.Due || fill.Size != len(h.Messages) {
		t.Errorf("%+v", fill)
	}
	if plan := named(t, Prune).Plan(h, n, NoBoundary); len(plan.Drop) != len(h.Messages) || len(plan.Summarise) != len(h.Messages) {
		t.Errorf("drops %v, summarises %v", plan.Drop, plan.Summarise)
	}
	h = talk(append([]Message{assistant("a"), assistant("b")}, exchanges(3, 10)...)...)
	if fill := named(t, Prune).Fill(h, n); !fill.Due || fill.Size != 5 {
		t.Errorf("with three exchanges: %+v", fill)
	}
}

func TestPruneKeepsUnansweredMessagesBeforeAStep(t *testing.T) {
	n := steps
	n.NoSummary, n.KeepFirst, n.KeepLast, n.MaxSteps = true, 0, 1, 1
	h := talk(user("lost"), assistant("gone"), user("unanswered"), user("asked again"), assistant("done"), user("and now?"))
	if got := kept(h, named(t, Prune).Plan(h, n, NoBoundary)); got != ids(3, 6) {
		t.Errorf("kept %s", got)
	}
}

// The reason for a compaction at a boundary always says something, in one short line.
func TestP18TheReasonOfATopicIsTold(t *testing.T) {
	h := talk(exchanges(20, 100)...)
	for name, tt := range map[string]struct {
		b    Boundary
		want string
	}{
		"a reason":    {Boundary{Reason: "the parser is done", Summary: "x"}, "a new topic began: the parser is done"},
		"a summary":   {Boundary{Summary: "They built the parser."}, "a new topic began after: They built the parser."},
		"neither":     {Boundary{}, "a new topic began with message 39, found by model"},
		"several":     {Boundary{Reason: "one\ntwo\tthree"}, "a new topic began: one two three"},
		"a long text": {Boundary{Reason: strings.Repeat("ä", 60_000)}, "a new topic began: " + strings.Repeat("ä", 199) + "…"},
	} {
		tt.b.Index, tt.b.Confidence, tt.b.By = 38, 0.9, ByModel
		n := chat
		n.MinVerbatimExchanges = 1
		if got := named(t, Topic).Plan(h, n, tt.b).Reason; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
