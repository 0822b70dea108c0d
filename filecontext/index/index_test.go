package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/filecontext"
	"strata/filecontext/outline"
	"strata/internal/patience"
	"strata/internal/stuckfs"
)

func TestIndexKnowsFilesAndOutlines(t *testing.T) {
	folder := workspace(t, map[string]string{
		"main.go": "func main\ntype Server", "b/util.py": "class Helper", "README": "text", "b/data.go": "\x00\x01", "b/latin.py": "\xe9\xe8\xea", "b/legible.py": "class caf\xe9",
		"same.go": "func main\ntype Server", "same.py": "func main\ntype Server", "ignored/x.go": "func x", ".gitignore": "ignored/\n",
	})
	parser := &fakeParser{}
	h := acquire(t, registry(t, Options{Parser: parser}), folder)
	equal(t, "states", states(h), `.gitignore name_only
README name_only
b/data.go name_only binary
b/latin.py name_only encoding
b/legible.py outlined
b/util.py outlined
main.go outlined
same.go outlined
same.py outlined
`)
	equal(t, "parses, of which the same text in the same language is one", parser.parses.Load(), 4)
	f, o, ok := h.Outline("main.go")
	if !ok || f.Language != "go" || len(f.Hash) != 64 || f.Size != 21 || o.Language != "go" || len(o.Symbols) != 2 || o.Symbols[1].Name != "Server" || o.Symbols[1].Line != 2 {
		t.Errorf("main.go: %+v, %+v, %v", f, o, ok)
	}
	if f, o, ok := h.Outline("README"); !ok || o != nil || f.Hash != "" || f.Size != 4 {
		t.Errorf("README: %+v, %+v, %v", f, o, ok)
	}
	if _, _, ok := h.Outline("missing"); ok {
		t.Error("a missing file was found")
	}
	status := h.Status()
	if !status.Complete || status.Files != 9 || status.Outlined != 5 || status.Pending != 0 || status.Bytes == 0 {
		t.Errorf("status %+v", status)
	}
}

// A file that looks like a secret is listed by name and never read.
func TestSecretsAreListedByName(t *testing.T) {
	folder := workspace(t, map[string]string{".env.py": "class Key", ".ssh/run.py": "class Key", "a.py": "class Open", ".env": "KEY=1"})
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{Secrets: []string{filecontext.BuiltinSecrets}})
	must(t, err)
	parser := &fakeParser{}
	h := acquire(t, registry(t, Options{Parser: parser, Limits: filecontext.Limits{Guard: guard}}), folder)
	want := ".env name_only\n.env.py name_only secret\n.ssh/run.py name_only secret\na.py outlined\n"
	equal(t, "states", states(h), want)
	refresh(t, h)
	equal(t, "states after a sweep", states(h), want)
	for _, f := range h.Files() {
		if f.Path != "a.py" && f.Hash != "" {
			t.Errorf("%s was read", f.Path)
		}
	}
	equal(t, "parses", parser.parses.Load(), 1)
}

// What exceeds a limit is counted and said.
func TestBoundsAreSaid(t *testing.T) {
	files := map[string]string{"large.go": strings.Repeat("x", 2001), "notes.txt": strings.Repeat("x", 5000)}
	for n := range 9 {
		files[fmt.Sprintf("f%d.go", n)] = fmt.Sprintf("func f%d\n", n) + strings.Repeat("x", 491)
	}
	folder := workspace(t, files)
	for _, test := range []struct {
		name  string
		opt   Options
		want  string // reasons of the files f0.go to f8.go, large.go
		omits []string
	}{
		{"none", Options{}, ",,,,,,,,,", nil},
		{"size", Options{Limits: filecontext.Limits{FileBytes: 2000}}, ",,,,,,,,,too_large", []string{"1 source file listed by name only: too_large"}},
		{"total", Options{TotalBytes: 2000}, ",,,,no_room,no_room,no_room,no_room,no_room,no_room", []string{"6 source files listed by name only: no_room"}},
		{"outlines", Options{OutlineBytes: 60}, ",,no_room,no_room,no_room,no_room,no_room,no_room,no_room,", []string{"7 source files listed by name only: no_room"}},
		{"files", Options{Files: 4}, ",,,", []string{"7 files beyond the limit of 4"}},
		{"visits", Options{Visits: 5}, "", []string{"folders not visited because the workspace has too many entries"}},
	} {
		h := acquire(t, registry(t, test.opt), folder)
		for range 2 { // a further sweep changes nothing
			var reasons []string
			for _, f := range h.Files() {
				if f.Language != "" {
					reasons = append(reasons, string(f.Reason))
				}
			}
			if got := strings.Join(reasons, ","); test.want != "" && got != test.want {
				t.Errorf("%s: got %s, want %s", test.name, got, test.want)
			}
			status := refresh(t, h)
			if got := status.Omissions(); !slices.Equal(got, test.omits) || !status.Complete {
				t.Errorf("%s: omitted %q, want %q", test.name, got, test.omits)
			}
		}
		h.Release()
	}
}

