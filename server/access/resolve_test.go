package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// foldedDisk is a disk that ignores letter case: it finds real files by names in any case.
type foldedDisk struct{ realDisk }

// actual returns the real path of a path in any letter case.
func (foldedDisk) actual(path string) (string, error) {
	real := string(filepath.Separator)
	for part := range strings.SplitSeq(strings.Trim(filepath.ToSlash(path), "/"), "/") {
		entries, err := os.ReadDir(real)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), part) })
		if i < 0 {
			return "", fs.ErrNotExist
		}
		real = filepath.Join(real, entries[i].Name())
	}
	return real, nil
}

func (d foldedDisk) evalLinks(path string) (string, error) {
	real, err := d.actual(path)
	if err != nil {
		return "", err
	}
	if resolved, err := d.realDisk.evalLinks(real); err != nil || resolved != real {
		return resolved, err
	}
	return path, nil // as given: the system does not correct the case
}

func (d foldedDisk) lstat(path string) (fs.FileInfo, error) {
	real, err := d.actual(path)
	if err != nil {
		return nil, err
	}
	return d.realDisk.lstat(real)
}

// tempFolder returns a folder without links in its path.
func tempFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestF19OneSpellingOfAFolder(t *testing.T) {
	root := tempFolder(t)
	project := filepath.Join(root, "Project", "src")
	for _, dir := range []string{project, filepath.Join(root, "other"), filepath.Join(root, "Other")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "Project"), filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	join := func(parts ...string) string { return root + "/" + strings.Join(parts, "/") }
	for path, want := range map[string]string{
		join("Project"):                 join("Project"),
		join("Project") + "/":           join("Project"),
		join("Project", "src", ".."):    join("Project"),
		join("Project", ".", "", "src"): project,
		join("link"):                    join("Project"),
		join("link", "src"):             project,
		join("link", "none", "of it"):   join("Project", "none", "of it"),
		join("none"):                    join("none"),
		join("other"):                   join("other"), // two folders on a disk that knows case
		join("Other"):                   join("Other"),
		"/":                             "/",
		"/none/at/all":                  "/none/at/all",
	} {
		if got := resolve(realDisk{}, path); filepath.ToSlash(got) != filepath.ToSlash(want) {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{
		join("PROJECT", "SRC"):      project,
		join("project", "src", ""):  project,
		join("pRoject", "gone"):     join("Project", "gone"),
		strings.ToUpper(project):    project,
		join("LINK", "src"):         project,
		join("Project", "src", "."): project,
	} {
		if got := resolve(foldedDisk{}, path); filepath.ToSlash(got) != filepath.ToSlash(want) {
			t.Errorf("on a disk without case %s is %s, want %s", path, got, want)
		}
	}
}

// stuckDisk does not return for one folder until it is released.
type stuckDisk struct {
	realDisk
	stuck   string
	release chan struct{}
	looks   atomic.Int64
}

func (d *stuckDisk) evalLinks(path string) (string, error) {
	if path == d.stuck {
		d.looks.Add(1)
		<-d.release
		return "", errors.New("unmounted")
	}
	return d.realDisk.evalLinks(path)
}

// A folder that does not respond delays a request for a short time, and only one look at it is left behind.
func TestF19AFolderThatDoesNotRespond(t *testing.T) {
	root := tempFolder(t)
	d := &stuckDisk{stuck: filepath.Join(root, "mount"), release: make(chan struct{})}
	f := &Folders{looks: newLookups(d, time.Millisecond)}
	for range 20 {
		if _, err := f.Check(d.stuck); err == nil || err.Error() != "does not respond" {
			t.Errorf("checked: %v", err)
		}
		if err := f.Allowed(t.Context(), d.stuck); err == nil {
			t.Error("allowed")
		}
		if real, missing := f.Resolve(d.stuck + "/"); real != d.stuck || missing {
			t.Errorf("resolved to %s, missing: %t", real, missing)
		}
	}
	if n := d.looks.Load(); n != 1 {
		t.Errorf("%d looks at it", n)
	}
	close(d.release)
	<-f.looks.start(d.stuck).done
	f.looks.limit = time.Minute
	if _, missing := f.Resolve(root); missing {
		t.Error("another folder is missing")
	}
}

// stuckDisks never respond.
type stuckDisks struct{ stuckDisk }

func (d *stuckDisks) evalLinks(string) (string, error) {
	d.looks.Add(1)
	<-d.release
	return "", errors.New("unmounted")
}

// However many folders do not respond, the number of looks that are left behind is limited.
func TestF19ManyFoldersThatDoNotRespond(t *testing.T) {
	d := &stuckDisks{stuckDisk{release: make(chan struct{})}}
	f := &Folders{looks: newLookups(d, time.Hour)}
	for i := range maxRunning {
		f.looks.start(fmt.Sprintf("/mount/%d", i))
	}
	if _, err := f.Check("/mount/one more"); !errors.Is(err, errNoResponse) {
		t.Errorf("checked: %v", err)
	}
	close(d.release)
	for i := range maxRunning {
		<-f.looks.start(fmt.Sprintf("/mount/%d", i)).done
	}
	if n := d.looks.Load(); n < maxRunning {
		t.Errorf("%d looks", n)
	}
	if _, err := f.Check("/mount/one more"); err == nil || errors.Is(err, errNoResponse) {
		t.Errorf("checked when the disks respond: %v", err)
	}
}

func TestF19RootsInAnySpelling(t *testing.T) {
	root := tempFolder(t)
	allowed := filepath.Join(root, "allowed")
	for _, dir := range []string{filepath.Join(allowed, "in"), filepath.Join(root, "out")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(allowed, link); err != nil {
		t.Skip(err)
	}
	for _, spelling := range []string{allowed, allowed + "/", allowed + "/in/..", link, link + "/"} {
		f, err := NewFolders("", []string{spelling})
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{allowed, allowed + "/in/", link + "/in", allowed + "/../allowed/in"} {
			if _, err := f.Check(dir); err != nil {
				t.Errorf("roots %s: %s %v", spelling, dir, err)
			}
		}
		for _, dir := range []string{root, root + "/out", allowed + "/../out"} {
			if _, err := f.Check(dir); err == nil {
				t.Errorf("roots %s: %s is allowed", spelling, dir)
			}
		}
		if same := f.Same(link+"/in/..", []string{allowed, link, root, allowed + "/in"}); !slices.Equal(same, []string{allowed, link}) {
			t.Errorf("the same folder are %v", same)
		}
	}
}
