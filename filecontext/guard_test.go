package filecontext

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func guard(t testing.TB, opt GuardOptions) *Guard {
	t.Helper()
	g, err := NewGuard(opt)
	must(t, err)
	return g
}

func guarded(t testing.TB, g *Guard, cwd string, more ...string) *Roots {
	t.Helper()
	r, err := NewRoots(context.Background(), cwd, more, Limits{Guard: g, SearchReuse: 1})
	must(t, err)
	return r
}

// R04: a folder of a session that is replaced by a link, itself or a folder above it, leads nowhere, by no kind of access.
func TestR04AReplacedFolderLeadsNowhere(t *testing.T) {
	for name, test := range map[string]struct {
		confined bool   // workspaces.roots is set
		replaced string // below the configured root
		rest     string // of the path of the session's folder
		target   func(base string) string
	}{
		"the folder":                           {true, "work/p", "", outsideOf},
		"a folder above it":                    {true, "work", "p", outsideOf},
		"the configured folder":                {true, "", "work/p", outsideOf},
		"a link to a sibling":                  {true, "work/p", "", func(base string) string { return "other" }},
		"the folder, without a restriction":    {false, "work/p", "", outsideOf},
		"a folder above, without one":          {false, "work", "p", outsideOf},
		"a relative link, without restriction": {false, "work/p", "", func(base string) string { return "../../outside" }},
	} {
		t.Run(name, func(t *testing.T) {
			base := workspace(t, map[string]string{
				"roots/work/p/a.txt": "mine", "roots/work/p/AGENTS.md": "mine", "roots/work/p/sub/b.txt": "mine",
				"roots/work/other/a.txt": "SECRET", "further/c.txt": "mine",
			})
			for _, shape := range []string{"outside/", "outside/p/", "outside/work/p/"} {
				for _, file := range []string{"a.txt", "AGENTS.md", "sub/b.txt", "new.txt"} {
					write(t, filepath.Join(base, shape, file), "SECRET")
				}
			}
			opt := GuardOptions{}
			if test.confined {
				opt.Within = []string{filepath.Join(base, "roots"), filepath.Join(base, "further")}
			}
			g := guard(t, opt)
			folder := filepath.Join(base, "roots/work/p")
			// The folder is a session's own, and an additional one of another session.
			sessions := map[string]*Roots{"own": guarded(t, g, folder), "additional": guarded(t, g, filepath.Join(base, "further"), folder)}
			entries := map[string]Entry{}
			for label, r := range sessions {
				entries[label] = put(t, New(), load(t, r, filepath.Join(folder, "a.txt")), AddOptions{})
			}
			replaced := filepath.Join(base, "roots", test.replaced)
			must(t, os.Rename(replaced, filepath.Join(base, "moved")))
			must(t, os.Symlink(test.target(base), replaced))
			for label, r := range sessions {
				for _, path := range []string{"a.txt", "AGENTS.md", "sub/b.txt"} {
					_, err := read(t, r, filepath.Join(folder, path))
					wantReason(t, label+": read "+path, err, ReasonReplaced)
				}
				wantReason(t, label+": buffer", buffer(r, filepath.Join(folder, "a.txt")), ReasonReplaced)
				changes, err := r.Refresh(t.Context(), []Entry{entries[label]})
				must(t, err)
				if len(changes) != 1 || changes[0].Kind != Unreadable || changes[0].Reason != ReasonReplaced || changes[0].Content.Text != "" {
					t.Errorf("%s: refresh found %+v", label, changes)
				}
				found, err := r.Find(t.Context(), "", 100)
				must(t, err)
				for _, f := range found {
					if !strings.HasSuffix(f.Path, "c.txt") {
						t.Errorf("%s: the search found %s", label, f.Path)
					}
				}
			}
			if _, err := NewRoots(context.Background(), folder, nil, Limits{Guard: g}); test.confined && test.replaced != "work/p" && err == nil {
				t.Error("the folder is admitted again although it is outside")
			}
		})
	}
}

func outsideOf(base string) string { return filepath.Join(base, "outside") }

