package restoring

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/historystore"
	"strata/internal/leak"
)

func TestMain(m *testing.M) {
	if os.Getenv(crashEnv) != "" {
		crash()
		os.Exit(0)
	}
	leak.Main(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const session = "sess_a"

// desk is a session with a folder and a store, whose tools have changed files.
type desk struct {
	t        testing.TB
	folder   string
	database string // folder of the store
	store    *historystore.Store
	files    *Files
	n        int64 // of the newest change
}

// open opens the store.
func (d *desk) open() {
	d.t.Helper()
	store, err := historystore.Open(context.Background(), filepath.Join(d.database, "strata.db"), historystore.Options{})
	must(d.t, err)
	d.store, d.files.Store, d.files.Saver = store, store.FileChangeStore(), store
}

// newDesk returns a desk with files: each text by its name.
func newDesk(t testing.TB, texts map[string]string) *desk {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	d := &desk{t: t, folder: folder, database: t.TempDir()}
	roots, err := filecontext.NewRoots(t.Context(), folder, nil, filecontext.Limits{})
	must(t, err)
	d.files = &Files{Session: session, Roots: roots}
	d.open()
	t.Cleanup(func() { must(t, d.store.Close()) })
	for name, text := range texts {
		d.write(name, file{text, 0o644})
	}
	at := time.Date(2026, 1, 5, 9, 30, 0, 0, time.UTC)
	record := history.Session{ID: session, CWD: folder, CreatedAt: at, UpdatedAt: at}
	must(t, d.store.Commit(t.Context(), history.Change{Session: session, Create: &record}))
	return d
}

// file is what is at a path; the zero value is nothing.
type file struct {
	text string
	mode os.FileMode
}

func (f file) exists() bool { return f.mode != 0 }

func (f file) hash() string {
	if !f.exists() {
		return ""
	}
	sum := sha256.Sum256([]byte(f.text))
	return hex.EncodeToString(sum[:])
}

func (d *desk) path(name string) string { return filepath.Join(d.folder, filepath.FromSlash(name)) }

// write puts a file at a path, or removes it.
func (d *desk) write(name string, f file) {
	d.t.Helper()
	must(d.t, os.RemoveAll(d.path(name)))
	if f.exists() {
		must(d.t, os.MkdirAll(filepath.Dir(d.path(name)), 0o700))
		must(d.t, os.WriteFile(d.path(name), []byte(f.text), 0o600))
		must(d.t, os.Chmod(d.path(name), f.mode))
	}
}

func (d *desk) read(name string) file {
	d.t.Helper()
	info, err := os.Lstat(d.path(name))
	if os.IsNotExist(err) {
		return file{}
	}
	must(d.t, err)
	data, err := os.ReadFile(d.path(name))
	must(d.t, err)
	return file{string(data), info.Mode().Perm()}
}

func (d *desk) want(name, text string) {
	d.t.Helper()
	got := d.read(name)
	if text == "" && got.exists() || text != "" && got.text != text {
		d.t.Errorf("%s is %+v, want %q", name, got, text)
	}
}

// tool makes what a tool does to a path, and returns the record of it.
func (d *desk) tool(name string, after file) (history.FileChange, []history.Blob) {
	d.t.Helper()
	before := d.read(name)
	c := d.change(name, before)
	switch {
	case !before.exists():
		c.Kind, c.Mode = history.FileCreated, uint32(after.mode)
	case !after.exists():
		c.Kind = history.FileDeleted
	default:
		c.Kind, after.mode = history.FileEdited, before.mode
	}
	c.Before, c.After = before.hash(), after.hash()
	d.write(name, after)
	var images []history.Blob
	for _, f := range []file{before, after} {
		if f.exists() {
			images = append(images, history.Blob{Hash: f.hash(), Bytes: []byte(f.text)})
		}
	}
	return c, images
}

// move is tool for a move.
func (d *desk) move(name, to string) history.FileChange {
	d.t.Helper()
	f := d.read(name)
	c := d.change(name, f)
	c.Kind, c.To, c.Before, c.After = history.FileMoved, d.path(to), f.hash(), f.hash()
	d.write(name, file{})
	d.write(to, f)
	return c
}

func (d *desk) change(name string, before file) history.FileChange {
	d.n++
	return history.FileChange{
		ID: fmt.Sprint("fc_", d.n), Turn: "turn_a", Step: 1, Call: fmt.Sprint("tc_", d.n), Seq: d.n, Path: d.path(name),
		Mode: uint32(before.mode), At: time.Date(2026, 1, 5, 9, 30, 0, 0, time.UTC), State: history.FileChangeDone,
	}
}

func (d *desk) commit(images []history.Blob, changes ...history.FileChange) {
	d.t.Helper()
	must(d.t, d.store.Commit(d.t.Context(), history.Change{Session: session, PutFileChanges: changes, FileImages: images}))
}

// edits makes one change by a tool, and stores it with its images; an empty text is no file.
func (d *desk) edits(name, text string) {
	d.t.Helper()
	f := file{text, 0o644}
	if text == "" {
		f = file{}
	}
	c, images := d.tool(name, f)
	d.commit(images, c)
}

func (d *desk) do(req *Request, preview bool) *Done {
	d.t.Helper()
	done, err := d.files.Do(d.t.Context(), req, preview)
	must(d.t, err)
	return done
}

// restore does a request and stores what is settled.
func (d *desk) restore(req *Request, edit string) *Done {
	d.t.Helper()
	done := d.do(req, false)
	d.commit(nil, done.Settled(edit)...)
	return done
}

// told returns outcomes as text: one line for each file.
func (d *desk) told(done *Done) string {
	var lines []string
	for _, f := range done.Files {
		line := strings.TrimPrefix(f.Path, d.folder+"/")
		if f.To != "" {
			line += " to " + strings.TrimPrefix(f.To, d.folder+"/")
		}
		line += fmt.Sprintf(" %s %s%s %s", f.Outcome, f.Change, f.Reason, f.Later)
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "; ")
}

func (d *desk) wantTold(what string, done *Done, want string) {
	d.t.Helper()
	equal(d.t, what, d.told(done), want)
}

// states returns the states of all changes, in their order.
func (d *desk) states() string {
	d.t.Helper()
	changes, err := d.store.FileChangeStore().List(d.t.Context(), session, history.FileChangeQuery{})
	must(d.t, err)
	var states []string
	for _, c := range changes {
		states = append(states, strings.TrimRight(fmt.Sprint(c.ID, " ", c.State, " ", c.RestoredBy), " "))
	}
	return strings.Join(states, "; ")
}

func (d *desk) wantNoTemps() {
	d.t.Helper()
	must(d.t, filepath.WalkDir(d.folder, func(path string, e os.DirEntry, err error) error {
		if strings.Contains(filepath.Base(path), "strata-tmp") {
			d.t.Errorf("%s is left", path)
		}
		return err
	}))
}

func sortedNames[V any](m map[string]V) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
