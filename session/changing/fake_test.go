package changing

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/session/clients"
)

// fakeEditor is an editor with the files of a folder.
type fakeEditor struct {
	clients.Client
	folder    string
	writeOnly bool
	keeps     bool // it shows line ends as LF, and writes those that the file has
	lazy      bool // it does not save what it writes
	trims     bool // it shows texts without their last newline, and writes what it is told
	format    func(text string) string

	buffers map[string]string // texts that are not saved, by name
	asked   []string          // reads and writes

	reading func(name string) error                      // before a read; nil for nothing
	writing func(ctx context.Context, name string) error // in place of a write, unless it returns errDo
}

// errDo makes a fakeEditor write as usual.
var errDo = errors.New("do")

func (e *fakeEditor) Can(c clients.Capability) bool {
	return c == clients.WriteFiles || c == clients.ReadFiles && !e.writeOnly
}

func (e *fakeEditor) name(path string) string {
	name, err := filepath.Rel(e.folder, path)
	if err != nil {
		panic(err)
	}
	return filepath.ToSlash(name)
}

func (e *fakeEditor) ReadTextFile(_ context.Context, r clients.Read, after uint64) (string, error) {
	name := e.name(r.Path)
	e.asked = append(e.asked, "read "+name)
	if after != 7 {
		return "", errors.New("too early")
	}
	if e.reading != nil {
		if err := e.reading(name); err != nil {
			return "", err
		}
	}
	text, err := e.text(name)
	if err != nil {
		return "", &clients.Refused{Code: -32002, Message: "not open"}
	}
	return text, nil
}

// text returns a text as the editor shows it.
func (e *fakeEditor) text(name string) (string, error) {
	if text, ok := e.buffers[name]; ok {
		return text, nil
	}
	data, err := os.ReadFile(filepath.Join(e.folder, name))
	text := string(data)
	if e.keeps {
		text = unix(text)
	}
	if e.trims {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	return text, err
}

func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func (e *fakeEditor) WriteTextFile(ctx context.Context, w clients.Write, after uint64) error {
	name := e.name(w.Path)
	e.asked = append(e.asked, "write "+name)
	if after != 7 {
		return errors.New("too early")
	}
	if e.writing != nil {
		if err := e.writing(ctx, name); !errors.Is(err, errDo) {
			return err
		}
	}
	text := w.Content
	if e.format != nil {
		text = e.format(text)
	}
	if e.buffers[name] = text; e.lazy {
		return nil
	}
	return e.save(name)
}

func (e *fakeEditor) save(name string) error {
	text := e.buffers[name]
	delete(e.buffers, name)
	path := filepath.Join(e.folder, name)
	if before, err := os.ReadFile(path); e.keeps && err == nil && strings.Contains(string(before), "\r\n") {
		text = strings.ReplaceAll(unix(text), "\n", "\r\n")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// wrote returns how many writes the editor was asked for.
func (e *fakeEditor) wrote() (n int) {
	for _, a := range e.asked {
		if strings.HasPrefix(a, "write ") {
			n++
		}
	}
	return n
}

// shownTexts are texts that differ from the disk, as for searches.
type shownTexts map[string]filecontext.Content

func (s shownTexts) Get(path string) (filecontext.Content, bool) {
	content, ok := s[path]
	return content, ok
}

func (s shownTexts) Put(content *filecontext.Content) {
	delete(s, content.Path)
	if content.Disk() != "" {
		s[content.Path] = *content
	}
}

// desk is a bench whose files are read and changed through an editor.
type desk struct {
	*bench
	editor *fakeEditor
	texts  shownTexts
	gone   []clients.Client // those that were found gone
}

// newDesk returns a desk. editor needs neither folder nor buffers; nil is no editor.
func newDesk(t *testing.T, files map[string]string, editor *fakeEditor) *desk {
	t.Helper()
	d := &desk{bench: newBench(t, files), editor: editor, texts: make(shownTexts)}
	if editor != nil {
		editor.folder, editor.buffers = d.folder, make(map[string]string)
	}
	d.writer = NewEditorWriter(DiskWriter{Roots: d.work.Roots}, d.editors, d.texts)
	d.work.Reader = d
	return d
}

// editors implements Editors.
func (d *desk) editors(gone clients.Client) (clients.Client, uint64) {
	if gone != nil {
		d.gone, d.editor = append(d.gone, gone), nil
	}
	if d.editor == nil {
		return nil, 0
	}
	return d.editor, 7
}

// Read implements tools.Reader, as a workspace does.
func (d *desk) Read(ctx context.Context, path string) (filecontext.Content, error) {
	ref, err := d.work.Roots.Locate(path)
	if err != nil {
		return filecontext.Content{}, err
	}
	if d.editor != nil && !d.editor.writeOnly {
		if text, err := d.editor.ReadTextFile(ctx, clients.Read{Path: ref.Absolute()}, 7); err == nil {
			return d.work.Roots.Opened(ctx, ref, text)
		}
	}
	return d.work.Roots.Read(ctx, ref)
}

// onDisk returns the bytes of a file, "none" for none.
func (d *desk) onDisk(name string) string {
	data, err := os.ReadFile(filepath.Join(d.folder, name))
	if err != nil {
		return filecontext.NoFile
	}
	return string(data)
}

// hash returns the hash of a file, as in an effect.
func (d *desk) hash(name string) string {
	if text := d.onDisk(name); text != filecontext.NoFile {
		return sha(text)
	}
	return filecontext.NoFile
}
