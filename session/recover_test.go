package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/llm"
)

func TestContextRefusals(t *testing.T) {
	const (
		smaller = "The model's context is smaller than expected; the request was shortened."
		denser  = "The provider counts more tokens than expected; the request was shortened."
	)
	type request struct{ counted, expected, answer, window int }
	usual := request{counted: 4_000, expected: 4_000, answer: 1_000, window: 128_000}
	for name, tc := range map[string]struct {
		told    llm.Error
		request request
		want    refusal
	}{
		"limit and size":                          {llm.Error{Limit: 8_192, Counted: 8_800}, usual, refusal{window: 8_192, counted: 8_800, notice: "The model's context is 8,192 tokens; the request was shortened."}},
		"limit":                                   {llm.Error{Limit: 1_234_567}, request{1, 1, 1, 2_000_000}, refusal{window: 1_234_567, notice: "The model's context is 1,234,567 tokens; the request was shortened."}},
		"size":                                    {llm.Error{Counted: 8_800}, usual, refusal{counted: 8_800, notice: denser}},
		"the limit that is known, denser tokens":  {llm.Error{Limit: 8_192}, request{4_000, 4_000, 1_000, 8_192}, refusal{counted: 8_192, notice: denser}},
		"the limit that is known, twice":          {llm.Error{Limit: 8_192, Counted: 8_000}, request{4_000, 8_000, 1_000, 8_192}, refusal{counted: 8_192, notice: denser}},
		"a size that cannot be":                   {llm.Error{Counted: 900}, usual, refusal{window: 2_500, notice: smaller}},
		"nothing":                                 {llm.Error{}, usual, refusal{window: 2_500, notice: smaller}},
		"nothing, of a large request":             {llm.Error{}, request{90_000, 100_000, 4_000, 100_000}, refusal{window: 50_000, notice: smaller}},
		"nothing, of a small request":             {llm.Error{}, request{100, 100, 100, 128_000}, refusal{window: leastWindow, notice: smaller}},
		"a limit below what the request was sent": {llm.Error{Limit: 3_000}, request{4_000, 4_000, 1_000, 2_900}, refusal{window: leastWindow, notice: smaller}},
	} {
		r := tc.request
		got := contextRefusal(&tc.told, r.counted, r.expected, r.answer, r.window)
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(refusal{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLearningTakesTheProvidersCountOnce(t *testing.T) {
	m := manage(t, 100_000)
	for _, reported := range []int{2_200, 2_200, 1_000, 2_200, 1_500} {
		m.learn(m.model.Name, 1_000, reported)
		if got := m.calibrated(m.model, 1_000); got < reported-2 || got > max(reported, 2_200)+2 {
			t.Errorf("reported %d for what is expected to be %d next", reported, got)
		}
	}
	before := m.calibrated(m.model, 1_000)
	if m.learn(m.model.Name, 1_000, 499) != nil || m.calibrated(m.model, 1_000) != before {
		t.Error("a partial report was learned from")
	}
}

func TestTriggersFollowTheProvidersTokens(t *testing.T) {
	m := manage(t, 128_000)
	s := sessionOf(m, profileNamed(t, "chat"))
	m.learn(m.model.Name, 10_000, 22_000)
	numbers := s.numbers("topic", false)
	if got := s.trigger(); got < 10_800 || got > 10_909 || numbers.TriggerTokens != got {
		t.Errorf("24,000 of the provider's tokens are %d of ours, %d for the strategy", got, numbers.TriggerTokens)
	}
	if got := numbers.VerbatimWindowTokens; got < 1_800 || got > 1_818 {
		t.Errorf("4,000 of the provider's tokens are %d of ours", got)
	}
	if got := s.triggerShown(); got != 24_000 {
		t.Errorf("shown as %d", got)
	}
	for range 40 {
		m.ask(wordsOf(150))
		m.answer(wordsOf(150))
	}
	if m.Tokens() > 24_000 || !s.compactionDue() {
		t.Errorf("a history of %d tokens, %d of the provider's, is not due", m.Tokens(), m.calibrated(m.model, m.Tokens()))
	}
}

func TestSpentIsCountedWhereItIsNotTold(t *testing.T) {
	model := llm.Model{Price: llm.Price{Input: 1e6, Output: 1e6, CacheRead: 1e5}}
	told := func(u history.Usage) llm.Result { return llm.Result{Usage: u, UsageReported: true, Cost: 7} }
	for name, tc := range map[string]struct {
		result llm.Result
		want   spent
	}{
		"all":              {told(history.Usage{Input: 900, CacheRead: 100, Output: 5}), spent{history.Usage{Input: 900, CacheRead: 100, Output: 5}, 7, false, 1_005, true}},
		"nothing":          {llm.Result{}, spent{history.Usage{Input: 1_200, Output: 60}, 1_260, true, 1_260, false}},
		"no output":        {told(history.Usage{Input: 1_000}), spent{history.Usage{Input: 1_000, Output: 60}, 1_060, true, 1_060, true}},
		"output only":      {told(history.Usage{Output: 9}), spent{history.Usage{Input: 1_200, Output: 9}, 1_209, true, 1_209, false}},
		"a part":           {told(history.Usage{Input: 40, Output: 9}), spent{history.Usage{Input: 40, Output: 9}, 7, false, 1_209, false}},
		"offline estimate": {llm.Result{Usage: history.Usage{Input: 1_100, Output: 50}}, spent{history.Usage{Input: 1_100, Output: 50}, 0, true, 1_150, false}},
	} {
		got := spentBy(&tc.result, model, 1_000, 1_200, 60)
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(spent{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
