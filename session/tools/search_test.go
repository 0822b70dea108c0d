package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/filecontext"
	"strata/history"
	"strata/internal/patience"
	"strata/internal/stuckfs"
	"strata/session/reads"
)

func TestSearchShowsLinesByFile(t *testing.T) {
	w := workspaceOf(t, folderOf(t, map[string]string{
		"a.go": "one\ntwo\nthree\nMARK four\nfive\n", "b/c.go": "MARK\n\nMARK again", "b/d.txt": "mark\n", "z.go": "nothing\n",
	}))
	for _, tt := range []struct {
		input members
		want  string
	}{
		{members{"pattern": "MARK"}, "3 matching lines in 2 files of 4 files searched\n\na.go\n4: MARK four\n\nb/c.go\n1: MARK\n3: MARK again\n"},
		{members{"pattern": "MARK", "path": "a.go", "context": 1}, "1 matching line in 1 file of 1 file searched\n\na.go\n3- three\n4: MARK four\n5- five\n"},
		{members{"pattern": "(?i)^mark$", "regex": true, "path": "b", "include": "*.txt"},
			"1 matching line in 1 file of 1 file searched\n\nb/d.txt\n1: mark\n"},
		{members{"pattern": "MARK", "include": "!b/"}, "1 matching line in 1 file of 2 files searched\n\na.go\n4: MARK four\n"},
		{members{"pattern": "MARK", "path": "b", "include": "b/*.go"}, "2 matching lines in 1 file of 1 file searched\n\nb/c.go\n1: MARK\n3: MARK again\n"},
		{members{"pattern": "^t", "regex": true, "context": 10, "include": "a.go"},
			"2 matching lines in 1 file of 1 file searched\n\na.go\n1- one\n2: two\n3: three\n4- MARK four\n5- five\n"},
		{members{"pattern": "absent"}, "No line matches in 4 files.\n"},
		{members{"pattern": "MARK", "include": "*.rs"}, "No line matches in 0 files.\n"},
	} {
		equal(t, fmt.Sprint(tt.input), said(t, w, "search", tt.input), tt.want)
	}
	gaps := strings.Replace(numbered(1, 100), "line 50\n", "line 150\n", 1)
	write(t, filepath.Join(w.Roots.Folder(), "gaps"), gaps)
	equal(t, "gaps", said(t, w, "search", members{"pattern": "line [12]$|150", "regex": true, "context": 1, "path": "gaps"}),
		"3 matching lines in 1 file of 1 file searched\n\ngaps\n1: line 1\n2: line 2\n3- line 3\n--\n49- line 49\n50: line 150\n51- line 51\n")
}

func TestSearchExplainsWhyItCannotSearch(t *testing.T) {
	w := workspaceOf(t, folderOf(t, map[string]string{"a.go": "x\n", ".env": "x\n"}))
	for _, tt := range []struct {
		input members
		want  string
	}{
		{members{"pattern": "("}, ""},
		{members{"pattern": "(", "regex": true}, "pattern is not a valid regular expression: missing closing )"},
		{members{"pattern": "x", "path": "missing"}, "missing does not exist"},
		{members{"pattern": "x", "path": "../.."}, "../.. is outside the workspace"},
		{members{"pattern": "x", "include": "[a"}, "include has a [ without ]"},
		{members{"pattern": "x", "include": "{a"}, "include has a { without }"},
		{members{"pattern": ""}, "pattern: must not be empty"},
	} {
		if tt.want == "" {
			said(t, w, "search", tt.input)
			continue
		}
		hasAll(t, complained(t, w, "search", tt.input), tt.want)
	}
	equal(t, "a secret", said(t, w, "search", members{"pattern": "x", "path": ".env"}),
		"No line matches in 0 files.\n[1 file skipped that look like secrets]\n")
}

