package crash

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
)

// putBack is an entry of the answer to a restore with files.
type putBack struct{ Path, To, Outcome, Change, Reason string }

// stays reports whether the file stays as it is, because somebody else has changed it. A moved file is the only place that has
// its bytes.
func (p putBack) stays() bool { return p.Outcome == "conflict" || p.Outcome == "unavailable" }

// restoreFiles restores a session to the state before its first message, with its files.
func (w *world) restoreFiles(e *testclient.Editor, session string) ([]putBack, error) {
	w.t.Helper()
	first := rows(w.t, open(w.t, w.Database, "ro"), "SELECT id FROM message WHERE session = ? ORDER BY seq LIMIT 1", session)
	if len(first) == 0 {
		return nil, nil // nothing was said yet
	}
	var result struct{ Files []putBack }
	params := map[string]any{"sessionId": session, "beforeMessageId": first[0][0], "files": true}
	err := e.Call("_strata/checkpoint/restore", params, &result)
	return result.Files, err
}

// restoring is a restore of the files of a desk that others have changed, too.
type restoring struct {
	*desk
	before files
	groups map[string]string // the paths that moves link, by a path: one of them
	doubt  map[string]bool   // groups that need not be put back: somebody else has changed one of them
	foes   []string          // files that have changes which a restore would take back, and that somebody else has changed
}

// beforeRestore lets another program write some of the files, with a chance of one in so many.
func (d *desk) beforeRestore(chance *rand.Rand, oneIn int) *restoring {
	d.t.Helper()
	r := &restoring{desk: d, groups: make(map[string]string), doubt: make(map[string]bool)}
	changed := make(map[string]bool)
	for _, c := range d.records {
		if c.state == "done" {
			changed[d.nameOf(c.path)] = true
			if c.to != "" {
				changed[d.nameOf(c.to)] = true
			}
		}
	}
	for _, name := range d.files.names() {
		if chance.IntN(oneIn) == 0 {
			d.put(name, d.files[name]+d.line())
			d.foreign[name] = true
			if changed[name] {
				r.foes = append(r.foes, name)
			} else {
				content, _ := d.look()
				d.origin[name] = content[name]
			}
		}
	}
	for _, c := range d.records {
		if c.to != "" && c.state != "not_done" {
			r.link(d.nameOf(c.path), d.nameOf(c.to))
		}
	}
	for name := range d.foreign {
		r.doubt[r.group(name)] = true
	}
	r.before, _ = d.look()
	return r
}

func (r *restoring) group(name string) string {
	for r.groups[name] != "" {
		name = r.groups[name]
	}
	return name
}

func (r *restoring) link(a, b string) {
	if a, b = r.group(a), r.group(b); a != b {
		r.groups[a] = b
	}
}

// restored checks the files after a restore: those that nobody else touched have the content that they had, the others stay
// and are named.
func (r *restoring) restored(told []putBack) {
	r.t.Helper()
	stay := make(map[string]bool)
	for _, p := range told {
		name := r.nameOf(p.Path)
		switch {
		case p.Outcome != "restored" && p.Outcome != "unchanged" && !p.stays():
			r.t.Errorf("%s: %+v", r.name, p)
		case p.stays() && !r.doubt[r.group(name)]:
			r.t.Errorf("%s: a conflict that nobody has caused: %+v", r.name, p)
		}
		stay[name] = stay[name] || p.stays()
	}
	now, _ := r.look()
	want := r.doubtful(now, r.origin)
	for _, name := range r.foes {
		if !stay[name] || now[name] != r.before[name] {
			r.t.Errorf("%s was changed by somebody else, and became %q: %+v", name, now[name], told)
		}
	}
	if wrong := now.differs(want); wrong != "" {
		r.t.Errorf("%s restored: %s\n%+v\n%s", r.name, wrong, told, listOf(r.records))
	}
}

// doubtful returns what files should be, but for those that may have stayed as they were, or are as before all changes.
func (r *restoring) doubtful(now, want files) files {
	want = maps.Clone(want)
	for _, name := range slices.Concat(now.names(), want.names()) {
		content, there := now[name]
		before, was := r.before[name]
		first, had := r.origin[name]
		switch may := content == before && there == was || content == first && there == had; {
		case !may || !r.doubt[r.group(name)]:
		case there:
			want[name] = content
		default:
			delete(want, name)
		}
	}
	return want
}

// undone checks the files after the undo of a restore.
func (r *restoring) undone() {
	r.t.Helper()
	now, _ := r.look()
	want := r.doubtful(now, r.before)
	if wrong := now.differs(want); wrong != "" {
		r.t.Errorf("%s after the undo: %s\n%s", r.name, wrong, listOf(r.records))
	}
}

