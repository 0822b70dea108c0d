package compacting

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/compaction"
	"strata/history"
	"strata/session/fit"
)

// work appends n steps of so many tokens after a prompt; the third one fails.
func (st *stage) work(n, tokens int) {
	st.ask("Carry it out.")
	for i := 1; i <= n; i++ {
		id := st.id("call_")
		st.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: id, Name: "run", Args: fmt.Sprintf(`{"step": %d}`, i)})
		result := history.Block{Type: history.BlockToolResult, CallID: id, Content: []history.Block{text(fmt.Sprint("result ", i, wordsOf(tokens)))}}
		if i == 3 {
			result.IsError, result.Content[0].Text = true, "open parser.go:41: no such file, exit 7 "+wordsOf(tokens)
		}
		st.say(history.RoleTool, result)
	}
}

// The steps profile compacts also by size: before the next request evicts steps that no summary covers.
func TestP01StepsAreDueBySize(t *testing.T) {
	st := newStage(t, "steps", 128_000)
	st.work(2, 2250)
	st.answer("Done.")
	rules := st.rules()
	state := st.state()
	need := NeedOf(&state, &rules)
	if need.Due || need.Unit != compaction.Tokens || need.Percent() < 70 {
		t.Errorf("three steps of 4,500 tokens: %+v", need)
	}
	st.ask("And now?")
	st.answer("Nothing." + wordsOf(2200))
	state = st.state()
	var status Status
	need = NeedOf(&state, &rules)
	status.needs(&state, &need)
	if !need.Due || !need.shortens || status.PercentUsed < 100 || status.Unit != compaction.Tokens || status.TriggerTokens != 6250 {
		t.Errorf("four steps of 6,700 tokens: %+v, %+v", need, status)
	}
	if out := st.job(need.asked).run(t.Context()); out.Result != compaction.Compacted || out.Summary == "" {
		t.Errorf("%+v", out)
	}
}

// Steps that left a request unsummarised are in the next summary, and no longer count as omitted.
func TestP01EvictedStepsAreInTheNextSummary(t *testing.T) {
	for name, compact := range map[string]func(st *stage) history.Edit{
		"in the background": func(st *stage) history.Edit {
			j := st.job(true)
			out := j.run(t.Context())
			return history.Edit{Kind: history.EditCompact, Messages: covered(&j.state, &out), Summary: out.Summary, SummaryTokens: out.SummaryTokens}
		},
		"while a prompt waits": func(st *stage) history.Edit {
			state, rules := st.state(), st.rules()
			edit, ok, err := Condense(t.Context(), &state, &rules, byNeed, state.View[:len(state.View)-1])
			if err != nil || !ok {
				t.Fatalf("shortened %t, error %v", ok, err)
			}
			return edit
		},
	} {
		st := newStage(t, "steps", 128_000)
		st.work(6, 300)
		var ids []string
		for i := range st.messages {
			ids = append(ids, st.messages[i].ID)
		}
		st.apply(history.Edit{Kind: history.EditTruncate, Reason: fit.ReasonBudget, Messages: ids})
		st.work(2, 300)
		st.ask("And now?")
		edit := compact(st)
		for _, id := range ids {
			if !slices.Contains(edit.Messages, id) {
				t.Errorf("%s: the summary does not cover %s", name, id)
			}
		}
		if !strings.Contains(edit.Summary, "parser.go:41") {
			t.Errorf("%s: the summary has lost the failure:\n%s", name, edit.Summary)
		}
		st.apply(edit)
		if state := st.state(); len(state.Evicted) > 0 || state.Omitted > 0 || state.Summary.Messages < len(ids) {
			t.Errorf("%s: %d messages are evicted, %d omitted, %d summarised", name, len(state.Evicted), state.Omitted, state.Summary.Messages)
		}
	}
}

// A failed step is evicted after the others, however old it is.
func TestP01FailuresLeaveLast(t *testing.T) {
	st := newStage(t, "steps", 128_000)
	st.work(12, 600)
	st.ask("And now?")
	state := st.state()
	b, err := state.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Changes.Evict) < 6 {
		t.Fatalf("%d messages are evicted", len(b.Changes.Evict))
	}
	for _, v := range b.Changes.Evict {
		if v.ID == st.messages[5].ID || v.ID == st.messages[6].ID {
			t.Errorf("the failed step is evicted: %s", v.ID)
		}
	}
}

// After fruitless compactions the next one waits until the history has grown, but not with more than 20 steps.
func TestP01ManyStepsDoNotWaitForGrowth(t *testing.T) {
	for steps, want := range map[int]string{12: waitsForGrowth, 20: waitsForGrowth, 21: ""} {
		h := drive(t)
		h.box.Wait(func() {
			h.messages = nil
			h.stage.work(steps-1, 10)
			h.stage.answer("Done.")
			h.backoff = compaction.Backoff{Fruitless: 2, Tokens: h.tokens()}
			state, rules := h.state(), h.rules()
			need := NeedOf(&state, &rules)
			if got := h.waitsFor(&state, &need); !need.Due || got != want {
				t.Errorf("%d steps wait for %q, due: %v", steps, got, need.Due)
			}
		})
	}
}