func TestSearchLeavesOutWhatIsNoText(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own")
	write(t, filepath.Join(own, "token"), "needle\n")
	folder := folderOf(t, map[string]string{
		".gitignore": "*.log\nbuild/\n", "a.log": "needle\n", "build/x.go": "needle\n", "sub/.gitignore": "!b.log\n", "sub/b.log": "needle\n",
		".strataignore": "vendor\n", "vendor/v.go": "needle\n", ".git/config": "needle\n",
		"key.pem": "needle\n", "binary": "needle\x00\n", "latin": "needle \xe4\xe9\xfc\xf6\xe4\xe4\xe4\xe4\xe4\xe4\n", "large": "needle\n" + strings.Repeat("x\n", 600_000),
		"crlf.txt": "a\r\nneedle\r\n", "bom.txt": "\xef\xbb\xbfneedle\n", "utf16.txt": "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00", "odd\nname": "needle\n",
		"empty": "",
	})
	must(t, os.Symlink("crlf.txt", filepath.Join(folder, "link")))
	must(t, os.Symlink("/etc", filepath.Join(folder, "outside")))
	must(t, os.Symlink(".", filepath.Join(folder, "round")))
	must(t, os.Symlink(own, filepath.Join(folder, "own")))
	roots := rootsOf(t, guarded(t, own), folder, filepath.Dir(own))
	w := Workspace{Roots: roots, Reader: Disk{roots}}
	equal(t, "without ignored files", said(t, w, "search", members{"pattern": "^needle$", "regex": true}), `5 matching lines in 5 files of 9 files searched

bom.txt
1: needle

crlf.txt
2: needle

"odd\nname"
1: needle

sub/b.log
1: needle

utf16.txt
1: needle
[1 file skipped that look like secrets]
[1 file skipped that are too large]
`)
	ignored := said(t, w, "search", members{"pattern": "needle", "ignored": true})
	hasAll(t, ignored, "a.log\n", "build/x.go\n", "vendor/v.go\n")
	hasNone(t, ignored, ".git/config", "token", "key.pem", "binary\n", "link")
	hasAll(t, said(t, w, "search", members{"pattern": "needle", "path": "build"}), "build/x.go\n1: needle\n")
	hasAll(t, said(t, w, "search", members{"pattern": "needle", "path": "a.log"}), "a.log\n1: needle\n")
	hasAll(t, complained(t, w, "search", members{"pattern": "needle", "path": own}), "belongs to the program")
	hasAll(t, complained(t, w, "search", members{"pattern": "needle", "path": "own"}), "outside the workspace")
}

func TestSearchUsesTheTextsOfClients(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.go": "old needle\n", "b.go": "needle\n", ".gitignore": "ignored\n"})
	w := workspaceOf(t, folder)
	client := func(path, text string) filecontext.Content {
		return filecontext.Content{Path: path, Text: text, Hash: "h", Lines: countLines(text)}
	}
	texts := map[string]filecontext.Content{
		"a.go": client("a.go", "new needle\r\n"), "new.go": client("new.go", "a new needle\n"), "sub/deep.go": client("sub/deep.go", "deep needle\n"),
		"secret": {Path: "secret", Text: "needle\n", Secret: true}, "/elsewhere/x": client("/elsewhere/x", "needle\n"),
	}
	w.Texts = func(context.Context) (map[string]filecontext.Content, error) { return texts, nil }
	r := call(t, w, "search", members{"pattern": "needle"})
	equal(t, "all", shownText(r), `4 matching lines in 4 files of 5 files searched

a.go
1: new needle

b.go
1: needle

new.go
1: a new needle

sub/deep.go
1: deep needle
[1 file skipped that look like secrets]
`)
	equal(t, "version", shownLines(r)[0], history.FileLines{Path: "a.go", Version: sha("new needle\n"), Lines: []history.Lines{lines(1, 1)}, Of: 1})
	hasAll(t, said(t, w, "search", members{"pattern": "needle", "path": "sub/deep.go"}), "1: deep needle\n")
	hasNone(t, said(t, w, "search", members{"pattern": "needle", "include": "b.go"}), "new.go", "deep.go")
}

func TestTheShownLinesCountAsSeen(t *testing.T) {
	long := strings.Repeat("x", 1000) + "needle" + strings.Repeat("ü", 1000)
	w := workspaceOf(t, folderOf(t, map[string]string{"a.go": numbered(1, 9) + "needle\n" + numbered(11, 20), "min.js": long + "\nafter\n"}))
	r := call(t, w, "search", members{"pattern": "needle", "context": 2})
	equal(t, "lines", shownLines(r), []history.FileLines{
		{Path: "a.go", Version: sha(numbered(1, 9) + "needle\n" + numbered(11, 20)), Lines: []history.Lines{lines(8, 12)}, Of: 20},
		{Path: "min.js", Version: sha(long + "\nafter\n"), Lines: []history.Lines{lines(2, 2)}, Of: 2},
	})
	hasAll(t, shownText(r), "1: …xxx", "needleüü", "ü…\n2- after\n")
	w.Shown = reads.NewView(shownLines(r))
	hasAll(t, said(t, w, "read_file", members{"path": "a.go", "start_line": 9, "end_line": 12}), "already shown")
	if cut := Cut(r, 450); len(shownLines(cut)) > 0 {
		t.Error("a result of which the middle is omitted claims to show lines")
	}
}

