package session

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/current"
	"strata/session/documents"
	"strata/session/fit"
	"strata/session/workspace"
	"strata/stability"
)

// room is the maximum size of requests of manage(t, testWindow): the window minus the reply.
const room = testWindow * 3 / 4

func counted(snap assembly.State, b *assembly.Built) int { return snap.Calibrated(b.Counted) }

func TestNothingIsShedWithinTheRoom(t *testing.T) {
	m := manage(t, testWindow)
	m.ask("start")
	for range 20 {
		m.answer(wordsOf(60))
		m.ask(wordsOf(60))
	}
	snap, b := m.request()
	if !b.Changes.Empty() || len(b.Omitted) > 0 || counted(snap, &b) < room*8/10 {
		t.Errorf("%d of %d tokens, omitted %v", counted(snap, &b), room, b.Omitted)
	}
}

func TestSheddingGoesDownToAShareAndStays(t *testing.T) {
	m := manage(t, testWindow)
	m.ask("start")
	for range 60 {
		m.answer(wordsOf(60))
		m.ask(wordsOf(60))
	}
	sheds, requests := 0, 0
	for range 60 {
		snap, b := m.request()
		requests++
		size := counted(snap, &b)
		if size > room {
			t.Fatalf("request %d has %d tokens of %d", requests, size, room)
		}
		if !b.Changes.Empty() {
			sheds++
			if size > room*7/10+20 || size < room*6/10 {
				t.Errorf("shed to %d of %d tokens", size, room)
			}
		}
		m.answer(wordsOf(60))
		m.ask(wordsOf(60))
	}
	// Each turn adds 126 tokens, and each eviction frees 900.
	if sheds < 6 || sheds > 10 {
		t.Errorf("shed in %d of %d requests", sheds, requests)
	}
}

func TestDedupeComesFirst(t *testing.T) {
	m := manage(t, testWindow)
	m.ask("start")
	content := linesOf("old", 100)
	for i := range 5 {
		m.call("--- FULL CONTENT: a.go ---\n" + strings.ReplaceAll(content, "value", fmt.Sprint("v", i)))
		m.ask(fmt.Sprint("question ", i))
	}
	_, b := m.request()
	if len(b.Changes.Evict) > 0 || len(b.Changes.Dedupe) != 4 {
		t.Errorf("dropped %d, deduped %d", len(b.Changes.Evict), len(b.Changes.Dedupe))
	}
	text := sentText(&b)
	for i := range 5 {
		if has := strings.Contains(text, fmt.Sprint("= v", i)); has != (i == 4) {
			t.Errorf("copy %d: sent %v", i, has)
		}
		if !strings.Contains(text, fmt.Sprint("question ", i)) {
			t.Errorf("question %d is missing", i)
		}
	}
	if n := strings.Count(text, "[The content of a.go stood here; a newer copy follows below.]"); n != 4 {
		t.Errorf("%d notices", n)
	}
	e := m.Log.Edits()[0]
	if e.Kind != history.EditDedupe || e.SavedTokens < 2500 || e.SavedChars < 5800 || e.Patches[0].Origin != "a.go" {
		t.Errorf("edit %+v", e)
	}
}

// Copies stay if their removal would invalidate cached tokens, and are removed once these are lost.
func TestDedupeWaitsUntilItCostsNothing(t *testing.T) {
	m := cached(t)
	now := time.Unix(1_700_000_000, 0)
	m.deps.Now = func() time.Time { return now }
	m.ask("start")
	m.call("--- FULL CONTENT: a.go ---\n" + linesOf("a", 40))
	m.ask("go on")
	m.sent()
	m.call("--- FULL CONTENT: a.go ---\n" + linesOf("a", 40))
	m.ask("and on")
	if b := m.sent(); !b.Changes.Empty() || b.Plan.Expect == 0 {
		t.Errorf("%d tokens are cached, shed %+v", b.Plan.Expect, b.Changes)
	}
	now = now.Add(2 * time.Hour)
	m.ask("again")
	b := m.sent()
	if len(b.Changes.Dedupe) != 1 || strings.Count(sentText(&b), "a 00007 = value") != 1 {
		t.Errorf("shed %+v", b.Changes)
	}
}