// Each reason for which a parser has no outline keeps the file by name; only transient ones are not stored.
func TestFilesThatCannotBeParsed(t *testing.T) {
	folder := workspace(t, map[string]string{"slow.go": "1", "large.go": "2", "old.py": "3", "odd.go": "4", "good.go": "func f"})
	faults := map[string]error{"slow.go": outline.ErrTime, "large.go": outline.ErrMemory, "old.py": outline.ErrUnsupported, "odd.go": errors.New("odd")}
	parser := &fakeParser{fail: func(name string) error { return faults[name] }}
	store := newMemStore()
	for _, parses := range []int64{5, 7} {
		h := acquire(t, registry(t, Options{Parser: parser, Store: store}), folder)
		equal(t, "states", states(h), "good.go outlined\nlarge.go name_only failed\nodd.go name_only failed\nold.py name_only unsupported\nslow.go name_only slow\n")
		equal(t, "parses", parser.parses.Load(), parses)
		h.Release()
	}
}

func TestRefreshFindsChanges(t *testing.T) {
	folder := workspace(t, map[string]string{"a.go": "func a", "b.go": "func b", "sub/c.go": "func c"})
	parser := &fakeParser{}
	h := acquire(t, registry(t, Options{Parser: parser}), folder)
	structure := h.Status().Structure
	step := func(what, want string, parses int64, renewed bool) {
		t.Helper()
		before := parser.parses.Load()
		status := refresh(t, h)
		if !status.Complete {
			t.Errorf("%s: incomplete", what)
		}
		equal(t, what+": states", states(h), want)
		equal(t, what+": parses", parser.parses.Load()-before, parses)
		equal(t, what+": the set of files has changed", status.Structure != structure, renewed)
		structure = status.Structure
	}
	step("nothing", "a.go outlined\nb.go outlined\nsub/c.go outlined\n", 0, false)
	write(t, folder, "a.go", "func A") // the same size
	step("changed", "a.go outlined\nb.go outlined\nsub/c.go outlined\n", 1, false)
	_, o, _ := h.Outline("a.go")
	equal(t, "symbol", o.Symbols[0].Name, "A")
	write(t, folder, "new/d.go", "func d")
	step("added", "a.go outlined\nb.go outlined\nnew/d.go outlined\nsub/c.go outlined\n", 1, true)
	must(t, os.Rename(filepath.Join(folder, "new"), filepath.Join(folder, "moved")))
	must(t, os.Remove(filepath.Join(folder, "b.go")))
	step("moved and removed", "a.go outlined\nmoved/d.go outlined\nsub/c.go outlined\n", 1, true)
	write(t, folder, "a.go", "\x00")
	step("binary", "a.go name_only binary\nmoved/d.go outlined\nsub/c.go outlined\n", 0, false)
	write(t, folder, ".gitignore", "sub/\n")
	step("ignored", ".gitignore name_only\na.go name_only binary\nmoved/d.go outlined\n", 0, true)
}