func TestSearchIsBounded(t *testing.T) {
	files := map[string]string{"many.txt": strings.Repeat("needle\n", 5000)}
	for i := range 300 {
		files[fmt.Sprintf("f/%03d.txt", i)] = "needle\nneedle\n"
	}
	files["wide/a.txt"] = strings.Repeat("needle "+strings.Repeat("x", 390)+"\n", 60)
	files["wide/b.txt"], files["wide/c.txt"], files["wide/d.txt"] = files["wide/a.txt"], files["wide/a.txt"], files["wide/a.txt"]
	w := workspaceOf(t, folderOf(t, files))
	r := call(t, w, "search", members{"pattern": "needle"})
	text := shownText(r)
	hasAll(t, text, "200 matching lines in 100 files of 100 files searched\n", "[a limit of the result was reached; 205 files not searched: narrow pattern, path or include]\n")
	equal(t, "lines", strings.Count(text, ": needle"), maxMatches)
	one := said(t, w, "search", members{"pattern": "needle", "path": "many.txt"})
	hasAll(t, one, "5000 matching lines in 1 file of 1 file searched\n", "\n50: needle\n[4950 lines more in this file]\n[a limit of the result was reached: narrow")
	equal(t, "lines of one file", strings.Count(one, ": needle"), maxInFile)
	wide := call(t, w, "search", members{"pattern": "needle", "path": "wide"})
	if n := wide.Size(); n > MaxResult || n < MaxResult-3000 {
		t.Errorf("%d bytes", n)
	}
	hasAll(t, shownText(wide), "lines more in this file]\n[a limit of the result was reached; 1 file not searched: narrow")
	for _, limit := range []int{0, 100, 1100, 1500} {
		set, err := NewSet(Reading(w)...)
		must(t, err)
		c, err := set.Check("search", `{"pattern":"needle"}`)
		must(t, err)
		small, err := c.Run(t.Context(), limit, nil)
		must(t, err)
		if small.Size() > limit {
			t.Errorf("%d bytes, limit %d", small.Size(), limit)
		}
	}
}

func TestSearchOfManyFilesAndDeepFolders(t *testing.T) {
	folder := folderOf(t, nil)
	for i := range 20_000 {
		name := filepath.Join(folder, fmt.Sprintf("d%03d/f%05d.txt", i%200, i))
		if i < 200 {
			must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		}
		must(t, os.WriteFile(name, fmt.Appendf(nil, "file %d\n", i), 0o600))
	}
	deep := folder + strings.Repeat("/deep", 60)
	must(t, os.MkdirAll(deep, 0o700))
	write(t, deep+"/x.txt", "file 19999\n")
	w := workspaceOf(t, folder)
	s := newSearch(w.Roots, nil)
	s.timed = context.WithCancel // the machine may be busy
	r, err := s.run(t.Context(), searchInput{Pattern: "file 19999"}, MaxResult)
	must(t, err)
	equal(t, "result", shownText(r), "1 matching line in 1 file of 20000 files searched\n\nd199/f19999.txt\n1: file 19999\n"+
		"[not included: 1 folder nested too deeply]\n")
}

func TestAHugeFileIsNotSearched(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.txt": "needle\n"})
	must(t, os.WriteFile(filepath.Join(folder, "huge"), nil, 0o600))
	must(t, os.Truncate(filepath.Join(folder, "huge"), 100<<20))
	hasAll(t, said(t, workspaceOf(t, folder), "search", members{"pattern": "needle"}), "1 matching line in 1 file of 1 file searched", "[1 file skipped that are too large]")
}

