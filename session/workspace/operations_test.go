package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/internal/leak"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/mailbox"
	"strata/session/outlines"
	"strata/session/reads"
	"strata/stability"
	"strata/tokens"
)

func TestMain(m *testing.M) { leak.Main(m) }

// keeper is a session that notes what it is asked to store. Its fields belong to the mailbox.
type keeper struct {
	stored []history.Change
	used   int
	broken error // of the store; nil: it works
	sent   fit.Sent
	read   []reads.File

	outlined []outlines.Shown
}

func (k *keeper) Store(_ string, change history.Change, then func()) mailbox.Work {
	return func(context.Context) (mailbox.Step, error) {
		return func() (mailbox.Work, error) {
			if k.broken != nil {
				return nil, k.broken
			}
			k.stored = append(k.stored, change)
			then()
			return nil, nil
		}, nil
	}
}

func (k *keeper) Counter() *tokens.Counter { return tokens.For("") }
func (k *keeper) Used()                    { k.used++ }

func (k *keeper) Outlined() []outlines.Shown { return k.outlined }

func (k *keeper) Shown() Shown { return k }

func (k *keeper) Sent(context.Context, string) (fit.Sent, error) { return k.sent, nil }

func (k *keeper) Read(context.Context) ([]reads.File, error) { return k.read, nil }

// desk is a workspace whose mailbox runs, with a subscriber.
type desk struct {
	*Workspace
	t      *testing.T
	keeper *keeper
	folder string
	reader *events.Cursor
}

// running returns a workspace in a folder with files of these texts.
func running(t *testing.T, files map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, keeper: new(keeper), folder: t.TempDir()}
	for name, text := range files {
		d.write(name, text)
	}
	box := mailbox.New("session sess_1", slog.New(slog.DiscardHandler), func() {})
	box.Open()
	stream := events.New("sess_1", "epoch", noMessages{}, func(context.Context) (events.Standing, error) { return events.Standing{}, nil })
	d.Workspace = New(d.keeper, box, stream)
	d.reader = stream.NewCursor(func() {})
	stream.Continue(d.reader, events.Since{Epoch: "epoch"}, func() {})
	if err := d.Restore(nil); err != nil {
		t.Fatal(err)
	}
	d.Use(OpenFolders(t.Context(), d.folder, nil, filecontext.Limits{}, func(context.Context, string) error { return nil }), nil)
	ended := make(chan struct{})
	box.Start(func() { close(ended) })
	t.Cleanup(func() {
		box.Tell(func() { box.End(mailbox.ErrClosed) }, nil)
		<-ended
	})
	return d
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.folder, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// on runs a function on the mailbox.
func (d *desk) on(do func()) { d.box.Wait(do) }

// told returns the events that the subscriber has not received yet, each as a line.
func (d *desk) told() (lines []string) {
	d.t.Helper()
	d.on(func() {}) // what follows a reply is told
	for {
		e, ok, err := d.reader.Next(d.t.Context())
		if err != nil {
			d.t.Fatal(err)
		}
		if !ok {
			return lines
		}
		if e.Kind == events.Notice {
			lines = append(lines, "notice: "+e.Text)
			continue
		}
		files := e.Data.(FilesChanged).Files
		if len(files) == 0 {
			lines = append(lines, "a change of no files")
		}
		for _, c := range files {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %s: %s", c.Change, c.Path, c.Reason), " :"))
		}
	}
}

type answer[T any] struct {
	value T
	err   error
}

// result returns what an operation replies.
func result[T any](run func(reply func(T, error))) (T, error) {
	replies := make(chan answer[T], 1)
	run(func(value T, err error) { replies <- answer[T]{value, err} })
	got := <-replies
	return got.value, got.err
}

func (d *desk) add(req FileRequest) FileInfo {
	d.t.Helper()
	info, err := result(func(reply func(FileInfo, error)) { d.AddFile(req, reply) })
	if err != nil {
		d.t.Fatal(err)
	}
	return info
}

func (d *desk) wantTold(step string, want ...string) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.told()); diff != "" {
		d.t.Errorf("%s: %s", step, diff)
	}
}

