package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/testclient"
)

// changeDeaths are the moments around a change of a file at which a server dies, with the states of the records after it, "" for none:
// around the commit of the plan, the effect, and the commit of the result, and in the next step.
var changeDeaths = map[string]string{
	"filechange.before:1": "", "filechange.after:1": "not_done",
	"change.before:1": "not_done", "change.after:1": "done",
	"filechange.before:2": "done", "filechange.after:2": "done",
	"step.before:3": "done", "step.after:3": "done", "end.before:1": "done",
}

// moveDeaths are those of a move, which makes the file at its new path before it removes the old one.
var moveDeaths = map[string]string{"change.after:1": halfMoved, "change.before:2": halfMoved, "change.after:2": "done"}

// deskFiles are the files of a desk with a deed; the line ends of the first one are not those of a tool.
func deskFiles() files { return files{"a.txt": "one\r\ntwo\r\nthree", "other.txt": "other\n"} }

// deeds are one of each kind, with the point around its effect.
var deeds = map[string]func(d *desk) deed{
	"edit":            func(d *desk) deed { return d.edit("a.txt", "two", "2") },
	"replace":         func(d *desk) deed { return d.write("a.txt", "new\ntext\n", "new\r\ntext\r\n", "replaced") },
	"new":             func(d *desk) deed { return d.write("n.txt", "n\n", "n\n", "created") },
	"new in a folder": func(d *desk) deed { return d.write("x/y/n.txt", "n\n", "n\n", "created") },
	"delete":          func(d *desk) deed { return d.remove("a.txt") },
	"move":            func(d *desk) deed { return d.move("a.txt", "b.txt") },
}

// After a crash at any moment of a change, the file has its old or its new content, the record and the result of the call say
// which, and the next change leaves nothing of the crash in the folder.
func TestDeathAroundChangesOfFiles(t *testing.T) {
	t.Parallel()
	for name, do := range deeds {
		at := maps.Clone(changeDeaths)
		if name == "move" {
			maps.Copy(at, moveDeaths)
		}
		for spec, state := range at {
			for wire, model := range models {
				t.Run(fmt.Sprintf("%s %s %s", name, spec, wire), func(t *testing.T) {
					t.Parallel()
					c := newChangingShift(t, model, do, armed(spec))
					c.dies()
					c.comesBack(state)
				})
			}
		}
	}
}

// The same holds for a server that dies while it settles the change of a crashed one.
func TestDeathWhileSettlingChangesOfFiles(t *testing.T) {
	t.Parallel()
	for died, state := range map[string]string{"change.before": "not_done", "change.after": "done"} {
		for _, spec := range []string{"filechange.before", "filechange.after"} {
			t.Run(died+" "+spec, func(t *testing.T) {
				t.Parallel()
				c := newChangingShift(t, chatModel, deeds["edit"], armed(died))
				c.dies()
				c.Restart(armed(spec))
				if _, err := c.work.send(c.editor()).Wait(); err == nil || fault(err) != nil {
					t.Fatalf("the server is still running: %v", err)
				}
				c.Wait()
				c.comesBack(state)
			})
		}
	}
}

// changingShift is a shift whose work looks at the files of a desk, does a deed, and reads again.
type changingShift struct {
	*shift
	desk *desk
	deed deed
}

func newChangingShift(t *testing.T, model string, do func(d *desk) deed, opt binary.Options) *changingShift {
	t.Helper()
	c := &changingShift{shift: newShift(t, deskShop, model, opt)}
	c.desk = newDesk(c.world, "desk", deskFiles())
	c.deed = do(c.desk)
	c.work.gap, c.work.parts = time.Microsecond, 3
	c.work.plan = [][]toolCall{c.desk.looks(), {c.deed.toolCall}, {{"read_file", `{"path":"desk/other.txt"}`, "other.txt"}}}
	return c
}

// after returns the files after a change in a state.
func (c *changingShift) after(state string) files {
	before, after := deskFiles(), deskFiles()
	c.deed.do(after)
	for _, content := range after {
		c.desk.knows(content)
	}
	switch state {
	case "done":
		return after
	case halfMoved:
		maps.Copy(after, before)
		return after
	}
	return before
}

// comesBack starts the server again after a crash that left the change in a state, and checks everything.
func (c *changingShift) comesBack(state string) {
	c.t.Helper()
	want := c.after(state)
	left, temps := c.desk.look()
	if wrong := left.differs(want); wrong != "" {
		c.t.Errorf("after the crash: %s", wrong)
	}
	c.Restart(binary.Options{})
	c.viewer.attach(c.world)
	e := c.editor()
	c.check(e)
	c.workAgain(e, c.work)
	db := open(c.t, c.Database, "ro")
	c.desk.audit(db, c.session)
	if wrong := c.desk.files.differs(want); wrong != "" {
		c.t.Errorf("after the restart: %s", wrong)
	}
	var states []string
	for _, r := range recordsOf(c.t, db, c.session) {
		states = append(states, r.state)
	}
	if got := strings.Join(states, " "); got != state {
		c.t.Errorf("the records are %q, want %q", got, state)
	}
	c.changesAll(temps)
}

// changesAll lets a work change everything on the desk, and checks that temporary files of a crash are gone, and were never shown.
func (c *changingShift) changesAll(temps []string) {
	c.t.Helper()
	e := c.editor()
	c.world.changesAll(e, c.session, c.desk, "next")
	c.check(e)
	if _, left := c.desk.look(); len(left) > 0 {
		c.t.Errorf("%q are left of %q", left, temps)
	}
	neverShown(c.t, e.Frames(), c.viewer.editor.Frames())
}

// neverShown checks that clients received nothing of temporary files.
func neverShown(t *testing.T, received ...testclient.Frames) {
	t.Helper()
	for _, f := range slices.Concat(received...) {
		if strings.Contains(string(f.Params), tempMark) || strings.Contains(string(f.Result), tempMark) {
			t.Errorf("a client was shown %s%s", f.Params, f.Result)
		}
	}
}

// changesAll lets a work change each file of a desk and make one in each folder.
func (w *world) changesAll(e *testclient.Editor, session string, d *desk, name string) {
	w.t.Helper()
	k := &work{session: session, name: name, steps: 2, parts: 3, plan: [][]toolCall{d.looks(), nil}, leaves: maps.Clone(d.files)}
	for _, do := range d.everything() {
		do.do(k.leaves)
		k.plan[1] = append(k.plan[1], do.toolCall)
	}
	for _, content := range k.leaves {
		d.knows(content)
	}
	w.do(e, k)
	d.files = k.leaves
	d.audit(open(w.t, w.Database, "ro"), session)
	if wrong := d.files.differs(k.leaves); wrong != "" {
		w.t.Errorf("after %s: %s", name, wrong)
	}
}