// A folder that is made anew at its place, as by another clone, is the session's again.
func TestR04AFolderMadeAnewIsReadAgain(t *testing.T) {
	for name, confined := range map[string]bool{"confined": true, "anywhere": false} {
		t.Run(name, func(t *testing.T) {
			base := workspace(t, map[string]string{"work/p/a.txt": "old"})
			opt := GuardOptions{}
			if confined {
				opt.Within = []string{base}
			}
			r := guarded(t, guard(t, opt), filepath.Join(base, "work/p"))
			must(t, os.Rename(filepath.Join(base, "work"), filepath.Join(base, "away")))
			_, err := read(t, r, "a.txt")
			wantReason(t, "without the folder", err, ReasonUnreadable)
			write(t, filepath.Join(base, "work/p/a.txt"), "new")
			if c := load(t, r, "a.txt"); c.Text != "new" {
				t.Errorf("read %q", c.Text)
			}
		})
	}
}

// R04: nothing outside is read while a folder is replaced again and again during reads, searches and admissions.
func TestR04AFolderIsReplacedDuringReads(t *testing.T) {
	base := workspace(t, map[string]string{"roots/work/p/a.txt": "mine", "outside/p/a.txt": "SECRET", "outside/p/stolen.txt": "SECRET"})
	g := guard(t, GuardOptions{Within: []string{filepath.Join(base, "roots")}})
	work, away, link := filepath.Join(base, "roots/work"), filepath.Join(base, "roots/away"), filepath.Join(base, "roots/link")
	must(t, os.Symlink(filepath.Join(base, "outside"), link))
	r := guarded(t, g, filepath.Join(work, "p"))
	var stop atomic.Bool
	swapped := make(chan error, 1)
	go func() {
		var err error
		for err == nil && !stop.Load() {
			err = errors.Join(os.Rename(work, away), os.Rename(link, work), os.Rename(work, link), os.Rename(away, work))
		}
		swapped <- err
	}()
	mine, refused := 0, 0
	for range 3000 {
		c, err := read(t, r, "a.txt")
		switch {
		case err != nil:
			refused++
		case c.Text == "mine":
			mine++
		default:
			t.Fatalf("read %q", c.Text)
		}
		if again, err := NewRoots(context.Background(), filepath.Join(work, "p"), nil, Limits{Guard: g}); err == nil {
			if c, err := read(t, again, "a.txt"); err == nil && c.Text != "mine" {
				t.Fatalf("read %q after an admission", c.Text)
			}
		}
	}
	stop.Store(true)
	must(t, <-swapped)
	if mine == 0 {
		t.Errorf("nothing was read at all; %d reads were refused", refused)
	}
}

