package assembly

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
)

func TestSpentIsCountedWhereItIsNotTold(t *testing.T) {
	// The provider counts 1,200 tokens for 1,000 counted ones, and 60 for 50.
	measure := Measure{Model: llm.Model{Price: llm.Price{Input: 1e6, Output: 1e6, CacheRead: 1e5}}, Calibrations: NewCalibrations(nil), Drift: 1.2}
	told := func(u history.Usage) reply.Result { return reply.Result{Usage: u, UsageReported: true, Cost: 7} }
	for name, tc := range map[string]struct {
		result reply.Result
		want   Spent
	}{
		"all":              {told(history.Usage{Input: 900, CacheRead: 100, Output: 5}), Spent{history.Usage{Input: 900, CacheRead: 100, Output: 5}, 7, false, 1_005, true}},
		"nothing":          {reply.Result{}, Spent{history.Usage{Input: 1_200, Output: 60}, 1_260, true, 1_260, false}},
		"no output":        {told(history.Usage{Input: 1_000}), Spent{history.Usage{Input: 1_000, Output: 60}, 1_060, true, 1_060, true}},
		"output only":      {told(history.Usage{Output: 9}), Spent{history.Usage{Input: 1_200, Output: 9}, 1_209, true, 1_209, false}},
		"a part":           {told(history.Usage{Input: 40, Output: 9}), Spent{history.Usage{Input: 40, Output: 9}, 7, false, 1_209, false}},
		"offline estimate": {reply.Result{Usage: history.Usage{Input: 1_100, Output: 50}}, Spent{history.Usage{Input: 1_100, Output: 50}, 0, true, 1_150, false}},
	} {
		got := measure.SpentBy(&tc.result, 1_000, 50)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	silent := told(history.Usage{Input: 1_000})
	want := Spent{history.Usage{Input: 1_000}, 7, false, 1_000, true}
	if diff := cmp.Diff(want, measure.SpentBy(&silent, 1_000, 0)); diff != "" {
		t.Errorf("a reply without text costs no output (-want +got):\n%s", diff)
	}
}
