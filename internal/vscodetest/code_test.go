package vscodetest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// reply prompts the model to reply with these lines and a last one, and waits for the end.
func (c chat) reply(last string, lines ...string) {
	c.prompt("say " + strings.Join(append(lines, "", last), "\nsay "))
	c.Wait(fmt.Sprintf("[...document.querySelectorAll('.prose')].some((e) => e.innerText.trim() === %s)", quoted(last)))
	c.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
}

// clickCode clicks a button of the block of code with a text.
func (c chat) clickCode(button, text string) {
	block := fmt.Sprintf("[...document.querySelectorAll('.code')].find((e) => e.querySelector('pre').innerText.trim() === %s)?.querySelector(%q)", quoted(text), button)
	c.Wait(clicked(block))
}

// clickLast clicks the last element of the chat that matches.
func (c chat) clickLast(selector string) {
	c.Wait(clicked(fmt.Sprintf("[...document.querySelectorAll(%q)].at(-1)", selector)))
}

const (
	insertButton = "button[aria-label='Insert code at cursor']"
	applyButton  = "button[aria-label='Apply code']"
)

// undo undoes the last change of the active document.
func (e *editor) undo() {
	e.Click(".editor-instance .view-lines")
	e.Type("z", chromedp.KeyModifiers(chromedp.ModifierCtrl))
}

// TestCodeOfAReplyGoesIntoFiles: a block is inserted, replaces a named file, changes the lines of a diff, and asks if its place is
// not clear. Files stay unsaved, and each change is undone in one step.
func TestCodeOfAReplyGoesIntoFiles(t *testing.T) {
	e := open(t)
	file := e.write(t, "notes.txt", "one\ntwo\nthree\n")
	e.start(t)
	c := e.newSession()
	e.openFile("notes.txt")

	c.reply("First.", "```txt", "zero", "```")
	c.clickCode(insertButton, "zero")
	e.waitLines("zeroone", "two", "three")
	e.undo()
	e.waitLines("one", "two", "three")

	c.clickCode(applyButton, "zero")
	e.waitTab("notes.txt (insertion at line 1)")
	e.act("Approve Change")
	e.waitLines("zero", "one", "two", "three")
	e.undo()
	e.waitLines("one", "two", "three")

	c.reply("Second.", "```diff", "@@ -9,9 +9,9 @@", " two", "-three", "+THREE", "```")
	c.clickCode(applyButton, "@@ -9,9 +9,9 @@\n two\n-three\n+THREE")
	e.waitTab("notes.txt (diff of the reply)")
	e.act("Approve Change")
	e.waitLines("one", "two", "THREE")
	e.Wait(`document.querySelector(".tab.active.dirty")`)
	e.undo()
	e.waitLines("one", "two", "three")

	c.reply("Third.", "The file `notes.txt`:", "", "```txt", "whole", "```")
	c.clickCode(applyButton, "whole")
	e.WaitText(".quick-input-titlebar", "Choose where to put the code")
	e.WaitText(".quick-input-list", "Insert in notes.txt")
	e.Type(kb.Enter)
	e.waitTab("notes.txt (whole file)")
	e.act("Reject Change")
	e.waitTab("notes.txt")
	e.waitLines("one", "two", "three")

	c.reply("Fourth.", "```txt new/other.txt", "other", "```")
	c.clickCode(applyButton, "other")
	e.waitTab("other.txt (new file)")
	e.act("Approve Change")
	e.waitLines("other")
	if content := read(t, filepath.Join(e.disk, "new/other.txt")); content != "other\n" {
		t.Errorf("the new file contains %q", content)
	}

	c.reply("Fifth.", "```diff", "--- a/notes.txt", "+++ b/notes.txt", "@@ -1 +1 @@", "-four", "+five", "```")
	c.clickCode(applyButton, "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-four\n+five")
	e.WaitText(".notifications-toasts", "does not fit the text of notes.txt")
	c.reply("Sixth.", "```txt ../outside.txt", "outside", "```")
	c.clickCode(applyButton, "outside")
	e.WaitText(".notifications-toasts", "../outside.txt is not in the workspace")
	if content := read(t, file); content != "one\ntwo\nthree\n" {
		t.Errorf("without a save, the file contains %q", content)
	}
}