// F38: the program's own files are refused whatever the root is and however they are written, and searches omit them.
func TestF38OwnFilesAreRefused(t *testing.T) {
	base := workspace(t, map[string]string{
		"home/state/token": "OWN", "home/state/sub/recovery.json": "OWN", "home/config.yaml": "OWN", "home/project/strata.db": "OWN",
		"home/project/strata.db-wal": "OWN", "home/project/a.txt": "mine", "home/b.txt": "mine",
	})
	home := filepath.Join(base, "home")
	state := filepath.Join(home, "state")
	must(t, os.Link(filepath.Join(state, "token"), filepath.Join(home, "project/notes.txt")))
	must(t, os.Link(filepath.Join(home, "project/strata.db"), filepath.Join(home, "project/hard.txt")))
	must(t, os.Link(filepath.Join(home, "b.txt"), filepath.Join(home, "b2.txt")))
	for link, target := range map[string]string{
		"project/link.txt": "strata.db", "link.txt": "state/token", "folder": "state", "project/further": "../state",
	} {
		must(t, os.Symlink(target, filepath.Join(home, link)))
	}
	must(t, os.Symlink(filepath.Join(base, "home"), filepath.Join(base, "linked")))
	own := []string{"", state, filepath.Join(base, "linked/config.yaml"), filepath.Join(home, "project/strata.db"),
		filepath.Join(home, "project/strata.db-wal"), filepath.Join(home, "project/strata.db-shm"), filepath.Join(home, "none/of/this")}
	g := guard(t, GuardOptions{Own: own})
	for _, root := range []string{home, filepath.Join(base, "linked"), base} {
		prefix := ""
		if root == base {
			prefix = "home/"
		}
		r := guarded(t, g, root)
		for _, path := range []string{
			"state/token", "state/sub/recovery.json", "config.yaml", "project/strata.db", "project/strata.db-wal", "project/../state/token",
			"./state/./token", "project/notes.txt", "project/hard.txt", "project/link.txt", "link.txt", "folder/token", "folder/sub/recovery.json",
			"project/further/token",
		} {
			_, err := read(t, r, prefix+path)
			wantReason(t, "read "+path, err, ReasonOwn)
			wantReason(t, "buffer of "+path, buffer(r, prefix+path), ReasonOwn)
		}
		for _, path := range []string{"state/new", "folder/sub/new", "project/strata.db-shm", "project/STRATA.DB-shm", "none/of/this"} {
			wantReason(t, "buffer of "+path+", which does not exist", buffer(r, prefix+path), ReasonOwn)
		}
		for _, path := range []string{"project/a.txt", "b.txt", "b2.txt"} {
			_, err := read(t, r, prefix+path)
			wantReason(t, "read "+path, err, "")
		}
		wantReason(t, "buffer of another new file", buffer(r, prefix+"project/new.txt"), "")
		found, err := r.Find(t.Context(), "", 100)
		must(t, err)
		var paths []string
		for _, f := range found {
			paths = append(paths, strings.TrimPrefix(f.Path, prefix))
		}
		slices.Sort(paths)
		if want := []string{"b.txt", "b2.txt", "project/a.txt"}; !slices.Equal(paths, want) {
			t.Errorf("the search finds %q, want %q", paths, want)
		}
	}
	for _, root := range []string{state, filepath.Join(state, "sub"), filepath.Join(home, "folder")} {
		r := guarded(t, g, root)
		if found, err := r.Find(t.Context(), "", 100); err != nil || len(found) > 0 {
			t.Errorf("a search in %s finds %v, %v", root, found, err)
		}
		for _, name := range []string{"token", "recovery.json"} {
			if _, err := read(t, r, name); ReasonOf(err) != ReasonOwn && ReasonOf(err) != ReasonMissing {
				t.Errorf("%s in %s: %v", name, root, err)
			}
		}
	}
}

// F38: on a file system that ignores case, another spelling is the same file. Elsewhere it is another file.
func TestF38OtherSpellings(t *testing.T) {
	home := workspace(t, map[string]string{"State/Token": "OWN"})
	r := guarded(t, guard(t, GuardOptions{Own: []string{filepath.Join(home, "State")}}), home)
	for _, path := range []string{"state/token", "STATE/TOKEN", "State/TOKEN"} {
		if _, err := read(t, r, path); ReasonOf(err) != ReasonOwn && ReasonOf(err) != ReasonMissing {
			t.Errorf("read %s: %v", path, err)
		}
	}
}

// A file with several names is no file of the program if its folders are too full to look at all of them: it is refused.
func TestF38TooManyOwnFiles(t *testing.T) {
	home := workspace(t, map[string]string{"a.txt": "mine", "one.txt": "mine"})
	must(t, os.Link(filepath.Join(home, "a.txt"), filepath.Join(home, "b.txt")))
	for i := range maxOwn + 1 {
		if i == 0 {
			must(t, os.Mkdir(filepath.Join(home, "state"), 0o700))
		}
		f, err := os.Create(filepath.Join(home, "state", fmt.Sprint(i)))
		must(t, err)
		f.Close()
	}
	r := guarded(t, guard(t, GuardOptions{Own: []string{filepath.Join(home, "state")}}), home)
	_, err := read(t, r, "b.txt")
	wantReason(t, "a file with two names", err, ReasonOwn)
	load(t, r, "one.txt")
}

