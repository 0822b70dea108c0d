package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/llm/reply"
	"strata/session/events"
	"strata/session/restoring"
)

// changer is a session with a store of file changes, whose tools have changed files.
type changer struct {
	*acted
	disk    *historystore.Store
	changes int
}

func restorable(t *testing.T) *changer {
	t.Helper()
	store, err := historystore.Open(t.Context(), filepath.Join(t.TempDir(), "strata.db"), historystore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	a, _ := editing(t, "edits", func(d *Deps) { d.Store, d.FileChanges = store, store.FileChangeStore() })
	return &changer{acted: a, disk: store}
}

func (a *changer) path(name string) string { return filepath.Join(a.told().Session.CWD, name) }

func (a *changer) text(name string) string {
	a.t.Helper()
	data, err := os.ReadFile(a.path(name))
	if err != nil {
		a.t.Fatal(err)
	}
	return string(data)
}

// edit makes and stores the change of a file by a tool of the newest message.
func (a *changer) edit(name, text string) (id string) {
	a.t.Helper()
	hashOf := func(text string) history.Blob {
		sum := sha256.Sum256([]byte(text))
		return history.Blob{Hash: hex.EncodeToString(sum[:]), Bytes: []byte(text)}
	}
	messages := a.list(0, 1).Messages
	newest := &messages[len(messages)-1]
	before, after := hashOf(a.text(name)), hashOf(text)
	a.changes++
	id = fmt.Sprint("fc_", a.changes)
	err := a.disk.Commit(a.t.Context(), history.Change{Session: a.ID(), FileImages: []history.Blob{before, after}, PutFileChanges: []history.FileChange{{
		ID: id, Turn: newest.Turn, Step: 1, Call: "tc_1", Seq: newest.Seq, Kind: history.FileEdited, Path: a.path(name),
		Before: before.Hash, After: after.Hash, Mode: 0o600, At: time.Now().UTC().Truncate(time.Microsecond), State: history.FileChangeDone,
	}}})
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name, text)
	return id
}

