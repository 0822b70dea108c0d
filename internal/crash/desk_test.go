package crash

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"strata/history"
)

// deskShop is a shop in which tools may change files. Nothing is compacted: a summary would hide from the model what it has read
// before, while a work expects to change it.
var deskShop = shop{more: "compaction: {enabled: false}\ntools: {allow: [edit_file, write_file, delete_file, move_file]}\n"}

// tempMark begins the names of the temporary files of changes.
const tempMark = ".strata-tmp-"

// files are the contents of files by name, relative to the folder of their desk.
type files map[string]string

// names returns the names, sorted.
func (f files) names() []string { return slices.Sorted(maps.Keys(f)) }

// desk is a folder in a workshop's project in which only the tools of one session change files.
type desk struct {
	t      *testing.T
	folder string // absolute, without links
	name   string // of the folder in the project
	files  files  // as they are while no turn runs

	origin   files             // to which a restore leads
	base     files             // as they were when the first record after last was stored
	last     string            // rowid of the newest record before that
	records  []fileRecord      // at the last audit
	contents map[string]string // that a work has made or would have made, by hash
	foreign  map[string]bool   // names of files that another program has written
	made     int               // number of names and lines, which are all different
}

func newDesk(w *world, name string, content files) *desk {
	w.t.Helper()
	project, err := filepath.EvalSymlinks(w.Home.Project)
	if err != nil {
		w.t.Fatal(err)
	}
	d := &desk{t: w.t, folder: filepath.Join(project, name), name: name, last: "0", contents: make(map[string]string), foreign: make(map[string]bool)}
	for _, file := range content.names() {
		d.put(file, content[file])
	}
	d.files = content
	d.base, d.origin = maps.Clone(content), maps.Clone(content)
	return d
}

