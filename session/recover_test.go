package session

import (
	"testing"

	"strata/history"
)

func TestLearningTakesTheProvidersCountOnce(t *testing.T) {
	m := manage(t, 100_000)
	calibrated := func() int {
		measure := m.Measure(m.model)
		return measure.Calibrated(1_000)
	}
	for _, reported := range []int{2_200, 2_200, 1_000, 2_200, 1_500} {
		m.Learn(m.model.Name, 1_000, reported)
		if got := calibrated(); got < reported-2 || got > max(reported, 2_200)+2 {
			t.Errorf("reported %d, expected %d next", reported, got)
		}
	}
	before := calibrated()
	if m.Learn(m.model.Name, 1_000, 499) != nil || calibrated() != before {
		t.Error("a partial report was learned from")
	}
}

// The size of the request besides the history is known from the provider's report until the view is edited.
func TestBesideFollowsTheProvidersReport(t *testing.T) {
	m := manage(t, 128_000)
	m.document("design", wordsOf(500), true)
	for range 10 {
		m.ask(wordsOf(100))
		m.answer(wordsOf(100))
	}
	m.request()
	counted := m.snapshot(m.model).Beside
	if counted < 500 || counted > 700 {
		t.Errorf("%d tokens are counted", counted)
	}
	m.Report(history.Usage{Input: 90_000, CacheRead: 7_900, Output: 50})
	if got := m.snapshot(m.model).Beside; got != 97_950-m.Tokens() {
		t.Errorf("%d tokens after a report of 97,950", got)
	}
	m.Apply(history.Edit{ID: "edit_1", Seq: m.NextSeq(), Kind: history.EditCompact, Messages: []string{m.View()[2].ID}})
	if got := m.snapshot(m.model).Beside; got != counted {
		t.Errorf("%d tokens after an edit, want %d", got, counted)
	}
}
