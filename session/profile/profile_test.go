package profile

import (
	"reflect"
	"strings"
	"testing"
)

func all(t *testing.T) map[string]Profile {
	t.Helper()
	profiles, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return profiles
}

func TestTheFiveProfilesHaveTheirNumbers(t *testing.T) {
	p := all(t)
	if len(p) != 5 || len(Names()) != 5 {
		t.Fatalf("there are %d profiles: %v", len(p), Names())
	}
	chat := p["chat"].Compaction
	if p["chat"].Compaction.Strategy != "topic" || !chat.Enabled || chat.TriggerTokens != 24_000 || chat.VerbatimWindowTokens != 4_000 ||
		chat.SummaryBudgetTokens != 500 || chat.MinVerbatimExchanges != 2 || chat.MinConfidence != 0.5 {
		t.Errorf("chat: %+v", p["chat"])
	}
	steps := p["steps"].Compaction
	if p["steps"].Compaction.Strategy != "prune" || steps.SummaryThreshold != 5 || steps.MaxSteps != 20 || steps.KeepFirst != 3 || steps.KeepLast != 10 ||
		strings.Join(steps.FailureWords, " ") != "Error Failed Exception" || p["steps"].Budget.HistoryTokens != 6_250 {
		t.Errorf("steps: %+v", p["steps"])
	}
	loop := p["loop"].Compaction
	if p["loop"].Compaction.Strategy != "rolling" || loop.RawWindowSize != 5 || loop.SummarizeEvery != 10 || loop.MaxSummaryTokens != 2_000 {
		t.Errorf("loop: %+v", p["loop"])
	}
	if p["task"].Compaction.Strategy != "middle" || p["task"].Compaction.WindowPercent != 90 {
		t.Errorf("task: %+v", p["task"])
	}
	phased := p["phased"]
	if phased.Compaction.Strategy != "window" || phased.Budget.ContextWindow != 100_000 || phased.Budget.ReservedOutput != 4_000 || len(phased.Phases) != 4 {
		t.Errorf("phased: %+v", phased)
	}
}

func TestPhases(t *testing.T) {
	phased := all(t)["phased"]
	if first, ok := phased.Phase(""); !ok || first.ID != "planning" || len(first.Required) != 0 {
		t.Errorf("the first phase: %+v", first)
	}
	if p, ok := phased.Phase("testing"); !ok || strings.Join(p.Required, " ") != "design types failures" {
		t.Errorf("testing: %+v", p)
	}
	if _, ok := phased.Phase("nowhere"); ok {
		t.Error("a phase that is not there was found")
	}
	chat := all(t)["chat"]
	if _, ok := chat.Phase(""); ok {
		t.Error("chat has a phase")
	}
}

func TestWith(t *testing.T) {
	for _, tc := range []struct {
		path  []string
		value any
		err   string
	}{
		{[]string{"compaction", "compaction_trigger_tokens"}, int64(100), ""},
		{[]string{"compaction", "enabled"}, false, ""},
		{[]string{"compaction", "failure_words"}, []any{"Oops"}, ""},
		{[]string{"budget", "shares", "design"}, int64(7), ""},
		{[]string{"budget", "reserve", "tokens"}, int64(7), ""},
		{[]string{"budget", "reserve", "windows"}, []any{map[string]any{"window": int64(1000), "tokens": int64(10)}}, ""},
		{[]string{"budget", "reserve", "windows"}, []any{map[string]any{"window": int64(1000), "tokens": int64(-10)}}, "below 0"},
		{[]string{"budget", "untrimmed"}, []any{"own"}, ""},
		{[]string{"loop", "brief_chars"}, int64(7), ""},
		{[]string{"phases"}, []any{map[string]any{"id": "only", "units": int64(1), "failing_units": true}}, ""},
		{[]string{"compaction", "no_such_key"}, int64(1), `unknown key "no_such_key"`},
		{[]string{"no_such_key"}, int64(1), `unknown key "no_such_key"`},
		{[]string{"title", "inner"}, int64(1), `"title" has no keys`},
		{[]string{"compaction", "max_steps"}, "many", "wrong type"},
		{[]string{"compaction", "compaction_trigger_tokens"}, int64(-5), "below 0"},
		{[]string{"compaction", "min_confidence"}, -0.1, "below 0"},
		{nil, int64(1), "a key is missing"},
	} {
		_, err := all(t)["phased"].With(tc.path, tc.value)
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("With(%v, %v): %v, want %q", tc.path, tc.value, err, tc.err)
		}
	}
	changed, err := all(t)["chat"].With([]string{"compaction", "compaction_trigger_tokens"}, int64(100))
	if err != nil || changed.Compaction.TriggerTokens != 100 || changed.Compaction.MinConfidence != 0.5 || changed.Name != "chat" || changed.SystemPrompt != all(t)["chat"].SystemPrompt {
		t.Errorf("With changed %+v, %v", changed, err)
	}
}

func TestReserve(t *testing.T) {
	r := all(t)["task"].Budget.Reserve
	for window, want := range map[int]int{
		64_000: 27_000, 128_000: 30_000, 200_000: 40_000, 100_000: 20_000, 80_000: 16_000, 400_000: 40_000, 1_000_000: 40_000,
		79_999: 15_999, 32_000: 6_400, 0: 0,
	} {
		if got := r.Of(window); got != want {
			t.Errorf("of %d are %d reserved, want %d", window, got, want)
		}
	}
	for _, r := range []Reserve{{Tokens: 20_000}, {Percent: 20}} {
		if got := r.Of(100_000); got != 20_000 {
			t.Errorf("%+v reserves %d of 100,000", r, got)
		}
	}
}

// A strategy selected in a profile without numbers for it uses the numbers of its own profile.
func TestWithTakesWhatIsMissing(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	got := all["chat"].Compaction.With(all["steps"].Compaction)
	if got.KeepFirst != 3 || got.KeepLast != 10 || got.MaxSteps != 20 || len(got.FailureWords) != 3 || got.VerbatimWindowTokens != 4000 || got.Strategy != "topic" {
		t.Errorf("%+v", got)
	}
	numbers := reflect.ValueOf(Compaction{}.With(Compaction{
		VerbatimWindowTokens: 1, SummaryBudgetTokens: 1, MinVerbatimExchanges: 1, MinConfidence: 1, MaxSummaryTokens: 1, RawWindowSize: 1,
		SummarizeEvery: 1, SummaryThreshold: 1, MaxSteps: 1, KeepFirst: 1, KeepLast: 1, FailureWords: []string{"x"},
	}))
	for i := range numbers.NumField() {
		switch name := numbers.Type().Field(i).Name; name {
		case "Enabled", "Strategy", "TriggerTokens", "WindowPercent": // the trigger is always the profile's
		default:
			if numbers.Field(i).IsZero() {
				t.Errorf("%s is not accepted", name)
			}
		}
	}
}
