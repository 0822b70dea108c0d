package filecontext

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// found returns the paths found by a search.
func found(t testing.TB, r *Roots, query string, limit int) []string {
	t.Helper()
	files, err := r.Find(t.Context(), query, limit)
	must(t, err)
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
	}
	return out
}

func TestFindRanksPaths(t *testing.T) {
	r := openRoots(t, workspace(t, map[string]string{
		"main.go": "", "cmd/strata/main.go": "", "docs/domain.md": "", "server/auth.go": "", "server/auth_test.go": "", "Makefile": "",
	}))
	tests := []struct {
		query string
		limit int
		want  []string
	}{
		{"main.go", 0, []string{"main.go", "cmd/strata/main.go"}},
		{"auth", 0, []string{"server/auth.go", "server/auth_test.go"}},
		{"server auth", 1, []string{"server/auth.go"}},
		{"MAKE", 0, []string{"Makefile"}},
		{"zzz", 0, nil},
		{strings.Repeat("a", maxQuery+1), 0, nil},
		{"", 2, []string{"Makefile", "cmd/strata/main.go"}},
		{"", -1, []string{"Makefile", "cmd/strata/main.go", "docs/domain.md", "main.go", "server/auth.go", "server/auth_test.go"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, found(t, r, tt.query, tt.limit)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", shorten(tt.query), diff)
		}
	}
}

// ignored is a workspace with all kinds of rules.
var ignored = map[string]string{
	".gitignore":         "*.log\nbuild/\n/only-here\n# comment\n!keep.log\ndoc/*.txt\n**/deep\na?c\nc++/\n\\#odd\nx[!y]z\n",
	".git/info/exclude":  "excluded\n",
	".git/config":        "",
	"a.log":              "",
	"keep.log":           "",
	"build/out":          "",
	"sub/build/out":      "",
	"sub/only-here":      "",
	"only-here":          "",
	"doc/a.txt":          "",
	"sub/doc/a.txt":      "",
	"x/y/deep/z":         "",
	"abc":                "",
	"ac":                 "",
	"c++/a.cc":           "",
	"#odd":               "",
	"xaz":                "",
	"xyz":                "",
	"excluded":           "",
	"sub/.gitignore":     "!b.log\n*.tmp\n/anchored\n",
	"sub/b.log":          "",
	"sub/c.log":          "",
	"sub/d.tmp":          "",
	"sub/anchored":       "",
	"sub/more/anchored":  "",
	"sub/more/b.log":     "",
	"sub/more/e.tmp":     "",
	"sub/module/.git":    "gitdir: elsewhere",
	"sub/module/in.go":   "",
	"build.go":           "",
	"nested/.gitignore":  "*\n!.gitignore\n!kept\n",
	"nested/kept":        "",
	"nested/dropped":     "",
	"nested/folder/kept": "",
}

func TestFindOmitsFilesIgnoredByGit(t *testing.T) {
	r := openRoots(t, workspace(t, ignored))
	want := []string{
		".gitignore", "ac", "build.go", "keep.log", "nested/.gitignore", "nested/kept",
		"sub/.gitignore", "sub/b.log", "sub/doc/a.txt", "sub/module/in.go", "sub/more/anchored", "sub/more/b.log", "sub/only-here", "xyz",
	}
	if diff := cmp.Diff(want, found(t, r, "", MaxFound)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Find omits the same files as git.
func TestFindAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cwd := workspace(t, nil)
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", cwd, "-c", "core.excludesFile=", "-c", "core.quotePath=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		must(t, err)
		return string(out)
	}
	git("init", "-q")
	for name, body := range ignored {
		if !strings.HasPrefix(name, ".git/config") && !strings.Contains(name, "module/") {
			write(t, filepath.Join(cwd, name), body)
		}
	}
	want := strings.Split(strings.TrimSpace(git("ls-files", "--others", "--exclude-standard")), "\n")
	slices.Sort(want)
	got := found(t, openRoots(t, cwd), "", MaxFound)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-git +found):\n%s", diff)
	}
}

