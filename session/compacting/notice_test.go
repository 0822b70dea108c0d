package compacting

import (
	"fmt"
	"slices"
	"testing"

	"strata/compaction"
	"strata/history"
	"strata/session/fit"
)

// The notice of task follows the whole first exchange: never between the first prompt and its answer, also if the exchange has
// steps.
func TestP11TheNoticeFollowsTheFirstExchange(t *testing.T) {
	for _, steps := range []int{0, 3} {
		for _, keep := range compaction.MiddleModes {
			st := newStage(t, "task", 64_000)
			st.ask("Carry it out.")
			for range steps {
				st.call("result")
			}
			st.answer("The first step is done.")
			answer := st.messages[len(st.messages)-1].ID
			for i := range 10 {
				st.ask(fmt.Sprint("question ", i, wordsOf(50)))
				st.answer(wordsOf(50))
			}
			j := st.job(true)
			j.numbers.MiddleMode, j.dedupePercent = keep, 0
			out := j.run(t.Context())
			st.apply(history.Edit{Kind: history.EditCompact, Messages: out.Plan.Drop, Summary: out.Summary, SummaryTokens: out.SummaryTokens})
			st.ask("next")
			state := st.state()
			state.Summary, state.Omitted = history.Summary{}, len(out.Plan.Drop) // the notice, whether or not there is a digest
			b, err := state.Build(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for i := range b.Plan.Entries {
				keys = append(keys, b.Plan.Entries[i].Key)
			}
			prompt, notice := slices.Index(keys, fit.MessagePrefix+st.messages[0].ID), slices.Index(keys, fit.OmittedKey)
			reply := slices.Index(keys, fit.MessagePrefix+answer)
			if prompt < 0 || reply < prompt || notice != reply+1 {
				t.Errorf("%d steps, keep %s: the first prompt is at %d, its answer at %d, the notice at %d", steps, keep, prompt, reply, notice)
			}
		}
	}
}
