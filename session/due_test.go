package session

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/session/profile"
)

// profileNamed returns an embedded profile.
func profileNamed(t testing.TB, name string) profile.Profile {
	t.Helper()
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	return all[name]
}

// sessionOf returns what of a session decides when its history is compacted.
func sessionOf(m *managed, p profile.Profile) *Session {
	m.profile = p
	model := narrowed(m.model, p.Budget)
	return &Session{deps: m.deps, context: m.ContextManager, profile: p, model: model}
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
		"task: 100k less 40k":                 {"task", 100_000, 60_000},
		"task: 1M less 20 %":                  {"task", 1_000_000, 800_000},
		"task: 32k, 40k were more than half":  {"task", 32_000, 25_600},
		"phased, of the window that it takes": {"phased", 30_000, 18_000},
		"phased":                              {"phased", 1_000_000, 20_000},
	} {
		m := manage(t, tc.window)
		if got := sessionOf(m, profileNamed(t, tc.profile)).trigger(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestAWindowsShareCanComeBeforeItsReserve(t *testing.T) {
	p := profileNamed(t, "task")
	p.Compaction.WindowPercent = 50
	if got := sessionOf(manage(t, 128_000), p).trigger(); got != 64_000 {
		t.Errorf("triggers at %d", got)
	}
	p.Compaction.WindowPercent, p.Compaction.TriggerTokens, p.Budget.Reserve = 0, 7, profile.Reserve{}
	if got := sessionOf(manage(t, 128_000), p).trigger(); got != 7 {
		t.Errorf("without the window it triggers at %d", got)
	}
}

func TestTheTaskIsMeasuredByWhatTheProviderReported(t *testing.T) {
	m := manage(t, 128_000)
	s := sessionOf(m, profileNamed(t, "task"))
	for range 10 {
		m.ask(wordsOf(100))
		m.answer(wordsOf(100))
	}
	ours := m.Tokens()
	due := func() bool { return s.compactionDue() }
	if due() {
		t.Fatal("a small history is due")
	}
	m.report(history.Usage{Input: 90_000, CacheRead: 7_900, Output: 50})
	if due() {
		t.Error("due 50 tokens below its limit")
	}
	m.report(history.Usage{Input: 90_000, CacheRead: 8_000, Output: 51})
	if !due() {
		t.Error("not due although 98,051 tokens were reported")
	}
	if got := s.historyRoom(); got > ours {
		t.Errorf("the history of %d tokens has room for %d", ours, got)
	}
	m.apply(history.Edit{ID: "edit_1", Seq: m.NextSeq(), Kind: history.EditCompact, Messages: []string{m.View()[2].ID}})
	if due() {
		t.Error("due by a usage from before the last compaction")
	}
}

// taskJob is a compaction of what m holds by the profile task.
func taskJob(m *managed) *compactionJob {
	s := sessionOf(m, profileNamed(m.t, "task"))
	strategy, err := compaction.Named(s.strategy())
	if err != nil {
		m.t.Fatal(err)
	}
	m.deps.Model = func(string) (llm.Model, bool) { return llm.Model{}, false }
	return &compactionJob{
		deps: m.deps, session: m.session, view: m.View(), strategy: strategy, numbers: s.numbers(s.strategy(), true), counter: m.counter,
		snap: m.snapshot(s.model, llm.ThoughtOff), dedupePercent: s.profile.Budget.DedupeSufficesPercent,
	}
}

func TestTaskSkipsTruncationWhenCopiesSufficed(t *testing.T) {
	for _, tc := range []struct {
		name           string
		copies, talk   int // copies of a file, and exchanges beside
		dropped, found bool
	}{
		{"copies are most of it", 5, 3, false, true},
		{"copies are next to nothing", 2, 60, true, true},
		{"no copies", 1, 20, true, false},
	} {
		m := manage(t, 64_000)
		m.ask("start")
		m.answer("yes")
		for i := range tc.copies {
			m.call("--- FULL CONTENT: a.go ---\n" + strings.ReplaceAll(linesOf("a", 80), "value", fmt.Sprint("v", i)))
		}
		for i := range tc.talk {
			m.ask(fmt.Sprint("question ", i, wordsOf(100)))
			m.answer(wordsOf(100))
		}
		j := taskJob(m)
		out := j.run(context.Background())
		if out.Result != compaction.Compacted || out.Before != m.Tokens() || out.After >= out.Before {
			t.Fatalf("%s: %+v", tc.name, out)
		}
		if dropped := len(out.Plan.Drop) > 0; dropped != tc.dropped || (len(j.copies.patches) > 0) != tc.found {
			t.Errorf("%s: %d messages leave, %d copies", tc.name, len(out.Plan.Drop), len(j.copies.patches))
		}
		m.apply(history.Edit{ID: "edit_1", Seq: m.NextSeq(), Kind: history.EditCompact, Messages: out.Plan.Drop, Patches: j.copies.patches})
		if m.Tokens() != out.After {
			t.Errorf("%s: the history has %d tokens, %d were told", tc.name, m.Tokens(), out.After)
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
