package cachetime

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"strata/history"
	"strata/llm"
	"strata/stability"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

// calls returns calls that end at the given minutes and have taken a minute each.
func calls(minutes ...float64) []history.Call {
	out := make([]history.Call, len(minutes))
	for i, m := range minutes {
		out[i] = history.Call{ID: fmt.Sprint("call_", i), Purpose: history.PurposeTurn, At: at(m + 1), Duration: 60_000, Usage: history.Usage{CacheWrite: 100}}
	}
	return out
}

// The cache expires its lifetime after the call that used it last was sent. With the lifetime auto, that is an hour from the
// first call on that came too late for five minutes.
func TestExpiries(t *testing.T) {
	for name, tt := range map[string]struct {
		lives lives
		calls []history.Call
		now   float64
		want  []float64
	}{
		"none made":      {lives{}, nil, 100, nil},
		"in time":        {lives{}, calls(0, 4, 8), 12, nil},
		"since the last": {lives{}, calls(0, 4, 8), 14, []float64{13}},
		"auto":           {lives{}, calls(0, 6, 60), 60, []float64{5}},
		"auto, too late": {lives{}, calls(0, 6, 70), 70, []float64{5, 66}},
		"auto, cold":     {lives{}, calls(0, 70, 76), 76, []float64{5, 75}},
		"five minutes":   {lives{setting: stability.Lifetime5m}, calls(0, 6, 60), 60, []float64{5, 11}},
		"an hour":        {lives{setting: stability.Lifetime1h}, calls(0, 6, 70), 131, []float64{66, 130}},
		"automatic":      {lives{automatic: true}, calls(0, 50, 111), 111, []float64{110}},
		"no cache":       {lives{none: true}, calls(0, 50), 200, nil},
	} {
		var got []time.Time
		for _, m := range marks(&tt.lives, tt.calls, nil, at(tt.now)) {
			got = append(got, m.At)
		}
		want := make([]time.Time, len(tt.want))
		for i, m := range tt.want {
			want[i] = at(m)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// A call that wrote nothing to the cache and read nothing, or that is no request of the session, keeps nothing warm.
func TestCallsThatKeepNothingWarm(t *testing.T) {
	all := calls(0, 4, 8)
	all[1].Usage = history.Usage{Input: 100}
	all[2].Purpose = history.PurposeSummary
	if got := marks(&lives{}, all, nil, at(9)); len(got) != 1 || !got[0].At.Equal(at(5)) {
		t.Errorf("%+v", got)
	}
}

// Edits are marks among the expiries; the newest marks are kept.
func TestEditsAreMarks(t *testing.T) {
	edits := []history.Edit{
		{ID: "edit_0", Kind: history.EditClear, At: at(-1)},
		{ID: "edit_1", Kind: history.EditCompact, Strategy: "middle", At: at(2)},
		{ID: "edit_2", Kind: history.EditUnanswered, At: at(3)},
		{ID: "edit_3", Kind: history.EditRestore, At: at(7)},
	}
	var got []string
	for _, m := range marks(&lives{}, calls(0, 6), edits, at(8)) {
		got = append(got, fmt.Sprint(m.Kind, m.EditID, m.Edit, m.Strategy))
	}
	if want := []string{"compactionedit_1compactmiddle", "expiry", "editedit_3restore"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	many := make([]history.Edit, 2*MaxMarks)
	for i := range many {
		many[i] = history.Edit{ID: fmt.Sprint(i), Kind: history.EditClear, At: at(float64(i) + 1)}
	}
	if all := marks(&lives{}, calls(0), many, at(2000)); len(all) != MaxMarks || all[MaxMarks-1].EditID != fmt.Sprint(len(many)-1) {
		t.Errorf("%d marks", len(all))
	}
}

// A provider of which no call has read, though it was expected, shows no cache.
func TestACacheThatIsNotSeen(t *testing.T) {
	m := &llm.Model{Name: "local/x"}
	expected := history.Call{Model: "local/x", Expected: 100}
	read := history.Call{Model: "local/x", Expected: 100, Usage: history.Usage{CacheRead: 90}}
	other := history.Call{Model: "local/y", Usage: history.Usage{CacheRead: 90}}
	for want, log := range map[Caching][]history.Call{Unseen: {expected, other}, Automatic: {expected, read}} {
		if got := cachingOf(m, log); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := cachingOf(m, nil); got != Automatic {
		t.Errorf("before the first call: %s", got)
	}
}
