package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"strata/filecontext"
)

func TestChangesOfFiles(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "one\r\ntwo\r\n"})
	p := d.edit("a.txt", "two", "2")
	equal(t, "text after", p.After.Text, "one\r\n2\r\n")
	equal(t, "version after", p.After.Version(), (&filecontext.Content{Text: "one\n2\n"}).Version())
	d.want("a.txt", "one\r\ntwo\r\n")
	d.make(p)
	d.want("a.txt", "one\r\n2\r\n")
	d.make(d.write("a.txt", "one\nthree\n"))
	d.want("a.txt", "one\r\nthree\r\n")
	d.make(d.write("new.txt", "x\n"))
	d.want("new.txt", "x\n")
	d.make(d.write("deep/er/new.txt", "y"))
	d.want("deep/er/new.txt", "y")
	d.make(d.move("new.txt", "deep/moved/away.txt"))
	d.want("new.txt", "none")
	d.want("deep/moved/away.txt", "x\n")
	d.make(d.delete("deep/moved/away.txt"))
	d.want("deep/moved/away.txt", "none")
}

func TestChangesThatAreNotPlanned(t *testing.T) {
	d := newDesk(t, map[string]string{
		"a.txt": "a\n", "binary": "a\x00b", "latin1": "caf\xe9 a\n", "large": strings.Repeat("x", 65<<10), ".env": "KEY=1\n", "own/db": "x\n", "dir/x": "x\n", "locked": "a\n",
	})
	must(t, os.Chmod(d.path("locked"), 0o444))
	outside := newDesk(t, map[string]string{"a.txt": "a\n"})
	d.link(outside.path("a.txt"), "out")
	d.link(outside.folder, "outdir")
	d.link("nowhere", "dangling")
	d.link("nowhere", "danglingdir")
	d.link(".env", "harmless")
	d.link("loop", "loop")
	d.link("../"+filepath.Base(d.folder)+"/a.txt", "back")
	files, ctx := d.files, t.Context()
	edit := func(name string) error {
		_, err := files.Edit(ctx, d.ref(name), []Edit{{OldText: "a", NewText: "b"}})
		return err
	}
	write := func(name string) error { _, err := files.Write(ctx, d.ref(name), "b\n"); return err }
	remove := func(name string) error { _, err := files.Delete(ctx, d.ref(name)); return err }
	move := func(name string) error { _, err := files.Move(ctx, d.ref(name), d.ref("goal")); return err }
	moveTo := func(name string) error { _, err := files.Move(ctx, d.ref("a.txt"), d.ref(name)); return err }
	for name, tt := range map[string]struct {
		do   func(string) error
		path string
		want filecontext.Reason
	}{
		"edit of nothing":                {edit, "missing", filecontext.ReasonMissing},
		"edit below nothing":             {edit, "missing/x", filecontext.ReasonMissing},
		"edit of a folder":               {edit, "dir", filecontext.ReasonDirectory},
		"edit of the root":               {edit, ".", filecontext.ReasonDirectory},
		"edit of binary data":            {edit, "binary", filecontext.ReasonBinary},
		"edit of another encoding":       {edit, "latin1", filecontext.ReasonEncoding},
		"edit of a large file":           {edit, "large", filecontext.ReasonTooLarge},
		"edit of a secret":               {edit, ".env", filecontext.ReasonSecret},
		"edit of a secret by a link":     {edit, "harmless", filecontext.ReasonSecret},
		"edit of our own":                {edit, "own/db", filecontext.ReasonOwn},
		"edit outside":                   {edit, "out", filecontext.ReasonOutside},
		"edit below a link outside":      {edit, "outdir/a.txt", filecontext.ReasonOutside},
		"edit by a link out and in":      {edit, "back", filecontext.ReasonOutside},
		"edit of a read-only file":       {edit, "locked", filecontext.ReasonReadOnly},
		"edit of a loop":                 {edit, "loop", filecontext.ReasonUnreadable},
		"write of a folder":              {write, "dir", filecontext.ReasonDirectory},
		"write below a file":             {write, "a.txt/x", filecontext.ReasonBadPath},
		"write of a secret":              {write, "sub/.env", filecontext.ReasonSecret},
		"write of our own":               {write, "own/new", filecontext.ReasonOwn},
		"write by a link that dangles":   {write, "dangling", filecontext.ReasonMissing},
		"write below one":                {write, "danglingdir/.env", filecontext.ReasonMissing},
		"write below a link outside":     {write, "outdir/new", filecontext.ReasonOutside},
		"write over binary data":         {write, "binary", filecontext.ReasonBinary},
		"deletion of nothing":            {remove, "missing", filecontext.ReasonMissing},
		"deletion of a folder":           {remove, "dir", filecontext.ReasonDirectory},
		"deletion of a link":             {remove, "harmless", filecontext.ReasonSecret},
		"deletion of a secret":           {remove, ".env", filecontext.ReasonSecret},
		"move of a folder":               {move, "dir", filecontext.ReasonDirectory},
		"move of our own":                {move, "own/db", filecontext.ReasonOwn},
		"move over a file":               {moveTo, "dir/x", filecontext.ReasonExists},
		"move over a folder":             {moveTo, "dir", filecontext.ReasonDirectory},
		"move onto itself":               {moveTo, "a.txt", filecontext.ReasonExists},
		"move to a secret":               {moveTo, ".env.local", filecontext.ReasonSecret},
		"move to our own":                {moveTo, "own/a", filecontext.ReasonOwn},
		"move over a link that dangles":  {moveTo, "dangling", filecontext.ReasonMissing},
		"move below a link that dangles": {moveTo, "danglingdir/x", filecontext.ReasonMissing},
	} {
		wantReason(t, name, tt.do(tt.path), tt.want)
	}
	if err := write("a.txt"); err != nil {
		t.Error(err)
	}
	if _, err := files.Write(ctx, d.ref("a.txt"), "a\n"); !errors.Is(err, ErrNothing) {
		t.Errorf("the same text: %v", err)
	}
	for _, text := range []string{"a\x00", "a\xff", strings.Repeat("x", 65<<10)} {
		if _, err := files.Write(ctx, d.ref("text"), text); err == nil {
			t.Errorf("%.10q may be written", text)
		}
		if _, err := files.Edit(ctx, d.ref("a.txt"), []Edit{{OldText: "a", NewText: text}}); err == nil {
			t.Errorf("%.10q may be put in", text)
		}
	}
	allowed := d.ref(".env")
	allowed.Allow = true
	p, err := files.Edit(ctx, allowed, []Edit{{OldText: "1", NewText: "2"}})
	must(t, err)
	d.make(p)
	d.want(".env", "KEY=2\n")
}