// R09: files that look like secrets are refused unless the user allows them.
func TestR09SecretLookingFiles(t *testing.T) {
	secret := []string{
		".env", ".env.local", ".ENV", "sub/.env.production", ".envrc", "id_rsa", "keys/id_ed25519", "id_ecdsa_sk", "server.pem", "tls/server.KEY",
		"a.p12", "a.pfx", ".netrc", ".pgpass", ".npmrc", ".pypirc", "credentials", "x/credentials.json", ".git-credentials",
		".aws/credentials", ".aws/sub/x", ".ssh/config", ".ssh/a/b", "kubeconfig", ".kube/config", ".docker/config.json",
	}
	plain := []string{
		".env.example", ".env.sample", ".env.template", "env", "environment.ts", "id_rsa.pub", "keys.go", "pem", "credentials.go",
		"credentials/readme.md", "ssh/config", ".docker/other.json", "config.json", "monkey", "a.key.md", ".aws", "my.netrc",
	}
	files := map[string]string{"target/.env": "s"}
	for i, path := range slices.Concat(secret, plain) {
		files[fmt.Sprintf("w%02d/%s", i, path)] = "s"
	}
	cwd := workspace(t, files)
	must(t, os.Symlink("target/.env", filepath.Join(cwd, "notes.txt")))
	must(t, os.Symlink("w00", filepath.Join(cwd, ".ssh")))
	r := guarded(t, guard(t, GuardOptions{Secrets: []string{BuiltinSecrets}}), cwd)
	check := func(path string, want Reason) {
		t.Helper()
		ref, err := r.Locate(path)
		must(t, err)
		_, err = r.Read(t.Context(), ref)
		wantReason(t, "read "+path, err, want)
		ref.Allow = true
		c, err := r.Read(t.Context(), ref)
		if err != nil || c.Secret != (want != "") {
			t.Errorf("%s: with allow: secret %v, %v", path, c.Secret, err)
		}
		ref.Allow = false
		if c, _, err = r.Buffer(context.Background(), ref, "text of the editor"); err != nil || c.Secret != (want != "") {
			t.Errorf("%s: buffer: secret %v, %v", path, c.Secret, err)
		}
	}
	for i, path := range secret {
		check(fmt.Sprintf("w%02d/%s", i, path), ReasonSecret)
	}
	for i, path := range plain {
		check(fmt.Sprintf("w%02d/%s", i+len(secret), path), "")
	}
	check("notes.txt", ReasonSecret)
	check(".ssh/.env", ReasonSecret)
	if _, err := read(t, r, "none/.env"); ReasonOf(err) != ReasonMissing {
		t.Errorf("a missing file: %v", err)
	}
}

// R09: what was allowed once stays readable, also after a restart; what was not allowed leaves when the rule changes.
func TestR09AnAllowedFileStays(t *testing.T) {
	cwd := workspace(t, map[string]string{".env": "one", "conf.txt": "one"})
	r := guarded(t, guard(t, GuardOptions{Secrets: []string{".env"}}), cwd)
	ref, err := r.Locate(".env")
	must(t, err)
	ref.Allow = true
	c, err := r.Read(t.Context(), ref)
	must(t, err)
	f := New()
	put(t, f, c, AddOptions{Allowed: c.Secret})
	put(t, f, load(t, r, "conf.txt"), AddOptions{})
	f, err = Restore([]StoredFile{f.List()[0].Stored(), f.List()[1].Stored()})
	must(t, err)
	stricter := guarded(t, guard(t, GuardOptions{Secrets: []string{".env", "conf.txt"}}), cwd)
	changes, err := stricter.Refresh(t.Context(), f.List())
	must(t, err)
	f.Apply(changes)
	if e, _ := f.Get(".env"); e.Text != "one" || !e.Allowed {
		t.Errorf("the allowed file is %+v", e)
	}
	if e, _ := f.Get("conf.txt"); e.Problem != ReasonSecret || e.Text != "" {
		t.Errorf("the file that nobody allowed is %+v", e)
	}
	if e := put(t, f, load(t, r, "conf.txt"), AddOptions{}); e.Allowed {
		t.Error("a plain file counts as allowed")
	}
}

// R09: an allow that comes with an imported session is none of this user's.
func TestR09AnImportedAllowDoesNotCount(t *testing.T) {
	for _, state := range []string{
		`{"state":"full","allowed":true,"hash":"x"}`, `{"state":"full","ALLOWED":true,"hash":"x"}`, `{"allowed":false,"state":"full","hash":"x","Allowed":true}`,
	} {
		f, err := Restore([]StoredFile{StoredFile{Path: ".env", State: []byte(state)}.Disallow()})
		if e, ok := f.Get(".env"); err != nil || !ok || e.Allowed || e.Hash != "x" {
			t.Errorf("%s is restored as %+v, %v", state, e, err)
		}
	}
	for _, bad := range []string{"", "null", "[]", "{", `"x"`} {
		if f := (StoredFile{Path: "a", State: []byte(bad)}).Disallow(); bad != "null" && string(f.State) != bad {
			t.Errorf("%q becomes %q", bad, f.State)
		}
	}
}
