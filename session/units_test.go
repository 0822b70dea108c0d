package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/session/profile"
	"strata/stability"
)

// phasedIn returns a manager of a session with the profile phased in a phase.
func phasedIn(t testing.TB, phase string, adjust ...func(*profile.Profile)) *managed {
	t.Helper()
	m := manage(t, 1_000_000)
	m.profile = profileNamed(t, "phased")
	for _, f := range adjust {
		f(&m.profile)
	}
	m.enter(phase)
	return m
}

// enter goes on to another phase.
func (m *managed) enter(phase string) {
	m.phase = phase
	m.model = narrowed(m.model, m.profile.Budget)
}

// unit sets a unit of work.
func (m *managed) unit(name, status string, order, size int) {
	m.t.Helper()
	d, err := m.newDocument(DocumentRequest{
		Name: name, Text: "TEXT OF " + name, Status: status, Order: order, Path: "src/" + name + ".go", Implementation: "CODE OF " + name + wordsOf(size),
	})
	if err != nil {
		m.t.Fatal(err)
	}
	d.At = time.UnixMicro(int64(m.nextID))
	m.nextID++
	m.putDocument(d)
	m.store.documents = m.documents
}

// documentsIn returns the names of the documents that a request holds, in order.
func documentsIn(b *built) []string {
	var names []string
	for i := range b.plan.Entries {
		if e := &b.plan.Entries[i]; isDocument(e) && !e.Dead {
			names = append(names, strings.TrimPrefix(e.Key, "doc:"))
		}
	}
	return names
}

func TestAPhaseShowsItsDocuments(t *testing.T) {
	m := phasedIn(t, "planning")
	for _, name := range []string{"design", "types", "unit", "tests", "failures", "rules", "own"} {
		m.document(name, "The "+name+".", name == "rules")
	}
	m.documents[m.findDocument("own")].Phases = []string{"testing", "interface"}
	m.ask("go")
	for phase, want := range map[string][]string{
		"planning":       {"design", "rules"},
		"interface":      {"design", "own", "rules", "types"},
		"implementation": {"design", "rules", "tests", "types", "unit"},
		"testing":        {"design", "failures", "own", "rules", "types"},
	} {
		m.enter(phase)
		_, b := m.build()
		got := documentsIn(&b)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", phase, diff)
		}
	}
}

func TestEarlierUnitsAreShown(t *testing.T) {
	m := phasedIn(t, "implementation")
	for _, name := range []string{"design", "types", "unit"} {
		m.document(name, "The "+name+".", false)
	}
	for i := range 5 {
		m.unit(fmt.Sprint("u", i), statusApproved, i, 50)
	}
	m.unit("u9", "draft", 9, 50)
	m.document("u8", "no code", false)
	m.documents[m.findDocument("u8")].Status = statusApproved
	m.ask("go")
	_, b := m.request()
	if diff := cmp.Diff([]string{"design", "types", "unit", "u2", "u3", "u4"}, documentsIn(&b)); diff != "" {
		t.Error(diff)
	}
	text := sentText(&b)
	if !strings.Contains(text, "# u4 (src/u4.go)\n\n```\nCODE OF u4") || strings.Contains(text, "TEXT OF") {
		t.Errorf("the request holds %s", text)
	}
	m.answer("done")
	m.unit("u5", statusApproved, 5, 50)
	m.ask("on")
	if _, b = m.request(); !slices.Equal(documentsIn(&b), []string{"design", "types", "unit", "u3", "u4", "u5"}) {
		t.Errorf("then %v", documentsIn(&b))
	}
	m.enter("planning")
	if _, b = m.build(); !slices.Equal(documentsIn(&b), []string{"design"}) {
		t.Errorf("in planning %v", documentsIn(&b))
	}
}

func TestEarlierUnitsHaveHalfOfWhatIsLeft(t *testing.T) {
	m := phasedIn(t, "implementation", func(p *profile.Profile) { p.Budget.ContextWindow, p.Budget.ReservedOutput = 4000, 1000 })
	for i, size := range []int{200, 1100, 500} {
		m.unit(fmt.Sprint("u", i), statusApproved, i, size)
	}
	m.ask("go")
	_, b := m.request() // 3,000 of which half are for units: 500, then not 1,100, then 200
	if diff := cmp.Diff([]string{"u0", "u2"}, documentsIn(&b)); diff != "" {
		t.Error(diff)
	}
	if len(b.leftOut) != 1 || b.leftOut[0].Key != "doc:u1" || b.leftOut[0].Tokens < 1100 || b.leftOut[0].Score != priorityUnit {
		t.Errorf("left out %+v", b.leftOut)
	}
	m.answer(wordsOf(800))
	m.ask(wordsOf(900)) // less is left, but what was sent stays
	if _, b = m.request(); !slices.Equal(documentsIn(&b), []string{"u0", "u2"}) || b.plan.Cut != stability.NoCut {
		t.Errorf("then %v, cut %q", documentsIn(&b), b.plan.Cut)
	}
}