// Binary files have no text, but can be deleted and moved.
func TestBinaryFilesAreMovedAndDeleted(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "\x00\x01"})
	p := d.move("a", "b")
	if p.Before != nil || string(p.BeforeBytes) != "\x00\x01" {
		t.Errorf("%+v", p)
	}
	d.make(p)
	d.make(d.delete("b"))
}

func TestALinkLeadsToItsFile(t *testing.T) {
	d := newDesk(t, map[string]string{"real/a.txt": "a\n"})
	d.link("real", "dir")
	d.link("../real/./a.txt", "links/a")
	d.link("links/a", "chain")
	for i, name := range []string{"dir/a.txt", "links/a", "chain"} {
		d.make(d.write(name, fmt.Sprintf("%d\n", i)))
		d.want("real/a.txt", fmt.Sprintf("%d\n", i))
	}
	d.make(d.write("dir/sub/b.txt", "b\n"))
	d.want("real/sub/b.txt", "b\n")
	for _, name := range []string{"links/a", "chain"} {
		if info, err := os.Lstat(d.path(name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
		_, err := d.files.Delete(t.Context(), d.ref(name))
		wantReason(t, "deletion of "+name, err, filecontext.ReasonNotRegular)
		_, err = d.files.Move(t.Context(), d.ref(name), d.ref("x"))
		wantReason(t, "move of "+name, err, filecontext.ReasonNotRegular)
	}
}

// What happens between plan and change, by whom a change must not be made.
func TestAChangeOfSomethingElseIsNotMade(t *testing.T) {
	elsewhere := newDesk(t, map[string]string{"a.txt": "a\n"})
	for name, tt := range map[string]struct {
		plan   func(d *desk) *Plan
		happen func(d *desk)
	}{
		"edited": {planEdit, func(d *desk) { d.put("dir/a.txt", "b\n") }},
		"replaced by an equal file": {planEdit, func(d *desk) {
			d.put("dir/b.txt", "a\n")
			must(d.t, os.Rename(d.path("dir/b.txt"), d.path("dir/a.txt")))
		}},
		"removed": {planEdit, func(d *desk) { must(d.t, os.Remove(d.path("dir/a.txt"))) }},
		"a folder": {planEdit, func(d *desk) {
			must(d.t, os.Remove(d.path("dir/a.txt")))
			must(d.t, os.Mkdir(d.path("dir/a.txt"), 0o700))
		}},
		"a link to an equal file": {planEdit, func(d *desk) {
			d.put("b.txt", "a\n")
			must(d.t, os.Remove(d.path("dir/a.txt")))
			d.link("../b.txt", "dir/a.txt")
		}},
		"a link to itself": {planEdit, func(d *desk) {
			must(d.t, os.Rename(d.path("dir/a.txt"), d.path("dir/b.txt")))
			d.link("b.txt", "dir/a.txt")
		}},
		"a link outside": {planEdit, func(d *desk) {
			must(d.t, os.Remove(d.path("dir/a.txt")))
			d.link(elsewhere.path("a.txt"), "dir/a.txt")
		}},
		"its folder a link outside": {planEdit, func(d *desk) {
			must(d.t, os.Rename(d.path("dir"), d.path("old")))
			d.link(elsewhere.folder, "dir")
		}},
		"its folder a link inside": {planEdit, func(d *desk) {
			d.put("other/a.txt", "a\n")
			must(d.t, os.Rename(d.path("dir"), d.path("old")))
			d.link("other", "dir")
		}},
		"its folder another one with the same file": {planEdit, func(d *desk) {
			must(d.t, os.Rename(d.path("dir"), d.path("old")))
			must(d.t, os.Mkdir(d.path("dir"), 0o700))
			must(d.t, os.Link(d.path("old/a.txt"), d.path("dir/a.txt")))
		}},
		"the root a link outside": {planEdit, func(d *desk) {
			must(d.t, os.Rename(d.folder, d.folder+".old"))
			must(d.t, os.Symlink(elsewhere.folder, d.folder))
		}},
		"deletion: a link to it": {planDelete, func(d *desk) {
			must(d.t, os.Rename(d.path("dir"), d.path("old")))
			d.link("../old/a.txt", "dir/a.txt")
		}},
		"made read-only":            {planEdit, func(d *desk) { must(d.t, os.Chmod(d.path("dir/a.txt"), 0o444)) }},
		"deletion: edited":          {planDelete, func(d *desk) { d.put("dir/a.txt", "b\n") }},
		"deletion: removed":         {planDelete, func(d *desk) { must(d.t, os.Remove(d.path("dir/a.txt"))) }},
		"move: edited":              {planMove, func(d *desk) { d.put("dir/a.txt", "b\n") }},
		"move: something is there":  {planMove, func(d *desk) { d.put("goal/b.txt", "b\n") }},
		"new: something is there":   {planNew, func(d *desk) { d.put("new/n.txt", "b\n") }},
		"new: its folder is made":   {planNew, func(d *desk) { must(d.t, os.Mkdir(d.path("new"), 0o700)) }},
		"new: its folder is a link": {planNew, func(d *desk) { d.link("dir", "new") }},
		"new: a link that dangles":  {planNewHere, func(d *desk) { d.link("x", "dir/n.txt") }},
		"new: a link":               {planNewHere, func(d *desk) { d.link("a.txt", "dir/n.txt") }},
		"new: its folder was swapped": {planNewHere, func(d *desk) {
			must(d.t, os.Rename(d.path("dir"), d.path("old")))
			must(d.t, os.Mkdir(d.path("dir"), 0o700))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"dir/a.txt": "a\n"})
			p := tt.plan(d)
			tt.happen(d)
			before := snapshot(t, d.folder)
			err := p.Make(t.Context())
			if err == nil || !errors.Is(err, ErrChanged) && name != "made read-only" && name != "the root a link outside" {
				t.Errorf("%v", err)
			}
			equal(t, "files", snapshot(t, d.folder), before)
			elsewhere.want("a.txt", "a\n")
		})
	}
}

