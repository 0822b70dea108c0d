package change

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/internal/leak"
)

func TestMain(m *testing.M) {
	if os.Getenv(crashEnv) != "" {
		crash()
		os.Exit(0)
	}
	leak.Main(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// desk is a folder with files, and the roots of a session in it.
type desk struct {
	t      testing.TB
	folder string
	files  Files
}

func newDesk(t testing.TB, files map[string]string) *desk {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	own := filepath.Join(folder, "own")
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{Own: []string{own}, Secrets: []string{filecontext.BuiltinSecrets}})
	must(t, err)
	d := &desk{t: t, folder: folder}
	must(t, os.Mkdir(own, 0o700))
	for name, text := range files {
		d.put(name, text)
	}
	roots, err := filecontext.NewRoots(t.Context(), folder, nil, filecontext.Limits{Guard: guard, FileBytes: 64 << 10})
	must(t, err)
	d.files = Files{Roots: roots}
	return d
}

func (d *desk) path(name string) string { return filepath.Join(d.folder, name) }

func (d *desk) put(name, text string) {
	d.t.Helper()
	must(d.t, os.MkdirAll(filepath.Dir(d.path(name)), 0o700))
	must(d.t, os.WriteFile(d.path(name), []byte(text), 0o600))
}

func (d *desk) link(target, name string) {
	d.t.Helper()
	must(d.t, os.MkdirAll(filepath.Dir(d.path(name)), 0o700))
	must(d.t, os.Symlink(target, d.path(name)))
}

func (d *desk) ref(name string) filecontext.Ref {
	d.t.Helper()
	ref, err := d.files.Roots.Locate(name)
	must(d.t, err)
	return ref
}

// edit plans one edit, which must be possible.
func (d *desk) edit(name, old, text string) *Plan {
	d.t.Helper()
	p, err := d.files.Edit(d.t.Context(), d.ref(name), []Edit{{OldText: old, NewText: text}})
	must(d.t, err)
	return p
}

func (d *desk) write(name, text string) *Plan {
	d.t.Helper()
	p, err := d.files.Write(d.t.Context(), d.ref(name), text)
	must(d.t, err)
	return p
}

func (d *desk) delete(name string) *Plan {
	d.t.Helper()
	p, err := d.files.Delete(d.t.Context(), d.ref(name))
	must(d.t, err)
	return p
}

func (d *desk) move(from, to string) *Plan {
	d.t.Helper()
	p, err := d.files.Move(d.t.Context(), d.ref(from), d.ref(to))
	must(d.t, err)
	return p
}

// make makes a change and checks that its state is known before and after it.
func (d *desk) make(p *Plan) {
	d.t.Helper()
	d.wantState(p, NotDone)
	must(d.t, p.Make(d.t.Context()))
	d.wantState(p, Done)
	d.wantNoTemps()
}

func (d *desk) wantState(p *Plan, want State) {
	d.t.Helper()
	state, err := StateOf(d.t.Context(), d.files.Roots, p.Effects)
	must(d.t, err)
	if state != want {
		d.t.Errorf("%s of %+v is %s, want %s", p.Kind, p.Effects, state, want)
	}
}

// text returns the bytes of a file, "none" without one.
func (d *desk) text(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(d.path(name))
	if os.IsNotExist(err) {
		return "none"
	}
	must(d.t, err)
	return string(data)
}

func (d *desk) want(name, text string) {
	d.t.Helper()
	if got := d.text(name); got != text {
		d.t.Errorf("%s is %q, want %q", name, got, text)
	}
}

func (d *desk) wantNoTemps() {
	d.t.Helper()
	must(d.t, filepath.WalkDir(d.folder, func(path string, e os.DirEntry, err error) error {
		if filecontext.TempOf(filepath.Base(path)) != "" {
			d.t.Errorf("%s is left", path)
		}
		return err
	}))
}

// wantReason checks that err is a refusal with the reason.
func wantReason(t testing.TB, what string, err error, want filecontext.Reason) {
	t.Helper()
	if err == nil || filecontext.ReasonOf(err) != want {
		t.Errorf("%s: %v, want refusal %s", what, err, want)
	}
}
