package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/session/assembly"
	"strata/session/fit"
	"strata/session/profile"
	"strata/stability"
)

// loopOf returns a manager of a session with the profile loop.
func loopOf(t testing.TB, window int, adjust ...func(*profile.Profile)) *managed {
	t.Helper()
	m := manage(t, window)
	m.c.Profile = profileNamed(t, "loop")
	for _, f := range adjust {
		f(&m.c.Profile)
	}
	return m
}

// iterate appends n iterations of a loop.
func (m *managed) iterate(n int) {
	for range n {
		i := m.log.Exchanges() + 1
		m.ask(fmt.Sprintf("Do step %d of the work.", i))
		answer := fmt.Sprintf("I did step %d in pkg/file%d.go. <progress>step %d is done</progress>", i, i, i)
		message := m.answer(answer)
		message.Meta = json.RawMessage(fmt.Sprintf(`{"fileChanges": ["pkg/file%d.go"], "durationSeconds": 12, "tool": "editor"}`, i))
		m.store.messages[message.Seq] = message
	}
}

// fold compacts all but the newest n iterations into a summary.
func (m *managed) fold(keep int, summary string) {
	view := m.View()
	var gone []string
	for _, v := range view {
		if v.Exchange <= m.log.Exchanges()-keep {
			gone = append(gone, v.ID)
		}
	}
	e := history.Edit{
		ID: m.deps.NewID("edit_"), Seq: m.NextSeq(), Kind: history.EditCompact, Messages: gone, Summary: summary, SummaryTokens: m.counter().Count(summary),
	}
	m.store.edits = append(m.store.edits, e)
	m.apply(e)
}