func planEdit(d *desk) *Plan    { return d.edit("dir/a.txt", "a", "changed") }
func planDelete(d *desk) *Plan  { return d.delete("dir/a.txt") }
func planMove(d *desk) *Plan    { return d.move("dir/a.txt", "goal/b.txt") }
func planNew(d *desk) *Plan     { return d.write("new/n.txt", "n\n") }
func planNewHere(d *desk) *Plan { return d.write("dir/n.txt", "n\n") }

// snapshot returns everything in a folder: names with their types and texts.
func snapshot(t testing.TB, folder string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	must(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := ""
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			must(t, err)
			text = string(data)
		}
		all[path] = e.Type().String() + text
		return nil
	}))
	return all
}

func TestAFailedChangeLeavesNothing(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "a\n"})
	long := "x/y/" + strings.Repeat("n", 300) // longer than a name may be
	for _, p := range []*Plan{d.write(long, "x\n"), d.move("a.txt", long)} {
		before := snapshot(t, d.folder)
		wantReason(t, string(p.Kind), p.Make(t.Context()), filecontext.ReasonBadPath)
		equal(t, "files", snapshot(t, d.folder), before)
	}
}

// A file that is replaced while a change is being made is noticed right before the effect.
func TestAFileIsComparedRightBeforeTheEffect(t *testing.T) {
	for _, text := range []string{"a\n", "b\n"} {
		d := newDesk(t, map[string]string{"dir/a.txt": "a\n"})
		p := planEdit(d)
		_, err := filecontext.Reach(t.Context(), d.files.Roots, p.refs[0], func(f *filecontext.Reached) (int, error) {
			s, err := p.ready(f, 0)
			must(t, err)
			defer s.close()
			d.put("other", text)
			must(t, os.Rename(d.path("other"), d.path("dir/a.txt")))
			return 0, p.do(t.Context(), f, s, func() error { t.Error("an effect"); return nil })
		})
		if !errors.Is(err, ErrChanged) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOneChangeOfAFileAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{until: make(map[string]chan struct{})}
		leave, err := b.enter(t.Context(), "a")
		must(t, err)
		other, err := b.enter(t.Context(), "b")
		must(t, err)
		other()
		ctx, cancel := context.WithCancel(t.Context())
		var entered atomic.Bool
		go func() {
			if _, err := b.enter(ctx, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}()
		go func() {
			leave, err := b.enter(t.Context(), "a")
			must(t, err)
			entered.Store(true)
			leave()
		}()
		cancel()
		synctest.Wait()
		if entered.Load() {
			t.Error("two changes of one file")
		}
		leave()
		synctest.Wait()
		if !entered.Load() || len(b.until) > 0 {
			t.Errorf("%v, %v", entered.Load(), b.until)
		}
	})
}