func TestDedupeKeepsTheWordsAroundACopy(t *testing.T) {
	content := linesOf("x", 120)
	for name, wrap := range map[string]func(string) string{
		"heading": func(c string) string {
			return "before it\n--- FULL CONTENT: dir/a.go ---\n" + c + "\nand WORDS %d\n"
		},
		"other heading": func(c string) string { return "before it\nFULL CONTENT of file: ./dir/a.go\n" + c + "\nand WORDS %d\n" },
		"tag": func(c string) string {
			return "before it <file_content path=\"dir/../dir/a.go\">\n" + c + "</file_content> and WORDS %d\n"
		},
		"heading inside a tag": func(c string) string {
			return "before it <file_content path=\"dir/a.go\">\n" + c + "--- FULL CONTENT: fake ---\n</file_content> and WORDS %d\n"
		},
	} {
		m := manage(t, testWindow)
		for i := range 6 {
			m.ask(fmt.Sprintf(wrap(content), i))
			m.answer("fine")
		}
		m.ask("now")
		_, b := m.request()
		text := sentText(&b)
		for i := range 6 {
			if !strings.Contains(text, fmt.Sprint("WORDS ", i)) {
				t.Errorf("%s: the words %d are missing", name, i)
			}
		}
		if n := strings.Count(text, "before it"); n != 6 {
			t.Errorf("%s: %d times the words before", name, n)
		}
		if n := strings.Count(text, "x 00050"); n != 1 {
			t.Errorf("%s: %d copies remain", name, n)
		}
	}
}

func TestPruningGoesByPriorityThenAge(t *testing.T) {
	m := manage(t, testWindow)
	for name, priority := range map[string]int{"low": 10, "middle": 50, "high": 90} {
		m.document(name, wordsOf(300), false)
		m.Documents[documents.Find(m.Documents, name)].Priority = priority
	}
	m.document("kept", wordsOf(300), true)
	m.ask("start")
	for range 22 {
		m.answer(wordsOf(60))
		m.ask(wordsOf(60))
	}
	view := m.View()
	_, b := m.build()
	want := []string{"doc:low"}
	for _, v := range view[2:] { // all items with the lowest priority, oldest first, but for the first exchange
		if len(want)-1 < len(b.Changes.Evict) {
			want = append(want, "msg:"+v.ID)
		}
	}
	var dropped []string
	for _, v := range b.Changes.Evict {
		dropped = append(dropped, "msg:"+v.ID)
	}
	var documents []string
	for _, d := range b.Changes.Documents {
		documents = append(documents, "doc:"+d.Name)
	}
	if diff := cmp.Diff(want, append(documents, dropped...)); diff != "" {
		t.Error(diff)
	}
}

func TestPruningSparesWhatMustStay(t *testing.T) {
	m := manage(t, testWindow)
	m.document("rules", "Obey.", true)
	m.answer("hello") // before the user's first message
	first := m.ask("the task")
	answer := m.answer(wordsOf(300))
	m.ask(wordsOf(300))
	for range 9 {
		m.answer(wordsOf(300))
		m.ask(wordsOf(300))
	}
	lastTwo := []history.Message{m.answer(wordsOf(600)), m.ask(wordsOf(600))}
	newest := m.ask(wordsOf(900))
	_, b := m.request()
	var kept []string
	for _, v := range m.View() {
		kept = append(kept, v.ID)
	}
	want := []string{first.ID, answer.ID, lastTwo[0].ID, lastTwo[1].ID, newest.ID}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
	if text := sentText(&b); !strings.Contains(text, "Obey.") || strings.Count(text, "[20 earlier messages omitted]") != 1 {
		t.Errorf("the request contains %.200q", text)
	}
}

func TestBatchesStayWhole(t *testing.T) {
	m := manage(t, testWindow)
	m.ask("start")
	for i := range 30 {
		m.call(fmt.Sprint("result ", i, wordsOf(120)))
	}
	m.ask("go on")
	_, b := m.request()
	checkConversation(t, &b)
	if len(b.Changes.Evict) == 0 || len(b.Changes.Evict)%2 != 0 {
		t.Errorf("%d messages were dropped", len(b.Changes.Evict))
	}
}