// A file is in the context, and subscribers learn of it, once it is stored; it leaves in the same way.
func TestFilesComeAndGo(t *testing.T) {
	d := running(t, map[string]string{"a": tenLines, "b": tenLines, "c": "other\n"})
	part, whole := d.add(FileRequest{Path: "a", Range: lines(2, 3)}), d.add(FileRequest{Path: "b"})
	if part.Range == nil || *part.Range != *lines(2, 3) || whole.Range != nil || part.Tokens <= 0 || part.Tokens >= whole.Tokens || part.Hash != whole.Hash {
		t.Errorf("%+v, %+v", part, whole)
	}
	d.wantTold("added", "added a: asked for", "added b: asked for")

	d.on(func() { d.keeper.broken = errors.New("disk full") })
	if _, err := result(func(reply func(FileInfo, error)) { d.AddFile(FileRequest{Path: "c"}, reply) }); err == nil || d.Count() != 2 {
		t.Errorf("a file that could not be stored: %v, %d files", err, d.Count())
	}
	if _, err := result(func(reply func(bool, error)) { d.RemoveFile("a", reply) }); err == nil || d.Count() != 2 {
		t.Errorf("a removal that could not be stored: %v, %d files", err, d.Count())
	}
	d.on(func() {
		d.Refreshed(nil)
		d.AfterReply()
	})
	d.wantTold("nothing was stored, and nothing happened to a file")
	d.on(func() { d.keeper.broken = nil })

	d.add(FileRequest{Path: "c"})
	for _, want := range []bool{true, false} {
		if was, err := result(func(reply func(bool, error)) { d.RemoveFile("./a", reply) }); was != want || err != nil {
			t.Errorf("removed %t, %v", was, err)
		}
	}
	if n, err := result(d.ClearFiles); n != 2 || err != nil || d.Count() != 0 {
		t.Errorf("%d removed, %d left, %v", n, d.Count(), err)
	}
	d.wantTold("removed", "added c: asked for", "removed a: asked for", "removed b: asked for", "removed c: asked for")
	d.on(func() {
		var put, drop []string
		for _, change := range d.keeper.stored {
			for _, f := range change.PutFiles {
				put = append(put, f.Path)
			}
			drop = append(drop, change.DropFiles...)
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, put) + cmp.Diff([]string{"a", "b", "c"}, drop); diff != "" {
			t.Error(diff)
		}
		if d.keeper.used == 0 {
			t.Error("the session does not count as used")
		}
	})
}

// A client's unsaved text counts, whatever the disk has, until the client writes the file or the session is closed.
func TestAnUnsavedTextCountsUntilItIsSaved(t *testing.T) {
	d := running(t, map[string]string{"a": "disk\n", "b": "disk\n"})
	unsaved := "unsaved\n"
	content := func(path string) string {
		t.Helper()
		text, err := result(func(reply func(FileText, error)) { d.FileContent(path, reply) })
		if err != nil {
			t.Fatal(err)
		}
		return text.Content
	}
	for _, path := range []string{"a", "b"} {
		if info := d.add(FileRequest{Path: path, Content: &unsaved}); !info.Unsaved || content(path) != unsaved {
			t.Errorf("%s: %+v, %q", path, info, content(path))
		}
	}
	d.on(func() {
		linked, err := Read(t.Context(), d.Roots(), d.List(), FileRequest{Path: "a"})
		if err != nil || linked.content.Text != unsaved {
			t.Errorf("a link shows %q, %v", linked.content.Text, err)
		}
	})
	d.wantTold("added", "added a: asked for", "added b: asked for")

	changed, err := result(func(reply func([]string, error)) { d.FilesChanged([]string{"a", "unknown"}, reply) })
	if diff := cmp.Diff([]string{"a"}, changed); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	if content("a") != "disk\n" || content("b") != unsaved {
		t.Errorf("a is %q, b is %q", content("a"), content("b"))
	}
	d.wantTold("saved", "changed a")
	if changed, err := result(func(reply func([]string, error)) { d.FilesChanged([]string{"a"}, reply) }); len(changed) != 0 || err != nil {
		t.Errorf("a file that is as it was: %q, %v", changed, err)
	}
	d.on(func() {
		for _, change := range d.keeper.stored[2:] { // the text that was given up must not come back after a restart
			if len(change.PutFiles) != 1 || change.PutFiles[0].Path != "a" || change.PutFiles[0].Buffer != nil {
				t.Errorf("stored is %+v", change)
			}
		}
		if !d.HasBuffers() {
			t.Error("the unsaved text of b is gone")
		}
		d.ForgetBuffers()
		var change history.Change
		d.TakeDirty(&change)
		if d.HasBuffers() || len(change.PutFiles) != 1 || change.PutFiles[0].Path != "b" {
			t.Errorf("given up is %+v", change)
		}
	})
	if content("b") != "disk\n" {
		t.Errorf("b is %q", content("b"))
	}
}

// A file may be patched if the model has seen all of what is on the disk now.
func TestAFileThatChangedMayNotBePatched(t *testing.T) {
	d := running(t, map[string]string{"a": "one\n"})
	info := d.add(FileRequest{Path: "a"})
	check := func(path, base string) error {
		_, err := result(func(reply func(struct{}, error)) { d.CheckEdit(EditRequest{Path: path, Base: base}, reply) })
		return err
	}
	refused := func(err error) bool {
		_, ok := errors.AsType[*EditRefusedError](err)
		return ok
	}
	if err := check("a", ""); !refused(err) {
		t.Errorf("before it was sent: %v", err)
	}
	d.on(func() { d.MarkSent("a", info.Hash, true) })
	if err := check("./a", info.Hash); err != nil {
		t.Error(err)
	}
	if err := check("a", "another"); !refused(err) {
		t.Errorf("another base: %v", err)
	}
	d.told()
	d.write("a", "two lines\nof it\n")
	if err := check("a", ""); !refused(err) {
		t.Errorf("after it changed: %v", err)
	}
	d.wantTold("changed", "changed a")
	if err := check("unknown", ""); !refused(err) {
		t.Errorf("a file that is not in the context: %v", err)
	}
}

