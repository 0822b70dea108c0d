package compacting

import (
	"fmt"
	"slices"
	"testing"

	"strata/history"
)

// No strategy removes a message that a user keeps, or the answer of a kept prompt, with a summary or without.
func TestACompactionLeavesWhatAUserKeeps(t *testing.T) {
	for _, profile := range []string{"chat", "loop", "phased", "steps", "task"} {
		for _, kept := range []int{4, 5} { // a prompt, an answer
			st := newStage(t, profile, 16_000)
			for i := range 16 {
				st.ask(fmt.Sprint("question ", i, wordsOf(200)))
				st.answer(fmt.Sprint("answer ", i, wordsOf(600)))
			}
			st.apply(history.Edit{Kind: history.EditKeep, Messages: []string{st.messages[kept].ID}})
			done := st.job(true).run(t.Context())
			state, rules := st.state(), st.rules()
			dropped := slices.Clone(done.Plan.Drop)
			for _, by := range Condensations {
				edit, _, err := Condense(t.Context(), &state, &rules, by, state.View[:20])
				if err != nil {
					t.Fatal(err)
				}
				dropped = append(dropped, edit.Messages...)
			}
			if len(dropped) == 0 {
				t.Errorf("%s: nothing is compacted: %+v", profile, done)
			}
			for _, id := range []string{st.messages[kept].ID, st.messages[5].ID} {
				if slices.Contains(dropped, id) {
					t.Errorf("%s: %s leaves, although message %d is kept", profile, id, kept)
				}
			}
		}
	}
}
