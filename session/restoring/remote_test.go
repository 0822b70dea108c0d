package restoring

import (
	"context"
	"maps"
	"slices"
	"testing"

	"strata/filecontext"
	"strata/filecontext/source"
)

// late has the files of a client that makes changes, but responds to no request to delete a file in time, nor to the requests
// after that.
type late struct {
	source.Files
	texts map[string]string
	after int // requests to read a file after a deletion, without a response
	now   int // of these, those that are left
}

func (l *late) Known() *source.List { return nil }

func (l *late) List(context.Context) (*source.List, error) {
	list := new(source.List)
	for _, path := range slices.Sorted(maps.Keys(l.texts)) {
		list.Files = append(list.Files, source.File{Path: path})
	}
	return list, nil
}

func (l *late) Read(_ context.Context, path string, _ source.Reading) (source.Text, error) {
	if l.now > 0 {
		l.now--
		return source.Text{}, &filecontext.RefusedError{Path: path, Reason: filecontext.ReasonAway}
	}
	text, ok := l.texts[path]
	if !ok {
		return source.Text{}, &filecontext.RefusedError{Path: path, Reason: filecontext.ReasonMissing}
	}
	return source.Text{Data: []byte(text)}, nil
}

func (l *late) Write(_ context.Context, path, text string) error {
	l.texts[path] = text
	return nil
}

func (l *late) Delete(_ context.Context, path string) error {
	delete(l.texts, path)
	l.now = l.after
	return &filecontext.RefusedError{Path: path, Reason: filecontext.ReasonAway}
}

// A file that moves back is not lost if the client removes it at the new path, and responds too late.
func TestARestoreWithoutTheClientsResponse(t *testing.T) {
	for after, want := range []string{"n to m restored moved", "n conflict failed"} {
		d := newDesk(t, map[string]string{"m": "moved\n"})
		d.commit(nil, d.move("m", "n"))
		files := &late{texts: map[string]string{"n": "moved\n"}, after: after}
		roots, err := filecontext.NewRemoteRoots(d.folder, files, filecontext.Limits{})
		must(t, err)
		d.files.Roots = roots
		d.wantTold("restored", d.restore(After(0), "edit_1"), want)
		equal(t, "files", files.texts, map[string]string{"m": "moved\n"})
	}
}