// itemsOf returns the keys of the used items in a request, in order.
func itemsOf(b *assembly.Built) []string {
	var keys []string
	for i := range b.Plan.Entries {
		if e := &b.Plan.Entries[i]; !e.Dead {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

func TestALoopAfterTwentyThreeIterations(t *testing.T) {
	m := loopOf(t, 200_000)
	m.iterate(23)
	m.fold(5, "Steps 1 to 18 are done.")
	m.document("instructions", "Test before you finish.", false)
	m.ask("Do step 24 of the work.")
	_, b := m.request()
	text := sentText(&b)
	for _, want := range []string{
		"# Goal\n\nDo step 1 of the work.\n",
		"# Progress Summary (iterations 1-18)\n\nSteps 1 to 18 are done.\n",
		"\nIteration 19: Do step 19 of the work. → step 19 is done\n", "\nIteration 20: ",
		"# Recent Iterations\n\n## Iteration 21\n\nPrompt: Do step 21 of the work.\n\nOutput: I did step 21 in pkg/file21.go.",
		"## Iteration 22\n", "## Iteration 23\n", "Files changed: pkg/file23.go\nDone with editor, 12 s\n",
		"# Current State (after iteration 23)\n\n- Iterations: 23\n- Model: local/test\n- Progress markers: step 19 is done; step 20 is done;",
		"- Files changed: pkg/file19.go, pkg/file20.go, pkg/file21.go, pkg/file22.go, pkg/file23.go\n",
		"# Instructions\n\nTest before you finish.\n", "Do step 24 of the work.",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q occurs %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
	if strings.Contains(text, "omitted]") || strings.Contains(text, "step 18 of") || len(b.Omitted) > 0 {
		t.Errorf("omitted %v:\n%s", b.Omitted, text)
	}
	var messages int
	for _, e := range b.Plan.Entries {
		if e.Kind == stability.Message {
			messages++
		}
	}
	if last := itemsOf(&b); messages != 1 || last[len(last)-1] != "msg:"+m.View()[len(m.View())-1].ID {
		t.Errorf("%d messages, items %v", messages, last)
	}
}

func TestALoopKeepsRawWhatAFailedSummaryCouldNotFold(t *testing.T) {
	m := loopOf(t, 200_000)
	m.iterate(23)
	m.ask("next")
	_, b := m.request()
	text := sentText(&b)
	for i := 1; i <= 23; i++ {
		want := fmt.Sprintf("Iteration %d: Do step %d of the work. → step %d is done\n", i, i, i)
		if i > 20 {
			want = fmt.Sprintf("## Iteration %d\n", i)
		}
		if strings.Count(text, want) != 1 {
			t.Errorf("%q occurs %d times", want, strings.Count(text, want))
		}
	}
}

func TestWhatOfALoopDoesNotFitIsNamed(t *testing.T) {
	m := loopOf(t, 200_000, func(p *profile.Profile) { p.Loop.TotalTokens = 900 })
	m.iterate(63)
	m.ask("next")
	_, b := m.request()
	first := 0
	text := sentText(&b)
	for i := 1; i <= 60; i++ {
		if strings.Contains(text, fmt.Sprintf("Iteration %d: ", i)) {
			first = i
			break
		}
	}
	if first < 20 || first%10 != 1 {
		t.Errorf("the oldest iteration that is shown is %d", first)
	}
	if len(b.Omitted) != 1 || b.Omitted[0].Count != 2*(first-1) || b.Omitted[0].Key != "msg:"+m.View()[0].ID || b.Omitted[0].Tokens == 0 {
		t.Errorf("omitted %+v", b.Omitted)
	}
	if b.Categories[fit.CategoryHistory] > 900 || !b.Changes.Empty() {
		t.Errorf("%v, shed %+v", b.Categories, b.Changes)
	}
	m.answer("done")
	m.ask("and on")
	if _, b := m.request(); !strings.Contains(sentText(&b), fmt.Sprintf("Iteration %d: ", first)) {
		t.Error("each iteration evicts another one")
	}
}

func TestWhatALoopHasSentStays(t *testing.T) {
	for _, layout := range []string{stability.LayoutLog, stability.LayoutRipple} {
		m := loopOf(t, 200_000)
		m.model.Marks, m.model.MinCacheTokens = true, 10
		deps := *m.deps
		deps.Rules.Stability = stability.Options{Layout: layout}
		m.load(&deps)
		m.c.Profile = profileNamed(t, "loop")
		m.document("instructions", "Test before you finish.", false)
		iterations := make(map[string]string)
		before, whole := 0, 0 // tokens before the last request's message; requests for which all of these were cached
		for i := range 12 {
			m.ask(fmt.Sprintf("Do step %d. %s", i+1, wordsOf(50)))
			b := m.sent()
			if i > 0 && b.Plan.Expect >= before {
				whole++
			}
			before = b.Plan.Tokens - b.Plan.Entries[len(b.Plan.Entries)-1].Tokens
			for _, e := range b.Plan.Entries {
				if strings.HasPrefix(e.Key, "iteration:") || e.Key == "loop:goal" || e.Key == "loop:recent" {
					if was := iterations[e.Key]; was != "" && was != e.Blob {
						t.Errorf("%s: %s has other bytes in request %d", layout, e.Key, i+1)
					}
					iterations[e.Key] = e.Blob
				}
			}
			m.answer(fmt.Sprintf("I did step %d. %s", i+1, wordsOf(100)))
			if i == 7 {
				m.fold(5, "Steps 1 to 3 are done.")
			}
		}
		if layout == stability.LayoutLog && whole < 8 {
			t.Errorf("everything before the message was cached for %d requests", whole)
		}
		if len(iterations) != 2+11 {
			t.Errorf("%s: %d items", layout, len(iterations))
		}
	}
}

func TestALoopWithCallsKeepsTheOpenIterationWhole(t *testing.T) {
	m := loopOf(t, 200_000)
	m.iterate(4)
	m.ask("Look at it.")
	m.call("RESULT " + wordsOf(300))
	m.call("OTHER RESULT")
	_, b := m.request()
	checkConversation(t, &b)
	if text := sentText(&b); !strings.Contains(text, "RESULT "+wordsOf(300)) || !strings.Contains(text, "OTHER RESULT") {
		t.Errorf("the open iteration is not whole:\n%s", text)
	}
}

func TestALoopFitsASmallWindow(t *testing.T) {
	for _, window := range []int{600, 1000, 2000, 4000} {
		m := loopOf(t, window, func(p *profile.Profile) { p.Budget = profile.Budget{} })
		for i := range 12 {
			m.ask(fmt.Sprintf("Do step %d. %s", i+1, wordsOf(60)))
			snap, b := m.request()
			if got := counted(snap, &b); got > snap.Room() {
				t.Fatalf("window %d: request %d has %d tokens of %d: %v", window, i+1, got, snap.Room(), itemsOf(&b))
			}
			m.answer(wordsOf(200))
			if i == 8 {
				m.fold(4, wordsOf(150))
			}
		}
		again := m.restarted()
		again.c.Profile = m.c.Profile
		if diff := cmp.Diff(len(m.View()), len(again.View())); diff != "" {
			t.Errorf("restarted: %s", diff)
		}
	}
}

func TestADocumentIsTheGoal(t *testing.T) {
	m := loopOf(t, 200_000)
	m.document("goal", "Reach it. "+wordsOf(3000), false)
	m.ask("Begin.")
	_, b := m.request()
	text := sentText(&b)
	if !strings.Contains(text, "# Goal\n\nReach it.  word") || strings.Contains(text, "# Goal\n\nBegin") || !strings.Contains(text, " characters omitted]") {
		t.Errorf("%.300s", text)
	}
	for _, e := range b.Plan.Entries {
		if e.Key == "doc:goal" && (e.Tokens > 1010 || e.Tokens < 900) {
			t.Errorf("the goal has %d tokens", e.Tokens)
		}
	}
	other := manage(t, 200_000)
	other.document("goal", "Reach it.", false)
	other.ask("Begin.")
	if _, b := other.request(); strings.Contains(sentText(&b), "# Goal") || !strings.Contains(sentText(&b), "# goal\n\nReach it.") {
		t.Error("another profile shows the document otherwise than before")
	}
}