func TestFindFollowsNoLinks(t *testing.T) {
	cwd := workspace(t, map[string]string{"a/file": ""})
	must(t, os.Symlink(workspace(t, map[string]string{"secret": ""}), filepath.Join(cwd, "out")))
	must(t, os.Symlink("a", filepath.Join(cwd, "in")))
	must(t, os.Symlink("..", filepath.Join(cwd, "a/up")))
	if diff := cmp.Diff([]string{"a/file"}, found(t, openRoots(t, cwd), "", 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFindNamesAFileOfSeveralRootsOnce(t *testing.T) {
	cwd := workspace(t, map[string]string{"in/a": "", "b": ""})
	further := workspace(t, map[string]string{"c": ""})
	r := openRoots(t, filepath.Join(cwd, "in"), cwd, further, further)
	want := []string{"a", filepath.ToSlash(cwd) + "/b", filepath.ToSlash(further) + "/c"}
	if diff := cmp.Diff(want, found(t, r, "", 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFindIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("f%02d", i)] = ""
	}
	deep := strings.Repeat("d/", 5)
	files[deep+"file"] = ""
	r, err := NewRoots(context.Background(), workspace(t, files), nil, Limits{WalkPaths: 10})
	must(t, err)
	if n := len(found(t, r, "", 0)); n > 10 {
		t.Errorf("found %d files, want at most 10", n)
	}
	for depth, want := range map[int]bool{5: false, 6: true} {
		r, err = NewRoots(context.Background(), workspace(t, files), nil, Limits{WalkDepth: depth})
		must(t, err)
		if got := slices.Contains(found(t, r, "", 0), deep+"file"); got != want {
			t.Errorf("depth %d: the deep file was found: %v", depth, got)
		}
	}
	rules := newRules(nil, "", strings.Repeat("a\n", maxRules-1)+"last\nbeyond\n")
	if !rules.ignore("last") || rules.ignore("beyond") {
		t.Errorf("the limit is not %d rules", maxRules)
	}
}

func TestFindReusesItsListingForAWhile(t *testing.T) {
	cwd := workspace(t, map[string]string{"a": ""})
	synctest.Test(t, func(t *testing.T) {
		r := openRoots(t, cwd)
		found(t, r, "", 0)
		write(t, filepath.Join(cwd, "b"), "")
		if got := found(t, r, "", 0); len(got) != 1 {
			t.Errorf("immediately: %v", got)
		}
		time.Sleep(DefaultSearchReuse)
		synctest.Wait()
		if c := <-r.cache; c.listing != nil {
			t.Error("the listing is kept after SearchReuse")
		} else {
			r.cache <- c
		}
		if got := found(t, r, "", 0); len(got) != 2 {
			t.Errorf("later: %v", got)
		}
	})
}

func TestFindEndsWithItsContext(t *testing.T) {
	r := openRoots(t, workspace(t, map[string]string{"a": ""}))
	ctx, cancel := context.WithCancel(t.Context())
	held := <-r.cache // as if another goroutine were walking
	waiting := make(chan error)
	go func() {
		_, err := r.Find(ctx, "", 0)
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("while another walks: %v", err)
	}
	r.cache <- held
	if _, err := r.walk(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("while it walks: %v", err)
	}
	if files := found(t, r, "a", 0); len(files) != 1 {
		t.Errorf("afterwards: %v", files)
	}
}

func FuzzFind(f *testing.F) {
	r := openRoots(f, workspace(f, map[string]string{"main.go": "", "ä/Ö.txt": "", "x y": ""}))
	f.Add("main")
	f.Add("\x00ä\xff")
	f.Fuzz(func(t *testing.T, query string) {
		found(t, r, query, 0)
	})
}

func FuzzRules(f *testing.F) {
	for _, rules := range ignored {
		f.Add(rules, "sub/a.log")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		newRules(newRules(nil, "", text), "sub/", text).ignore(name)
	})
}

func BenchmarkFind(b *testing.B) {
	files := map[string]string{".gitignore": "*.log\nbuild/\nnode_modules/\n"}
	for i := range 5000 {
		files[fmt.Sprintf("folder%02d/some_file_%04d.go", i%50, i)] = ""
	}
	r, err := NewRoots(context.Background(), workspace(b, files), nil, Limits{SearchReuse: 1})
	must(b, err)
	for b.Loop() {
		found(b, r, "folder file 1234", 0)
	}
}
