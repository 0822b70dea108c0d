package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/mailbox"
)

type noMessages struct{}

func (noMessages) Messages(context.Context, string, []int64) ([]history.Message, error) {
	return nil, errors.New("no messages")
}

// opened returns a workspace in a folder with files of these texts.
func opened(t *testing.T, files map[string]string) (w *Workspace, folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stream := events.New("sess_1", "epoch", noMessages{}, func(context.Context) (events.Standing, error) { return events.Standing{}, nil })
	w = New(new(keeper), nil, stream)
	if err := w.Restore(nil); err != nil {
		t.Fatal(err)
	}
	w.Use(OpenFolders(t.Context(), folder, nil, filecontext.Limits{}, func(context.Context, string) error { return nil }), nil)
	if _, err := w.needRoots(); err != nil {
		t.Fatal(err)
	}
	return w, folder
}

// attach adds what requests of a prompt name, and returns the paths of the files that are stored with it.
func attach(t *testing.T, w *Workspace, requests ...FileRequest) (stored []string) {
	t.Helper()
	var files []Attachment
	for _, req := range requests {
		a, err := Read(t.Context(), w.Roots(), w.List(), req)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, a)
	}
	kept, fitting, omitted, err := w.Try(files)
	if omitted = append(omitted, w.Attach(fitting)...); len(omitted) > 0 || err != nil {
		t.Fatal(omitted, err)
	}
	for _, f := range kept {
		stored = append(stored, f.Path)
	}
	return stored
}

func entry(t *testing.T, w *Workspace, path string) filecontext.Entry {
	t.Helper()
	e, in := w.files.Get(path)
	if !in {
		t.Fatalf("%s is not in the context", path)
	}
	return e
}

const tenLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

func lines(start, end int) *FileRange { return &FileRange{Start: start, End: end} }

// A file that a prompt names several times is one file that shows all that is asked for.
func TestAFileThatIsNamedTwice(t *testing.T) {
	unsaved := "unsaved\n"
	for name, tt := range map[string]struct {
		requests []FileRequest
		want     FileRange
		text     string
	}{
		"two ranges":                  {[]FileRequest{{Path: "a", Range: lines(2, 3)}, {Path: "a", Range: lines(7, 8)}}, FileRange{Start: 2, End: 8}, tenLines},
		"two ranges, the later first": {[]FileRequest{{Path: "a", Range: lines(7, 8)}, {Path: "a", Range: lines(2, 3)}}, FileRange{Start: 2, End: 8}, tenLines},
		"a range and the whole":       {[]FileRequest{{Path: "a", Range: lines(2, 3)}, {Path: "a"}}, FileRange{}, tenLines},
		"the whole and a range":       {[]FileRequest{{Path: "a"}, {Path: "a", Range: lines(2, 3)}}, FileRange{}, tenLines},
		"the client's own text":       {[]FileRequest{{Path: "a"}, {Path: "a", Content: &unsaved}}, FileRange{}, unsaved},
		"the client's text first":     {[]FileRequest{{Path: "a", Content: &unsaved}, {Path: "a"}}, FileRange{}, unsaved},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := opened(t, map[string]string{"a": tenLines})
			if stored := attach(t, w, tt.requests...); !slices.Equal(stored, []string{"a"}) {
				t.Errorf("stored are %q", stored)
			}
			if e := entry(t, w, "a"); e.Range != tt.want || e.Text != tt.text || e.Unsaved != (tt.text == unsaved) {
				t.Errorf("lines %v of %q, unsaved %t", e.Range, e.Text, e.Unsaved)
			}
		})
	}
}

