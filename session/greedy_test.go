package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/compaction"
	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/profile"
	"strata/stability"
)

// stepping returns a manager of a session with the profile steps.
func stepping(t testing.TB, window int, adjust ...func(*profile.Profile)) *managed {
	t.Helper()
	m := manage(t, window)
	m.profile = profileNamed(t, "steps")
	for _, f := range adjust {
		f(&m.profile)
	}
	return m
}

// scored is a piece of so many characters, which count as its tokens.
func scored(key string, kind stability.Kind, chars, priority int) piece {
	return piece{Item: stability.Item{Key: key, Kind: kind, Hash: key, Tokens: chars}, priority: priority}
}

func TestARoomIsFilledGreedilyByScore(t *testing.T) {
	rules := scored("doc:rules", stability.Document, 40, priorityDefault)
	rules.pinned = true
	pieces := []piece{
		rules,
		scored("outline:a.go", stability.Outline, 60, 60),
		scored("outline:changed.go", stability.Outline, 70, 90),
		scored("outline:z.go", stability.Outline, 60, 60),
		scored("outline:tiny.go", stability.Outline, 10, 60),
		scored("file:asked.go", stability.File, 120, priorityFile),
	}
	for _, tc := range []struct {
		room int
		want []string
	}{
		{250, []string{"doc:rules", "file:asked.go", "outline:changed.go", "outline:tiny.go"}},
		{240, []string{"doc:rules", "file:asked.go", "outline:changed.go", "outline:tiny.go"}},
		{239, []string{"doc:rules", "file:asked.go", "outline:changed.go"}},
		{229, []string{"doc:rules", "file:asked.go", "outline:tiny.go"}},
		{40, []string{"doc:rules"}},
		{1000, []string{"doc:rules", "file:asked.go", "outline:a.go", "outline:changed.go", "outline:tiny.go", "outline:z.go"}},
	} {
		order := prunable(pieces, tc.room)
		slices.Reverse(order)
		in := greedy(pieces, order, tc.room-40)
		got := []string{"doc:rules"}
		for i := range in {
			got = append(got, pieces[i].Key)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("room for %d: %s", tc.room, diff)
		}
	}
}

func TestSharesOfWhatIsCut(t *testing.T) {
	for _, tc := range []struct{ room, code, talk, forCode, forTalk int }{
		{100, 500, 500, 70, 30},
		{100, 50, 500, 50, 50},
		{100, 500, 10, 90, 10},
		{100, 10, 10, 10, 90},
		{0, 500, 500, 0, 0},
		{-50, 500, 500, 0, 0},
	} {
		if code, talk := shared(tc.room, tc.code, tc.talk, 70, 30); code != tc.forCode || talk != tc.forTalk {
			t.Errorf("%+v: %d and %d", tc, code, talk)
		}
	}
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
		if got := counted(snap, &b); got > snap.room() || got < snap.room()/2 {
			t.Errorf("%s: %d of %d tokens", name, got, snap.room())
		}
		if !strings.Contains(text, "Last rule.") || !strings.Contains(text, "LONG") || strings.Contains(text, "END") || !strings.Contains(text, "go on") {
			t.Errorf("%s: the request holds %s", name, text)
		}
		if name != "file" && !strings.Contains(text, " characters omitted]") || name == "file" && !strings.Contains(text, "a.go (lines 1 to ") {
			t.Errorf("%s: nothing says that something is missing: %s", name, text)
		}
		if len(b.leftOut) != 1 || b.leftOut[0].Reason != reasonCut {
			t.Errorf("%s: left out %+v", name, b.leftOut)
		}
		checkConversation(t, &b)
		m.answer("yes")
		m.ask("and")
		if _, b := m.request(); !b.fitting.empty() || b.plan.Cut != stability.NoCut {
			t.Errorf("%s: the next request sheds %+v, cut %q", name, b.fitting, b.plan.Cut)
		}
	}
}