func TestACancelledChangeIsNotMade(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "a\n"})
	ctx, cancel := context.WithCancel(t.Context())
	plans := []*Plan{d.edit("a.txt", "a", "b"), d.delete("a.txt"), d.move("a.txt", "x/b.txt"), d.write("y/new.txt", "x")}
	before := snapshot(t, d.folder)
	cancel()
	for _, p := range plans {
		if err := p.Make(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", p.Kind, err)
		}
		d.wantState(p, NotDone)
	}
	equal(t, "files", snapshot(t, d.folder), before)
}

// A change whose context ends is made in whole or never, and Make knows which.
func TestAChangeIsMadeOrAbandoned(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(p *Plan, cancel context.CancelFunc) // within the change, right before its effect
		want error
	}{
		{"cancelled before the effect", func(_ *Plan, cancel context.CancelFunc) { cancel() }, context.Canceled},
		{"cancelled after it has begun", func(p *Plan, cancel context.CancelFunc) {
			must(t, p.begin())
			cancel()
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"dir/a.txt": "a\n"})
			p := planEdit(d)
			ctx, cancel := context.WithCancel(t.Context())
			leave, err := busyFiles.enter(ctx, d.path("dir/a.txt"))
			must(t, err)
			result := make(chan error)
			go func() { result <- p.Make(ctx) }()
			for !d.hasTemp("dir") {
				runtime.Gosched()
			}
			tt.end(p, cancel)
			if tt.want != nil {
				err = <-result // although the change still waits
			}
			leave()
			if tt.want == nil {
				err = <-result
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("%v", err)
			}
			if tt.want == nil {
				d.wantState(p, Done)
				return
			}
			d.wantState(p, NotDone)
			for d.hasTemp("dir") { // what goes on does not make it
				runtime.Gosched()
			}
			d.wantState(p, NotDone)
		})
	}
}

