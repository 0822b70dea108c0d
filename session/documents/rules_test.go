package documents

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/session/fit"
	"strata/session/profile"
)

// A request overrides each default of a document, also with zero.
func TestDefaultsOfDocuments(t *testing.T) {
	zero, no, yes := 0, false, true
	for name, tt := range map[string]struct {
		req      Request
		priority int
		pinned   bool
	}{
		"any":                   {Request{Name: "notes"}, fit.PriorityDefault, false},
		"rules":                 {Request{Name: fit.DocumentRules}, fit.PriorityDefault, true},
		"a design":              {Request{Name: Design}, fit.PriorityDefault, true},
		"facts":                 {Request{Name: State}, fit.PriorityFacts, false},
		"a unit":                {Request{Name: "u1", Status: StatusApproved}, fit.PriorityUnit, false},
		"the current unit":      {Request{Name: fit.DocumentUnit, Status: "draft"}, fit.PriorityDefault, false},
		"rules, not pinned":     {Request{Name: fit.DocumentRules, Pinned: &no}, fit.PriorityDefault, false},
		"pinned":                {Request{Name: "notes", Pinned: &yes}, fit.PriorityDefault, true},
		"facts that matter not": {Request{Name: State, Priority: &zero}, 0, false},
	} {
		d, err := New(tt.req, nil)
		if err != nil || d.Priority != tt.priority || d.Pinned != tt.pinned {
			t.Errorf("%s: priority %d, pinned %t, %v", name, d.Priority, d.Pinned, err)
		}
	}
}

func namesOf(all []history.Document) (names []string) {
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

// A phase shows its own documents and those of no phase. Phases that a document names itself count more than a profile's
// names for it, and earlier units are shown by their implementation only.
func TestAPhaseShowsItsDocuments(t *testing.T) {
	p := &profile.Profile{Phases: []profile.Phase{
		{ID: "plan", Required: []string{"goal"}, Optional: []string{"sketch"}}, {ID: "code", Required: []string{"goal", "tests"}},
	}}
	all := []history.Document{
		{Name: "goal"}, {Name: "notes"}, {Name: "own", Phases: []string{"code"}}, {Name: "sketch"},
		{Name: "tests", Phases: []string{"plan"}}, {Name: "u1", Status: StatusApproved, Implementation: "x"}, {Name: fit.DocumentUnit, Status: "draft"},
	}
	for phase, want := range map[string][]string{
		"plan":    {"goal", "notes", "sketch", "tests", fit.DocumentUnit},
		"code":    {"goal", "notes", "own", fit.DocumentUnit},
		"unknown": namesOf(all),
	} {
		if diff := cmp.Diff(want, namesOf(Shown(all, p, phase))); diff != "" {
			t.Errorf("%s: %s", phase, diff)
		}
	}
}

// A phase shows the newest of the approved units, at most as many as it says, or all that the failures name.
func TestEarlierUnitsOfAPhase(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	unit := func(name, status string, order, minute int) history.Document {
		return history.Document{Name: name, Status: status, Order: order, At: at(minute), Implementation: "code", Path: "src/" + name + ".go"}
	}
	blank := unit("blank", StatusApproved, 9, 9)
	blank.Implementation = " \n"
	all := []history.Document{
		unit("first", StatusApproved, 1, 5), unit("second", StatusApproved, 2, 1), unit("late", StatusApproved, 2, 4), unit("draft", "draft", 3, 6),
		blank, {Name: Failures, Text: "first fails, and so does src/draft.go:7"},
	}
	for name, tt := range map[string]struct {
		phase profile.Phase
		want  []string
	}{
		"none":               {profile.Phase{}, nil},
		"the newest":         {profile.Phase{Units: 1}, []string{"late"}},
		"the newest two":     {profile.Phase{Units: 2}, []string{"late", "second"}},
		"all that there are": {profile.Phase{Units: 9}, []string{"late", "second", "first"}},
		"those that fail":    {profile.Phase{FailingUnits: true}, []string{"draft", "first"}},
		"both":               {profile.Phase{Units: 1, FailingUnits: true}, []string{"draft", "late", "second", "first"}},
	} {
		before := slices.Clone(all)
		if diff := cmp.Diff(tt.want, namesOf(EarlierUnits(all, &tt.phase))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(before, all); diff != "" {
			t.Errorf("%s: the list was changed: %s", name, diff)
		}
	}
}