func (a *changer) wantText(name, want string) {
	a.t.Helper()
	if got := a.text(name); got != want {
		a.t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// outcomes returns what became of files, by name.
func outcomes(d *restoring.Done) string {
	if d == nil {
		return "none"
	}
	var lines []string
	for _, f := range d.Files {
		lines = append(lines, fmt.Sprint(filepath.Base(f.Path), " ", f.Outcome))
	}
	return strings.Join(lines, ", ")
}

func (a *changer) revert(req RevertRequest) (string, error) {
	done, err := answerOf(func(reply func(*restoring.Done, error)) { a.Revert(req, reply) })
	return outcomes(done), err
}

func TestARestorePutsFilesBack(t *testing.T) {
	a := restorable(t)
	a.talk("one", "two")
	a.edit("a.go", "package a // two\n")
	a.edit("b.go", "package b // two\n")
	info := a.told()
	req := RestoreRequest{Seq: 2, Files: true, Preview: true}
	preview, err := a.restore(req)
	if err != nil || preview.Seq != 5 || preview.Removed != 2 || outcomes(preview.Files) != "a.go restored, b.go restored" {
		t.Fatalf("preview: %+v, %s, %v", preview, outcomes(preview.Files), err)
	}
	a.wantText("a.go", "package a // two\n")
	if now := a.told(); now.InView != info.InView || now.Seq != info.Seq {
		t.Errorf("after the preview: %+v", now)
	}
	a.write("b.go", "foreign\n")
	req.Preview = false
	restored, err := a.restore(req)
	if err != nil || restored.Seq != preview.Seq || restored.Removed != 2 || outcomes(restored.Files) != "b.go conflict, a.go restored" {
		t.Fatalf("%+v, %s, %v", restored, outcomes(restored.Files), err)
	}
	a.wantText("a.go", "package a\n\nfunc Alpha() {}\n")
	a.wantText("b.go", "foreign\n")
	if n := a.told().InView; n != 2 {
		t.Errorf("%d messages in view", n)
	}
	undone, err := answerOf(a.Undo)
	if err != nil || undone.Removed != 0 || outcomes(undone.Files) != "a.go restored" || a.told().InView != 4 {
		t.Fatalf("%+v, %s, %v", undone, outcomes(undone.Files), err)
	}
	a.wantText("a.go", "package a // two\n")

	view, err := a.restore(RestoreRequest{Seq: 2})
	if err != nil || view.Files != nil {
		t.Errorf("without files: %+v, %v", view, err)
	}
	a.wantText("a.go", "package a // two\n")
	if undone, err := answerOf(a.Undo); err != nil || undone.Files != nil {
		t.Errorf("undo without files: %+v, %v", undone, err)
	}
	if view, err := a.restore(RestoreRequest{Seq: 2, Preview: true}); err != nil || view.Removed != 2 || view.Files != nil || a.told().InView != 4 {
		t.Errorf("preview without files: %+v, %v", view, err)
	}
	if _, err := a.restore(RestoreRequest{Seq: 100, Files: true}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a place in the future: %v", err)
	}
}

func TestSingleFileChangesAreReverted(t *testing.T) {
	a := restorable(t)
	a.talk("one")
	first := a.edit("a.go", "package a // one\n")
	second := a.edit("a.go", "package a // two\n")
	for _, step := range []struct {
		req        RevertRequest
		want, text string
	}{
		{RevertRequest{IDs: []string{first}}, "a.go conflict", "package a // two\n"},
		{RevertRequest{IDs: []string{second}, Preview: true}, "a.go restored", "package a // two\n"},
		{RevertRequest{IDs: []string{second}}, "a.go restored", "package a // one\n"},
		{RevertRequest{IDs: []string{second}}, "", "package a // one\n"},
		{RevertRequest{IDs: []string{second}, Forward: true}, "a.go restored", "package a // two\n"},
		{RevertRequest{IDs: []string{first, second}}, "a.go restored", "package a\n\nfunc Alpha() {}\n"},
	} {
		if got, err := a.revert(step.req); err != nil || got != step.want {
			t.Errorf("%+v: %q, %v", step.req, got, err)
		}
		a.wantText("a.go", step.text)
	}
	if n := a.told().InView; n != 2 {
		t.Errorf("%d messages in view", n)
	}
	var missing *MissingError
	if _, err := a.revert(RevertRequest{IDs: []string{"fc_9"}}); !errors.As(err, &missing) || missing.Kind != "change" {
		t.Error(err)
	}
}

// Files are not put back beside a turn. An undo waits for it, and tells then which files stay.
func TestFilesArePutBackBetweenTurns(t *testing.T) {
	a := restorable(t)
	a.talk("one")
	id := a.edit("a.go", "package a // one\n")
	if _, err := a.restore(RestoreRequest{Seq: 1, Files: true}); err != nil {
		t.Fatal(err)
	}
	result := a.prompt("two", nil)
	c := a.asked()
	for name, err := range map[string]error{
		"restore": second(a.restore(RestoreRequest{Seq: 1, Files: true})),
		"preview": second(a.restore(RestoreRequest{Seq: 1, Preview: true})),
		"revert":  second(a.revert(RevertRequest{IDs: []string{id}})),
	} {
		if !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	woken := make(chan struct{}, 1)
	reader := a.NewCursor(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	a.attach(reader)
	undone, err := answerOf(a.Undo)
	if err != nil || undone.After == "" {
		t.Fatalf("%+v, %v", undone, err)
	}
	a.write("a.go", "foreign\n")
	c.end("done")
	<-result
	for {
		e, ok, err := reader.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			<-woken
			continue
		}
		if e.Kind == events.Notice {
			if want := "These files were not restored: " + a.path("a.go") + "."; e.Text != want {
				t.Errorf("notice %q, want %q", e.Text, want)
			}
			break
		}
	}
	a.wantText("a.go", "foreign\n")
}

func second[T any](_ T, err error) error { return err }

// What the tools of a turn did is taken back by the name of its prompt, or step by step, and put forward again.
func TestWhatToolsDidIsTakenBack(t *testing.T) {
	a := restorable(t)
	at := func() string {
		var all []string
		for _, name := range []string{"a.go", "b.go", "c.go", "new/d.go"} {
			text := strings.TrimSpace(a.file(name))
			if info, err := os.Stat(a.path(name)); err == nil {
				text = fmt.Sprintf("%s %#o", text, info.Mode().Perm())
			}
			all = append(all, name+": "+text[strings.LastIndex(text, "\n")+1:])
		}
		return strings.Join(all, "; ")
	}
	before := at()
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`)...)
	a.asked().act(reply.StopToolUse, callsOf(2, editA, `write_file{"path":"new/d.go","content":"package d\n"}`)...)
	c := a.asked()
	first := a.list(0, 10).Messages
	c.act(reply.StopToolUse, callsOf(4, `move_file{"from":"b.go","to":"c.go"}`, `delete_file{"path":"a.go"}`)...)
	c = a.asked()
	after := at()
	c.end("done")
	if r := <-result; r.err != nil {
		t.Fatal(r.err)
	}
	if want := "a.go: none; b.go: none; c.go: func Beta() {} 0600; new/d.go: package d 0644"; after != want {
		t.Fatalf("the tools left %s, want %s", after, want)
	}
	if r, err := a.restore(RestoreRequest{Seq: first[len(first)-1].Seq, Files: true}); err != nil || outcomes(r.Files) != "a.go restored, c.go restored" {
		t.Errorf("one step: %+v, %s, %v", r, outcomes(r.Files), err)
	}
	if want := "a.go: func Alpha() int { return 1 } 0600; b.go: func Beta() {} 0600; c.go: none; new/d.go: package d 0644"; at() != want {
		t.Errorf("after one step: %s", at())
	}
	if r, err := a.restore(RestoreRequest{Before: first[0].ID, Files: true}); err != nil || outcomes(r.Files) != "a.go restored, d.go restored" || a.told().InView != 0 {
		t.Errorf("all: %+v, %s, %v", r, outcomes(r.Files), err)
	}
	if at() != before {
		t.Errorf("taken back: %s, want %s", at(), before)
	}
	for range 2 {
		if _, err := answerOf(a.Undo); err != nil {
			t.Fatal(err)
		}
	}
	if at() != after {
		t.Errorf("put forward: %s, want %s", at(), after)
	}
}

// The model is told once that a file that it read is not as it was.
func TestTheModelIsToldOfFilesThatWerePutBack(t *testing.T) {
	a := restorable(t)
	a.talk("one")
	id := a.edit("a.go", "package a // one\n")
	result := a.prompt("read", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`)...)
	a.asked().end("read")
	<-result
	if _, err := a.revert(RevertRequest{IDs: []string{id}}); err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"next", "and next"} {
		result = a.prompt(prompt, nil)
		c := a.asked()
		if _, times := lastContext(c.req, "a.go has changed since it was read"); times != 1 {
			t.Errorf("%s: told %d times", prompt, times)
		}
		c.end("fine")
		<-result
	}
}