func TestTheFailuresNameUnits(t *testing.T) {
	m := phasedIn(t, "testing")
	m.unit("parse", "draft", 1, 20)
	m.unit("parser", statusApproved, 2, 20)
	m.unit("lexer", statusApproved, 3, 20)
	m.document("failures", failuresText([]TestFailure{{Name: "parse works", Stack: "at src/lexer.go:3"}}), false)
	m.ask("go")
	_, b := m.request()
	if diff := cmp.Diff([]string{"failures", "parse", "lexer"}, documentsIn(&b)); diff != "" {
		t.Error(diff)
	}
}

func TestHasWord(t *testing.T) {
	for _, tc := range []struct {
		text, word string
		want       bool
	}{
		{"the parser fails", "parser", true}, {"parser", "parser", true}, {"the parsers fail, parser", "parser", true},
		{"the parsers fail", "parser", false}, {"my_parser", "parser", false}, {"éparser", "parser", false}, {"(parser)", "parser", true},
		{"", "parser", false}, {"x", "", false}, {"aaa", "a", false}, {"a-a", "a", true},
	} {
		if hasWord(tc.text, tc.word) != tc.want {
			t.Errorf("%q in %q: %v", tc.word, tc.text, !tc.want)
		}
	}
}

func TestTrimmingInPhases(t *testing.T) {
	m := phasedIn(t, "implementation", func(p *profile.Profile) {
		p.Budget.ContextWindow, p.Budget.ReservedOutput = 8000, 2000
		p.Budget.Shares = map[string]int{"types": 100, "history": 1000}
	})
	for name, size := range map[string]int{"design": 1200, "unit": 1200, "types": 900, "notes": 300} {
		m.document(name, wordsOf(size), false)
	}
	m.ask("first")
	for i := range 2 {
		m.unit(fmt.Sprint("u", i), statusApproved, i, 300)
	}
	m.request()
	for range 30 {
		m.answer(wordsOf(40))
		m.ask(wordsOf(40))
	}
	snap, b := m.request()
	if got := counted(snap, &b); got > snap.room() {
		t.Errorf("%d of %d tokens", got, snap.room())
	}
	// 70 % of 6,000 are 4,200. Units and messages do not suffice for that, so types go, which are above their share.
	var gone []string
	for _, d := range b.fitting.documents {
		gone = append(gone, d.Name)
	}
	slices.Sort(gone)
	if diff := cmp.Diff([]string{"u0", "u1"}, gone); diff != "" && !slices.Equal(gone, []string{"types", "u0", "u1"}) {
		t.Error(diff)
	}
	if len(b.fitting.drop) < 20 {
		t.Errorf("%d messages left", len(b.fitting.drop))
	}
	if got := documentsIn(&b); !slices.Contains(got, "design") || !slices.Contains(got, "unit") || !slices.Contains(got, "notes") {
		t.Errorf("what stays are %v", got)
	}
	if text := sentText(&b); !strings.Contains(text, "first") || !strings.Contains(text, fmt.Sprintf("[%d earlier messages omitted]", len(b.fitting.drop))) {
		t.Error("the first message or the marker is missing")
	}
}

func TestRanks(t *testing.T) {
	s := snapshot{profile: &profile.Profile{Budget: profile.Budget{Shares: map[string]int{"types": 10, "history": 5}}}}
	item := func(key string, kind stability.Kind, tokens int) piece {
		return piece{Item: stability.Item{Key: key, Kind: kind, Tokens: tokens}}
	}
	pieces := []piece{
		item("doc:types", stability.Document, 11), item("doc:notes", stability.Document, 500), item("msg:1", stability.Message, 9),
		item("file:a", stability.File, 100), item("doc:u1", stability.Document, 1),
	}
	pieces[4].unit = true
	s.rank(pieces)
	var ranks []int
	for _, p := range pieces {
		ranks = append(ranks, p.rank)
	}
	if diff := cmp.Diff([]int{rankOver, rankRest, rankMessage, rankRest, rankUnit}, ranks); diff != "" {
		t.Error(diff)
	}
}