// A second start parses nothing; with a newer parser it parses all; what is damaged in the store is parsed again.
func TestSecondStart(t *testing.T) {
	files := make(map[string]string)
	for n := range 200 {
		files[fmt.Sprintf("%d/f%d.go", n%7, n)] = fmt.Sprintf("func f%d", n)
	}
	folder := workspace(t, files)
	store, parser := newMemStore(), &fakeParser{}
	index := func(version uint64) string {
		t.Helper()
		h := acquire(t, registry(t, Options{Parser: parser, Store: store, version: version}), folder)
		defer h.Release()
		status := h.Status()
		if !status.Complete || status.Outlined != len(files) {
			t.Errorf("status %+v", status)
		}
		hits, err := h.Search(t.Context(), "f1", 20)
		must(t, err)
		return fmt.Sprint(h.Files(), hits)
	}
	first := index(1)
	parsed := func(what string, want int64) {
		t.Helper()
		equal(t, what+": parses", parser.parses.Swap(0), want)
	}
	parsed("first", 200)
	equal(t, "content", index(1), first)
	parsed("second", 0)
	store.listings = make(map[string][]byte)
	equal(t, "content", index(1), first)
	parsed("without a list", 0)
	store.listings[folder] = []byte("damaged")
	equal(t, "content", index(1), first)
	parsed("with a damaged list", 0)
	broken := 0
	for key, data := range store.outlines {
		if broken++; broken <= 3 {
			store.outlines[key] = append(slices.Clone(data[:len(data)-1]), data[len(data)-1]^1)
		} else if broken <= 6 {
			store.outlines[key] = data[:3]
		}
	}
	equal(t, "content", index(1), first)
	parsed("with damaged outlines", 6)
	equal(t, "content", index(2), first)
	parsed("with a newer parser", 200)
	write(t, folder, "0/f0.go", "func changed")
	index(2)
	parsed("changed", 1)
	store.err = errors.New("disk full")
	write(t, folder, "0/f0.go", "func again")
	index(2)
	parsed("with a store that fails", 200)
}

// gate is a Parser that waits until it is opened.
type gate struct {
	fakeParser
	entered chan struct{}
	opened  chan struct{}
}

func newGate() *gate { return &gate{entered: make(chan struct{}, 1000), opened: make(chan struct{})} }