func TestASearchThatTakesTooLongGivesWhatItFound(t *testing.T) {
	files := make(map[string]string)
	for i := range 200 {
		files[fmt.Sprintf("%03d.txt", i)] = "needle\n"
	}
	w := workspaceOf(t, folderOf(t, files))
	s := newSearch(w.Roots, nil)
	var end context.CancelFunc
	s.timed = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, end = context.WithCancel(ctx)
		return ctx, end
	}
	s.read = func(ctx context.Context, ref filecontext.Ref) (filecontext.Content, error) {
		if ref.Path >= "064.txt" { // of the second batch
			end()
			return filecontext.Content{}, ctx.Err()
		}
		return filecontext.Content{Path: ref.Path, Text: "needle\n", Lines: 1}, nil
	}
	r, err := s.run(t.Context(), searchInput{Pattern: "needle"}, MaxResult)
	must(t, err)
	equal(t, "last line", shownText(r)[strings.Index(shownText(r), "[stopped"):], "[stopped after 10s; 136 files not searched: narrow path or include]\n")
	hasAll(t, shownText(r), "64 matching lines in 64 files of 64 files searched\n", "063.txt\n")
}

func TestAFileThatVanishesIsNoFault(t *testing.T) {
	w := workspaceOf(t, folderOf(t, map[string]string{"a.txt": "needle\n", "b.txt": "needle\n", "c.txt": "needle\n"}))
	s := newSearch(w.Roots, nil)
	s.read = func(ctx context.Context, ref filecontext.Ref) (filecontext.Content, error) {
		if ref.Path == "b.txt" {
			must(t, os.Remove(filepath.Join(w.Roots.Folder(), "b.txt")))
		}
		return w.Roots.Read(ctx, ref)
	}
	r, err := s.run(t.Context(), searchInput{Pattern: "needle"}, MaxResult)
	must(t, err)
	equal(t, "result", shownText(r), "2 matching lines in 2 files of 2 files searched\n\na.txt\n1: needle\n\nc.txt\n1: needle\n")
}

// At most two files are read at a time, and the results are in the order of paths whoever is first.
func TestFilesAreSearchedSideBySide(t *testing.T) {
	files := make(map[string]string)
	for i := range 150 {
		files[fmt.Sprintf("%03d.txt", i)] = fmt.Sprintf("needle %d\n", i)
	}
	w := workspaceOf(t, folderOf(t, files))
	s := newSearch(w.Roots, nil)
	s.timed = context.WithCancel
	var running, most atomic.Int32
	both := make(chan bool)
	s.read = func(ctx context.Context, ref filecontext.Ref) (filecontext.Content, error) {
		n := running.Add(1)
		defer running.Add(-1)
		most.Store(max(most.Load(), n))
		if ref.Path == "000.txt" { // waits until the second is read, too
			both <- true
		} else if ref.Path == "001.txt" {
			<-both
		}
		return w.Roots.Read(ctx, ref)
	}
	r, err := s.run(t.Context(), searchInput{Pattern: "needle"}, MaxResult)
	must(t, err)
	if most.Load() > 2 {
		t.Errorf("%d files at a time", most.Load())
	}
	var paths []string
	for _, f := range shownLines(r) {
		paths = append(paths, f.Path)
	}
	if len(paths) != 150 || !slices.IsSorted(paths) {
		t.Errorf("%d paths: %v", len(paths), paths)
	}
}

func TestASearchOnADiskThatDoesNotRespondCanBeCancelled(t *testing.T) {
	disk := stuckfs.Mount(t)
	watch := patience.New(time.Hour)
	roots := rootsOf(t, filecontext.Limits{Patience: watch}, disk.Folder)
	ctx, cancel := context.WithCancel(t.Context())
	s := newSearch(roots, nil)
	s.timed = context.WithCancel
	var once sync.Once
	s.read = func(ctx context.Context, ref filecontext.Ref) (filecontext.Content, error) {
		if ref.Path == stuckfs.Stuck {
			once.Do(cancel)
		}
		return roots.Read(ctx, ref)
	}
	for _, path := range []string{stuckfs.Stuck, ""} { // reading a file, and listing a folder, never returns
		if path == "" {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
		}
		if _, err := s.run(ctx, searchInput{Pattern: "file", Path: path}, MaxResult); !errors.Is(err, context.Canceled) {
			t.Errorf("%q: %v", path, err)
		}
	}
	cancel()
	s.timed = func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, 50*time.Millisecond)
	}
	r, err := s.run(t.Context(), searchInput{Pattern: "file"}, MaxResult)
	must(t, err)
	equal(t, "a list that takes too long", shownText(r), "listing the files took more than 10s; name a folder in path")
}