// refusing is a store that refuses changes of files.
type refusing struct{ Store }

var errRefused = fmt.Errorf("refused: %w", history.ErrUnchanged)

func (s refusing) Commit(ctx context.Context, ch history.Change) error {
	if len(ch.PutFileChanges) > 0 {
		return errRefused
	}
	return s.Store.Commit(ctx, ch)
}

// If the restore cannot be stored, the view stays, and the same restore works later.
func TestARestoreThatCannotBeStoredIsRepeated(t *testing.T) {
	a := restorable(t)
	a.talk("one")
	a.edit("a.go", "package a // one\n")
	store := a.deps.Store
	a.deps.Store = refusing{store}
	if _, err := a.restore(RestoreRequest{Seq: 1, Files: true}); !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	if n := a.told().InView; n != 2 {
		t.Errorf("%d messages in view", n)
	}
	a.deps.Store = store
	if r, err := a.restore(RestoreRequest{Seq: 1, Files: true}); err != nil || outcomes(r.Files) != "a.go unchanged" || r.Removed != 1 {
		t.Errorf("%+v, %s, %v", r, outcomes(r.Files), err)
	}
	if r, err := answerOf(a.Undo); err != nil || outcomes(r.Files) != "a.go restored" {
		t.Errorf("%+v, %s, %v", r, outcomes(r.Files), err)
	}
	a.wantText("a.go", "package a // one\n")
}