func TestDesignAndUnitAreCutLast(t *testing.T) {
	m := phasedIn(t, "implementation", func(p *profile.Profile) { p.Budget.ContextWindow, p.Budget.ReservedOutput = 4000, 1000 })
	m.document("design", wordsOf(1500), false)
	m.document("unit", wordsOf(1000), false)
	m.document("types", wordsOf(1200), true)
	m.ask("go")
	_, b := m.request()
	if len(b.fitting.documents) != 1 || b.fitting.documents[0].Name != "types" {
		t.Errorf("cut are %+v", b.fitting.documents)
	}
	m.document("unit", wordsOf(1600), false)
	snap, b := m.request()
	if got := counted(snap, &b); got > snap.room() || len(b.fitting.documents) == 0 {
		t.Errorf("%d of %d tokens, cut are %+v", got, snap.room(), b.fitting.documents)
	}
}

func TestSharesAddUp(t *testing.T) {
	m := phasedIn(t, "implementation")
	for name, size := range map[string]int{"design": 10, "types": 20, "unit": 30, "tests": 40, "own": 50} {
		m.document(name, wordsOf(size), false)
	}
	m.add("a.go", linesOf("a", 5))
	m.ask("go")
	snap, b := m.request()
	shares := snap.shares(&b)
	var names []string
	sum, used := 0, 0
	for _, share := range shares {
		names = append(names, share.Name)
		sum, used = sum+share.Share, used+share.Used
		if share.Name == "current" && (share.Used < 70 || share.Used > 90 || share.Share != 2000) {
			t.Errorf("current is %+v", share)
		}
	}
	if diff := cmp.Diff([]string{"current", "design", "history", "system", "types", "buffer"}, names); diff != "" {
		t.Error(diff)
	}
	if sum != 96_000 || used != b.counted || shares[5].Share != 96_000-25_500 {
		t.Errorf("the shares come to %d, used are %d of %d: %+v", sum, used, b.counted, shares)
	}
	if chat := manage(t, 1000); true {
		chat.ask("go")
		if snap, b := chat.build(); snap.shares(&b) != nil {
			t.Error("a profile without shares has some")
		}
	}
}

func TestFailuresText(t *testing.T) {
	got := failuresText([]TestFailure{
		{Name: "adds\nnumbers", Error: "wrong sum", Expected: "3", Received: "4", Stack: "at add (a.go:1)\nat main (b.go:2)\n"},
		{Name: "panics", Error: " "},
	})
	want := "## adds numbers\n\nError: wrong sum\nExpected: 3\nReceived: 4\nStack:\nat add (a.go:1)\nat main (b.go:2)\n\n## panics\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFailuresAreChecked(t *testing.T) {
	m := manage(t, 1000)
	long := strings.Repeat("x", maxFailureBytes)
	many := slices.Repeat([]TestFailure{{Name: "a"}}, MaxFailures+1)
	for name, tc := range map[string]struct {
		req DocumentRequest
		err string
	}{
		"fine":         {DocumentRequest{Name: "failures", Failures: many[:MaxFailures]}, ""},
		"other name":   {DocumentRequest{Name: "own", Failures: many[:1]}, `only the document "failures"`},
		"and a text":   {DocumentRequest{Name: "failures", Text: "x", Failures: many[:1]}, "in the place of a text"},
		"too many":     {DocumentRequest{Name: "failures", Failures: many}, "failures: 201, at most 200"},
		"no name":      {DocumentRequest{Name: "failures", Failures: []TestFailure{{Name: "a"}, {Error: "x"}}}, "failures[1]: name is missing"},
		"too long":     {DocumentRequest{Name: "failures", Failures: []TestFailure{{Name: "a", Stack: long + "x"}}}, "failures[0]: a text of 65537 bytes"},
		"all too long": {DocumentRequest{Name: "failures", Failures: slices.Repeat([]TestFailure{{Name: "a", Stack: long}}, 16)}, "failures: 1048"},
		"long path":    {DocumentRequest{Name: "u", Path: strings.Repeat("x", maxDocumentPath+1)}, "path: 4097 bytes"},
		"much code":    {DocumentRequest{Name: "u", Implementation: strings.Repeat("x", MaxDocumentBytes+1)}, "implementation: 1048577 bytes"},
	} {
		_, err := m.newDocument(tc.req)
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", name, err, tc.err)
		}
	}
}

func TestTheBytesOfUnitsAreBounded(t *testing.T) {
	m := manage(t, 1000)
	for i := range MaxDocumentsBytes / MaxDocumentBytes {
		m.putDocument(history.Document{Name: fmt.Sprint("u", i), Implementation: strings.Repeat("x", MaxDocumentBytes)})
	}
	if _, err := m.newDocument(DocumentRequest{Name: "one more", Implementation: "x"}); err == nil {
		t.Error("the session takes more than there may be")
	}
}
