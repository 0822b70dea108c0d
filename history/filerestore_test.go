package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// summary returns a plan as text: a line for each file.
func (p *RestorePlan) summary() string {
	var lines []string
	for _, f := range p.Files {
		line := f.Path + " " + string(f.Outcome)
		switch {
		case f.Outcome == FileConflict:
			line += strings.TrimRight(" "+string(f.Reason)+" "+f.Later, " ")
		case f.Outcome == FileRestored && f.Put.Hash == "":
			line += " removed"
		case f.Outcome == FileRestored:
			line += fmt.Sprintf(" %#o", f.Put.Mode)
			if f.From != "" {
				line += " from " + f.From
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func anyChange(*FileChange) bool { return true }

func newestFirst(changes ...FileChange) []FileChange {
	slices.Reverse(changes)
	return changes
}

func in(state FileChangeState, c FileChange) FileChange {
	c.State = state
	return c
}

func TestPlansOfRestores(t *testing.T) {
	edit1, edit2 := changed("1", FileEdited, "a", "one", "two"), changed("2", FileEdited, "a", "two", "three")
	create, remove := changed("1", FileCreated, "a", "", "one"), changed("2", FileDeleted, "a", "two", "")
	gone := edit1
	gone.HasBefore = false
	program := remove
	program.Mode = 0o755
	again := changed("3", FileCreated, "a", "", "two")
	tests := map[string]struct {
		changes []FileChange // oldest first
		on      disk
		want    string
	}{
		"nothing":                       {nil, disk{"a": "x"}, ""},
		"edits":                         {[]FileChange{edit1, edit2}, disk{"a": "three"}, "a restored 0644"},
		"of which some are restored":    {[]FileChange{edit1, in(FileChangeRestored, edit2)}, disk{"a": "two"}, "a restored 0644"},
		"of which some had no effect":   {[]FileChange{edit1, in(FileChangeNotDone, edit2)}, disk{"a": "two"}, "a restored 0644"},
		"written by others after":       {[]FileChange{edit1, edit2}, disk{"a": "x"}, "a conflict changed"},
		"taken back in part by others":  {[]FileChange{edit1, edit2}, disk{"a": "two"}, "a conflict changed"},
		"taken back by others":          {[]FileChange{edit1, edit2}, disk{"a": "one"}, "a unchanged"},
		"removed by others":             {[]FileChange{edit1}, disk{}, "a conflict missing"},
		"written by others between":     {[]FileChange{edit1, changed("3", FileEdited, "a", "x", "y")}, disk{"a": "y"}, "a conflict between"},
		"created":                       {[]FileChange{create}, disk{"a": "one"}, "a restored removed"},
		"created, removed by others":    {[]FileChange{create}, disk{}, "a unchanged"},
		"created and edited":            {[]FileChange{create, changed("2", FileEdited, "a", "one", "x")}, disk{"a": "x"}, "a restored removed"},
		"deleted":                       {[]FileChange{edit1, program}, disk{}, "a restored 0644"},
		"deleted program":               {[]FileChange{program}, disk{}, "a restored 0755"},
		"deleted, created by others":    {[]FileChange{remove}, disk{"a": "x"}, "a conflict exists"},
		"deleted and created again":     {[]FileChange{program, again}, disk{"a": "two"}, "a restored 0755"},
		"created, edited, deleted":      {[]FileChange{create, changed("2", FileEdited, "a", "one", "two"), remove}, disk{}, "a unchanged"},
		"moved":                         {[]FileChange{moved("1", "a", "b", "one")}, disk{"b": "one"}, "a restored 0644 from b; b restored removed"},
		"moved, edited by others":       {[]FileChange{moved("1", "a", "b", "one")}, disk{"b": "x"}, "a conflict linked; b conflict changed"},
		"moved, old path used":          {[]FileChange{moved("1", "a", "b", "one")}, disk{"a": "x", "b": "one"}, "a conflict exists; b conflict linked"},
		"moved back by others":          {[]FileChange{moved("1", "a", "b", "one")}, disk{"a": "one"}, "a unchanged; b unchanged"},
		"moved and back":                {[]FileChange{moved("1", "a", "b", "one"), moved("2", "b", "a", "one")}, disk{"a": "one"}, "a unchanged; b unchanged"},
		"moved, both are lost":          {[]FileChange{moved("1", "a", "b", "one")}, disk{}, "a conflict no_image; b conflict linked"},
		"swapped":                       {[]FileChange{moved("1", "a", "c", "one"), moved("2", "b", "a", "two"), moved("3", "c", "b", "one")}, disk{"a": "two", "b": "one"}, "a restored 0644 from b; b restored 0644 from a; c unchanged"},
		"created, edited, moved, gone":  {[]FileChange{create, edit1, moved("3", "a", "b", "two"), changed("4", FileDeleted, "b", "two", "")}, disk{}, "a unchanged; b unchanged"},
		"edited, moved, deleted":        {[]FileChange{edit1, moved("2", "a", "b", "two"), changed("3", FileDeleted, "b", "two", "")}, disk{}, "a restored 0644; b unchanged"},
		"bytes not stored any more":     {[]FileChange{gone}, disk{"a": "two"}, "a conflict no_image"},
		"bytes of an older change gone": {[]FileChange{gone, edit2}, disk{"a": "three"}, "a conflict no_image"},
		"planned, with effect":          {[]FileChange{in(FileChangePlanned, edit1)}, disk{"a": "two"}, "a restored 0644"},
		"planned, without":              {[]FileChange{in(FileChangePlanned, edit1)}, disk{"a": "one"}, "a unchanged"},
		"unknown, before others":        {[]FileChange{in(FileChangeUnknown, edit1), edit2}, disk{"a": "three"}, "a restored 0644"},
		"unknown, skipped":              {[]FileChange{edit1, in(FileChangeUnknown, edit2), changed("3", FileEdited, "a", "two", "x")}, disk{"a": "x"}, "a restored 0644"},
		"unknown":                       {[]FileChange{in(FileChangeUnknown, edit1)}, disk{"a": "x"}, "a conflict changed"},
		"two files":                     {[]FileChange{edit1, changed("2", FileCreated, "b", "", "x")}, disk{"a": "x", "b": "x"}, "a conflict changed; b restored removed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := PlanRestore(newestFirst(tt.changes...), tt.on.now).summary(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestPlansOfUndos(t *testing.T) {
	back := func(changes ...FileChange) []FileChange {
		for i := range changes {
			changes[i].State = FileChangeRestored
		}
		return changes
	}
	edit1, edit2 := changed("1", FileEdited, "a", "one", "two"), changed("2", FileEdited, "a", "two", "three")
	gone := edit2
	gone.HasAfter = false
	tests := map[string]struct {
		changes []FileChange
		on      disk
		want    string
	}{
		"edits":                   {back(edit1, edit2), disk{"a": "one"}, "a restored 0644"},
		"edits that are in force": {[]FileChange{edit1, edit2}, disk{"a": "one"}, ""},
		"written by others":       {back(edit1, edit2), disk{"a": "x"}, "a conflict changed"},
		"put forward by others":   {back(edit1, edit2), disk{"a": "three"}, "a unchanged"},
		"bytes that are lost":     {back(edit1, gone), disk{"a": "one"}, "a conflict no_image"},
		"created":                 {back(changed("1", FileCreated, "a", "", "one")), disk{}, "a restored 0644"},
		"created, path used":      {back(changed("1", FileCreated, "a", "", "one")), disk{"a": "x"}, "a conflict exists"},
		"deleted":                 {back(changed("1", FileDeleted, "a", "one", "")), disk{"a": "one"}, "a restored removed"},
		"deleted, then written":   {back(changed("1", FileDeleted, "a", "one", "")), disk{"a": "x"}, "a conflict changed"},
		"moved":                   {back(moved("1", "a", "b", "one")), disk{"a": "one"}, "a restored removed; b restored 0644 from a"},
		"moved, path used":        {back(moved("1", "a", "b", "one")), disk{"a": "one", "b": "x"}, "a conflict linked; b conflict exists"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := PlanUndo(tt.changes, anyChange, tt.on.now).summary(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAFolderInThePlaceOfAFileIsAConflict(t *testing.T) {
	folder := func(string) FileVersion { return FileVersion{Unreadable: true} }
	for want, c := range map[string]FileChange{
		"a conflict changed": changed("1", FileEdited, "a", "one", "two"), "a conflict exists": changed("1", FileDeleted, "a", "one", "")} {
		if got := PlanRestore([]FileChange{c}, folder).summary(); got != want {
			t.Errorf("%s: got %s, want %s", c.Kind, got, want)
		}
	}
	create := changed("1", FileCreated, "a", "", "one")
	if got := PlanRestore([]FileChange{create}, folder).summary(); got != "a conflict changed" {
		t.Errorf("create: got %s", got)
	}
}

// A restore keeps a mode that somebody else has set.
func TestModesOfOthersStay(t *testing.T) {
	program := func(string) FileVersion { return FileVersion{Hash: digest("two"), Mode: 0o755} }
	edit := changed("1", FileEdited, "a", "one", "two")
	if got := PlanRestore([]FileChange{edit}, program).summary(); got != "a restored 0755" {
		t.Error(got)
	}
	again := newestFirst(changed("1", FileDeleted, "a", "one", ""), changed("2", FileCreated, "a", "", "two"))
	if got := PlanRestore(again, program).summary(); got != "a restored 0755" {
		t.Error(got)
	}
}

// Only the changes of files that are put back, and of those linked to them, get a new state.
func TestSettledChangesOfARestore(t *testing.T) {
	changes := newestFirst(
		changed("1", FileEdited, "a", "one", "two"), changed("2", FileEdited, "b", "one", "two"), moved("3", "c", "d", "x"),
		moved("4", "d", "e", "x"), in(FileChangeUnknown, changed("5", FileEdited, "f", "one", "two")), changed("6", FileEdited, "g", "one", "two"))
	on := disk{"a": "two", "b": "y", "e": "x", "f": "one", "g": "two"}
	plan := PlanRestore(changes, on.now)
	var got []string
	for _, c := range plan.Settle("edit_9", map[string]bool{"g": true}) {
		got = append(got, c.ID+" "+string(c.State)+" "+c.RestoredBy)
	}
	want := []string{"5 not_done ", "4 restored edit_9", "3 restored edit_9", "1 restored edit_9"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if linked := plan.Settle("edit_9", map[string]bool{"c": true, "a": true}); len(linked) != 2 {
		t.Errorf("settled %+v, although c failed, which is linked to e", linked)
	}
}

// world is a model file system that tools and others change. It knows which files a restore must put back.
type world struct {
	t       *testing.T
	r       *rand.Rand
	files   map[string]FileVersion
	changes []FileChange // oldest first
	texts   int
	images  bool // of moves too

	// Of the paths that tools changed:
	first  map[string]FileVersion // before the first change
	left   map[string]FileVersion // after the newest change
	broken map[string]bool        // others wrote it between two changes, or after the newest
	links  map[string][]string    // moves
}

func newWorld(t *testing.T, r *rand.Rand) *world {
	w := &world{t: t, r: r, files: map[string]FileVersion{}, first: map[string]FileVersion{}, left: map[string]FileVersion{},
		broken: map[string]bool{}, links: map[string][]string{}}
	for _, path := range []string{"a", "b", "c"} {
		w.files[path] = w.text()
	}
	return w
}

func (w *world) now(path string) FileVersion { return w.files[path] }

func (w *world) path() string { return string(rune('a' + w.r.IntN(6))) }

// text returns a content that there was never before.
func (w *world) text() FileVersion {
	w.texts++
	return FileVersion{Hash: digest(fmt.Sprint("text ", w.texts)), Mode: 0o644 + 0o111*w.r.Uint32N(2)}
}

func (w *world) set(path string, v FileVersion) {
	if delete(w.files, path); v.exists() {
		w.files[path] = v
	}
}

// touch sets a path in the name of a tool.
func (w *world) touch(path string, v FileVersion) {
	now := w.files[path]
	if left, known := w.left[path]; !known {
		w.first[path] = now
	} else if left != now {
		w.broken[path] = true
	}
	w.set(path, v)
	w.left[path] = v
}

// tool makes a random change, or none if there is nothing to change.
func (w *world) tool() {
	path, to := w.path(), w.path()
	old, next := w.files[path], w.text()
	c := FileChange{ID: fmt.Sprint("fc_", len(w.changes)), Turn: "turn_a", Seq: 1, Path: path, State: FileChangeDone, HasBefore: true, HasAfter: true}
	switch kind := w.r.IntN(4); {
	case !old.exists():
		c.Kind, c.After, c.Mode = FileCreated, next.Hash, next.Mode
		w.touch(path, next)
	case kind == 0:
		c.Kind, c.Before, c.Mode = FileDeleted, old.Hash, old.Mode
		w.touch(path, FileVersion{})
	case kind == 1 && !w.files[to].exists():
		c.Kind, c.To, c.Before, c.After, c.Mode = FileMoved, to, old.Hash, old.Hash, old.Mode
		c.HasBefore, c.HasAfter = w.images, w.images
		w.touch(path, FileVersion{})
		w.touch(to, old)
		w.links[path], w.links[to] = append(w.links[path], to), append(w.links[to], path)
	default:
		next.Mode = old.Mode
		c.Kind, c.Before, c.After, c.Mode = FileEdited, old.Hash, next.Hash, old.Mode
		w.touch(path, next)
	}
	if err := c.Check(); err != nil {
		w.t.Fatal(err)
	}
	w.changes = append(w.changes, c)
}

// others writes or removes a random file.
func (w *world) others() {
	path, v := w.path(), w.text()
	if w.r.IntN(3) == 0 {
		v = FileVersion{}
	}
	w.set(path, v)
}

// conflicts returns the paths that a restore must leave as they are: those that others wrote, unless they are as they were,
// and those that moves link to them.
func (w *world) conflicts() map[string]bool {
	all := map[string]bool{}
	var add func(path string)
	add = func(path string) {
		if all[path] {
			return
		}
		all[path] = true
		for _, linked := range w.links[path] {
			add(linked)
		}
	}
	for path, left := range w.left {
		if now := w.files[path]; (w.broken[path] || now.Hash != left.Hash) && now.Hash != w.first[path].Hash {
			add(path)
		}
	}
	return all
}

// apply does what a plan says. The bytes of a file must be there.
func (w *world) apply(p *RestorePlan, stored map[string]bool) {
	before := map[string]FileVersion{}
	for path, v := range w.files {
		before[path] = v
	}
	for _, f := range p.Files {
		if f.Outcome != FileRestored {
			continue
		}
		if before[f.Path] != f.Now {
			w.t.Fatalf("%+v replaces %+v", f, before[f.Path])
		}
		if f.Put.Hash != "" && f.From == "" && !stored[f.Put.Hash] || f.From != "" && before[f.From].Hash != f.Put.Hash {
			w.t.Fatalf("%+v: its bytes are nowhere", f)
		}
		w.set(f.Path, f.Put)
	}
}

func (w *world) stored() map[string]bool {
	all := map[string]bool{}
	for _, c := range w.changes {
		if c.HasBefore {
			all[c.Before] = true
		}
		if c.HasAfter {
			all[c.After] = true
		}
	}
	return all
}

// chain lets tools and others change files.
func (w *world) chain(foreign int) {
	for range 1 + w.r.IntN(14) {
		w.tool()
		if w.r.IntN(10) < foreign {
			w.others()
		}
	}
}

func copied(files map[string]FileVersion) map[string]FileVersion {
	all := map[string]FileVersion{}
	for path, v := range files {
		all[path] = v
	}
	return all
}

// sameFile reports whether two versions are the same. Modes count unless others wrote.
func sameFile(a, b FileVersion, modes bool) bool {
	return a.Hash == b.Hash && (!modes || a.Mode == b.Mode)
}

// A restore puts back what the tools changed wherever nobody else wrote, and leaves all other files as they are. Its undo
// puts everything forward again.
func TestRestoresOfRandomChanges(t *testing.T) {
	restored, conflicts, unchanged := 0, 0, 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 15))
		w, foreign := newWorld(t, r), int(seed%3) // of ten: the others write so often
		w.images = foreign > 0
		w.chain(foreign)
		before, spared := copied(w.files), w.conflicts()
		plan := PlanRestore(newestFirst(slices.Clone(w.changes)...), w.now)
		w.apply(plan, w.stored())
		for _, path := range []string{"a", "b", "c", "d", "e", "f"} {
			first, changed := w.first[path]
			want := before[path]
			if changed && !spared[path] {
				want = first
			}
			if got := w.files[path]; !sameFile(got, want, foreign == 0) {
				t.Fatalf("seed %d: %s is %+v, want %+v\n%+v\n%s", seed, path, got, want, w.changes, plan.summary())
			}
		}
		for _, f := range plan.Files {
			switch f.Outcome {
			case FileRestored:
				restored++
			case FileUnchanged:
				unchanged++
			case FileConflict:
				conflicts++
			}
			if (f.Outcome == FileConflict) != spared[f.Path] {
				t.Fatalf("seed %d: %s is %s", seed, f.Path, f.Outcome)
			}
		}
		undo := PlanUndo(newestFirst(plan.Settle("edit_1", nil)...), anyChange, w.now)
		w.apply(undo, w.stored())
		for path, f := range before {
			changedByOthers := w.broken[path] || f.Hash != w.left[path].Hash // and as it was by chance
			if got := w.files[path]; !sameFile(got, f, foreign == 0) && !changedByOthers {
				t.Fatalf("seed %d: after the undo %s is %+v, want %+v\n%s", seed, path, got, f, undo.summary())
			}
		}
		for _, c := range undo.Settle("", nil) {
			if c.State != FileChangeDone || c.RestoredBy != "" {
				t.Fatalf("seed %d: %+v", seed, c)
			}
		}
	}
	if restored < 1000 || conflicts < 1000 || unchanged < 100 {
		t.Errorf("%d files were restored, %d unchanged, %d in conflict", restored, unchanged, conflicts)
	}
}

// A restore that died with some of its files put back can be repeated, whatever others wrote in the meantime.
func TestARestoreCanBeRepeated(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 16))
		w := newWorld(t, r)
		w.chain(0)
		plan := PlanRestore(newestFirst(slices.Clone(w.changes)...), w.now)
		stored := w.stored()
		for i := range plan.Files { // the images of moved files are stored before the first file is put back
			stored[plan.Files[i].Put.Hash] = true
		}
		for i := range w.changes {
			w.changes[i].HasBefore, w.changes[i].HasAfter = w.changes[i].Before != "", w.changes[i].After != ""
		}
		half := *plan
		half.Files = nil
		for _, f := range plan.Files {
			if r.IntN(2) == 0 {
				f.From = ""
				half.Files = append(half.Files, f)
			}
		}
		w.apply(&half, stored)
		again := PlanRestore(newestFirst(slices.Clone(w.changes)...), w.now)
		w.apply(again, stored)
		for path, want := range w.first {
			if got := w.files[path]; got != want {
				t.Fatalf("seed %d: %s is %+v, want %+v\n%+v\n%s\n%s", seed, path, got, want, w.changes, plan.summary(), again.summary())
			}
		}
		if got, want := len(again.Settle("edit_1", nil)), len(w.changes); got != want {
			t.Fatalf("seed %d: %d of %d changes are settled", seed, got, want)
		}
	}
}

// Without images a restore names the files that it cannot put back, and changes none of them.
func TestRestoresWithoutSomeImages(t *testing.T) {
	missing := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 17))
		w := newWorld(t, r)
		w.chain(1)
		for i := range w.changes {
			c := &w.changes[i]
			c.HasBefore, c.HasAfter = c.HasBefore && r.IntN(2) == 0, c.HasAfter && r.IntN(4) == 0
		}
		before, stored := copied(w.files), w.stored()
		plan := PlanRestore(newestFirst(slices.Clone(w.changes)...), w.now)
		w.apply(plan, stored)
		for _, f := range plan.Files {
			if f.Outcome != FileRestored && w.files[f.Path] != before[f.Path] {
				t.Fatalf("seed %d: %+v was changed", seed, f)
			}
			if f.Reason == ConflictNoImage {
				missing++
				if stored[w.first[f.Path].Hash] {
					t.Fatalf("seed %d: %s has an image", seed, f.Path)
				}
			}
		}
	}
	if missing < 100 {
		t.Errorf("only %d images were missing", missing)
	}
}