func (g *gate) Parse(ctx context.Context, name, text string) (*outline.Outline, error) {
	g.entered <- struct{}{}
	select {
	case <-g.opened:
		return g.fakeParser.Parse(ctx, name, text)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// While files are parsed, queries return what is known; Refresh does not wait for a first index.
func TestQueriesDoNotWait(t *testing.T) {
	folder := workspace(t, map[string]string{"a.go": "func a", "mailbox.txt": ""})
	g := newGate()
	h, err := registry(t, Options{Parser: g}).Acquire(t.Context(), folder, nil)
	must(t, err)
	defer h.Release()
	<-g.entered
	equal(t, "states", states(h), "a.go pending\nmailbox.txt name_only\n")
	hits, err := h.Search(t.Context(), "where is the mailbox?", 5)
	if err != nil || len(hits) != 1 || hits[0].Path != "mailbox.txt" || hits[0].Kind != KindFile {
		t.Errorf("hits %v, %v", hits, err)
	}
	equal(t, "tree", h.Tree(100, words), "a.go\nmailbox.txt\n")
	if status := refresh(t, h); status.Complete || status.Pending != 1 {
		t.Errorf("status %+v", status)
	}
	close(g.opened)
	status, err := h.Wait(t.Context())
	must(t, err)
	for !status.Complete { // the sweep of the refresh above is still going on
		status = refresh(t, h)
	}
	if status.Outlined != 1 {
		t.Errorf("status %+v", status)
	}
}

// A later Refresh waits no longer than it may. The former outline remains until the new one is there.
func TestRefreshIsBounded(t *testing.T) {
	folder := workspace(t, map[string]string{"a.go": "func a"})
	g := newGate()
	h, err := registry(t, Options{Parser: g, RefreshWait: time.Millisecond}).Acquire(t.Context(), folder, nil)
	must(t, err)
	defer h.Release()
	g.opened <- struct{}{}
	_, err = h.Wait(t.Context())
	must(t, err)
	write(t, folder, "a.go", "func b")
	status := refresh(t, h)
	_, o, _ := h.Outline("a.go")
	if status.Complete || o == nil || o.Symbols[0].Name != "a" {
		t.Errorf("status %+v, outline %+v", status, o)
	}
	<-g.entered
	<-g.entered
	cancelled, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := h.Refresh(cancelled); !errors.Is(err, cause) && err != nil {
		t.Errorf("refresh with a cancelled context: %v", err)
	}
	close(g.opened)
	for !h.Status().Complete {
		time.Sleep(time.Millisecond)
	}
	_, o, _ = h.Outline("a.go")
	equal(t, "symbol", o.Symbols[0].Name, "b")
}

// In a folder that takes too long to list, Refresh does not wait at all.
func TestRefreshDoesNotWaitInVain(t *testing.T) {
	folder := workspace(t, map[string]string{"a.go": "func a"})
	g := newGate()
	h, err := registry(t, Options{Parser: g}).Acquire(t.Context(), folder, nil)
	must(t, err)
	defer h.Release()
	g.opened <- struct{}{}
	<-g.entered
	_, err = h.Wait(t.Context())
	must(t, err)
	h.mu.Lock()
	h.took = 2 * forever
	h.mu.Unlock()
	write(t, folder, "a.go", "func b")
	if status := refresh(t, h); status.Complete {
		t.Errorf("status %+v", status)
	}
	close(g.opened)
	for h.Status().Parsed < 2 {
		time.Sleep(time.Millisecond)
	}
}

// The last release ends the work under way, and a registry that is closed ends all.
func TestReleaseEndsTheWork(t *testing.T) {
	folder := workspace(t, map[string]string{"a.go": "func a"})
	g := newGate()
	r := registry(t, Options{Parser: g})
	first, err := r.Acquire(t.Context(), folder, nil)
	must(t, err)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(folder, link))
	second, err := r.Acquire(t.Context(), link, nil)
	must(t, err)
	if first.Index != second.Index {
		t.Error("two indexes of one folder")
	}
	<-g.entered
	first.Release()
	first.Release()
	select {
	case <-second.done:
		t.Error("the index has ended while it is used")
	default:
	}
	second.Release()
	<-second.done
	third, err := r.Acquire(t.Context(), folder, nil)
	must(t, err)
	if third.Index == first.Index {
		t.Error("an index that has ended is used again")
	}
	r.Close()
	<-third.done
	if _, err := third.Refresh(t.Context()); err != nil && !errors.Is(err, ErrClosed) {
		t.Errorf("refresh: %v", err)
	}
	if _, err := third.Wait(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("wait: %v", err)
	}
	third.Release()
	if _, err := r.Acquire(t.Context(), folder, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("acquire: %v", err)
	}
	if _, err := registry(t, Options{}).Acquire(t.Context(), filepath.Join(folder, "missing"), nil); err == nil {
		t.Error("a missing folder was taken")
	}
}

// A refused folder is not indexed, under whatever name; folders inside it are.
func TestRefusedFolder(t *testing.T) {
	home := workspace(t, map[string]string{"a.go": "func a", "project/b.go": "func b"})
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(home, link))
	refusal := errors.New("it is the home folder")
	parser := &fakeParser{}
	r := registry(t, Options{Parser: parser, Refuse: func(folder string) error {
		if folder == home {
			return refusal
		}
		return nil
	}})
	for _, folder := range []string{home, link, home + "/project/.."} {
		_, err := r.Acquire(t.Context(), folder, nil)
		if !errors.Is(err, refusal) || err.Error() != "index folder "+home+": it is the home folder" {
			t.Errorf("%s: error %v", folder, err)
		}
	}
	h := acquire(t, r, filepath.Join(link, "project"))
	equal(t, "states", states(h), "b.go outlined\n")
	equal(t, "parses", parser.parses.Load(), 1)
}

func TestProgress(t *testing.T) {
	files := make(map[string]string)
	for n := range 300 {
		files[fmt.Sprintf("f%d.go", n)] = fmt.Sprintf("func f%d", n)
	}
	folder := workspace(t, files)
	var all []Status // written by the index until Release
	h, err := registry(t, Options{Throttle: time.Nanosecond}).Acquire(t.Context(), folder, func(s Status) { all = append(all, s) })
	must(t, err)
	_, err = h.Wait(t.Context())
	must(t, err)
	h.Release()
	if len(all) < 4 || all[0].Outlined != 0 {
		t.Fatalf("%d reports, the first %+v", len(all), all)
	}
	for n, s := range all {
		if s.Files != 300 || s.Outlined+s.Pending != 300 || n > 0 && s.Outlined < all[n-1].Outlined || s.Complete != (n == len(all)-1) {
			t.Errorf("report %d of %d: %+v", n, len(all), s)
		}
	}
}