// checkConversation fails if a result does not directly follow its call, or a call has no result.
func checkConversation(t testing.TB, b *assembly.Built) {
	t.Helper()
	open := map[string]bool{}
	markers := 0
	for i, e := range b.Request.Entries {
		if e.Kind != llm.EntryMessage {
			for _, block := range e.Blocks {
				markers += strings.Count(block.Text, "earlier messages omitted]")
			}
			if len(open) > 0 && e.Kind == llm.EntryMessage {
				t.Fatalf("entry %d is between a call and its result", i)
			}
			continue
		}
		if e.Role != history.RoleTool && len(open) > 0 {
			t.Fatalf("entry %d: calls without results in front of it", i)
		}
		for _, block := range e.Blocks {
			switch block.Type {
			case history.BlockToolCall:
				open[block.CallID] = true
			case history.BlockToolResult:
				if !open[block.CallID] {
					t.Fatalf("entry %d: a result without its call", i)
				}
				delete(open, block.CallID)
			}
		}
	}
	if markers > 1 {
		t.Fatalf("%d markers", markers)
	}
}

func TestAFileThatCannotFitIsCut(t *testing.T) {
	m := manage(t, testWindow)
	m.add("big.txt", linesOf("big", 1000))
	m.ask("what is in it?")
	snap, b := m.request()
	if size := counted(snap, &b); size > room || size < room*6/10 {
		t.Errorf("%d of %d tokens", size, room)
	}
	e, _ := m.file("big.txt")
	if e.State != filecontext.Partial || e.Reason != fit.ReasonTruncated || e.Range.Start != 1 || e.Range.End < 100 {
		t.Errorf("the file is %s %s %+v", e.State, e.Reason, e.Range)
	}
	text := sentText(&b)
	if !strings.Contains(text, fmt.Sprintf("big.txt (lines 1 to %d of 1000)", e.Range.End)) || !strings.Contains(text, "SUMMARY: big.txt") {
		t.Errorf("the note is %.300q", text)
	}
	if len(b.Omitted) != 1 || b.Omitted[0].Reason != fit.ReasonTruncated || b.Omitted[0].Tokens < 4000 || b.Omitted[0].Score != fit.PriorityFile {
		t.Errorf("omitted %+v", b.Omitted)
	}
	m.answer("much")
	m.ask("and?")
	if _, b := m.request(); !b.Changes.Empty() || len(b.Omitted) != 1 || b.Omitted[0].Key != "file:big.txt" {
		t.Errorf("the next request sheds %+v and names %v", b.Changes, b.Omitted)
	}
}

func TestARangeIsCutFromItsStart(t *testing.T) {
	m := manage(t, testWindow)
	m.write("big.txt", linesOf("big", 2000))
	m.attach(workspace.FileRequest{Path: "big.txt", Range: &workspace.FileRange{Start: 501, End: 1500}})
	m.ask("what is in it?")
	m.request()
	if e, _ := m.file("big.txt"); e.Range.Start != 501 || e.Range.End >= 1500 || e.Range.End < 600 {
		t.Errorf("shown are %+v", e.Range)
	}
}

func TestAFileOfOneLineThatCannotFitIsLeftOut(t *testing.T) {
	m := manage(t, testWindow)
	m.add("min.js", wordsOf(9000))
	m.add("small.txt", "small\n")
	m.ask("what is in it?")
	_, b := m.request()
	if stateOf(t, m, "min.js") != filecontext.SummaryOnly || stateOf(t, m, "small.txt") != filecontext.Full {
		t.Errorf("min.js is %s, small.txt %s", stateOf(t, m, "min.js"), stateOf(t, m, "small.txt"))
	}
	if text := sentText(&b); !strings.Contains(text, "SUMMARY: min.js") || !strings.Contains(text, "FULL: small.txt") {
		t.Errorf("the note is %q", text)
	}
	if diff := cmp.Diff([]string{"file:min.js"}, keysOf(b.Omitted)); diff != "" {
		t.Error(diff)
	}
}

func TestFilesThatArePrunedAreToldAsWhatTheyAre(t *testing.T) {
	m := manage(t, testWindow)
	for i := range 6 {
		m.add(fmt.Sprint("f", i, ".txt"), linesOf("f", 80))
	}
	m.ask("start")
	_, b := m.request()
	text := sentText(&b)
	for i := range 6 {
		name := fmt.Sprint("f", i, ".txt")
		state := map[filecontext.State]string{filecontext.Full: "FULL: ", filecontext.SummaryOnly: "SUMMARY: "}[stateOf(t, m, name)]
		if !strings.Contains(text, state+name) {
			t.Errorf("no note says that %s is %s", name, state)
		}
		if shown := strings.Contains(text, "\n"+name+"\n```"); shown != (state == "FULL: ") {
			t.Errorf("%s is %s and shown: %v", name, state, shown)
		}
	}
	if len(b.Changes.Files) == 0 {
		t.Error("nothing was pruned")
	}
}