// rebase makes the present files the base of later records.
func (d *desk) rebase(w *world, session string) {
	d.t.Helper()
	db := open(d.t, w.Database, "ro")
	defer db.Close()
	for _, r := range recordsOf(d.t, db, session) {
		d.last = r.rowid
	}
	d.files, _ = d.look()
	d.base = maps.Clone(d.files)
	for _, content := range d.files {
		d.knows(content)
	}
}

// listedChanges checks that the changes of the newest turns are told as they are stored.
func (d *desk) listedChanges(e *testclient.Editor, session string) {
	d.t.Helper()
	var listed struct {
		Changes []struct{ ID, CallID, State, Kind, Path, To string }
	}
	if err := e.Call("_strata/turn/changes", map[string]any{"sessionId": session, "limit": 50}, &listed); err != nil {
		d.t.Fatal(err)
	}
	if len(d.records) > 0 && len(listed.Changes) == 0 {
		d.t.Errorf("no changes of %s are told", d.name)
	}
	for _, c := range listed.Changes {
		same := func(r fileRecord) bool {
			return r.id == c.ID && r.call == c.CallID && r.state == c.State && r.kind == c.Kind && r.path == c.Path && r.to == c.To
		}
		if !slices.ContainsFunc(d.records, same) {
			d.t.Errorf("%+v is told, and is not stored", c)
		}
	}
}

// restorePoints are the failpoints of a restore of files, in its order.
var restorePoints = []string{"restore.kept", "restore.file", "change.before", "change.after", "edit.before", "edit.after"}

// After a death in the middle of a restore, each file has the content before or after it, and the same request does the rest.
// What somebody else wrote stays.
func TestDeathWhileRestoringFiles(t *testing.T) {
	t.Parallel()
	for _, point := range restorePoints {
		hits := 4
		if point == "restore.kept" || point == "edit.before" || point == "edit.after" {
			hits = 1
		}
		for n := range hits {
			spec := fmt.Sprintf("%s:%d", point, n+1)
			t.Run(spec, func(t *testing.T) {
				t.Parallel()
				restoreAndDie(t, spec)
			})
		}
	}
}

func restoreAndDie(t *testing.T, spec string) {
	w := newWorkshop(t, deskShop, binary.Options{})
	e := w.editor()
	session, err := w.newSession(e, chatModel)
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(w, "desk", files{"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n", "d.txt": "d\n", "foreign.txt": "f\n"})
	k := &work{session: session, name: "changes", steps: 2, parts: 1, leaves: maps.Clone(d.files), plan: [][]toolCall{d.looks(), nil}}
	for _, do := range []deed{
		d.edit("a.txt", "a", "aa"), d.remove("b.txt"), d.move("c.txt", "in/c.txt"), d.edit("in/c.txt", "c", "cc"),
		d.write("n.txt", "n\n", "n\n", "created"), d.edit("foreign.txt", "f", "ff"), d.move("d.txt", "e.txt"),
	} {
		do.do(k.leaves)
		k.plan[1] = append(k.plan[1], do.toolCall)
		for _, content := range k.leaves {
			d.knows(content)
		}
	}
	w.do(e, k)
	db := open(t, w.Database, "ro")
	d.audit(db, session)
	d.put("foreign.txt", "somebody else\n")
	d.foreign["foreign.txt"] = true
	r := d.beforeRestore(rand.New(rand.NewPCG(1, 1)), 1<<30)
	r.foes = []string{"foreign.txt"}

	w.Stop()
	w.Restart(armed(spec))
	if _, err := w.restoreFiles(w.editor(), session); err == nil || fault(err) != nil {
		t.Fatalf("%s is never reached: %v", spec, err)
	}
	w.Wait()
	half, _ := d.look()
	for name, content := range half {
		if content != r.before[name] && content != d.origin[name] {
			t.Errorf("after the crash %s is %q", name, content)
		}
	}
	for name := range d.origin {
		_, before := r.before[name]
		if _, there := half[name]; before && !there {
			t.Errorf("after the crash %s is missing", name)
		}
	}
	for from, to := range map[string]string{"c.txt": "in/c.txt", "d.txt": "e.txt"} {
		if half[from] == "" && half[to] == "" {
			t.Errorf("after the crash %s is missing, and %s, too", from, to)
		}
	}

	w.Restart(binary.Options{})
	e = w.editor()
	told, err := w.restoreFiles(e, session)
	if err != nil {
		t.Fatal(err)
	}
	r.restored(told)
	d.rebase(w, session)
	w.changesAll(e, session, d, "afterwards")
	d.listedChanges(e, session)
	if _, left := d.look(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	w.audit(e, session)
}