func (d *desk) hasTemp(folder string) bool {
	d.t.Helper()
	all, err := os.ReadDir(d.path(folder))
	must(d.t, err)
	return slices.ContainsFunc(all, func(e os.DirEntry) bool { return filecontext.TempOf(e.Name()) != "" })
}

// Temporary files of a process that crashed go with the next change in their folder, those of a running change do not.
func TestTemporaryFilesOfACrashAreRemoved(t *testing.T) {
	left, similar := ".strata-tmp-0123456789ab-0123456789abcdef", ".strata-tmp-notes"
	running := filecontext.TempName(process(), "0123456789abcdef")
	planDelete := func(d *desk) *Plan { return d.delete("dir/a.txt") }
	planMoveHere := func(d *desk) *Plan { return d.move("else/other.txt", "dir/b.txt") }
	for _, change := range []func(*desk) *Plan{planEdit, planNewHere, planDelete, planMoveHere} {
		d := newDesk(t, map[string]string{
			"dir/a.txt": "a\n", "else/other.txt": "o\n", "dir/" + left: "x", "dir/" + similar: "x", "dir/" + running: "x", left: "x",
		})
		must(t, change(d).Make(t.Context()))
		d.want("dir/"+left, "none")
		d.want("dir/"+similar, "x")
		d.want("dir/"+running, "x")
		d.want(left, "x")
	}
}

func TestStatesOfAChange(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	edit, remove, move, made := d.edit("a.txt", "a", "x"), d.delete("a.txt"), d.move("b.txt", "c.txt"), d.write("n.txt", "n\n")
	d.put("a.txt", "else\n")
	d.wantState(edit, Unknown)
	d.wantState(remove, Unknown)
	d.put("c.txt", "b\n") // a crash in the middle
	d.wantState(move, Unknown)
	must(t, os.Remove(d.path("b.txt")))
	d.wantState(move, Done)
	must(t, os.Remove(d.path("a.txt")))
	d.wantState(remove, Done)
	d.wantState(made, NotDone)
	must(t, os.Mkdir(d.path("n.txt"), 0o700))
	d.wantState(made, Unknown)
	state, err := StateOf(t.Context(), d.files.Roots, []Effect{{Path: "../x", Before: filecontext.NoFile, After: "x"}})
	if state != Unknown || err != nil {
		t.Errorf("outside: %s, %v", state, err)
	}
}

// Of several changes of one version of a file exactly one is made.
func TestOnlyOneOfManyChangesIsMade(t *testing.T) {
	for _, plan := range []func(d *desk, i int) *Plan{
		func(d *desk, i int) *Plan { return d.write("new.txt", fmt.Sprintf("%d\n", i)) },
		func(d *desk, i int) *Plan { return d.move(fmt.Sprintf("from%d", i), "new.txt") },
		func(d *desk, i int) *Plan { return d.edit("old.txt", "old", fmt.Sprint(i)) },
	} {
		d := newDesk(t, map[string]string{"old.txt": "old\n"})
		var plans []*Plan
		for i := range 8 {
			d.put(fmt.Sprintf("from%d", i), "x\n")
			plans = append(plans, plan(d, i))
		}
		var all sync.WaitGroup
		made := make([]error, len(plans))
		for i, p := range plans {
			all.Go(func() { made[i] = p.Make(t.Context()) })
		}
		all.Wait()
		winner := -1
		for i, err := range made {
			switch {
			case err == nil && winner < 0:
				winner = i
			case !errors.Is(err, ErrChanged):
				t.Errorf("change %d: %v, and that of %d", i, err, winner)
			}
		}
		if winner < 0 {
			t.Fatal("none was made")
		}
		effects := plans[winner].Effects
		d.want(effects[len(effects)-1].Path, string(plans[winner].AfterBytes))
		d.wantNoTemps()
	}
}