// A prompt never makes a file show less than it does, and stores nothing if all is shown.
func TestAPromptShowsNoLess(t *testing.T) {
	for name, tt := range map[string]struct {
		before, asked FileRequest
		want          FileRange
		stored        bool
	}{
		"lines of a whole file":     {FileRequest{}, FileRequest{Range: lines(2, 3)}, FileRange{}, false},
		"a whole file again":        {FileRequest{}, FileRequest{}, FileRange{}, false},
		"the same lines":            {FileRequest{Range: lines(2, 5)}, FileRequest{Range: lines(2, 5)}, FileRange{Start: 2, End: 5}, false},
		"lines among those shown":   {FileRequest{Range: lines(2, 5)}, FileRequest{Range: lines(3, 4)}, FileRange{Start: 2, End: 5}, false},
		"further lines":             {FileRequest{Range: lines(2, 5)}, FileRequest{Range: lines(4, 9)}, FileRange{Start: 2, End: 9}, true},
		"the whole of some lines":   {FileRequest{Range: lines(2, 5)}, FileRequest{}, FileRange{}, true},
		"lines of an outline":       {FileRequest{Summary: true}, FileRequest{Range: lines(2, 3)}, FileRange{Start: 2, End: 3}, true},
		"a file wanted for once":    {FileRequest{Once: true}, FileRequest{}, FileRange{}, true},
		"lines of one wanted once":  {FileRequest{Once: true}, FileRequest{Range: lines(2, 3)}, FileRange{}, false},
		"line numbers stay with it": {FileRequest{Range: lines(2, 5), LineNumbers: true}, FileRequest{Range: lines(1, 2)}, FileRange{Start: 1, End: 5}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := opened(t, map[string]string{"a.go": tenLines})
			tt.before.Path, tt.asked.Path = "a.go", "a.go"
			a, err := Read(t.Context(), w.Roots(), nil, tt.before)
			if err != nil {
				t.Fatal(err)
			}
			w.Attach([]Attachment{a})
			stored := attach(t, w, tt.asked)
			if e := entry(t, w, "a.go"); e.Range != tt.want || (len(stored) > 0) != tt.stored || e.LineNumbers != tt.before.LineNumbers {
				t.Errorf("lines %v, line numbers %t, stored %q", e.Range, e.LineNumbers, stored)
			}
		})
	}
}