// After a restart the texts of files are on the disk only: they are listed with their tokens all the same, and a file that
// is gone as it was.
func TestFilesAreListedAfterARestart(t *testing.T) {
	d := running(t, map[string]string{"a": tenLines, "gone": tenLines})
	added := []FileInfo{d.add(FileRequest{Path: "a"}), d.add(FileRequest{Path: "gone"})}
	var stored []history.File
	d.on(func() { stored = d.Stored() })
	again := running(t, map[string]string{"a": tenLines})
	again.on(func() {
		if err := again.Restore(stored); err != nil {
			t.Error(err)
		}
	})
	files, err := result(again.Files)
	if err != nil || len(files) != 2 || files[0].Tokens != added[0].Tokens || files[0].Hash != added[0].Hash || files[1].Path != "gone" || files[1].Tokens != 0 {
		t.Errorf("%+v, %v", files, err)
	}
	again.wantTold("listing changes nothing")
	if _, err := result(func(reply func(FileText, error)) { again.FileContent("unknown", reply) }); !strings.Contains(fmt.Sprint(err), "unknown is not in the session's context") {
		t.Errorf("%v", err)
	}
}

// One notice names the files that are lost, the first few of many.
func TestLostFilesAreNamed(t *testing.T) {
	for n, want := range map[int]string{1: "", maxNamed: "", maxNamed + 1: "; and 1 more", maxNamed + 7: "; and 7 more"} {
		files := make(map[string]string)
		for i := range n {
			files[fmt.Sprintf("f%02d", i)] = "text"
		}
		d := running(t, files)
		for i := range n {
			d.add(FileRequest{Path: fmt.Sprintf("f%02d", i)})
		}
		d.told()
		for i := range n {
			if err := os.Remove(filepath.Join(d.folder, fmt.Sprintf("f%02d", i))); err != nil {
				t.Fatal(err)
			}
		}
		d.on(func() {
			changes, err := d.Roots().Refresh(t.Context(), d.List())
			if err != nil {
				t.Error(err)
			}
			d.Refreshed(changes)
		})
		told := d.told()
		notice := told[len(told)-1]
		if named := strings.Count(notice, "was deleted"); len(told) != n+1 || named != min(n, maxNamed) || !strings.HasSuffix(notice, "context"+want) {
			t.Errorf("%d files: %q", n, told)
		}
	}
}

// The files that tools read are listed on request, with the files of the context by path. They are none of the context's.
func TestFilesThatToolsReadAreListed(t *testing.T) {
	d := running(t, map[string]string{"b": "one\n", "c": "package c\n"})
	d.add(FileRequest{Path: "b"})
	d.keeper.read = []reads.File{
		{Path: "a", Hash: "h", State: filecontext.Partial, Reason: reads.ReasonRead, Lines: history.Lines{Start: 2, End: 5}},
		{Path: "c", State: filecontext.NotAvailable, Reason: reads.ReasonReadEarlier},
	}
	list := func(also Known) (lines []string) {
		files, err := result(func(reply func([]FileInfo, error)) { d.KnownFiles(also, reply) })
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			line := fmt.Sprintf("%s %s, %s, read %t", f.Path, f.State, f.Reason, f.Read)
			if f.Range != nil {
				line += fmt.Sprintf(", %d to %d", f.Range.Start, f.Range.End)
			}
			lines = append(lines, line)
		}
		return lines
	}
	if diff := cmp.Diff([]string{"b full, asked for, read false"}, list(Known{Outlines: true})); diff != "" {
		t.Error(diff)
	}
	want := []string{"a partial, read by a tool, read true, 2 to 5", "b full, asked for, read false", "c not_available, read earlier, no longer shown, read true"}
	if diff := cmp.Diff(want, list(Known{Read: true})); diff != "" {
		t.Error(diff)
	}
	for _, path := range []string{"a", "b", "c", "d"} { // an outline counts if nothing else is shown
		d.keeper.outlined = append(d.keeper.outlined, outlines.Shown{Key: fit.OutlinePrefix + path, Kind: stability.Outline, Tokens: 5})
	}
	want[2] = "c summary_only, outline of the workspace, read true"
	if diff := cmp.Diff(append(want, "d summary_only, outline of the workspace, read false"), list(Known{Read: true, Outlines: true})); diff != "" {
		t.Error(diff)
	}
	d.keeper.outlined = nil
	if _, err := result(func(reply func(FileText, error)) { d.FileContent("a", reply) }); err == nil {
		t.Error("a file that a tool read has a content in the context")
	}
	d.keeper.read[1].State = filecontext.Full
	if info, _ := result(func(reply func(OutlineInfo, error)) { d.Outline("./c", reply) }); info.State != "full" { // without outlines
		t.Errorf("%+v", info)
	}
	for _, lines := range []FileRange{{Start: 0, End: 1}, {Start: 2, End: 1}} {
		_, err := result(func(reply func(struct{}, error)) { d.CheckEdit(EditRequest{Path: "b", Lines: &lines}, reply) })
		if _, ok := errors.AsType[*RefusedError](err); !ok {
			t.Errorf("%v: %v", lines, err)
		}
	}
}
