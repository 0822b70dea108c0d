package access

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// tree makes folders below a new one and returns its resolved path.
func tree(t *testing.T, folders ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range folders {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func newFolders(t *testing.T, own string, roots ...string) *Folders {
	t.Helper()
	f, err := NewFolders(own, roots)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// completed returns the completions of a prefix, relative to root.
func completed(t *testing.T, f *Folders, root, prefix string, limit int) (names []string, more bool) {
	t.Helper()
	all, err := f.Complete(t.Context(), prefix, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all.Folders {
		names = append(names, strings.TrimPrefix(path, root+separator))
	}
	return names, all.More
}

func TestCompletePaths(t *testing.T) {
	root := tree(t, "src/api", "src/App", "src/.cache", "src/zoo", "secret/keys", "state/db", "src/bad\xff", "src/bad\nline")
	if err := os.WriteFile(filepath.Join(root, "src", "a-file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"src/a-link": "src/zoo", "src/away": "secret", "src/gone": "nowhere", "src/file": "src/a-file"} {
		if err := os.Symlink(filepath.Join(root, to), filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	all, within := newFolders(t, filepath.Join(root, "state")), newFolders(t, "", filepath.Join(root, "src"))
	for _, test := range []struct {
		folders *Folders
		prefix  string
		want    []string
	}{
		{all, "src/a", []string{"src/a-link", "src/api", "src/App", "src/away"}},
		{all, "src/ap", []string{"src/api", "src/App"}},
		{all, "src/", []string{"src/a-link", "src/api", "src/App", "src/away", "src/zoo"}},
		{all, "src/.", []string{"src/.cache"}},
		{all, "src", []string{"src"}},
		{all, "s", []string{"secret", "src"}}, // not the server's own folder
		{all, "state/", nil},
		{all, "nowhere/", nil},
		{all, "src/a-file/", nil},
		{within, "src/a", []string{"src/a-link", "src/api", "src/App"}}, // not the link that leads outside
		{within, "secret/", nil},
		{within, "s", []string{"src"}},
		{within, "src/../secret/", nil},
		{within, "src/away/", nil},
	} {
		if got, more := completed(t, test.folders, root, root+separator+test.prefix, 10); !slices.Equal(got, test.want) || more {
			t.Errorf("%q: %q, more %t, want %q", test.prefix, got, more, test.want)
		}
	}
	if got, more := completed(t, all, root, root+"/src/a", 2); len(got) != 2 || !more {
		t.Errorf("two of four: %q, more %t", got, more)
	}
	if got, _ := completed(t, within, root, "", 10); !slices.Equal(got, []string{"src"}) {
		t.Errorf("without a prefix: %q", got)
	}
}

func TestCompletionStartsAtHome(t *testing.T) {
	root := tree(t, "one", "two")
	t.Setenv("HOME", root)
	if got, _ := completed(t, newFolders(t, ""), root, "", 10); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("without a prefix: %q", got)
	}
}

func TestPrefixesThatAreRefused(t *testing.T) {
	f := newFolders(t, "")
	for _, prefix := range []string{"src", "./src", "/src\x00", "/" + strings.Repeat("a/", maxPrefix)} {
		if all, err := f.Complete(t.Context(), prefix, 10); err == nil {
			t.Errorf("%.20q: %q", prefix, all.Folders)
		}
	}
}

func TestCompletionReadsABoundedNumberOfNames(t *testing.T) {
	folder := t.TempDir()
	for i := range 40 {
		if err := os.Mkdir(filepath.Join(folder, fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := listNames(folder, 25); len(got) != 25 {
		t.Errorf("%d names were read", len(got))
	}
}

// A folder that does not respond is given up, and not read twice at once.
func TestCompletionOfAStuckFolderEnds(t *testing.T) {
	root := tree(t, "src")
	synctest.Test(t, func(t *testing.T) {
		release, started := make(chan struct{}), 0
		f := &Folders{looks: newLookups(realDisk{}, folderTime), lists: newListings(func(string) listing {
			started++
			<-release
			return nil
		}, folderTime)}
		for range 3 {
			if _, err := f.Complete(t.Context(), root+separator, 10); err != errNoResponse {
				t.Errorf("error %v", err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := f.Complete(ctx, root+separator, 10); err != errNoResponse {
			t.Errorf("of a request that ended: error %v", err)
		}
		close(release)
		synctest.Wait()
		if started != 1 {
			t.Errorf("the folder was read %d times", started)
		}
	})
}