// Each change of a file is stored once, and again if that failed.
func TestChangesOfFilesAreStoredOnce(t *testing.T) {
	w, folder := opened(t, map[string]string{"a": "1", "b": "2", "once": "3"})
	attach(t, w, FileRequest{Path: "a"}, FileRequest{Path: "b"}, FileRequest{Path: "once", Once: true})
	take := func() (change history.Change) {
		w.TakeDirty(&change)
		slices.SortFunc(change.PutFiles, func(a, b history.File) int { return strings.Compare(a.Path, b.Path) })
		return change
	}
	want := func(step string, change history.Change, put, drop []string) {
		t.Helper()
		var got []string
		for _, f := range change.PutFiles {
			got = append(got, f.Path)
		}
		if diff := cmp.Diff(put, got) + cmp.Diff(drop, change.DropFiles); diff != "" {
			t.Errorf("%s: %s", step, diff)
		}
	}
	want("added files are stored by their prompt", take(), nil, nil)
	for _, path := range []string{"a", "b", "once"} {
		w.MarkSent(path, entry(t, w, path).Hash, true)
	}
	w.AfterReply()
	change := take()
	want("after a reply", change, []string{"a", "b"}, []string{"once"})
	want("once more", take(), nil, nil)
	w.UntakeDirty(&change)
	want("after it could not be stored", take(), []string{"a", "b"}, []string{"once"})

	w.Hide([]fit.FileChange{{Path: "a"}, {Path: "gone"}})
	want("a file that does not fit", take(), []string{"a"}, nil)
	if e := entry(t, w, "a"); e.State != filecontext.SummaryOnly || e.Reason != fit.ReasonBudget {
		t.Errorf("the file that does not fit is %s, %s", e.State, e.Reason)
	}

	if err := os.WriteFile(filepath.Join(folder, "b"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	changes, err := w.Roots().Refresh(t.Context(), w.List())
	if err != nil {
		t.Fatal(err)
	}
	if told := w.Refreshed(changes); len(told) != 1 || told[0].Path != "b" {
		t.Errorf("told are %+v", told)
	}
	if told := w.Refreshed(changes); len(told) != 0 {
		t.Errorf("told again are %+v", told)
	}
	want("a file that changed on the disk", take(), []string{"b"}, nil)
}

// Without its folder a session goes on without files, and says why.
func TestAFolderThatIsNotAllowed(t *testing.T) {
	w, folder := opened(t, map[string]string{"a": "1"})
	refused := errors.New("outside of the roots")
	w.Use(OpenFolders(t.Context(), folder, []string{"/elsewhere"}, filecontext.Limits{}, func(_ context.Context, dir string) error {
		if dir == "/elsewhere" {
			return refused
		}
		return nil
	}), nil)
	if _, err := w.needRoots(); w.Roots() != nil || !errors.Is(err, refused) || !errors.Is(err, mailbox.ErrInvalid) {
		t.Errorf("roots %v, %v", w.Roots(), err)
	}
	r := w.Reader()
	link := history.Block{Type: history.BlockLink, URI: "file:///a"}
	kept, files, omitted, err := r.Resolve(t.Context(), []history.Block{link, {Type: history.BlockText}, {Type: history.BlockText, Text: "x"}})
	if len(kept) != 2 || len(files) != 0 || len(omitted) != 1 || omitted[0].Reason != string(filecontext.ReasonNoFolder) || err != nil {
		t.Errorf("%d blocks, %d files, omitted %+v, %v", len(kept), len(files), omitted, err)
	}
}

// A link attaches its file and stays; an embedded text becomes a link to its file, or stays if it is none of the session's.
func TestWhatAPromptNames(t *testing.T) {
	w, folder := opened(t, map[string]string{"a": tenLines})
	in, outside := "file://"+filepath.ToSlash(filepath.Join(folder, "a")), "file:///elsewhere/b"
	for name, tt := range map[string]struct {
		block   history.Block
		kept    history.BlockType
		file    bool
		unsaved bool
		reason  string
	}{
		"a link":                   {history.Block{Type: history.BlockLink, URI: in}, history.BlockLink, true, false, ""},
		"a link of lines":          {history.Block{Type: history.BlockLink, URI: in + "#L2-L3"}, history.BlockLink, true, false, ""},
		"a link to the web":        {history.Block{Type: history.BlockLink, URI: "https://example.com/a"}, history.BlockLink, false, false, string(filecontext.ReasonNoFile)},
		"a link to elsewhere":      {history.Block{Type: history.BlockLink, URI: outside}, history.BlockLink, false, false, string(filecontext.ReasonOutside)},
		"an embedded text":         {history.Block{Type: history.BlockResource, URI: in, Text: "unsaved"}, history.BlockLink, true, true, ""},
		"an embedded part":         {history.Block{Type: history.BlockResource, URI: in + "#L2-L3", Text: "part"}, history.BlockResource, false, false, ""},
		"an embedded text of none": {history.Block{Type: history.BlockResource, URI: outside, Text: "text"}, history.BlockResource, false, false, ""},
	} {
		r := w.Reader()
		kept, files, omitted, err := r.Resolve(t.Context(), []history.Block{tt.block})
		if err != nil || len(kept) != 1 || kept[0].Type != tt.kept || (len(files) == 1) != tt.file || (len(omitted) == 1) != (tt.reason != "") {
			t.Errorf("%s: %+v, %d files, omitted %+v", name, kept, len(files), omitted)
			continue
		}
		if tt.file && (files[0].options.Unsaved != tt.unsaved || files[0].content.Path != "a") {
			t.Errorf("%s: %+v", name, files[0].options)
		}
		if tt.reason != "" && omitted[0].Reason != tt.reason {
			t.Errorf("%s: %s, want %s", name, omitted[0].Reason, tt.reason)
		}
		tt.block.Required = true
		_, files, _, err = r.Resolve(t.Context(), []history.Block{tt.block})
		if required := tt.reason != "" && tt.block.Type == history.BlockLink; (err != nil) != required || required && string(filecontext.ReasonOf(err)) != tt.reason {
			t.Errorf("%s, required: %d files, %v", name, len(files), err)
		}
	}
}
