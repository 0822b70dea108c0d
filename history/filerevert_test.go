package history

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// chosen returns a function that chooses changes by their ids.
func chosen(ids string) func(*FileChange) bool {
	return func(c *FileChange) bool { return slices.Contains(strings.Fields(ids), c.ID) }
}

func TestPlansOfReverts(t *testing.T) {
	edit1, edit2, edit3 := changed("1", FileEdited, "a", "one", "two"), changed("2", FileEdited, "a", "two", "three"), changed("3", FileEdited, "a", "three", "two")
	move := moved("2", "a", "b", "two")
	tests := map[string]struct {
		changes []FileChange // oldest first
		ids     string
		on      disk
		want    string
	}{
		"the newest":                      {[]FileChange{edit1, edit2}, "2", disk{"a": "three"}, "a restored 0644"},
		"an older one":                    {[]FileChange{edit1, edit2}, "1", disk{"a": "three"}, "a conflict later 2"},
		"an older one, as if alone":       {[]FileChange{edit1, edit2, edit3}, "1", disk{"a": "two"}, "a conflict later 2"},
		"an older one, as it was":         {[]FileChange{edit1, changed("2", FileEdited, "a", "two", "one")}, "1", disk{"a": "one"}, "a conflict later 2"},
		"with a gap":                      {[]FileChange{edit1, edit2, edit3}, "1 3", disk{"a": "two"}, "a conflict later 2"},
		"both":                            {[]FileChange{edit1, edit2}, "2 1", disk{"a": "three"}, "a restored 0644"},
		"below one that was taken back":   {[]FileChange{edit1, in(FileChangeRestored, edit2)}, "1", disk{"a": "two"}, "a restored 0644"},
		"below one that is not known":     {[]FileChange{edit1, in(FileChangeUnknown, edit2)}, "1", disk{"a": "three"}, "a conflict changed"},
		"one that is not in force":        {[]FileChange{in(FileChangeRestored, edit1)}, "1", disk{"a": "one"}, ""},
		"before a move":                   {[]FileChange{edit1, move}, "1", disk{"b": "two"}, "a conflict later 2"},
		"a move":                          {[]FileChange{edit1, move}, "2", disk{"b": "two"}, "a restored 0644; b restored removed"},
		"a move of a file that is edited": {[]FileChange{edit1, move, changed("3", FileEdited, "b", "two", "x")}, "2", disk{"b": "x"}, "a conflict linked; b conflict later 3"},
		"beside another file":             {[]FileChange{edit1, changed("2", FileEdited, "b", "two", "x")}, "1", disk{"a": "two", "b": "x"}, "a restored 0644"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := PlanRevert(newestFirst(tt.changes...), chosen(tt.ids), tt.on.now).summary(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestPlansOfUndosBelowOtherChanges(t *testing.T) {
	edit1, edit2 := in(FileChangeRestored, changed("1", FileEdited, "a", "one", "two")), in(FileChangeRestored, changed("2", FileEdited, "a", "two", "three"))
	tests := map[string]struct {
		changes []FileChange // oldest first
		ids     string
		on      disk
		want    string
	}{
		"the oldest":                   {[]FileChange{edit1, edit2}, "1", disk{"a": "one"}, "a restored 0644"},
		"the newest":                   {[]FileChange{edit1, edit2}, "2", disk{"a": "one"}, "a conflict changed"},
		"below a change":               {[]FileChange{edit1, changed("3", FileEdited, "a", "one", "x")}, "1", disk{"a": "x"}, "a conflict later 3"},
		"below changes there and back": {[]FileChange{edit1, changed("3", FileEdited, "a", "one", "x"), changed("4", FileEdited, "a", "x", "one")}, "1", disk{"a": "one"}, "a conflict later 3"},
		"above a change":               {[]FileChange{in(FileChangeDone, edit1), edit2}, "2", disk{"a": "two"}, "a restored 0644"},
		"beside a change":              {[]FileChange{edit1, changed("3", FileEdited, "b", "one", "x")}, "1", disk{"a": "one", "b": "x"}, "a restored 0644"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := PlanUndo(tt.changes, chosen(tt.ids), tt.on.now).summary(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Whatever is taken back and put forward in the meantime, a restore of all changes brings back what was there before them.
func TestRevertsInAnyOrderKeepTheChain(t *testing.T) {
	reverted, forward, refused := 0, 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 18))
		w := newWorld(t, r)
		w.images = true
		w.chain(0)
		for range 6 {
			pick := map[string]bool{}
			for _, c := range w.changes {
				pick[c.ID] = r.IntN(3) == 0
			}
			choose := func(c *FileChange) bool { return pick[c.ID] }
			var plan *RestorePlan
			if r.IntN(2) == 0 {
				plan = PlanRevert(newestFirst(slices.Clone(w.changes)...), choose, w.now)
			} else {
				plan = PlanUndo(slices.Clone(w.changes), choose, w.now)
			}
			w.apply(plan, w.stored())
			for _, f := range plan.Files {
				if f.Outcome == FileConflict {
					refused++
				}
			}
			for _, c := range plan.Settle("", nil) {
				i := slices.IndexFunc(w.changes, func(old FileChange) bool { return old.ID == c.ID })
				if w.changes[i] = c; c.State == FileChangeDone {
					forward++
				} else {
					reverted++
				}
			}
		}
		plan := PlanRestore(newestFirst(slices.Clone(w.changes)...), w.now)
		w.apply(plan, w.stored())
		for path, want := range w.first {
			if got := w.files[path]; got.Hash != want.Hash {
				t.Fatalf("seed %d: %s is %+v, want %+v\n%s", seed, path, got, want, plan.summary())
			}
		}
	}
	if reverted < 1000 || forward < 1000 || refused < 1000 {
		t.Errorf("%d changes were taken back, %d put forward, %d files in conflict", reverted, forward, refused)
	}
}

// A file that a restore removes comes back with the mode that it had then, whatever mode its change has.
func TestARemovedFileIsRememberedWithItsMode(t *testing.T) {
	first, gone, second := changed("1", FileCreated, "a", "", "one"), changed("2", FileDeleted, "a", "one", ""), changed("3", FileCreated, "a", "", "two")
	first.Mode, gone.Mode, second.Mode = 0o755, 0o755, 0o666
	on := func(string) FileVersion { return FileVersion{Hash: digest("two"), Mode: 0o640} }
	settled := PlanRestore(newestFirst(first, gone, second), on).Settle("edit_1", nil)
	if modes := [3]uint32{settled[2].Mode, settled[1].Mode, settled[0].Mode}; modes != [3]uint32{0o755, 0o755, 0o640} {
		t.Errorf("%#o", modes)
	}
	if got := PlanUndo(newestFirst(settled...), anyChange, disk{}.now).summary(); got != "a restored 0640" {
		t.Error(got)
	}
}