func TestANewFileWhereThereAreNoLinks(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "a\n"})
	folder, err := os.OpenRoot(d.folder)
	must(t, err)
	defer folder.Close()
	for name, exists := range map[string]bool{"a.txt": true, "new.txt": false} {
		temp, err := writeTemp(folder, []byte("new\n"), nil)
		must(t, err)
		if err := temp.renameNew(name); errors.Is(err, fs.ErrExist) != exists || err == nil == exists {
			t.Errorf("%s: %v", name, err)
		}
		temp.remove()
	}
	d.want("a.txt", "a\n")
	d.want("new.txt", "new\n")
	d.wantNoTemps()
	lost, err := writeTemp(folder, []byte("new\n"), nil)
	must(t, err)
	lost.remove()
	if err := lost.renameNew("lost.txt"); err == nil {
		t.Error("a file that is gone was put in place")
	}
	d.want("lost.txt", "none")
}

// Between two file systems a moved file is a copy with the same mode.
func TestAMoveToAnotherFileSystem(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "strata")
	if err != nil {
		t.Skip("there is no second file system")
	}
	t.Cleanup(func() { os.RemoveAll(other) })
	d := newDesk(t, map[string]string{"a.txt": "a\n"})
	must(t, os.Chmod(d.path("a.txt"), 0o751))
	roots, err := filecontext.NewRoots(t.Context(), d.folder, []string{other}, filecontext.Limits{})
	must(t, err)
	d.files = Files{Roots: roots}
	d.make(d.move("a.txt", filepath.Join(other, "b.txt")))
	d.want("a.txt", "none")
	data, err := os.ReadFile(filepath.Join(other, "b.txt"))
	must(t, err)
	info, err := os.Stat(filepath.Join(other, "b.txt"))
	must(t, err)
	if string(data) != "a\n" || info.Mode() != 0o751 {
		t.Errorf("%q, %v", data, info.Mode())
	}
}

// Random files, changed by random edits on disk: bytes, mode, links.
func TestRandomChangesOnDisk(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	d := newDesk(t, nil)
	must(t, os.Mkdir(d.path("real"), 0o700))
	made := 0
	for i := range 300 {
		w := randomWritten(r)
		if len(w.parts) == 0 {
			continue
		}
		name := fmt.Sprintf("real/%d", i)
		d.put(name, string(w.bytes()))
		mode := fs.FileMode(0o600 | r.IntN(0o200))
		must(t, os.Chmod(d.path(name), mode))
		path := name
		if r.IntN(2) == 0 {
			path = fmt.Sprintf("link%d", i)
			d.link(name, path)
		}
		start := r.IntN(len(w.parts))
		edit := Edit{OldText: unixOf(w.parts[start : start+1]), NewText: "new\ntext", ReplaceAll: true}
		text, err := Decode(w.bytes())
		must(t, err)
		want, _, err := text.Edited([]Edit{edit})
		must(t, err)
		p, err := d.files.Edit(t.Context(), d.ref(path), []Edit{edit})
		if err != nil {
			continue // binary to the eye of filecontext
		}
		must(t, p.Make(t.Context()))
		made++
		d.want(name, string(want.Bytes()))
		info, err := os.Lstat(d.path(name))
		must(t, err)
		if info.Mode() != mode {
			t.Errorf("mode %v became %v", mode, info.Mode())
		}
	}
	if made < 200 {
		t.Errorf("only %d changes were made", made)
	}
	d.wantNoTemps()
}