func TestTheLogOfTwentyEntries(t *testing.T) {
	m := stepping(t, 128_000, func(p *profile.Profile) {
		p.Compaction.SummaryThreshold, p.Compaction.MaxSteps = 0, 15 // no summaries
	})
	m.ask("start")
	for i := 1; i <= 20; i++ {
		text := fmt.Sprint("entry ", i, " went well")
		if i == 6 {
			text = fmt.Sprint("entry ", i, ": Error: no such file")
		}
		if i == 16 {
			m.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: "c", Name: "run", Args: `"entry 16"`})
			m.say(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: "c", IsError: true, Content: []history.Block{{Type: history.BlockText, Text: "exit 1"}}})
			continue
		}
		m.answer(text)
	}
	strategy, err := compaction.Named("prune")
	if err != nil {
		t.Fatal(err)
	}
	m.deps.Model = func(string) (llm.Model, bool) { return llm.Model{}, false }
	s := sessionOf(m, m.profile)
	j := &compactionJob{
		deps: m.deps, session: m.session, view: m.View(), strategy: strategy, numbers: s.numbers("prune", false), counter: m.counter,
		snap: m.snapshot(s.model, llm.ThoughtOff),
	}
	out := j.run(context.Background())
	m.apply(history.Edit{ID: "edit_1", Seq: m.NextSeq(), Kind: history.EditCompact, Messages: out.Plan.Drop})
	m.ask("next")
	_, b := m.build()
	text := sentText(&b)
	for i := 1; i <= 20; i++ {
		want := i <= 3 || i == 6 || i >= 11
		if got := strings.Contains(text, fmt.Sprint("entry ", i, " ")) || strings.Contains(text, fmt.Sprint("entry ", i, ":")) || i == 16 && strings.Contains(text, "exit 1"); got != want {
			t.Errorf("entry %d is kept: %v", i, got)
		}
	}
	if !strings.Contains(text, "[6 earlier messages omitted]") {
		t.Errorf("no marker: %s", text)
	}
}

func TestTheHistoryHasABudgetOfItsOwn(t *testing.T) {
	m := stepping(t, 128_000)
	m.document("design", wordsOf(5_000), true)
	m.add("a.go", linesOf("a", 500))
	m.ask("start")
	budget := m.profile.Budget.HistoryTokens
	sheds := 0
	for i := range 60 {
		m.answer(fmt.Sprint("step ", i, wordsOf(300)))
		m.ask(fmt.Sprint("next ", i))
		snap, b := m.request()
		talk := b.categories[categoryHistory] + b.categories[categoryOverhead]
		if talk > budget+20 {
			t.Fatalf("request %d: the history has %d tokens", i, talk)
		}
		if !b.fitting.empty() {
			sheds++
			if len(b.fitting.files)+len(b.fitting.documents) > 0 || talk > budget*7/10+350 || talk < budget/2 {
				t.Errorf("request %d: %d tokens of history, shed %+v", i, talk, b.fitting)
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
	if _, b := m.request(); !b.fitting.empty() {
		t.Errorf("shed %+v", b.fitting)
	}
	m.answer("and")
	m.ask("short")
	if snap, b := m.request(); historySize(m.pieces(snap)) > m.profile.Budget.HistoryTokens || !strings.Contains(sentText(&b), " characters omitted]") {
		t.Errorf("the long prompt stays whole")
	}
}

// pieces returns what the next request holds.
func (m *managed) pieces(snap snapshot) []piece {
	m.t.Helper()
	snap = m.snapshot(snap.model, snap.thought)
	pieces, err := snap.collect(m.t.Context(), &built{}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return pieces
}

func TestStepsOverTheRoomKeepTheBestAndListTheFiles(t *testing.T) {
	m := stepping(t, 4000)
	m.document("rules", "Obey.", true)
	for i := range 4 {
		m.add(fmt.Sprint("f", i, ".go"), linesOf("f", 30+10*i))
	}
	m.ask("start")
	m.request()
	for range touchedRequests {
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
		t.Errorf("%d files are told full, %d as summaries; left out %v", full, summary, b.leftOut)
	}
	if stateOf(t, m, "asked.go") != filecontext.Full || len(b.fitting.files) != summary {
		t.Errorf("shed %+v", b.fitting.files)
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
			if got := counted(snap, &b); got > snap.room() {
				t.Fatalf("seed %d: %d of %d tokens: %v", seed, got, snap.room(), itemsOf(&b))
			}
			checkConversation(t, &b)
			m.answer("so")
		}
		again := m.restarted()
		again.profile = m.profile
		m.ask("last")
		again.ask("last")
		_, one := m.build()
		_, other := again.build()
		if diff := cmp.Diff(sentText(&one), sentText(&other)); diff != "" {
			t.Fatalf("seed %d: a restart changes the request: %s", seed, diff)
		}
	}
}
