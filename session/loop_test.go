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
		i := m.Log.Exchanges() + 1
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
		if v.Exchange <= m.Log.Exchanges()-keep {
			gone = append(gone, v.ID)
		}
	}
	e := history.Edit{
		ID: m.deps.NewID("edit_"), Seq: m.NextSeq(), Kind: history.EditCompact, Messages: gone, Summary: summary, SummaryTokens: m.counter().Count(summary),
	}
	m.store.edits = append(m.store.edits, e)
	m.Apply(e)
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
		"# Instructions\n\nTest before you finish.\n\nReport newly completed work in <progress>", "Do step 24 of the work.",
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
		whole := 0 // requests for which everything before the loop's view was cached, and its goal
		for i := range 12 {
			m.ask(fmt.Sprintf("Do step %d. %s", i+1, wordsOf(50)))
			b := m.sent()
			before := 0
			for _, e := range b.Plan.Entries {
				if before += e.Tokens; e.Run {
					break
				}
			}
			if i > 0 && b.Plan.Expect >= before {
				whole++
			}
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
			t.Errorf("everything up to the goal was cached for %d requests", whole)
		}
		if len(iterations) != 2+11 {
			t.Errorf("%s: %d items", layout, len(iterations))
		}
	}
}

// loopParts are the headings of a loop's view, in order.
var loopParts = []string{"# Goal\n", "# Progress Summary (iterations 1-", "# Recent Iterations\n", "# Current State (after iteration ", "# Instructions\n"}

// In thirty requests with edits of files and documents, tool calls, compactions and restarts between them, a loop's view is one
// run in order, each part once, in both layouts.
func TestP06ALoopsViewIsOneOrderedRun(t *testing.T) {
	for _, layout := range []string{stability.LayoutLog, stability.LayoutRipple} {
		for _, marks := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, marks %t", layout, marks), func(t *testing.T) {
				m := loopOf(t, 200_000)
				restart := func() {
					model, deps := m.model, *m.deps
					deps.Rules.Stability = stability.Options{Layout: layout, Target: 200}
					m.load(&deps)
					m.c.Profile, m.model = profileNamed(t, "loop"), model
				}
				m.model.Marks, m.model.MinCacheTokens = marks, 10
				restart()
				m.document("instructions", "Test before you finish.", false)
				m.document("design", "The design. "+wordsOf(100), false)
				m.add("a.go", linesOf("a", 40))
				for i := range 30 {
					m.ask(fmt.Sprintf("Do step %d. %s", i+1, wordsOf(30)))
					if i%7 == 3 {
						wantRun(t, m, i)
						m.call("RESULT " + wordsOf(20))
					}
					wantRun(t, m, i)
					m.answer(fmt.Sprintf("I did step %d. %s", i+1, wordsOf(40)))
					switch i % 6 {
					case 1:
						m.write("a.go", strings.Replace(linesOf("a", 40), "00010 = value", fmt.Sprintf("00010 = %d", i), 1))
					case 2:
						m.add(fmt.Sprintf("b%d.go", i), linesOf("b", 20))
					case 3:
						m.document("notes", fmt.Sprint("Note ", i), false)
					case 4:
						m.document("design", fmt.Sprint("The design of ", i, wordsOf(100)), false)
					}
					if i%8 == 7 {
						m.fold(5, fmt.Sprint("Everything up to ", i-4, " is done."))
					}
					if i%5 == 4 {
						restart()
					}
				}
			})
		}
	}
}

// wantRun makes the next request and checks that the loop's view in it is one run.
func wantRun(t *testing.T, m *managed, request int) {
	t.Helper()
	b := m.sent()
	text, at := sentText(&b), -1
	for _, part := range loopParts {
		n := strings.Count(text, part)
		optional := part == loopParts[1] && m.Log.Summary().Text == "" || request == 0 && part != loopParts[0] && part != loopParts[4]
		if n > 1 || n == 0 && !optional {
			t.Fatalf("request %d has %d of %q:\n%s", request+1, n, part, text)
		}
		if i := strings.Index(text, part); n > 0 && i < at {
			t.Fatalf("request %d: %q is too early:\n%s", request+1, part, text)
		} else if n > 0 {
			at = i
		}
	}
	first, last := 0, 0 // of the run, among the entries
	entries := b.Plan.Entries
	for i := range entries {
		e := &entries[i]
		if e.Run && first == 0 {
			first = i
		}
		if e.Run {
			last = i
		}
		if e.Run && e.Dead {
			t.Errorf("request %d still has %s", request+1, e.Key)
		}
		if iterations := strings.HasPrefix(e.Key, "iteration:") || strings.HasPrefix(e.Key, "brief:"); iterations && !e.Run {
			t.Errorf("request %d has %s outside of the run", request+1, e.Key)
		}
	}
	for i := first; i <= last; i++ {
		if !entries[i].Run {
			t.Errorf("request %d: %s is inside of the run", request+1, entries[i].Key)
		}
	}
	for i := request - 1; i > 0 && i > request-4; i-- {
		if earlier, later := strings.Index(text, fmt.Sprintf("## Iteration %d\n", i)), strings.Index(text, fmt.Sprintf("## Iteration %d\n", i+1)); earlier < 0 && i > request-3 || earlier > later && later >= 0 {
			t.Errorf("request %d: iteration %d is at %d, the next one at %d", request+1, i, earlier, later)
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

// The marks by which progress is recognized are asked for in every request, whatever the system prompt is.
func TestP07TheMarksAreAskedFor(t *testing.T) {
	for _, instructions := range []string{"", "Test before you finish.", "Be careful. " + wordsOf(2000)} {
		m := loopOf(t, 200_000)
		if instructions != "" {
			m.document("instructions", instructions, false)
		}
		for i := range 3 {
			m.iterate(1)
			m.ask("And now?")
			_, b := m.request()
			_, at, found := strings.Cut(sentText(&b), "# Instructions\n\n")
			if !found || !strings.HasPrefix(at, instructions[:min(len(instructions), 10)]) ||
				!strings.Contains(at, "<progress>") || !strings.Contains(at, "<promise>COMPLETE</promise>") {
				t.Errorf("with instructions of %d bytes, request %d: %.200s", len(instructions), i, at)
			}
			for _, e := range b.Plan.Entries {
				if strings.HasSuffix(e.Key, ":instructions") && e.Tokens > 510 {
					t.Errorf("the instructions have %d tokens", e.Tokens)
				}
			}
			m.answer("It is done.")
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
