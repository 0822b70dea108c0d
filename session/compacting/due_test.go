package compacting

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"strata/compaction"
	"strata/history"
	"strata/session/profile"
)

// triggerOf returns the trigger of a session.
func triggerOf(st *stage) int {
	state := st.state()
	return trigger(&state)
}

func TestTriggers(t *testing.T) {
	for name, tc := range map[string]struct {
		profile string
		window  int
		want    int
	}{
		"chat":                                {"chat", 128_000, 24_000},
		"chat, small window":                  {"chat", 20_000, 12_000},
		"task: 64k less 27k":                  {"task", 64_000, 37_000},
		"task: 128k less 30k":                 {"task", 128_000, 98_000},
		"task: 200k less 40k":                 {"task", 200_000, 160_000},
		"task: 32k less 20 %":                 {"task", 32_000, 25_600},
		"phased, of the window that it takes": {"phased", 30_000, 18_000},
		"phased":                              {"phased", 1_000_000, 20_000},
	} {
		if got := triggerOf(newStage(t, tc.profile, tc.window)); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// The reserve is the smaller of 40,000 tokens and 20 % of the window; from 400,000 on, 90 % of the window comes first.
func TestP12TaskTriggersByTheSmallerReserve(t *testing.T) {
	for window, want := range map[int]int{
		80_000: 64_000, 100_000: 80_000, 200_000: 160_000, 300_000: 260_000, 400_000: 360_000, 1_000_000: 900_000,
	} {
		if got := triggerOf(newStage(t, "task", window)); got != want {
			t.Errorf("a window of %d triggers at %d, want %d", window, got, want)
		}
	}
}

// The status shows the number at which the history is compacted: of phased its room beside the rest of the request, of loop
// the iterations, and of task a request that still fits the window.
func TestP15TheStatusShowsTheNumberThatRules(t *testing.T) {
	statusOf := func(st *stage) Status {
		state, rules := st.state(), st.rules()
		var status Status
		need := NeedOf(&state, &rules)
		status.needs(&state, &need)
		return status
	}
	grow := func(st *stage, exchanges, tokens int) {
		for range exchanges {
			st.ask("more")
			st.answer(wordsOf(tokens))
		}
	}
	phased := newStage(t, "phased", 200_000)
	phased.beside = 26_000
	grow(phased, 3, 10_000)
	if s := statusOf(phased); s.NeedsCompaction || s.Unit != compaction.Tokens || s.TriggerTokens != 70_000 || s.PercentUsed != 42 {
		t.Errorf("phased with a history of 30,000 in a room of 70,000: %+v", s)
	}
	phased.beside = 70_000
	if s := statusOf(phased); !s.NeedsCompaction || s.TriggerTokens != 26_000 || s.PercentUsed != 115 {
		t.Errorf("phased with a history of 30,000 in a room of 26,000: %+v", s)
	}
	phased.profile.Budget.ContextWindow = 12_000
	phased.beside = 4_000
	phased.messages = nil
	grow(phased, 1, 5_500)
	if s := statusOf(phased); !s.NeedsCompaction || s.TriggerTokens != 5_000 {
		t.Errorf("phased with a history of 5,500 in a room of 5,000, below 60 %% of the window: %+v", s)
	}

	loop := newStage(t, "loop", 200_000)
	grow(loop, 5, 10_000)
	if s := statusOf(loop); s.NeedsCompaction || s.Unit != compaction.Iterations || s.Size != 5 || s.Trigger != 6 || s.TriggerTokens != 0 || s.PercentUsed != 83 {
		t.Errorf("loop with 5 iterations: %+v", s)
	}
	grow(loop, 1, 1)
	if s := statusOf(loop); !s.NeedsCompaction || s.Size != 6 || s.PercentUsed != 100 {
		t.Errorf("loop with 6 iterations: %+v", s)
	}

	for _, window := range []int{8_000, 64_000, 80_000, 100_000, 128_000, 200_000, 400_000, 1_000_000} {
		st := newStage(t, "task", window)
		if state := st.state(); state.Room() < statusOf(st).TriggerTokens {
			t.Errorf("task in a window of %d: the trigger of %d exceeds the room of %d", window, statusOf(st).TriggerTokens, state.Room())
		}
	}
}

func TestAWindowsShareCanComeBeforeItsReserve(t *testing.T) {
	st := newStage(t, "task", 128_000)
	p := &st.profile
	p.Compaction.WindowPercent = 50
	if got := triggerOf(st); got != 64_000 {
		t.Errorf("triggers at %d", got)
	}
	p.Compaction.WindowPercent, p.Compaction.TriggerTokens, p.Budget.Reserve = 0, 7, profile.Reserve{}
	if got := triggerOf(st); got != 7 {
		t.Errorf("without the window it triggers at %d", got)
	}
}

func TestTheWholeRequestIsMeasuredWithAReserve(t *testing.T) {
	st := newStage(t, "task", 128_000)
	for range 10 {
		st.ask(wordsOf(100))
		st.answer(wordsOf(100))
	}
	rules := st.rules()
	for beside, want := range map[int]bool{0: false, 98_000: false, 98_001: true} {
		state := st.state()
		if st.beside = beside - state.HistoryTokens; beside == 0 {
			st.beside = 0
		}
		state = st.state()
		if NeedOf(&state, &rules).Due != want {
			t.Errorf("a request of %d tokens is due: %v", beside, !want)
		}
		if room := historyRoom(&state, wholeRoom(&state)); want && room > state.HistoryTokens {
			t.Errorf("the history of %d tokens has room for %d", state.HistoryTokens, room)
		}
	}
}

func TestTriggersFollowTheProvidersTokens(t *testing.T) {
	st := newStage(t, "chat", 128_000)
	st.learned.Learn(st.model.Name, 10_000, 22_000)
	if expected := st.learned.Apply(st.model.Name, 10_000); expected < 22_000 {
		st.drift = 22_000 / float64(expected)
	}
	rules := st.rules()
	state := st.state()
	n := numbers(&state, &rules, "topic", false)
	if got := trigger(&state); got < 10_800 || got > 10_909 || n.TriggerTokens != got {
		t.Errorf("24,000 of the provider's tokens are %d of ours, %d for the strategy", got, n.TriggerTokens)
	}
	if got := n.VerbatimWindowTokens; got < 1_800 || got > 1_818 {
		t.Errorf("4,000 of the provider's tokens are %d of ours", got)
	}
	var status Status
	need := NeedOf(&state, &rules)
	if status.needs(&state, &need); status.TriggerTokens != 24_000 || status.Trigger != 24_000 {
		t.Errorf("shown as %d, %d", status.TriggerTokens, status.Trigger)
	}
	for range 40 {
		st.ask(wordsOf(150))
		st.answer(wordsOf(150))
	}
	state = st.state()
	if state.HistoryTokens > 24_000 || !NeedOf(&state, &rules).Due {
		t.Errorf("a history of %d tokens, %d of the provider's, is not due", state.HistoryTokens, state.Calibrated(state.HistoryTokens))
	}
}

func TestTaskSkipsTruncationWhenCopiesSufficed(t *testing.T) {
	for _, tc := range []struct {
		name           string
		copies, talk   int // copies of a file, and other exchanges
		dropped, found bool
	}{
		{"copies are most of it", 5, 3, false, true},
		{"copies are next to nothing", 2, 60, true, true},
		{"no copies", 1, 20, true, false},
	} {
		st := newStage(t, "task", 64_000)
		st.ask("start")
		st.answer("yes")
		for i := range tc.copies {
			st.call("--- FULL CONTENT: a.go ---\n" + strings.ReplaceAll(linesOf("a", 80), "value", fmt.Sprint("v", i)))
		}
		for i := range tc.talk {
			st.ask(fmt.Sprint("question ", i, wordsOf(100)))
			st.answer(wordsOf(100))
		}
		j := st.job(true)
		before := j.state.HistoryTokens
		out := j.run(context.Background())
		if out.Result != compaction.Compacted || out.Before != before || out.After >= out.Before {
			t.Fatalf("%s: %+v", tc.name, out)
		}
		if dropped := len(out.Plan.Drop) > 0; dropped != tc.dropped || (len(j.copies.patches) > 0) != tc.found {
			t.Errorf("%s: %d messages leave, %d copies", tc.name, len(out.Plan.Drop), len(j.copies.patches))
		}
		st.apply(history.Edit{
			Kind: history.EditCompact, Messages: out.Plan.Drop, Patches: j.copies.patches, Summary: out.Summary, SummaryTokens: out.SummaryTokens,
		})
		if after := st.state(); after.HistoryTokens != out.After {
			t.Errorf("%s: the history has %d tokens, reported were %d", tc.name, after.HistoryTokens, out.After)
		}
	}
}

func TestCopiesSufficeFromAShareOfTheCharacters(t *testing.T) {
	messages := []compaction.Message{{Text: strings.Repeat("ä", 700)}, {Text: strings.Repeat("b", 300)}}
	for chars, want := range map[int]bool{299: false, 300: true, 1000: true} {
		c := copies{patches: make([]history.Patch, 1), chars: chars}
		if c.suffices(messages, 30) != want {
			t.Errorf("%d of 1,000 characters suffice: %v", chars, !want)
		}
	}
	if none := (&copies{}); none.suffices(nil, 30) {
		t.Error("no copies suffice")
	}
}

// Without summaries of steps, the first three, the failed and the last ten steps are kept.
func TestTheLogOfTwentyEntries(t *testing.T) {
	st := newStage(t, "steps", 128_000)
	st.profile.Compaction.SummaryThreshold, st.profile.Compaction.MaxSteps = 0, 15
	st.ask("start")
	for i := 1; i <= 20; i++ {
		words := fmt.Sprint("entry ", i, " went well")
		if i == 6 {
			words = fmt.Sprint("entry ", i, ": Error: no such file")
		}
		if i == 16 {
			st.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: "c", Name: "run", Args: `"entry 16"`})
			st.say(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: "c", IsError: true, Content: []history.Block{text("exit 1")}})
			continue
		}
		st.answer(words)
	}
	out := st.job(false).run(t.Context())
	st.apply(history.Edit{Kind: history.EditCompact, Messages: out.Plan.Drop})
	st.ask("next")
	state := st.state()
	b, err := state.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sent strings.Builder
	for _, e := range b.Request.Entries {
		for _, block := range e.Blocks {
			sent.WriteString(block.Text + "\n")
			for _, part := range block.Content {
				sent.WriteString(part.Text + "\n")
			}
		}
	}
	for i := 1; i <= 20; i++ {
		want := i <= 3 || i == 6 || i >= 11
		if got := strings.Contains(sent.String(), fmt.Sprint("entry ", i, " ")) || strings.Contains(sent.String(), fmt.Sprint("entry ", i, ":")) || i == 16 && strings.Contains(sent.String(), "exit 1"); got != want {
			t.Errorf("entry %d is kept: %v", i, got)
		}
	}
	if !strings.Contains(sent.String(), "[6 earlier messages omitted]") {
		t.Errorf("no marker: %s", sent.String())
	}
}