// put writes a file as another program does. It replaces the file: a move that was cut leaves two names of the same one.
func (d *desk) put(name, content string) {
	d.t.Helper()
	place := filepath.Join(d.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.RemoveAll(place); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(place, []byte(content), 0o640); err != nil {
		d.t.Fatal(err)
	}
	d.knows(content)
}

func (d *desk) knows(content string) { d.contents[hashed(content)] = content }

func hashed(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// look returns the files on disk, and the paths of temporary ones.
func (d *desk) look() (now files, temps []string) {
	d.t.Helper()
	now = make(files)
	err := filepath.WalkDir(d.folder, func(place string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if strings.HasPrefix(e.Name(), tempMark) {
			temps = append(temps, place)
			return nil
		}
		content, err := os.ReadFile(place)
		now[d.nameOf(place)] = string(content)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return now, temps
}

// nameOf returns the name of the file at an absolute path.
func (d *desk) nameOf(place string) string {
	name, err := filepath.Rel(d.folder, place)
	if err != nil {
		d.t.Fatal(err)
	}
	return filepath.ToSlash(name)
}

// differs returns how files differ from what they should be, "" if they do not.
func (f files) differs(want files) string {
	var wrong []string
	all := maps.Clone(f)
	maps.Copy(all, want)
	for _, name := range all.names() {
		got, there := f[name]
		wanted, should := want[name]
		switch {
		case !there:
			wrong = append(wrong, name+" is missing")
		case !should:
			wrong = append(wrong, fmt.Sprintf("%s is there with %q", name, got))
		case got != wanted:
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", name, got, wanted))
		}
	}
	return strings.Join(wrong, "; ")
}

// deed is a call that changes a file, and what it does.
type deed struct {
	toolCall
	do func(files)
}

func (d *desk) call(tool, result string, input map[string]any, do func(files)) deed {
	raw, err := json.Marshal(input)
	if err != nil {
		d.t.Fatal(err)
	}
	return deed{toolCall{tool, string(raw), result}, do}
}

func (d *desk) edit(name, before, after string) deed {
	edits := []any{map[string]any{"old_text": before, "new_text": after}}
	return d.call("edit_file", "edited", map[string]any{"path": d.path(name), "edits": edits}, func(f files) {
		f[name] = strings.Replace(f[name], before, after, 1)
	})
}

// write is a deed that writes a text. Its file becomes content.
func (d *desk) write(name, text, content, result string) deed {
	return d.call("write_file", result, map[string]any{"path": d.path(name), "content": text}, func(f files) { f[name] = content })
}

func (d *desk) remove(name string) deed {
	return d.call("delete_file", "deleted", map[string]any{"path": d.path(name)}, func(f files) { delete(f, name) })
}

func (d *desk) move(from, to string) deed {
	return d.call("move_file", "moved", map[string]any{"from": d.path(from), "to": d.path(to)}, func(f files) {
		f[to] = f[from]
		delete(f, from)
	})
}

// path returns the path of a file for a tool.
func (d *desk) path(name string) string { return path.Join(d.name, name) }

// looks are the calls of a step that shows the model all files.
func (d *desk) looks() []toolCall {
	calls := []toolCall{{"list_files", fmt.Sprintf(`{"path":%q}`, d.name), ".txt"}}
	for _, name := range d.files.names() {
		calls = append(calls, toolCall{"read_file", fmt.Sprintf(`{"path":%q}`, d.path(name)), path.Base(name)})
	}
	return calls
}

// plan returns a work in a number of steps that looks at the files and changes some, and what they are after it.
func (d *desk) plan(chance *rand.Rand, steps int) (plan [][]toolCall, leaves files) {
	plan, leaves = [][]toolCall{d.looks()}, maps.Clone(d.files)
	for range steps - 1 {
		var calls []toolCall
		for range 1 + chance.IntN(3) {
			next := d.random(chance, leaves)
			next.do(leaves)
			for _, content := range leaves {
				d.knows(content)
			}
			calls = append(calls, next.toolCall)
		}
		plan = append(plan, calls)
	}
	return plan, leaves
}

// The number of files of a desk in a work is between these.
const (
	fewFiles  = 2
	manyFiles = 6
)

// random returns a deed that can be done with files.
func (d *desk) random(chance *rand.Rand, now files) deed {
	names := now.names()
	if len(names) < fewFiles {
		return d.new(chance)
	}
	name := names[chance.IntN(len(names))]
	switch n := chance.IntN(10); {
	case n < 2 && len(names) < manyFiles:
		return d.new(chance)
	case n < 4 && len(names) > fewFiles:
		return d.remove(name)
	case n < 6:
		return d.move(name, d.unused(chance))
	case n < 7:
		text := d.text(chance)
		return d.write(name, text, text, "replaced")
	}
	lines := strings.SplitAfter(now[name], "\n")
	line := lines[chance.IntN(len(lines)-1)]
	return d.edit(name, line, d.line())
}

func (d *desk) new(chance *rand.Rand) deed {
	text := d.text(chance)
	return d.write(d.unused(chance), text, text, "created")
}

// unused returns a name that no file has had, in one of a few folders.
func (d *desk) unused(chance *rand.Rand) string {
	d.made++
	return path.Join([]string{"", "in", "in/it"}[chance.IntN(3)], fmt.Sprintf("f%d.txt", d.made))
}

func (d *desk) line() string {
	d.made++
	return fmt.Sprintf("This is the line %d. %s\n", d.made, strings.Repeat("It is there. ", d.made%9))
}

func (d *desk) text(chance *rand.Rand) (text string) {
	for range 1 + chance.IntN(12) {
		text += d.line()
	}
	return text
}

// everything is an edit of each file, and a new file in each folder.
func (d *desk) everything() (all []deed) {
	for _, name := range d.files.names() {
		line, _, _ := strings.Cut(strings.ReplaceAll(d.files[name], "\r\n", "\n"), "\n")
		all = append(all, d.edit(name, line, line+" changed"))
	}
	err := filepath.WalkDir(d.folder, func(place string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			d.made++
			all = append(all, d.write(path.Join(d.nameOf(place), fmt.Sprintf("z%d.txt", d.made)), "z\n", "z\n", "created"))
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

// fileRecord is a stored change of a file.
type fileRecord struct{ rowid, id, call, kind, path, to, before, after, state string }

// recordsOf returns the stored changes of a session, oldest first.
func recordsOf(t testing.TB, db *sql.DB, session string) (all []fileRecord) {
	t.Helper()
	const query = "SELECT rowid, id, call, kind, path, target, hash_before, hash_after, state FROM file_change WHERE session = ? ORDER BY rowid"
	for _, r := range rows(t, db, query, session) {
		all = append(all, fileRecord{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]})
	}
	return all
}

// audit checks that the files of a loaded session are what its records say, that each call has a result that says the same, and
// takes over the files.
func (d *desk) audit(db *sql.DB, session string) {
	d.t.Helper()
	d.records = recordsOf(d.t, db, session)
	told := calledOn(d.t, db, session)
	states := make(map[string]string) // of the records of a call
	want := maps.Clone(d.base)
	rebased := d.last != "0"
	for _, r := range d.records {
		if rebased {
			rebased = r.rowid != d.last
			delete(told, r.call)
			continue
		}
		if wrong := d.apply(want, &r); wrong != "" {
			d.t.Errorf("%s %s of %s in state %s: %s", r.id, r.kind, r.path, r.state, wrong)
		}
		states[r.call] = strings.TrimSpace(states[r.call] + " " + r.state)
	}
	for call, result := range told {
		if !result.says(states[call]) {
			d.t.Errorf("the records of %s are %q, the model was told %q", call, states[call], result.text)
		}
	}
	now, _ := d.look()
	if wrong := now.differs(want); wrong != "" {
		d.t.Errorf("%s of session %s: %s\n%s", d.name, session, wrong, listOf(d.records))
	}
	d.files = now
}

// apply does to files what a record says, and returns what is wrong with that, "" for nothing.
func (d *desk) apply(now files, r *fileRecord) string {
	name := d.nameOf(r.path)
	content, there := now[name]
	if hash := hashed(content); there && hash != r.before || !there && r.before != "" {
		return fmt.Sprintf("its file was %q", content)
	}
	after, known := d.contents[r.after]
	if !known && r.after != "" {
		return "nobody wanted what it made"
	}
	switch r.state {
	case "not_done":
	case "done":
		delete(now, name)
		if r.kind == "move" {
			name = d.nameOf(r.to)
		}
		if r.after != "" {
			now[name] = after
		}
	default:
		return "its files have a known content"
	}
	return ""
}

func listOf(records []fileRecord) string {
	var lines []string
	for _, r := range records {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s %.8s %.8s", r.rowid, r.call, r.state, r.kind, r.path, r.before, r.after))
	}
	return strings.Join(lines, "\n")
}

// callResult is the result of a call that changes files.
type callResult struct {
	text string // "" for none
	fail bool
}

// halfMoved are the states of the records of a move that has made the file at its new path, and has not removed the old one.
const halfMoved = "not_done done"

// says reports whether the result tells that the records of its call have the states, "" for none.
func (c callResult) says(state string) bool {
	lost := strings.HasPrefix(c.text, callLost)
	switch {
	case c.text == "":
		return false
	case state == "done":
		return !c.fail || lost && strings.HasSuffix(c.text, "the file was changed as requested")
	case state == halfMoved:
		return lost && strings.HasSuffix(c.text, "the file is at both paths")
	}
	return lost && strings.HasSuffix(c.text, "the file was not changed")
}

// calledOn returns the results of the calls that change files, by the id of the call.
func calledOn(t testing.TB, db *sql.DB, session string) map[string]callResult {
	t.Helper()
	results := make(map[string]callResult)
	for _, m := range messagesOnDisk(t, db, session) {
		for i, b := range m.Blocks {
			_, called := results[b.CallID]
			switch {
			case b.Type == history.BlockToolCall && slices.Contains([]string{"edit_file", "write_file", "delete_file", "move_file"}, b.Name):
				results[b.CallID] = callResult{}
			case b.Type == history.BlockToolResult && called:
				results[b.CallID] = callResult{(&history.Message{Blocks: m.Blocks[i : i+1]}).PlainText(), b.IsError}
			}
		}
	}
	return results
}
