package past

import (
	"math"
	"testing"

	"strata/history"
	"strata/llm"
)

func TestTheCostOfReadingAnew(t *testing.T) {
	priced := llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	for _, test := range []struct {
		name  string
		call  history.Call
		model llm.Model
		want  Anew
	}{
		{"reported", history.Call{Usage: history.Usage{Input: 1000, CacheWrite: 2000, CacheRead: 9}}, llm.Model{Price: priced}, Anew{3000, (1000*2.7 + 2000*3.45) / 1e6, BasisReported}},
		{"counted, written to the cache", history.Call{Estimated: true}, llm.Model{Price: priced, Marks: true}, Anew{500, 500 * 3.45 / 1e6, BasisCounted}},
		{"counted", history.Call{Estimated: true}, llm.Model{Price: llm.Price{Input: 3, CacheRead: 1}}, Anew{500, 500 * 2 / 1e6, BasisCounted}},
		{"no price", history.Call{Usage: history.Usage{Input: 7}}, llm.Model{}, Anew{7, 0, BasisReported}},
	} {
		got := newAnew(&test.call, &test.model, 500)
		if got.Tokens != test.want.Tokens || got.Basis != test.want.Basis || math.Abs(got.Cost-test.want.Cost) > 1e-12 {
			t.Errorf("%s: got %+v, want %+v", test.name, *got, test.want)
		}
	}
}
