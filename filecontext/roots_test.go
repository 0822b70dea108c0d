package filecontext

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNewRootsAcceptsOnlyFolders(t *testing.T) {
	folder := workspace(t, map[string]string{"file": ""})
	for _, bad := range []string{"", "relative", filepath.Join(folder, "file"), filepath.Join(folder, "missing"), folder + "\x00"} {
		if _, err := NewRoots(context.Background(), bad, nil, Limits{}); err == nil {
			t.Errorf("NewRoots accepted %q", bad)
		}
		if _, err := NewRoots(context.Background(), folder, []string{bad}, Limits{}); err == nil {
			t.Errorf("NewRoots accepted %q as an additional root", bad)
		}
	}
}

func TestLocateNamesEachFileOnce(t *testing.T) {
	cwd, further := workspace(t, nil), workspace(t, nil)
	link := filepath.Join(workspace(t, nil), "link")
	must(t, os.Symlink(cwd, link))
	r, err := NewRoots(context.Background(), link, []string{further, cwd, filepath.Join(further, ".")}, Limits{})
	must(t, err)
	tests := []struct{ given, path string }{
		{"a.go", "a.go"},
		{"./x//../a.go", "a.go"},
		{"x/../../" + filepath.Base(cwd) + "/a.go", "a.go"},
		{filepath.Join(cwd, "a.go"), "a.go"},
		{filepath.Join(link, "x/a.go"), "x/a.go"},
		{"file://" + link + "/a.go", "a.go"},
		{filepath.Join(further, "b.go"), filepath.ToSlash(further) + "/b.go"},
		{"%2e%2e/a.go", "%2e%2e/a.go"}, // not a URI: an odd but valid name
		{"...", "..."},
		{"a.go/", "a.go"},
	}
	for _, tt := range tests {
		ref, err := r.Locate(tt.given)
		if err != nil || ref.Path != tt.path {
			t.Errorf("Locate(%q) = %q, %v, want %q", tt.given, ref.Path, err, tt.path)
		}
		if again, err := r.Locate(ref.Path); err != nil || again.Path != ref.Path {
			t.Errorf("Locate(%q) = %q, %v: want the same path", ref.Path, again.Path, err)
		}
	}
}

func TestLocateRefuses(t *testing.T) {
	cwd := workspace(t, nil)
	r := openRoots(t, cwd)
	tests := []struct {
		given  string
		reason Reason
	}{
		{"", ReasonBadPath},
		{"a\x00b", ReasonBadPath},
		{"a\xff", ReasonBadPath},
		{strings.Repeat("a", maxPath+1), ReasonBadPath},
		{"..", ReasonOutside},
		{"../" + filepath.Base(cwd) + "x/a", ReasonOutside},
		{"x/../../y", ReasonOutside},
		{"/etc/passwd", ReasonOutside},
		{cwd + "x", ReasonOutside},
		{"file:///etc/passwd", ReasonOutside},
		{"file://" + cwd + "/%2e%2e/y", ReasonOutside},
		{"file://elsewhere" + cwd + "/a", ReasonBadURI},
		{"file:///a%2Fb", ReasonBadURI},
	}
	for _, tt := range tests {
		_, err := r.Locate(tt.given)
		wantReason(t, shorten(tt.given), err, tt.reason)
	}
}

// K5-07: no path leads out of the roots, and a root given through a link works.
func TestK5_07_NothingLeadsOut(t *testing.T) {
	outside := workspace(t, map[string]string{"secret": "s"})
	real := workspace(t, map[string]string{"in/a.txt": "inside", "sub/b.txt": "b"})
	cwd := filepath.Join(workspace(t, nil), "link")
	must(t, os.Symlink(real, cwd))
	for name, target := range map[string]string{
		"a": filepath.Join(outside, "new"), "b": "/etc/hostname", "c": "../..", "d": outside,
		"absolute": filepath.Join(real, "in/a.txt"), "relative": "in/a.txt", "folder": "in", "loop": "loop",
	} {
		must(t, os.Symlink(target, filepath.Join(real, name)))
	}
	r := openRoots(t, cwd)
	tests := []struct {
		path   string
		reason Reason
	}{
		{"a", ReasonOutside}, {"b", ReasonOutside}, {"c", ReasonOutside}, {"c/etc/passwd", ReasonOutside},
		{"d", ReasonOutside}, {"d/secret", ReasonOutside}, {"d/new", ReasonOutside}, {"x/../../y", ReasonOutside},
		{filepath.Join(outside, "secret"), ReasonOutside}, {"file://" + real + "/%2e%2e/y", ReasonOutside},
		{"absolute", ReasonOutside}, // os.Root's rule, even though it points inside
		{"loop", ReasonUnreadable}, {"in/a.txt/x", ReasonMissing}, {"new", ReasonMissing},
		{"in/a.txt", ""}, {"relative", ""}, {"folder/a.txt", ""}, {"folder/../sub/b.txt", ""},
		{filepath.Join(cwd, "in/a.txt"), ""}, {filepath.Join(real, "in/a.txt"), ""}, {"file://" + cwd + "/in/a.txt", ""},
	}
	for _, tt := range tests {
		_, err := read(t, r, tt.path)
		wantReason(t, "read "+tt.path, err, tt.reason)
		if tt.reason != ReasonMissing {
			wantReason(t, "buffer for "+tt.path, buffer(r, tt.path), tt.reason)
		}
	}
	wantReason(t, "buffer for a new file", buffer(r, "new/file.txt"), "")
}

// buffer returns the error of an unsaved text at path.
func buffer(r *Roots, path string) error {
	ref, err := r.Locate(path)
	if err == nil {
		_, _, err = r.Buffer(context.Background(), ref, "unsaved")
	}
	return err
}

func TestAFurtherRootIsItsOwnConfinement(t *testing.T) {
	further := workspace(t, map[string]string{"b.txt": "b"})
	cwd := workspace(t, map[string]string{"a.txt": "a"})
	r := openRoots(t, cwd, further)
	if c := load(t, r, filepath.Join(further, "b.txt")); c.Text != "b" || c.Path != filepath.ToSlash(further)+"/b.txt" {
		t.Errorf("read %+v", c)
	}
	must(t, os.Symlink(filepath.Join(further, "b.txt"), filepath.Join(cwd, "link")))
	_, err := read(t, r, "link")
	wantReason(t, "a link from root to root", err, ReasonOutside)
}

func TestAMissingRootDoesNotDeleteItsFiles(t *testing.T) {
	cwd := workspace(t, map[string]string{"w/a.txt": "a"})
	r := openRoots(t, filepath.Join(cwd, "w"))
	must(t, os.Rename(filepath.Join(cwd, "w"), filepath.Join(cwd, "away")))
	_, err := read(t, r, "a.txt")
	wantReason(t, "read", err, ReasonUnreadable)
}

func TestTheFoldersOfAFile(t *testing.T) {
	work, other := t.TempDir(), t.TempDir()
	roots, err := NewRoots(t.Context(), work, []string{other}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	outer := filepath.ToSlash(roots.roots[1].place.path)
	for path, want := range map[string][]string{
		"a.go":                            nil,
		"a/b/c.go":                        {"a", "a/b"},
		"./a/../b/c.go":                   {"b"},
		filepath.Join(work, "a", "b.go"):  {"a"},
		filepath.Join(other, "b.go"):      {outer},
		filepath.Join(other, "a", "b.go"): {outer, outer + "/a"},
		"../outside/a.go":                 nil,
		"":                                nil,
	} {
		if got := roots.FoldersOf(path); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