func TestDocumentsAreCutWhenNothingElseCanGo(t *testing.T) {
	m := manage(t, testWindow)
	m.document("rules", strings.Repeat("Ünïcode is ällowed. ", 2000), true)
	m.ask("start")
	snap, b := m.request()
	if size := counted(snap, &b); size > room || size < room*6/10 {
		t.Errorf("%d of %d tokens", size, room)
	}
	text := sentText(&b)
	if !utf8.ValidString(text) || !strings.Contains(text, " characters omitted]") {
		t.Errorf("the document ends %q", text[len(text)-200:])
	}
	m.answer("yes")
	m.ask("more")
	_, b = m.request()
	if len(b.Changes.Documents) > 0 || b.Plan.Cut != stability.NoCut || len(b.Omitted) != 1 || b.Omitted[0].Reason != fit.ReasonTruncated {
		t.Errorf("evicted again: %+v, cut %q, omitted %v", b.Changes, b.Plan.Cut, b.Omitted)
	}
	m.document("rules", "Short.", true)
	if _, b = m.request(); len(b.Omitted) > 0 || !strings.Contains(sentText(&b), "Short.") {
		t.Errorf("set again: omitted %v", b.Omitted)
	}
}

func TestDocumentsThatWerePrunedStayOutUntilSetAnew(t *testing.T) {
	m := manage(t, testWindow)
	m.document("notes", wordsOf(1500), false)
	m.document("kept", wordsOf(1600), true)
	m.ask("start")
	for range 5 {
		_, b := m.request()
		if diff := cmp.Diff([]string{"doc:notes"}, keysOf(b.Omitted)); diff != "" {
			t.Error(diff)
		}
		m = m.restarted()
		m.answer("yes")
		m.ask("more")
	}
	if n := len(m.Log.Edits()); n != 1 {
		t.Errorf("%d edits", n)
	}
	m.document("kept", "short", true)
	m.document("notes", wordsOf(1500), false)
	if _, b := m.request(); len(b.Omitted) > 0 {
		t.Errorf("omitted %v", b.Omitted)
	}
}

func TestTheFirstMessageIsCutAsTheLastResort(t *testing.T) {
	m := manage(t, testWindow)
	first := m.ask("the task\n" + strings.Repeat("wörter ", 1200))
	m.answer("yes")
	m.ask(wordsOf(2000))
	snap, b := m.request()
	if size := counted(snap, &b); size > room {
		t.Errorf("%d of %d tokens", size, room)
	}
	text := sentText(&b)
	if !strings.Contains(text, "the task") || !strings.Contains(text, " characters omitted]") || !utf8.ValidString(text) {
		t.Errorf("the request contains %.200q", text)
	}
	if len(b.Changes.Truncate) != 1 || b.Changes.Truncate[0].Message != first.ID {
		t.Errorf("cut %+v", b.Changes.Truncate)
	}
}

