package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/session/assembly"
	"strata/session/documents"
	"strata/session/fit"
	"strata/session/profile"
	"strata/stability"
)

// phasedIn returns a manager of a session with the profile phased in a phase.
func phasedIn(t testing.TB, phase string, adjust ...func(*profile.Profile)) *managed {
	t.Helper()
	m := manage(t, 1_000_000)
	m.c.Profile = profileNamed(t, "phased")
	for _, f := range adjust {
		f(&m.c.Profile)
	}
	m.enter(phase)
	return m
}

// enter selects another phase.
func (m *managed) enter(phase string) {
	m.c.Phase = phase
	m.model = assembly.Narrowed(m.model, &m.c.Profile.Budget)
}

// unit sets a unit of work.
func (m *managed) unit(name, status string, order, size int) {
	m.t.Helper()
	m.setDocument(documents.Request{
		Name: name, Text: "TEXT OF " + name, Status: status, Order: order, Path: "src/" + name + ".go", Implementation: "CODE OF " + name + wordsOf(size),
	})
}

// documentsIn returns the names of the documents in a request, in order.
func documentsIn(b *assembly.Built) []string {
	var names []string
	for i := range b.Plan.Entries {
		if e := &b.Plan.Entries[i]; fit.IsDocument(e.Kind, e.Key) && !e.Dead {
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
	m.Documents[documents.Find(m.Documents, "own")].Phases = []string{"testing", "interface"}
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
		m.unit(fmt.Sprint("u", i), documents.StatusApproved, i, 50)
	}
	m.unit("u9", "draft", 9, 50)
	m.document("u8", "no code", false)
	m.Documents[documents.Find(m.Documents, "u8")].Status = documents.StatusApproved
	m.ask("go")
	_, b := m.request()
	if diff := cmp.Diff([]string{"design", "types", "unit", "u2", "u3", "u4"}, documentsIn(&b)); diff != "" {
		t.Error(diff)
	}
	text := sentText(&b)
	if !strings.Contains(text, "# u4 (src/u4.go)\n\n```\nCODE OF u4") || strings.Contains(text, "TEXT OF") {
		t.Errorf("the request contains %s", text)
	}
	m.answer("done")
	m.unit("u5", documents.StatusApproved, 5, 50)
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
		m.unit(fmt.Sprint("u", i), documents.StatusApproved, i, size)
	}
	m.ask("go")
	_, b := m.request() // 3,000 of which half are for units: 500, then not 1,100, then 200
	if diff := cmp.Diff([]string{"u0", "u2"}, documentsIn(&b)); diff != "" {
		t.Error(diff)
	}
	if len(b.Omitted) != 1 || b.Omitted[0].Key != "doc:u1" || b.Omitted[0].Tokens < 1100 || b.Omitted[0].Score != fit.PriorityUnit {
		t.Errorf("omitted %+v", b.Omitted)
	}
	m.answer(wordsOf(800))
	m.ask(wordsOf(900)) // less is left, but what was sent stays
	if _, b = m.request(); !slices.Equal(documentsIn(&b), []string{"u0", "u2"}) || b.Plan.Cut != stability.NoCut {
		t.Errorf("then %v, cut %q", documentsIn(&b), b.Plan.Cut)
	}
}