// If the rest of a request takes all of the room a compaction is due, whatever the history has.
func TestARequestThatIsFullWithoutItsHistory(t *testing.T) {
	st := newStage(t, "task", 128_000)
	st.ask("hello")
	st.beside = 127_000
	state := st.state()
	if got := trigger(&state); got != 1 {
		t.Errorf("a history of %d tokens is due", got)
	}
}

// A strategy that is not the profile's own has the numbers of the first profile that has it, but for those that the profile
// sets itself.
func TestNumbersOfAnotherStrategy(t *testing.T) {
	rules := Rules{Profiles: map[string]profile.Profile{
		"a": {Compaction: profile.Compaction{Strategy: "topic", KeepFirst: 9, KeepLast: 9}},
		"b": {Compaction: profile.Compaction{Strategy: "prune", KeepFirst: 3, KeepLast: 4}},
		"c": {Compaction: profile.Compaction{Strategy: "prune", KeepFirst: 7, MaxSteps: 7}},
	}}
	own := profile.Compaction{Strategy: "rolling", KeepLast: 1}
	for strategy, want := range map[string][3]int{"rolling": {0, 1, 0}, "prune": {3, 1, 0}, "window": {0, 1, 0}} {
		c := settings(own, &rules, strategy)
		if got := [3]int{c.KeepFirst, c.KeepLast, c.MaxSteps}; got != want {
			t.Errorf("%s: %v, want %v", strategy, got, want)
		}
	}
}
