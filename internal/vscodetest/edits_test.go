package vscodetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// write writes a file of the workspace and returns its path.
func (e *editor) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(e.disk, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// promptToEdit prompts the model to read a file and to replace a text in it.
func (c chat) promptToEdit(name, old, new string) {
	c.prompt(strings.Join([]string{
		"call read_file " + jsonOf(map[string]any{"path": name}), "---",
		"call edit_file " + jsonOf(map[string]any{"path": name, "edits": []any{map[string]any{"old_text": old, "new_text": new}}}),
		"---", "say It is done.",
	}, "\n"))
}

// waitEnd waits until no turn runs.
func (c chat) waitEnd() {
	c.waitText(".transcript", "It is done.")
	c.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
}

// waitTab waits until the active tab has a title.
func (e *editor) waitTab(title string) { e.WaitText(".tab.active .label-name", title) }

// waitProposals waits until this many diffs of proposed changes are open.
func (e *editor) waitProposals(n int) {
	e.Wait(fmt.Sprintf(`[...document.querySelectorAll(".tab .label-name")].filter((e) => e.innerText.includes("(proposed)")).length === %d`, n))
}

// act clicks a button of the active editor's title. The editor draws the buttons again when the focus moves, so there may be no
// element that rests.
func (e *editor) act(label string) {
	e.Wait(clicked(fmt.Sprintf("document.querySelector(\".title .action-label[aria-label^='%s']\")", label)))
}

// diffSide is the selector of a side of the diff.
func diffSide(side string) string { return ".monaco-diff-editor .editor." + side + " .view-lines" }

// typeAtEnd types at the end of the active document.
func (e *editor) typeAtEnd(text string) {
	e.Click(".editor-instance .view-lines")
	e.Type(kb.End, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.Run(chromedp.KeyEvent(text))
}

// TestChangeIsApprovedInItsDiff: the diff opens with the question, with unsaved text on its left side, and closes with it.
func TestChangeIsApprovedInItsDiff(t *testing.T) {
	e := open(t)
	file := e.write(t, "notes.txt", "one\ntwo\nthree\n")
	e.start(t)
	c := e.newSession()
	e.openFile("notes.txt")
	e.typeAtEnd("typed")
	e.Wait(`document.querySelector(".tab.active.dirty")`)
	c.promptToEdit("notes.txt", "two", "TWO")
	e.waitTab("notes.txt (proposed)")
	e.WaitText(diffSide("original"), "typed")
	e.WaitText(diffSide("modified"), "TWO")
	e.WaitText(diffSide("modified"), "typed") // the text that is not saved is not lost
	e.act("Approve Change")
	c.waitEnd()
	e.waitProposals(0)
	e.waitLines("one", "TWO", "three", "typed")
	e.Wait(`document.querySelector(".tab.active.dirty")`)
	if content := read(t, file); content != "one\ntwo\nthree\n" {
		t.Errorf("the file with text that is not saved contains %q", content)
	}
	e.Click(".editor-instance .view-lines")
	e.Type("z", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.waitLines("one", "two", "three", "typed")
}

// TestChangeIsRejectedInItsDiff: the button of the question opens the diff, and its title rejects the change.
func TestChangeIsRejectedInItsDiff(t *testing.T) {
	e := open(t)
	file := e.write(t, "notes.txt", "one\ntwo\n")
	e.settings["strata.openDiff"] = false
	e.start(t)
	c := e.newSession()
	c.promptToEdit("notes.txt", "two", "TWO")
	c.waitText(".question", "notes.txt")
	e.Wait(`!document.querySelector(".monaco-diff-editor")`)
	c.clickText(".question button", "Open diff")
	e.waitTab("notes.txt (proposed)")
	e.WaitText(diffSide("modified"), "TWO")
	c.clickText(".question button", "Open diff") // shows the same one
	e.waitProposals(1)
	e.act("Reject Change")
	c.waitEnd()
	e.waitProposals(0)
	if content := read(t, file); content != "one\ntwo\n" {
		t.Errorf("after the rejection, the file contains %q", content)
	}
}

// TestDiffFollowsTheQuestion: the diff of a new file has an empty left side, and closes if the question is answered in the chat.
func TestDiffFollowsTheQuestion(t *testing.T) {
	e := open(t)
	e.start(t)
	c := e.newSession()
	c.prompt("call write_file {\"path\": \"new/folder/a.txt\", \"content\": \"alpha\\n\"}\n---\nsay It is done.")
	e.waitTab("a.txt (proposed)")
	e.WaitText(diffSide("modified"), "alpha")
	c.click(".question button.primary")
	c.waitEnd()
	e.waitProposals(0)
	if content := read(t, filepath.Join(e.disk, "new/folder/a.txt")); content != "alpha\n" {
		t.Errorf("the new file contains %q", content)
	}
}

// TestEditKeepsTheFormat: line ends, the byte order mark and the missing line end stay, and undo is one step.
func TestEditKeepsTheFormat(t *testing.T) {
	e := open(t)
	file := e.write(t, "format.txt", "\ufeffone\r\ntwo\r\nthree\r\n\tfour")
	e.start(t)
	c := e.newSession()
	e.openFile("format.txt")
	c.prompt(strings.Join([]string{
		`call read_file {"path": "format.txt"}`, "---",
		`call edit_file {"path": "format.txt", "edits": [{"old_text": "one", "new_text": "ONE\nmore"}, {"old_text": "four", "new_text": "FOUR"}]}`,
		"---", "say It is done.",
	}, "\n"))
	c.click(".question button.primary")
	c.waitEnd()
	if content := read(t, file); content != "\ufeffONE\r\nmore\r\ntwo\r\nthree\r\n\tFOUR" {
		t.Errorf("after the edit, the file contains %q", content)
	}
	e.waitTab("format.txt")
	e.Wait(`!document.querySelector(".tab.active.dirty")`)
	e.Click(".editor-instance .view-lines")
	e.Type("z", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.waitLines("one", "two", "three", "    four")
	e.Type("s", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.Wait(`!document.querySelector(".tab.active.dirty")`)
	if content := read(t, file); content != "\ufeffone\r\ntwo\r\nthree\r\n\tfour" {
		t.Errorf("after the undo, the file contains %q", content)
	}
}

// TestModelReadsUnsavedText: a call reads the text of the editor, not that of the disk.
func TestModelReadsUnsavedText(t *testing.T) {
	e := open(t)
	e.write(t, "notes.txt", "saved\n")
	e.start(t)
	c := e.newSession()
	e.openFile("notes.txt")
	e.typeAtEnd("unsaved")
	e.Wait(`document.querySelector(".tab.active.dirty")`)
	c.prompt("call read_file {\"path\": \"notes.txt\"}\n---\nsay It is done.")
	c.waitEnd()
	c.click(".call .disclosure")
	c.waitText(".call", "unsaved")
}

// clickText clicks the first matching element with a text.
func (c chat) clickText(selector, text string) {
	c.Wait(clicked(fmt.Sprintf("[...document.querySelectorAll(%q)].find((e) => e.innerText.includes(%s))", selector, quoted(text))))
}