// A sweep that changes anything ends with one report that says Complete, however long the interval; others have none.
func TestSweepsEndWithAReport(t *testing.T) {
	files := map[string]string{"go.mod": "module m", "notes.txt": "text"}
	for n := range 3 * batchFiles {
		files[fmt.Sprintf("f%d.go", n)] = fmt.Sprintf("func f%d", n)
	}
	folder := workspace(t, files)
	rewrite := func(text string) {
		for n := range 3 * batchFiles {
			write(t, folder, fmt.Sprintf("f%d.go", n), text+fmt.Sprintf("func f%d", n))
		}
	}
	for _, throttle := range []time.Duration{forever, time.Nanosecond} {
		var all []Status // written by the index during sweeps
		h, err := registry(t, Options{Throttle: throttle, Store: newMemStore()}).Acquire(t.Context(), folder, func(s Status) { all = append(all, s) })
		must(t, err)
		_, err = h.Wait(t.Context())
		must(t, err)
		step := func(what string, least, most int) {
			t.Helper()
			if throttle == forever {
				most = least
			}
			if len(all) < least || len(all) > most {
				t.Errorf("%s: %d reports, want %d to %d", what, len(all), least, most)
			}
			for n, s := range all {
				if s.Complete != (n == len(all)-1) {
					t.Errorf("%s: report %d of %d: %+v", what, n+1, len(all), s)
				}
			}
			all = nil
		}
		step("first sweep", 2, 4)
		refresh(t, h)
		step("nothing", 0, 0)
		rewrite("\n")
		refresh(t, h)
		step("content", 1, 3)
		rewrite("\n")
		refresh(t, h)
		step("the same content again", 0, 0)
		write(t, folder, "go.mod", "module m"+throttle.String())
		refresh(t, h)
		step("a module", 1, 1)
		write(t, folder, "notes.txt", "longer "+throttle.String())
		refresh(t, h)
		step("a size", 1, 1)
		rewrite("")
		refresh(t, h)
		step("outlines", 1, 3)
		h.Release()
	}
}

// A folder that vanishes leaves the files known before, and says so; when it returns, so does the index.
func TestFolderVanishes(t *testing.T) {
	folder := filepath.Join(workspace(t, map[string]string{"in/a.go": "func a"}), "in")
	store := newMemStore()
	r := registry(t, Options{Store: store})
	h := acquire(t, r, folder)
	reports := 0
	watcher, err := r.Acquire(t.Context(), folder, func(Status) { reports++ })
	must(t, err)
	defer watcher.Release()
	aside := folder + ".aside"
	must(t, os.Rename(folder, aside))
	status := refresh(t, h)
	refresh(t, h)
	equal(t, "reports of the problem", reports, 1)
	if status.Complete || status.Problem == "" || states(h) != "a.go outlined\n" {
		t.Errorf("status %+v, files %s", status, states(h))
	}
	must(t, os.Rename(aside, folder))
	refresh(t, h)
	equal(t, "reports of the problem and its end", reports, 2)
	write(t, folder, "b.go", "func b")
	status = refresh(t, h)
	if !status.Complete || status.Problem != "" || states(h) != "a.go outlined\nb.go outlined\n" {
		t.Errorf("status %+v, files %s", status, states(h))
	}
	must(t, os.RemoveAll(folder))
	must(t, os.Mkdir(folder, 0o700))
	if status = refresh(t, h); !status.Complete || status.Files != 0 {
		t.Errorf("status %+v", status)
	}
}

func TestHostileNames(t *testing.T) {
	folder := workspace(t, map[string]string{
		"new\nline.go": "func a", "bad\xff\xfe.go": "func b", "\xff/in.go": "func c", "sub/\x1b[31m.go": "func d", " .go": "func e", "-rf.go": "func f", "ü\u202e.go": "func g",
		`C:\x.go`: "func h",
	})
	h := acquire(t, registry(t, Options{Store: newMemStore()}), folder)
	status := h.Status()
	if status.Files != 6 || status.Outlined != 6 || status.Nameless != 2 || !status.Complete {
		t.Errorf("status %+v\n%s", status, states(h))
	}
	tree := h.Tree(1000, words)
	if want := " .go\n-rf.go\n\"C:\\\\x.go\"\n"; strings.Count(tree, "\n") != 7 || strings.ContainsAny(tree, "\x1b\u202e") {
		t.Errorf("tree %q, want something like %q", tree, want)
	}
}

