package vscodetest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/hudtest"
)

// reply prompts the model to reply with these lines, and waits for the end.
func (c chat) reply(lines ...string) {
	c.Wait(`document.querySelector("#prompt")`)
	turns := hudtest.EvalIn[int](c.Frame, doneCount)
	c.prompt("say " + strings.Join(append(lines, "", "It is done."), "\nsay "))
	c.Wait(fmt.Sprintf("%s > %d && !document.querySelector(\"button[aria-label='Stop reply']\")", doneCount, turns))
}

// doneCount is an expression for the number of replies with the last line of reply.
const doneCount = `[...document.querySelectorAll(".prose")].filter((e) => e.innerText.trim() === "It is done.").length`

// clickLast clicks the last element of the chat that matches.
func (c chat) clickLast(selector string) {
	c.Wait(fmt.Sprintf("document.querySelector(%q)", selector))
	hudtest.EvalIn[bool](c.Frame, fmt.Sprintf("[...document.querySelectorAll(%q)].at(-1).click() ?? true", selector))
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

	c.reply("```txt", "zero", "```")
	c.clickLast(insertButton)
	e.waitLines("zeroone", "two", "three")
	e.undo()
	e.waitLines("one", "two", "three")

	c.clickLast(applyButton)
	e.waitTab("notes.txt (insertion at line 1)")
	e.act("Approve Change")
	e.waitLines("zero", "one", "two", "three")
	e.undo()
	e.waitLines("one", "two", "three")

	c.reply("```diff", "@@ -9,9 +9,9 @@", " two", "-three", "+THREE", "```")
	c.clickLast(applyButton)
	e.waitTab("notes.txt (diff of the reply)")
	e.act("Approve Change")
	e.waitLines("one", "two", "THREE")
	e.Wait(`document.querySelector(".tab.active.dirty")`)
	e.undo()
	e.waitLines("one", "two", "three")

	c.reply("The file `notes.txt`:", "", "```txt", "other", "```")
	c.clickLast(applyButton)
	e.WaitText(".quick-input-titlebar", "Place of the code")
	e.WaitText(".quick-input-list", "Insert in notes.txt")
	e.Type(kb.Enter)
	e.waitTab("notes.txt (whole file)")
	e.act("Reject Change")
	e.waitTab("notes.txt")
	e.waitLines("one", "two", "three")

	c.reply("```txt new/other.txt", "other", "```")
	c.clickLast(applyButton)
	e.waitTab("other.txt (new file)")
	e.act("Approve Change")
	e.waitLines("other")
	if content := read(t, filepath.Join(e.site.disk, "new/other.txt")); content != "other\n" {
		t.Errorf("the new file contains %q", content)
	}

	c.reply("```diff", "--- a/notes.txt", "+++ b/notes.txt", "@@ -1 +1 @@", "-four", "+five", "```")
	c.clickLast(applyButton)
	e.WaitText(".notifications-toasts", "does not fit the text of notes.txt")
	c.reply("```txt ../outside.txt", "other", "```")
	c.clickLast(applyButton)
	e.WaitText(".notifications-toasts", "../outside.txt is not in the workspace")
	if content := read(t, file); content != "one\ntwo\nthree\n" {
		t.Errorf("without a save, the file contains %q", content)
	}
}
