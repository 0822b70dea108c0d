package change

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"strata/filecontext"
)

func (d *desk) look(name string) Version {
	d.t.Helper()
	v, err := d.files.Look(d.t.Context(), d.path(name))
	must(d.t, err)
	return v
}

// put plans and makes that a file has another version.
func (d *desk) putBack(name, now string, v Version) error {
	d.t.Helper()
	p, err := d.files.Put(d.t.Context(), d.path(name), now, v)
	if err != nil {
		return err
	}
	d.make(p)
	return nil
}

func version(text string, mode uint32) Version {
	return Version{Exists: true, Bytes: []byte(text), Mode: mode}
}

func TestVersionsArePutBack(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "now\n", "dir/x": "x"})
	none, now := Version{}, d.look("a").Hash()
	before := version("a\x00\r\n\xff", 0o755)
	must(t, d.putBack("a", now, before))
	equal(t, "replaced", d.look("a"), before)
	must(t, d.putBack("a", before.Hash(), none))
	equal(t, "removed", d.look("a"), none)
	must(t, d.putBack("a", none.Hash(), version("", 0o400)))
	equal(t, "made", d.look("a"), version("", 0o400))
	must(t, d.putBack("deep/er/b", none.Hash(), before))
	equal(t, "made in a folder", d.look("deep/er/b"), before)
	must(t, d.putBack(".env", none.Hash(), version("KEY=1", 0o600)))
	equal(t, "a secret", d.look(".env"), version("KEY=1", 0o600))
	d.wantNoTemps()
}

func TestVersionsThatAreNotPutBack(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "a", "dir/a": "a", "own/db": "a", "locked": "a"})
	must(t, os.Chmod(d.path("locked"), 0o444))
	d.link("a", "link")
	d.link("dir", "linked")
	d.link("nowhere", "dangling")
	a, b := version("a", 0o600), version("b", 0o600)
	none := filecontext.NoFile
	for name, tt := range map[string]struct {
		path, now string
		put       Version
		reason    filecontext.Reason // "": ErrChanged
	}{
		"another content":              {"a", b.Hash(), a, ""},
		"another content, removed":     {"a", b.Hash(), Version{}, ""},
		"a file that is gone":          {"gone", a.Hash(), b, ""},
		"a file that is gone, removed": {"gone", a.Hash(), Version{}, ""},
		"a file that is there":         {"a", none, b, ""},
		"a folder":                     {"dir", a.Hash(), b, ""},
		"a link":                       {"link", a.Hash(), b, ""},
		"a link, removed":              {"link", a.Hash(), Version{}, ""},
		"a folder that is a link":      {"linked/a", a.Hash(), b, ""},
		"a new file below a link":      {"linked/new", none, b, ""},
		"a link that dangles":          {"dangling", none, b, ""},
		"below a file":                 {"a/b", none, b, ""},
		"ours":                         {"own/db", a.Hash(), b, filecontext.ReasonOwn},
		"a new one of ours":            {"own/new", none, b, filecontext.ReasonOwn},
		"outside":                      {"../a", none, b, filecontext.ReasonOutside},
		"a file that is read-only":     {"locked", a.Hash(), b, filecontext.ReasonReadOnly},
	} {
		p, err := d.files.Put(t.Context(), d.path(tt.path), tt.now, tt.put)
		if err == nil {
			err = p.Make(t.Context())
		}
		if tt.reason != "" {
			wantReason(t, name, err, tt.reason)
		} else if !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"a", "dir/a", "own/db", "locked", "link", "linked/a"} {
		d.want(name, "a")
	}
	for name, want := range map[string]filecontext.Reason{
		"link": filecontext.ReasonNotRegular, "linked/a": filecontext.ReasonNotRegular, "dir": filecontext.ReasonDirectory, "own/db": filecontext.ReasonOwn,
	} {
		_, err := d.files.Look(t.Context(), d.path(name))
		wantReason(t, "look at "+name, err, want)
	}
	d.wantNoTemps()
}

// A file that is written between the plan and the effect stays.
func TestAFileWrittenSinceThePlanIsNotReplaced(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "a"})
	a, b := version("a", 0o600), version("b", 0o600)
	for name, put := range map[string]Version{"replace": b, "remove": {}} {
		p, err := d.files.Put(t.Context(), d.path("a"), a.Hash(), put)
		must(t, err)
		d.put("a", "foreign")
		if err := p.Make(t.Context()); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		d.want("a", "foreign")
		d.put("a", "a")
	}
	p, err := d.files.Put(t.Context(), d.path("new"), filecontext.NoFile, b)
	must(t, err)
	d.put("new", "foreign")
	if err := p.Make(t.Context()); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	d.want("new", "foreign")
}

func TestModesOfVersions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	for bits := range uint32(0o10000) {
		if got := unixMode(fileMode(bits)); got != bits {
			t.Fatalf("%#o becomes %#o", bits, got)
		}
	}
	d := newDesk(t, map[string]string{"a": strings.Repeat("a", 10)})
	for _, mode := range []uint32{0o600, 0o755, 0o644, 0o777, 0o1660} {
		must(t, d.putBack("a", d.look("a").Hash(), version("b", mode)))
		info, err := os.Stat(filepath.Join(d.folder, "a"))
		must(t, err)
		if got := info.Mode() & (fs.ModePerm | fs.ModeSticky); got != fileMode(mode) {
			t.Errorf("mode %v, want %#o", got, mode)
		}
		must(t, d.putBack("a", d.look("a").Hash(), version("a", 0o640)))
	}
}