// A file that never comes does not hold up the others.
func TestADiskThatDoesNotRespond(t *testing.T) {
	d := stuckfs.Mount(t)
	watch := patience.New(300 * time.Millisecond)
	t.Cleanup(func() {
		d.Abort()
		for watch.Lost() > 0 {
			time.Sleep(time.Millisecond)
		}
	})
	r := registry(t, Options{Limits: filecontext.Limits{Patience: watch}})
	h, err := r.Acquire(t.Context(), d.Folder, nil)
	for err != nil { // a busy machine may need longer than the limit
		h, err = r.Acquire(t.Context(), d.Folder, nil)
	}
	defer h.Release()
	for status := h.Status(); status.Unreadable == 0 || status.Files == 0 || len(status.Omissions()) == 0; {
		status = refresh(t, h)
	}
}

// Sessions come and go, ask and refresh while files change: the last state is right, and nothing races.
func TestConcurrentUse(t *testing.T) {
	files := make(map[string]string)
	for n := range 40 {
		files[fmt.Sprintf("%d/f%d.go", n%3, n)] = fmt.Sprintf("func f%d\ntype T%d", n, n)
	}
	folder := workspace(t, files)
	store := newMemStore()
	r := registry(t, Options{Store: store, Throttle: time.Nanosecond})
	var group sync.WaitGroup
	for session := range 6 {
		group.Go(func() {
			for n := range 4 {
				h, err := r.Acquire(context.Background(), folder, func(Status) {})
				if err != nil {
					t.Error(err)
					return
				}
				if session == 0 {
					name := filepath.Join(folder, fmt.Sprintf("0/f%d.go", 3*n))
					if err := os.WriteFile(name, []byte(fmt.Sprintf("func changed%d", n)), 0o600); err != nil {
						t.Error(err)
					}
				}
				_, errRefresh := h.Refresh(context.Background())
				_, errSearch := h.Search(context.Background(), "type T3", 5)
				if errRefresh != nil || errSearch != nil {
					t.Error(errRefresh, errSearch)
				}
				h.Tree(200, words)
				h.Graph().Near([]string{"1/f1.go"}, 5)
				h.Outline("1/f1.go")
				h.Files()
				h.Release()
			}
		})
	}
	group.Wait()
	h := acquire(t, r, folder)
	refresh(t, h)
	for n := range 4 {
		_, o, _ := h.Outline(fmt.Sprintf("0/f%d.go", 3*n))
		if want := fmt.Sprintf("changed%d", n); o == nil || o.Symbols[0].Name != want {
			t.Errorf("outline %+v, want %s", o, want)
		}
	}
	equal(t, "outlined", h.Status().Outlined, 40)
}

// Folders are limited in number, and their outlines in total: an index has the room that the others leave.
func TestFoldersShareTheirRoom(t *testing.T) {
	folder := func() string {
		return workspace(t, map[string]string{"a.go": "func one", "b.go": "func two", "c.go": "func six"})
	}
	whole := acquire(t, registry(t, Options{}), folder()).Status().Bytes
	r := registry(t, Options{AllBytes: whole + whole/2, Folders: 2})
	first := acquire(t, r, folder())
	second := acquire(t, r, folder())
	if a, b := first.Status(), second.Status(); a.Outlined != 3 || b.Outlined == 0 || b.Outlined == 3 || a.Bytes+b.Bytes > whole+whole/2 || b.NameOnly[ReasonNoRoom] != 3-b.Outlined {
		t.Errorf("outlined %d and %d files of 3, %d and %d bytes of %d", a.Outlined, b.Outlined, a.Bytes, b.Bytes, whole+whole/2)
	}
	if _, err := r.Acquire(t.Context(), folder(), nil); !errors.Is(err, ErrFolders) {
		t.Errorf("a third folder: %v", err)
	}
	first.Release()
	if status := refresh(t, second); status.Outlined != 3 {
		t.Errorf("with room again %+v", status)
	}
	acquire(t, r, folder())
}