func TestWhatWasShedIsTheSameAfterARestart(t *testing.T) {
	m := manage(t, testWindow)
	m.document("notes", wordsOf(200), false)
	for i := range 4 {
		m.add(fmt.Sprint("f", i, ".txt"), linesOf("f", 80))
	}
	m.ask("start")
	for range 10 {
		m.call("--- FULL CONTENT: a.go ---\n" + linesOf("a", 20))
		m.ask(wordsOf(60))
	}
	m.request()
	m.answer("yes")
	m.ask("and now?")
	_, b := m.build()
	_, again := m.restarted().build()
	if diff := cmp.Diff(b.Request, again.Request, cmpopts.IgnoreFields(llm.Request{}, "Encoded")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(b.Omitted, again.Omitted); diff != "" {
		t.Error(diff)
	}
}

func TestLeftOutMessagesAreToldAsOneRun(t *testing.T) {
	m := manage(t, testWindow)
	m.ask("start")
	for range 300 {
		m.answer(wordsOf(60))
		m.ask(wordsOf(60))
	}
	_, b := m.request()
	if len(b.Omitted) > 3 {
		t.Errorf("the marker of omitted messages is in %d entries", len(b.Omitted))
	}
	n, sum := 0, 0
	for _, l := range b.Omitted {
		n += max(l.Count, 1)
		sum += l.Tokens
		if l.Reason != fit.ReasonBudget || l.Score < fit.MessageLeast {
			t.Errorf("omitted %+v", l)
		}
	}
	if n != len(b.Changes.Evict) || sum < n*60 {
		t.Errorf("%d messages of %d tokens are named, %d were dropped", n, sum, len(b.Changes.Evict))
	}
	m.answer("yes")
	m.ask("more")
	if _, b = m.request(); len(b.Omitted) != 1 || b.Omitted[0].Count != n || b.Omitted[0].Tokens != sum {
		t.Errorf("the next request names %+v", b.Omitted)
	}
}

func TestWhatTheProviderCountsIsWhatFits(t *testing.T) {
	m := manage(t, testWindow)
	for range 50 {
		m.deps.Calibrations.Learn("local/test", 1000, 1600)
	}
	m.ask("start")
	for range 60 {
		m.answer(wordsOf(60))
		m.ask(wordsOf(60))
	}
	snap, b := m.request()
	if size := counted(snap, &b); size > room || size < room*6/10 {
		t.Errorf("the provider counts %d of %d", size, room)
	}
	m.answer("yes")
	m.ask("more")
	m.Drift = current.MaxDrift // the last request was far larger than it was counted
	snap, b = m.request()
	if size := counted(snap, &b); size > room || b.Changes.Empty() {
		t.Errorf("the provider counts %d of %d", size, room)
	}
}

var (
	walkSeed = flag.Uint64("seed", 0, "seed of the first random session")
	walks    = flag.Int("walks", 60, "how many random sessions")
)

// After admission fitting cannot refuse: whatever a session holds, its request fits the room, unless the
// system prompt and the newest message alone do not. That is checked over several turns with restarts.
func TestEveryRequestFits(t *testing.T) {
	for seed := *walkSeed; seed < *walkSeed+uint64(*walks); seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		m := manage(t, 300+r.IntN(4000))
		for range 50 {
			if r.IntN(3) == 0 {
				m.deps.Calibrations.Learn("local/test", 1000, 500+r.IntN(1500))
			}
		}
		fill(m, r)
		for turn := range 4 {
			newest := m.ask(wordsOf(r.IntN(m.model.Window / 3)))
			before := slices.Clone(m.View())
			snap, b := m.request()
			must := snap.Calibrated(newest.Tokens + snap.Counter.Count(snap.System))
			if size := counted(snap, &b); size > max(snap.Room(), must) {
				t.Fatalf("seed %d, turn %d: %d tokens, room %d, must %d: %+v", seed, turn, size, snap.Room(), must, b.Omitted)
			}
			checkConversation(t, &b)
			checkOrder(t, before, m.View())
			if !strings.Contains(sentText(&b), fmt.Sprintf("[%d earlier messages omitted]", m.Log.Omitted())) && m.Log.Omitted() > 0 && counted(snap, &b) < snap.Room()/2 {
				t.Fatalf("seed %d, turn %d: no marker of %d messages", seed, turn, m.Log.Omitted())
			}
			m.answer(wordsOf(r.IntN(200)))
			if r.IntN(2) == 0 {
				m = m.restarted()
			}
			fill(m, r)
		}
	}
}

// checkOrder fails where a view is not a part of the one before, in its order.
func checkOrder(t testing.TB, before, after []history.Viewed) {
	t.Helper()
	for _, v := range after {
		i := slices.IndexFunc(before, func(w history.Viewed) bool { return w.ID == v.ID })
		if i < 0 {
			t.Fatalf("%s is new, or at another position", v.ID)
		}
		before = before[i+1:]
	}
}

// fill puts anything at all into a session.
func fill(m *managed, r *rand.Rand) {
	for range r.IntN(12) {
		n := r.IntN(m.model.Window / 4)
		switch r.IntN(8) {
		case 0:
			m.ask(wordsOf(n))
		case 1:
			m.answer(wordsOf(n))
		case 2:
			m.call(wordsOf(n))
		case 3:
			m.call("--- FULL CONTENT: a.go ---\n" + linesOf("a", n/8))
		case 4:
			m.add(fmt.Sprint("f", r.IntN(5)), linesOf(fmt.Sprint("f", r.IntN(3)), n/4))
		case 5:
			m.add(fmt.Sprint("m", r.IntN(3)), wordsOf(2*n))
		case 6:
			m.document(fmt.Sprint("d", r.IntN(4)), wordsOf(n), r.IntN(2) == 0)
		case 7:
			m.say(history.RoleUser, history.Block{Type: history.BlockImage, Data: []byte{1}, MIME: "image/png", Width: r.IntN(2000), Height: 500})
		}
	}
}
