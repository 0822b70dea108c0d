package filecontext

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/patience"
	"strata/internal/stuckfs"
)

var generous = SurveyLimits{Files: 10_000, Visits: 10_000}

func survey(t testing.TB, r *Roots, limits SurveyLimits) *Survey {
	t.Helper()
	s, err := r.Survey(t.Context(), limits)
	must(t, err)
	return s
}

func surveyed(s *Survey) []string {
	var paths []string
	for _, f := range s.Files {
		paths = append(paths, f.Ref.Path)
	}
	return paths
}

// A survey lists the files that git does not ignore, with rules in folders, negations and anchors.
func TestSurveyAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	folder := workspace(t, map[string]string{
		".gitignore": "*.log\nbuild/\n/only-here\n!keep.log\ndoc/*.txt\n**/deep\n",
		"a.log":      "", "keep.log": "", "build/x.go": "", "only-here": "", "sub/only-here": "", "doc/a.txt": "", "sub/doc/a.txt": "",
		"sub/.gitignore": "!b.log\n*.tmp\n/anchored\n",
		"sub/b.log":      "", "sub/c.log": "", "sub/x.tmp": "", "sub/anchored": "", "sub/more/anchored": "", "sub/more/b.log": "",
		"sub/deep/x": "", "x.tmp": "", "nested/.gitignore": "*\n!.gitignore\n!kept\n", "nested/kept": "", "nested/lost": "",
		"sub/build/y": "", "a\nb.go": "", "ü.go": "", `back\slash.go`: "",
		"keep/.gitignore": "*\n!*/\n!*.go\n", "keep/a.go": "", "keep/in/b.go": "", "keep/in/c.txt": "",
	})
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", folder, "-c", "core.excludesFile="}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
			t.Fatal(args, err)
		}
		return string(out)
	}
	git("", "init", "-q")
	var all []string
	must(t, filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if name, _ := filepath.Rel(folder, path); err == nil && !e.IsDir() && !strings.HasPrefix(name, ".git/") {
			all = append(all, filepath.ToSlash(name))
		}
		return err
	}))
	ignored := strings.Split(git(strings.Join(all, "\x00")+"\x00", "check-ignore", "-z", "--stdin"), "\x00")
	if len(ignored) < 10 {
		t.Fatalf("git ignores %q", ignored)
	}
	want := slices.DeleteFunc(all, func(path string) bool { return slices.Contains(ignored, path) })
	slices.Sort(want)
	got := surveyed(survey(t, openRoots(t, folder), generous))
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The rules of .strataignore apply after those of .gitignore in the same folder.
func TestSurveyStrataignore(t *testing.T) {
	folder := workspace(t, map[string]string{
		".gitignore": "*.gen.go\n", ".strataignore": "vendor/\n!api.gen.go\n", "api.gen.go": "", "x.gen.go": "", "vendor/a.go": "", "sub/api.gen.go": "",
		"sub/.strataignore": "*.sql\n", "sub/a.sql": "", "a.sql": "",
	})
	got := surveyed(survey(t, openRoots(t, folder), generous))
	want := []string{".gitignore", ".strataignore", "a.sql", "api.gen.go", "sub/.strataignore", "sub/api.gen.go"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Links are not followed, whether they lead out or not; the program's own files and the folders of version control
// systems are not listed.
func TestSurveyLeavesOut(t *testing.T) {
	outside := workspace(t, map[string]string{"secret.go": ""})
	folder := workspace(t, map[string]string{
		"a.go": "", ".git/config": "", ".hg/store": "", "sub/.svn/x": "", "sub/.git": "gitdir: elsewhere", "data/own.db": "", "own.token": "", "sub/b.go": "",
	})
	for name, to := range map[string]string{"out": outside, "file.go": filepath.Join(outside, "secret.go"), "loop": ".", "twice.go": "a.go"} {
		must(t, os.Symlink(to, filepath.Join(folder, name)))
	}
	must(t, os.Link(filepath.Join(folder, "data/own.db"), filepath.Join(folder, "sub/hard.go")))
	guard, err := NewGuard(GuardOptions{Own: []string{filepath.Join(folder, "data"), filepath.Join(folder, "own.token")}})
	must(t, err)
	r, err := NewRoots(t.Context(), folder, nil, Limits{Guard: guard})
	must(t, err)
	if got := surveyed(survey(t, r, generous)); !slices.Equal(got, []string{"a.go", "sub/b.go"}) {
		t.Errorf("got %q", got)
	}
}

func TestSurveyIsBounded(t *testing.T) {
	files := map[string]string{"bad\xff.go": "", "1/2/3/4/deep.go": ""}
	for n := range 20 {
		files[fmt.Sprintf("a/big/%02d.go", n)] = ""
		files[fmt.Sprintf("z/%d.go", n%3)] = ""
	}
	folder := workspace(t, files)
	r, err := NewRoots(t.Context(), folder, nil, Limits{WalkDepth: 4})
	must(t, err)

	s := survey(t, r, generous)
	if len(s.Files) != 23 || s.Excess != 0 || s.Nameless != 1 || s.TooDeep != 1 || s.Cut {
		t.Errorf("all: %d files, %+v", len(s.Files), s)
	}
	s = survey(t, r, SurveyLimits{Files: 5, Visits: 1000})
	if got := surveyed(s); !slices.Equal(got, []string{"a/big/00.go", "a/big/01.go", "z/0.go", "z/1.go", "z/2.go"}) || s.Excess != 18 || s.Cut {
		t.Errorf("5 files: %q, %d more, cut: %v", got, s.Excess, s.Cut)
	}
	s = survey(t, r, SurveyLimits{Files: 1000, Visits: 10})
	if !s.Cut || len(s.Files) > 10 {
		t.Errorf("10 visits: %q, cut: %v", surveyed(s), s.Cut)
	}
	if s = survey(t, r, SurveyLimits{Files: 1000, Visits: 100}); s.Cut {
		t.Error("100 visits: cut")
	}
}

func TestSurveyOfAMissingFolder(t *testing.T) {
	folder := workspace(t, map[string]string{"in/a.go": ""})
	r := openRoots(t, filepath.Join(folder, "in"))
	must(t, os.RemoveAll(filepath.Join(folder, "in")))
	if s, err := r.Survey(t.Context(), generous); err == nil || ReasonOf(err) != ReasonUnreadable {
		t.Errorf("got %v, %v", s, err)
	}
}

// Files whose attributes never come are counted; the others are listed.
func TestSurveyGoesOnWhereTheDiskDoesNotRespond(t *testing.T) {
	d := stuckfs.Mount(t)
	r, _ := rootsOn(t, d, never)
	watch := patience.New(brief)
	r.limits.Patience = watch
	t.Cleanup(func() {
		d.Abort()
		for watch.Lost() > 0 {
			time.Sleep(time.Millisecond)
		}
	})
	for { // a busy machine may need longer than the limit
		s, err := r.Survey(t.Context(), generous)
		if err == nil && s.Unreadable > 0 && len(s.Files) > 0 {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestStampEncoding(t *testing.T) {
	folder := workspace(t, map[string]string{"a.go": "text"})
	r := openRoots(t, folder)
	r.now = func() time.Time { return time.Now().Add(time.Hour) }
	want := survey(t, r, generous).Files[0].Stamp
	data := want.Append([]byte("x"))[1:]
	got, rest, ok := CutStamp(append(bytes.Clone(data), "rest"...))
	if !ok || got != want || string(rest) != "rest" || !got.Current(want) {
		t.Errorf("got %+v, %q, %v, want %+v", got, rest, ok, want)
	}
	for n := range data {
		if _, _, ok := CutStamp(data[:n]); ok {
			t.Errorf("%d of %d bytes were taken", n, len(data))
		}
	}
	if (Stamp{}).Current(Stamp{}) {
		t.Error("the zero stamp is that of a version")
	}
}

func TestASurveyOfAFolderFollowsTheRulesAboveIt(t *testing.T) {
	own := filepath.Join(resolved(t, t.TempDir()), "own")
	other := workspace(t, map[string]string{"x.log": "", "lib/y.go": "", "lib/.gitignore": "*.tmp\n", "lib/z.tmp": ""})
	folder := workspace(t, map[string]string{
		".gitignore": "*.log\n/build/\n", ".strataignore": "*.gen\n", "a.go": "", "build/b.go": "", "build/c.log": "",
		"sub/.gitignore": "!keep.log\n", "sub/keep.log": "", "sub/deep/keep.log": "", "sub/deep/x.log": "", "sub/deep/x.gen": "", "sub/deep/y.go": "",
		"own/token": "", ".git/info/exclude": "*.bak\n", "sub/deep/z.bak": "",
	})
	must(t, os.Symlink("sub/deep", filepath.Join(folder, "link")))
	must(t, os.Symlink(other, filepath.Join(folder, "away")))
	write(t, filepath.Join(own, "deep", "token"), "x")
	guard, err := NewGuard(GuardOptions{Own: []string{filepath.Join(folder, "own"), own}})
	must(t, err)
	r, err := NewRoots(t.Context(), folder, []string{other, filepath.Join(folder, "sub"), filepath.Dir(own)}, Limits{Guard: guard})
	must(t, err)
	of := func(path string, limits SurveyLimits) ([]string, error) {
		ref, err := r.Locate(path)
		must(t, err)
		s, err := r.SurveyOf(t.Context(), ref, limits)
		if err != nil {
			return nil, err
		}
		return surveyed(s), nil
	}
	all := generous
	all.Ignored = true
	for _, tt := range []struct {
		path   string
		limits SurveyLimits
		want   []string
	}{
		{".", generous, []string{".gitignore", ".strataignore", "a.go", "sub/.gitignore", "sub/deep/keep.log", "sub/deep/y.go", "sub/keep.log"}},
		{"sub/deep", generous, []string{"sub/deep/keep.log", "sub/deep/y.go"}},
		{"sub/deep", all, []string{"sub/deep/keep.log", "sub/deep/x.gen", "sub/deep/x.log", "sub/deep/y.go", "sub/deep/z.bak"}},
		{filepath.Join(folder, "sub/deep"), generous, []string{"sub/deep/keep.log", "sub/deep/y.go"}},
		{"build", generous, []string{"build/b.go"}},
		{"link", generous, []string{"link/y.go"}},
		{"build/c.log", generous, []string{"build/c.log"}},
		{other, generous, []string{other + "/lib/.gitignore", other + "/lib/y.go", other + "/x.log"}},
		{other + "/lib", generous, []string{other + "/lib/.gitignore", other + "/lib/y.go"}},
		{"sub", SurveyLimits{Files: 1, Visits: 100}, []string{"sub/.gitignore"}},
	} {
		got, err := of(tt.path, tt.limits)
		must(t, err)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
		}
	}
	for path, want := range map[string]Reason{
		"missing": ReasonMissing, "a.go/b": ReasonMissing, "away": ReasonOutside, "own": ReasonOwn, "own/token": ReasonOwn, own: ReasonOwn,
		filepath.Join(own, "deep"): ReasonOwn, filepath.Join(own, "deep", "token"): ReasonOwn,
	} {
		if got, err := of(path, generous); ReasonOf(err) != want {
			t.Errorf("%s: %q, %v, want %s", path, got, err, want)
		}
	}
	var folders []string
	for _, ref := range r.Folders() {
		folders = append(folders, ref.Path)
	}
	if want := []string{".", other, filepath.Dir(own)}; !slices.Equal(folders, want) {
		t.Errorf("folders %q, want %q", folders, want)
	}
}
