package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/history"
	"strata/session/changing"
	"strata/session/clients"
	"strata/session/reads"
	"strata/session/tools"
)

// editorOf is a client that shows files, by name.
type editorOf struct {
	clients.Client
	texts map[string]string
}

func (editorOf) Can(clients.Capability) bool { return true }

func (editorOf) RequestPermission(context.Context, clients.Permission, uint64) (clients.Answer, error) {
	return clients.Answer{}, clients.ErrDismissed
}

func (e editorOf) ReadTextFile(_ context.Context, r clients.Read, after uint64) (string, error) {
	text, open := e.texts[filepath.Base(r.Path)]
	if !open || after != 7 {
		return "", &clients.Refused{Message: "not open"}
	}
	return text, nil
}

// WriteTextFile does not save the text.
func (e editorOf) WriteTextFile(_ context.Context, w clients.Write, after uint64) error {
	if after != 7 {
		return &clients.Refused{Message: "too early"}
	}
	e.texts[filepath.Base(w.Path)] = w.Content
	return nil
}

// calling returns a function that calls a tool of a workspace and returns the text of its result.
func calling(t *testing.T, w *Workspace, editor clients.Client) func(tool, args string) string {
	t.Helper()
	set, err := tools.NewSet(w.Tools(nil, nil, func(clients.Capability, clients.Client) (clients.Client, uint64) { return editor, 7 }, Commands{})...)
	if err != nil {
		t.Fatal(err)
	}
	return func(tool, args string) string {
		call, err := set.Check(tool, args)
		if err != nil {
			t.Fatal(err)
		}
		r, err := call.Run(t.Context(), tools.MaxResult, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].Text
	}
}

// A search finds the text of a file as an editor has shown it, until the file changes on disk.
func TestASearchFindsTextsThatAnEditorHasShown(t *testing.T) {
	editor := editorOf{texts: map[string]string{"a": "unsaved needle\n", "b": "needle\n", "new": "new needle\n"}}
	w, folder := opened(t, map[string]string{"a": "old needle\n", "b": "needle\n"})
	call := calling(t, w, editor)
	find := func(want ...string) {
		t.Helper()
		found := call("search", `{"pattern":"needle"}`)
		for _, line := range want {
			if !strings.Contains(found, "1: "+line+"\n") {
				t.Errorf("no line %q in\n%s", line, found)
			}
		}
		if n := strings.Count(found, "1: "); n != len(want) {
			t.Errorf("%d lines, want %d, in\n%s", n, len(want), found)
		}
	}
	find("old needle", "needle")
	for _, name := range []string{"a", "b", "new"} {
		if read := call("read_file", `{"path":"`+name+`"}`); !strings.Contains(read, strings.TrimSpace(editor.texts[name])) {
			t.Errorf("%s is read as %q", name, read)
		}
	}
	find("unsaved needle", "needle", "new needle")

	editor.texts["a"] = "edited needle\n"
	call("read_file", `{"path":"a"}`)
	find("edited needle", "needle", "new needle")

	delete(editor.texts, "a") // the editor closes the file: what it has shown is the newest known
	if read := call("read_file", `{"path":"a"}`); !strings.Contains(read, "edited needle") {
		t.Errorf("a is read as %q", read)
	}
	if err := os.WriteFile(filepath.Join(folder, "a"), []byte("a needle that was saved\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	find("a needle that was saved", "needle", "new needle")

	editor.texts["new"] = "" // and it is emptied
	call("read_file", `{"path":"new"}`)
	find("a needle that was saved", "needle")
}

// A text that an editor was made to write, and has not saved, is searched, and edited again in the version that was read.
func TestASearchFindsTextsThatAnEditorHasWritten(t *testing.T) {
	w, _ := opened(t, map[string]string{"a": "one\ntwo\n"})
	editor, view, texts := editorOf{texts: map[string]string{"a": "one\nunsaved\n"}}, new(reads.View), newUnsaved(w.roots, nil)
	serving := Editor(func(clients.Capability, clients.Client) (clients.Client, uint64) { return editor, 7 })
	work := tools.Workspace{Roots: w.roots, Reader: fileReader{w.roots, texts, serving}, Shown: view, Texts: texts.all}
	set, err := tools.NewSet(append(tools.Reading(work), changing.Tools(changing.NewEditorWriter(changing.DiskWriter{Roots: w.roots}, serving.writing, texts), view)...)...)
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool, args, want string) {
		t.Helper()
		c, err := set.Check(tool, args)
		if err != nil {
			t.Fatal(err)
		}
		run := func(ctx context.Context) (tools.Result, error) { return c.Run(ctx, tools.MaxResult, nil) }
		if c.Tool.Prepare != nil {
			p, err := c.Prepare(t.Context(), tools.MaxResult)
			if err != nil || p.Refusal != nil {
				t.Fatalf("%+v, %v", p, err)
			}
			run = p.Make
		}
		r, err := run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shown := history.ShownLines([]history.Message{{Blocks: []history.Block{{Type: history.BlockToolResult, Content: r.Content}}}})
		for i := range shown {
			view.Add(&shown[i])
		}
		if got := r.Content[0].Text; !strings.Contains(got, want) {
			t.Errorf("%s %s: %q", tool, args, got)
		}
	}
	call("read_file", `{"path":"a"}`, "unsaved")
	call("edit_file", `{"path":"a","edits":[{"old_text":"unsaved","new_text":"needle"}]}`, "The editor has not saved it yet.")
	call("search", `{"pattern":"needle"}`, "2: needle\n")
	call("edit_file", `{"path":"a","edits":[{"old_text":"needle","new_text":"two"}]}`, "Edited a, which now has 2 lines.\n")
	call("search", `{"pattern":"two"}`, "2: two\n")
}

// The texts that are kept for searches are bounded.
func TestTextsOfAnEditorAreBounded(t *testing.T) {
	w, _ := opened(t, nil)
	u := newUnsaved(w.roots, nil)
	read := func(path string, size int) {
		t.Helper()
		ref, err := w.roots.Locate(path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := w.roots.Opened(t.Context(), ref, strings.Repeat("x\n", 10))
		if err != nil {
			t.Fatal(err)
		}
		content.Text = strings.Repeat("x", size)
		u.Put(&content)
	}
	has := func(want ...string) {
		t.Helper()
		texts, err := u.all(t.Context())
		if err != nil || len(texts) != len(want) {
			t.Errorf("%d texts, want %v, %v", len(texts), want, err)
		}
		for _, path := range want {
			if _, ok := u.Get(path); !ok {
				t.Errorf("%s is not kept", path)
			}
		}
	}
	read("a", maxRead-1)
	read("b", 1)
	read("c", 1)
	has("a", "b")
	read("a", 10) // replaces the text
	read("c", maxRead-11)
	has("a", "b", "c")
	read("a", maxRead) // does not fit, and what was kept of it is old
	has("b", "c")
}
