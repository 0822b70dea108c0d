package filecontext

import (
	"os"
	"path/filepath"
	"testing"
)

// buffered puts a client's text of a file.
func buffered(t *testing.T, r *Roots, f *FileContext, path, body string) Entry {
	t.Helper()
	ref, err := r.Locate(path)
	must(t, err)
	content, saved, err := r.Buffer(t.Context(), ref, body)
	must(t, err)
	return put(t, f, content, AddOptions{Unsaved: !saved, Saved: saved})
}

// A client's text is unsaved only if the disk has another one, whatever its line ends and marks are.
func TestF29TextEqualToTheDiskIsNotUnsaved(t *testing.T) {
	cwd := workspace(t, map[string]string{"lf": "a\nb\n", "crlf": "a\r\nb\r\n", "bom": "\xef\xbb\xbfa\nb\n", "wide": "\xff\xfea\x00\n\x00b\x00\n\x00", "other": "a\nc\n", "binary": "\x7fELF\x00"})
	r := openRoots(t, cwd)
	for path, unsaved := range map[string]bool{"lf": false, "crlf": false, "bom": false, "wide": false, "other": true, "binary": true, "missing": true} {
		f := New()
		e := buffered(t, r, f, path, "a\nb\n")
		if e.Unsaved != unsaved || f.buffers != e.bufferBytes() {
			t.Errorf("%s: unsaved %v, %d bytes of buffers", path, e.Unsaved, f.buffers)
		}
		if !unsaved && e.Hash != load(t, r, path).Hash {
			t.Errorf("%s: it has not the hash of the disk", path)
		}
		wantReported(t, r, f)
	}
}

// Of the disk and a client's unsaved text, the one that came last wins, also after a restart and when a link adds the file
// again.
func TestF29ADiskChangeAfterUnsavedTextWins(t *testing.T) {
	for name, between := range map[string]func(t *testing.T, r *Roots, f *FileContext) *FileContext{
		"at once": func(_ *testing.T, _ *Roots, f *FileContext) *FileContext { return f },
		"after a look": func(t *testing.T, r *Roots, f *FileContext) *FileContext {
			wantReported(t, r, f)
			return f
		},
		"after a restart": func(t *testing.T, _ *Roots, f *FileContext) *FileContext {
			f, err := Restore(stored(f))
			must(t, err)
			return f
		},
		"after the file was added again": func(t *testing.T, r *Roots, f *FileContext) *FileContext {
			for _, e := range f.List() {
				if c, err := read(t, r, e.Path); err == nil {
					put(t, f, c, AddOptions{})
				}
			}
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			cwd := workspace(t, map[string]string{"saved": "old\n", "other": "old\n", "gone": "old\n", "still": "old\n"})
			r, f := openRoots(t, cwd), New()
			for _, path := range []string{"saved", "other", "gone", "still", "new", "later"} {
				buffered(t, r, f, path, "typed\n")
			}
			f = between(t, r, f)
			for _, e := range f.List() {
				if !e.Unsaved || e.Text != "typed\n" {
					t.Errorf("before the disk changes: %+v", e)
				}
			}
			write(t, filepath.Join(cwd, "saved"), "typed\n")
			write(t, filepath.Join(cwd, "other"), "new\n")
			write(t, filepath.Join(cwd, "new"), "made\n")
			must(t, os.Remove(filepath.Join(cwd, "gone")))
			wantReported(t, r, f, "changed new", "changed other", "changed saved")
			for path, want := range map[string]string{"saved": "typed\n", "other": "new\n", "new": "made\n", "gone": "typed\n", "still": "typed\n", "later": "typed\n"} {
				e, _ := f.Get(path)
				if unsaved := path == "gone" || path == "still" || path == "later"; e.Text != want || e.Unsaved != unsaved {
					t.Errorf("%s is %q, unsaved %v", path, e.Text, e.Unsaved)
				}
			}
			wantReported(t, r, f)
			write(t, filepath.Join(cwd, "saved"), "and again\n")
			wantReported(t, r, f, "changed saved")
		})
	}
}

// Content of the disk that is newer than unsaved text replaces it at once; the client's own text that it saved does, too.
func TestF29AddingAFileAgainTakesWhatIsNewer(t *testing.T) {
	cwd := workspace(t, map[string]string{"f": "old\n"})
	r, f := openRoots(t, cwd), New()
	buffered(t, r, f, "f", "typed\n")
	if e := put(t, f, load(t, r, "f"), AddOptions{}); !e.Unsaved || e.Text != "typed\n" {
		t.Errorf("the disk has not changed: %+v", e)
	}
	write(t, filepath.Join(cwd, "f"), "new\n")
	if e := put(t, f, load(t, r, "f"), AddOptions{}); e.Unsaved || e.Text != "new\n" {
		t.Errorf("the disk has changed: %+v", e)
	}
	buffered(t, r, f, "f", "typed again\n")
	if e := buffered(t, r, f, "f", "new\n"); e.Unsaved || e.Text != "new\n" {
		t.Errorf("the client went back to the text of the disk: %+v", e)
	}
}

// Unsaved text that was stored without its version on disk, or in another place, belongs to the version that is found first.
func TestF29UnsavedTextWithoutAVersionOnDisk(t *testing.T) {
	cwd := workspace(t, map[string]string{"f": "old\n"})
	r, f := openRoots(t, cwd), New()
	write(t, filepath.Join(cwd, "f"), "elsewhere\n")
	buffered(t, r, f, "f", "typed\n")
	write(t, filepath.Join(cwd, "f"), "old\n")
	f, err := Restore([]StoredFile{stored(f)[0].Disallow()})
	must(t, err)
	wantReported(t, r, f)
	if e, _ := f.Get("f"); !e.Unsaved || e.Text != "typed\n" {
		t.Errorf("%+v", e)
	}
	write(t, filepath.Join(cwd, "f"), "new\n")
	wantReported(t, r, f, "changed f")
}