func TestTheFailuresNameUnits(t *testing.T) {
	m := phasedIn(t, "testing")
	m.unit("parse", "draft", 1, 20)
	m.unit("parser", documents.StatusApproved, 2, 20)
	m.unit("lexer", documents.StatusApproved, 3, 20)
	m.setDocument(documents.Request{Name: "failures", Failures: []documents.Failure{{Name: "parse works", Stack: "at src/lexer.go:3"}}})
	m.ask("go")
	_, b := m.request()
	if diff := cmp.Diff([]string{"failures", "parse", "lexer"}, documentsIn(&b)); diff != "" {
		t.Error(diff)
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
		m.unit(fmt.Sprint("u", i), documents.StatusApproved, i, 300)
	}
	m.request()
	for range 30 {
		m.answer(wordsOf(40))
		m.ask(wordsOf(40))
	}
	snap, b := m.request()
	if got := counted(snap, &b); got > snap.Room() {
		t.Errorf("%d of %d tokens", got, snap.Room())
	}
	// 70 % of 6,000 are 4,200. Units and messages do not suffice for that, so types go, which are above their share.
	var gone []string
	for _, d := range b.Changes.Documents {
		gone = append(gone, d.Name)
	}
	slices.Sort(gone)
	if diff := cmp.Diff([]string{"u0", "u1"}, gone); diff != "" && !slices.Equal(gone, []string{"types", "u0", "u1"}) {
		t.Error(diff)
	}
	if len(b.Changes.Evict) < 20 {
		t.Errorf("%d messages were evicted", len(b.Changes.Evict))
	}
	if got := documentsIn(&b); !slices.Contains(got, "design") || !slices.Contains(got, "unit") || !slices.Contains(got, "notes") {
		t.Errorf("the remaining items are %v", got)
	}
	if text := sentText(&b); !strings.Contains(text, "first") || !strings.Contains(text, fmt.Sprintf("[%d earlier messages omitted]", len(b.Changes.Evict))) {
		t.Error("the first message or the marker is missing")
	}
}

// Earlier units leave one at a time, the oldest first, and only until the request fits. Messages leave after all units, and
// then down to 70 % of the room.
func TestP16UnitsLeaveOneAtATime(t *testing.T) {
	m := phasedIn(t, "implementation", func(p *profile.Profile) { p.Budget.ContextWindow, p.Budget.ReservedOutput = 10_000, 2000 })
	for i := range 3 {
		m.unit(fmt.Sprint("u", i), documents.StatusApproved, i, 1000)
	}
	m.ask("first")
	evicted, units := 0, []string{"u0", "u1", "u2"}
	for evicted == 0 {
		snap, b := m.request()
		if got := counted(snap, &b); got > snap.Room() {
			t.Fatalf("%d of %d tokens", got, snap.Room())
		}
		evicted = len(b.Changes.Evict)
		left := documentsIn(&b)
		switch gone := len(units) - len(left); {
		case evicted > 0:
			if got := counted(snap, &b); len(left) > 0 || got > snap.Room()*7/10 || got < snap.Room()*6/10 {
				t.Errorf("%d messages leave, the units %v stay, %d tokens remain", evicted, left, got)
			}
		case gone > 1 || !slices.Equal(left, units[gone:]):
			t.Fatalf("of the units %v only %v are left", units, left)
		case gone == 1:
			if got := counted(snap, &b); got < snap.Room()-1300 {
				t.Errorf("%d tokens of %d after a unit of about 1,000 has left", got, snap.Room())
			}
			for _, e := range b.Changes.Edits() {
				m.Apply(e)
			}
		}
		units = left
		m.answer(wordsOf(120))
		m.ask(wordsOf(120))
	}
}

func TestDesignAndUnitAreCutLast(t *testing.T) {
	m := phasedIn(t, "implementation", func(p *profile.Profile) { p.Budget.ContextWindow, p.Budget.ReservedOutput = 4000, 1000 })
	m.document("design", wordsOf(1500), false)
	m.document("unit", wordsOf(1000), false)
	m.document("types", wordsOf(1200), true)
	m.ask("go")
	_, b := m.request()
	if len(b.Changes.Documents) != 1 || b.Changes.Documents[0].Name != "types" {
		t.Errorf("cut are %+v", b.Changes.Documents)
	}
	m.document("unit", wordsOf(1600), false)
	snap, b := m.request()
	if got := counted(snap, &b); got > snap.Room() || len(b.Changes.Documents) == 0 {
		t.Errorf("%d of %d tokens, cut are %+v", got, snap.Room(), b.Changes.Documents)
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
	shares := snap.Budget(&b).Shares
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
	if sum != 96_000 || used != b.Counted || shares[5].Share != 96_000-25_500 {
		t.Errorf("the sum of shares is %d, used are %d of %d: %+v", sum, used, b.Counted, shares)
	}
	if chat := manage(t, 1000); true {
		chat.ask("go")
		if snap, b := chat.build(); snap.Budget(&b).Shares != nil {
			t.Error("a profile without shares has some")
		}
	}
}
