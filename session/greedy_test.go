package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/session/fit"
	"strata/session/profile"
	"strata/stability"
)

// stepping returns a manager of a session with the profile steps.
func stepping(t testing.TB, window int, adjust ...func(*profile.Profile)) *managed {
	t.Helper()
	m := manage(t, window)
	m.c.Profile = profileNamed(t, "steps")
	for _, f := range adjust {
		f(&m.c.Profile)
	}
	return m
}

func TestALongEntryIsCutAndTheRulesAreWhole(t *testing.T) {
	for name, fill := range map[string]func(m *managed){
		"entry of the log": func(m *managed) {
			m.ask("start")
			m.answer("LONG " + wordsOf(600) + " END")
		},
		"result of a tool": func(m *managed) {
			m.ask("start")
			m.call("LONG " + wordsOf(600) + " END")
		},
		"file": func(m *managed) {
			m.add("a.go", "LONG\n"+linesOf("a", 100)+"END\n")
			m.ask("start")
		},
	} {
		m := stepping(t, 400) // a room of 300 tokens
		m.document("rules", "Rule one. "+wordsOf(80)+" Last rule.", true)
		fill(m)
		m.ask("go on")
		snap, b := m.request()
		text := sentText(&b)
		if got := counted(snap, &b); got > snap.Room() || got < snap.Room()/2 {
			t.Errorf("%s: %d of %d tokens", name, got, snap.Room())
		}
		if !strings.Contains(text, "Last rule.") || !strings.Contains(text, "LONG") || strings.Contains(text, "END") || !strings.Contains(text, "go on") {
			t.Errorf("%s: the request contains %s", name, text)
		}
		if name != "file" && !strings.Contains(text, " characters omitted]") || name == "file" && !strings.Contains(text, "a.go (lines 1 to ") {
			t.Errorf("%s: no marker of omitted messages: %s", name, text)
		}
		if len(b.Omitted) != 1 || b.Omitted[0].Reason != fit.ReasonTruncated {
			t.Errorf("%s: omitted %+v", name, b.Omitted)
		}
		checkConversation(t, &b)
		m.answer("yes")
		m.ask("and")
		if _, b := m.request(); !b.Changes.Empty() || b.Plan.Cut != stability.NoCut {
			t.Errorf("%s: the next request sheds %+v, cut %q", name, b.Changes, b.Plan.Cut)
		}
	}
}

func TestTheHistoryHasABudgetOfItsOwn(t *testing.T) {
	m := stepping(t, 128_000)
	m.document("design", wordsOf(5_000), true)
	m.add("a.go", linesOf("a", 500))
	m.ask("start")
	budget := m.c.Profile.Budget.HistoryTokens
	sheds := 0
	for i := range 60 {
		m.answer(fmt.Sprint("step ", i, wordsOf(300)))
		m.ask(fmt.Sprint("next ", i))
		snap, b := m.request()
		talk := b.Categories[fit.CategoryHistory] + b.Categories[fit.CategoryOverhead]
		if talk > budget+20 {
			t.Fatalf("request %d: the history has %d tokens", i, talk)
		}
		if !b.Changes.Empty() {
			sheds++
			if len(b.Changes.Files)+len(b.Changes.Documents) > 0 || talk > budget*7/10+350 || talk < budget/2 {
				t.Errorf("request %d: %d tokens of history, shed %+v", i, talk, b.Changes)
			}
		}
		if got := counted(snap, &b); got < 8_500 {
			t.Errorf("request %d has %d tokens", i, got)
		}
	}
	if sheds < 5 || sheds > 15 {
		t.Errorf("shed %d times", sheds)
	}
}

func TestALongPromptDoesNotCostTheHistory(t *testing.T) {
	m := stepping(t, 128_000)
	m.ask("start")
	for range 5 {
		m.answer(wordsOf(100))
		m.ask("go on")
	}
	m.answer("yes")
	m.ask(wordsOf(20_000))
	if _, b := m.request(); !b.Changes.Empty() {
		t.Errorf("shed %+v", b.Changes)
	}
	m.answer("and")
	m.ask("short")
	if _, b := m.request(); b.Categories[fit.CategoryHistory]+b.Categories[fit.CategoryOverhead] > m.c.Profile.Budget.HistoryTokens+20 || !strings.Contains(sentText(&b), " characters omitted]") {
		t.Errorf("the long prompt stays whole")
	}
}

func TestStepsOverTheRoomKeepTheBestAndListTheFiles(t *testing.T) {
	m := stepping(t, 4000)
	m.document("rules", "Obey.", true)
	for i := range 4 {
		m.add(fmt.Sprint("f", i, ".go"), linesOf("f", 30+10*i))
	}
	m.ask("start")
	m.request()
	for range fit.TouchedRequests {
		m.answer("yes")
		m.ask("on")
		m.request()
	}
	m.add("asked.go", linesOf("asked", 120))
	m.add("other.go", linesOf("other", 120))
	for range 4 {
		m.answer(wordsOf(100))
		m.ask("on")
	}
	snap, b := m.request()
	text := sentText(&b)
	if got := counted(snap, &b); got > room {
		t.Errorf("%d tokens", got)
	}
	heading := "les available for this step:\n"
	if !strings.Contains(text, heading) {
		t.Errorf("no list of files: %s", text)
	}
	full, summary := 0, 0
	for i := range 4 {
		if strings.Contains(text, fmt.Sprint("SUMMARY: f", i, ".go\n")) {
			summary++
		}
		full += strings.Count(text, fmt.Sprint("FULL: f", i, ".go\n"))
	}
	if !strings.Contains(text, "FULL: asked.go\n") || !strings.Contains(text, "FULL: other.go\n") || summary < 2 || full < 4 {
		t.Errorf("%d files are listed as full, %d as summaries; omitted %v", full, summary, b.Omitted)
	}
	if stateOf(t, m, "asked.go") != filecontext.Full || len(b.Changes.Files) != summary {
		t.Errorf("shed %+v", b.Changes.Files)
	}
}

func TestStepsFitWhateverThereIs(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := stepping(t, 600+r.IntN(6000), func(p *profile.Profile) { p.Budget.HistoryTokens = r.IntN(2000) })
		m.document("rules", wordsOf(r.IntN(60)), true)
		for range 6 {
			fill(m, r)
			m.ask(wordsOf(r.IntN(m.model.Window / 8)))
			snap, b := m.request()
			if got := counted(snap, &b); got > snap.Room() {
				t.Fatalf("seed %d: %d of %d tokens: %v", seed, got, snap.Room(), itemsOf(&b))
			}
			checkConversation(t, &b)
			m.answer("so")
		}
		again := m.restarted()
		again.c.Profile = m.c.Profile
		m.ask("last")
		again.ask("last")
		_, one := m.build()
		_, other := again.build()
		if diff := cmp.Diff(sentText(&one), sentText(&other)); diff != "" {
			t.Fatalf("seed %d: a restart changes the request: %s", seed, diff)
		}
	}
}
