package hudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// newEditing returns a session with the actor in which files may be changed without a question.
func newEditing(t *testing.T, files map[string]string) *acting {
	t.Helper()
	a := newAsking(t, false)
	for name, text := range files {
		a.put(name, text)
	}
	a.call("session/set_config_option", map[string]any{"configId": "approval", "value": "edits"})
	return a
}

func (a *acting) put(name, text string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.Home.Project, name), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// has checks the text of a file; "none" for no file.
func (a *acting) has(name, want string) {
	a.t.Helper()
	raw, err := os.ReadFile(filepath.Join(a.Home.Project, name))
	if os.IsNotExist(err) {
		raw = []byte("none")
	}
	if string(raw) != want {
		a.t.Errorf("%s contains %q, want %q", name, raw, want)
	}
}

// run runs a turn.
func (a *acting) run(prompt string) {
	a.t.Helper()
	a.end(a.editor.Start(a.session, prompt))
}

// changingTurn edits a.txt twice, makes b.txt and moves it, and removes d.txt.
const changingTurn = `call read_file {"path":"a.txt"}
call read_file {"path":"d.txt"}
---
call edit_file {"path":"a.txt","edits":[{"old_text":"one\n","new_text":"1\n"}]}
---
call edit_file {"path":"a.txt","edits":[{"old_text":"two\n","new_text":"2\n"}]}
---
call write_file {"path":"b.txt","content":"new\n"}
---
call move_file {"from":"b.txt","to":"c.txt"}
---
call delete_file {"path":"d.txt"}
---
say Done.`

var beforeTheTurn = map[string]string{"a.txt": "one\ntwo\n", "d.txt": "old\n"}

// reviewed are the files of a review, each with its kinds, its state and its actions.
const reviewed = `[...document.querySelectorAll("dialog .review-file")].map((f) => [f.dataset.file, [...f.querySelectorAll("header .mark")].map((m) => m.innerText).join("+"),
	f.querySelector(".review-state").innerText, [...f.querySelectorAll("header button.small")].map((b) => b.innerText).join("+")].join(", "))`

// act clicks an action of a review by its name for screen readers.
func (p *Page) act(name string) {
	p.t.Helper()
	p.Click(fmt.Sprintf("button[aria-label=%s]", quote(name)))
}

func TestTheChangesOfATurnAreTakenBackAndPutForward(t *testing.T) {
	a := newEditing(t, beforeTheTurn)
	p := a.open()
	a.run(changingTurn)
	p.WaitText(".changes-line", "3 files changed")
	p.tabTo(`!document.activeElement.matches("input, textarea, select") && document.activeElement !== document.body`)
	p.Type("r")
	p.Wait(`document.querySelector("dialog[open]").getAttribute("aria-label") === "Changes of this turn"`)
	p.Equals(reviewed, []string{"a.txt, Edited, Done, Take back", "c.txt, New file+Moved, Done, Take back", "d.txt, Deleted, Done, Take back"})
	p.Equals(`[...document.querySelectorAll(".review-file[data-file='a.txt'] .diff-lines")].map((d) => d.innerText.replace(/\s+/g, " ").trim())`,
		[]string{"1 - one 1 + 1 2 two", "1 1 2 - two 2 + 2"})
	p.WaitText(".review-file[data-file='c.txt'] .note", "b.txt moved to c.txt")
	if nameless, _ := namelessOf(p); len(nameless) > 0 {
		t.Errorf("elements without a name: %q", nameless)
	}
	p.act("Take back: d.txt")
	p.Equals(reviewed+`[2]`, "d.txt, Deleted, Taken back, Put forward")
	p.Wait(`document.activeElement.innerText === "Put forward"`)
	a.has("d.txt", "old\n")
	p.act("Take back: c.txt")
	p.Equals(reviewed+`[1]`, "c.txt, New file+Moved, Taken back, Put forward")
	a.has("b.txt", "none")
	a.has("c.txt", "none")
	p.act("Take back: a.txt, change 2")
	p.Equals(reviewed+`[0]`, "a.txt, Edited, Done: 1, taken back: 1, Take back+Put forward")
	a.has("a.txt", "1\ntwo\n")
	p.act("Put forward: a.txt")
	p.Equals(reviewed+`[0]`, "a.txt, Edited, Done, Take back")
	a.has("a.txt", "1\n2\n")
	p.Wait(`((b) => b && (b.id = "all-forward"))([...document.querySelectorAll(".review-turn button")].find((b) => b.innerText === "Put all forward"))`)
	p.Click("#all-forward")
	p.Wait(`!document.querySelector("#all-forward")`)
	a.has("c.txt", "new\n")
	p.Click(".review-turn button")
	p.Wait(`document.querySelector(".review-turn button").innerText === "Put all forward"`)
	a.has("a.txt", "one\ntwo\n")
	a.has("d.txt", "old\n")
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("dialog") && document.activeElement.matches(".changes-line")`)
	p.Run(chromedp.Reload())
	p.WaitText(".changes-line", "3 files changed")
}

// Files that would stay are named before anything is done, and the others can be taken back.
func TestTheReviewNamesTheFilesThatStay(t *testing.T) {
	a := newEditing(t, beforeTheTurn)
	p := a.open()
	a.run(changingTurn)
	a.put("a.txt", "mine\n")
	p.Tab(a.session, "changes")
	p.WaitText(".panel", "a.txt")
	p.Click(".changes-line")
	p.act("Take back: a.txt, change 1")
	p.WaitText(".review-preview", "1 file would stay as it is")
	p.WaitText(".review-preview [data-outcome=conflict]", "a.txt stays: a later change of it is in force")
	p.Wait(`document.activeElement.innerText === "Close"`)
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector(".review-preview") && document.querySelector("dialog[open]") && document.activeElement.matches("dialog [data-actions] button")`)
	p.Click("dialog .review-turn button")
	p.WaitText(".review-preview [data-outcome=conflict]", "a.txt stays: somebody else changed it")
	p.Equals(`[...document.querySelectorAll(".review-preview li")].map((l) => l.innerText.trim().split("\n")[0])`,
		[]string{"a.txt stays: somebody else changed it", "b.txt is already as it should be", "c.txt is removed", "d.txt is made again"})
	a.has("c.txt", "new\n")
	p.Wait(`document.activeElement.innerText === "Take back the other 3 files"`)
	p.Type(kb.Enter)
	p.Equals(reviewed, []string{"a.txt, Edited, Done, Take back", "c.txt, New file+Moved, Taken back, Put forward", "d.txt, Deleted, Taken back, Put forward"})
	p.WaitText(".toast.bad", "3 files put back. a.txt stays: somebody else changed it.")
	a.has("a.txt", "mine\n")
	a.has("c.txt", "none")
	a.has("d.txt", "old\n")
}

// The panel lists the changes of all turns, page by page, and follows what happens elsewhere.
func TestThePanelListsAllChanges(t *testing.T) {
	a := newEditing(t, nil)
	p := a.open()
	p.Tab(a.session, "changes")
	p.WaitText(".panel", "No files changed yet")
	for i := range 12 {
		a.run(fmt.Sprintf("call write_file {\"path\":\"f%d.txt\",\"content\":\"x\\n\"}", i))
	}
	p.Equals(`document.querySelector("[data-file]").dataset.file`, "f11.txt")
	p.settle()
	p.reachesAll("the changes")
	p.Run(chromedp.EmulateViewport(1280, 3000))
	p.Wait(`document.querySelectorAll(".panel [data-file]").length === 10`)
	p.Wait(`((b) => b && (b.id = "older"))([...document.querySelectorAll(".panel button")].find((b) => b.innerText === "Show older changes"))`)
	p.Click("#older")
	p.Wait(`document.querySelectorAll(".panel [data-file]").length === 12 && !document.querySelector("#older")`)
	p.Click(".panel [data-file='f3.txt'] .disclosure")
	p.WaitText(".panel [data-file='f3.txt'] .diff", "New file")
	other := a.open()
	other.Tab(a.session, "changes")
	other.act("Take back: f11.txt")
	p.Equals(`document.querySelector("[data-file='f11.txt'] .review-state").innerText`, "Taken back")
	a.has("f11.txt", "none")
	turn := a.editor.Start(a.session, "wait 60s")
	p.Wait(`document.querySelector("[data-file='f10.txt'] button.small").disabled`)
	if err := a.editor.Cancel(a.session); err != nil {
		t.Fatal(err)
	}
	a.end(turn)
	p.Wait(`!document.querySelector("[data-file='f10.txt'] button.small").disabled`)
}

// A restore of the view can put files back, and shows before which; so can an edited prompt.
func TestARestoreCanPutFilesBack(t *testing.T) {
	a := newEditing(t, beforeTheTurn)
	a.run("say Hello.")
	a.call("_strata/checkpoint/create", map[string]any{"name": "before"})
	a.run(changingTurn)
	p := a.open()
	p.Tab(a.session, "history")
	p.act("Restore with files: “before”")
	p.WaitText(".toast", "4 files put back.")
	a.has("a.txt", "one\ntwo\n")
	a.has("c.txt", "none")
	p.Wait(`((b) => b && (b.id = "undo"))([...document.querySelectorAll(".toast button")].find((b) => b.innerText === "Undo"))`)
	p.Click("#undo")
	p.WaitText(".toast", "files put forward.")
	a.has("a.txt", "1\n2\n")

	a.put("d.txt", "mine\n")
	p.act("Restore with files: “before”")
	p.Equals(`[...document.querySelectorAll(".outcomes li")].map((l) => l.innerText.trim().split("\n")[0])`,
		[]string{"d.txt stays: somebody else made a file at its path", "a.txt is put back", "b.txt is already as it should be", "c.txt is removed"})
	p.WaitText(".review-preview .note", "not those made by commands")
	p.Click(".outcomes summary")
	p.WaitText(".outcomes .diff", "two")
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector(".review-preview")`)
	p.Wait(`((h) => h && (h.querySelector("button[aria-label='Edit prompt']").id = "edit"))([...document.querySelectorAll(".transcript .head")].filter((h) => h.querySelector("button[aria-label='Edit prompt']")).at(-1))`)
	p.Click("#edit")
	p.Click(".composer .put-back input")
	p.WaitText(".composer .outcomes", "d.txt stays: somebody else made a file at its path")
	p.input("#prompt", "say Other.")
	p.Click("button[aria-label='Send prompt']")
	p.WaitText(".transcript", "Other.")
	p.WaitText(".toast.bad", "d.txt stays")
	a.has("a.txt", "one\ntwo\n")
	a.has("d.txt", "mine\n")
}

// What the model gets as text of a change that is shown as a diff is folded.
func TestTheTextOfADiffIsFolded(t *testing.T) {
	a := newEditing(t, beforeTheTurn)
	p := a.open()
	a.run("call write_file {\"path\":\"b.txt\",\"content\":\"new\\n\"}\n---\ncall edit_file {\"path\":\"none.txt\",\"edits\":[{\"old_text\":\"a\",\"new_text\":\"b\"}]}\n---\nsay Done.")
	p.toggleCall("Write b.txt")
	p.WaitText(".call-body .diff", "new")
	p.Equals(`[...document.querySelectorAll(".call-body .result-label")].map((l) => l.innerText.trim())`, []string{"Input"})
	p.Click(".call-body .disclosure")
	p.Equals(`[...document.querySelectorAll(".call-body .result-label")].map((l) => l.innerText.trim())`, []string{"Input", "Result"})
	p.toggleCall("Edit none.txt")
	p.WaitText(".call-body .result.bad", "none.txt")
}

func TestRulesAreListedRevokedAndKept(t *testing.T) {
	a := newAsking(t, false)
	p := a.open()
	p.Click("a[aria-label='Rules of approval']")
	p.WaitText(".panel .rules", "A call that you always allow adds one")
	turn := a.editor.Start(a.session, pressing("Enter"))
	p.Click(".question button[data-kind=allow_always]")
	a.end(turn)
	const rules = `[...document.querySelectorAll(".rule")].map((r) => r.dataset.scope + " " + r.innerText.split("\n").map((w) => w.trim()).filter((w) => w).join(", "))`
	p.Equals(rules, []string{"session Allow, press, Keep for all sessions, Revoke"})
	if nameless, _ := namelessOf(p); len(nameless) > 0 {
		t.Errorf("elements without a name: %q", nameless)
	}
	p.act("Keep for all sessions: press")
	p.Click(".confirm .primary")
	p.Equals(rules, []string{"session Allow, press, in your configuration, Revoke", "config Allow, press"})
	other := a.open()
	other.Tab(a.session, "rules")
	other.act("Revoke: press")
	other.Click(".confirm .primary")
	p.Equals(rules, []string{"config Allow, press"})
	other.Wait(`document.activeElement.matches(".rules")`)
}

// Hostile names and texts in a review stay text, on a small screen too.
func TestAHostileReviewStaysText(t *testing.T) {
	a := newEditing(t, nil)
	name := "a<img src=x onerror=window.hit=31>" + strings.Repeat("x", 150) + ".txt"
	a.run(fmt.Sprintf("call write_file {\"path\":%s,\"content\":%s}", quote(name), quote(hostile+"\u202e\x1b[31m"+strings.Repeat("y", 3000)+"\n"+strings.Repeat("line\n", 300))))
	a.put(name, "mine\n")
	p := a.open()
	p.Run(chromedp.EmulateViewport(360, 700))
	p.Click(".changes-line")
	p.WaitText(".review-file .diff-path", "onerror=window.hit=31")
	p.WaitText(".review-file .diff-text", "⟨U+202E⟩␛[31m")
	p.Equals(`document.querySelectorAll(".diff-line").length`, 60)
	p.Click(".review-file header button.small")
	p.WaitText(".review-preview", "onerror=window.hit=31")
	if Eval[bool](p, "'hit' in window") {
		t.Errorf("script %v ran", Eval[any](p, "window.hit"))
	}
	for what, wrong := range map[string]string{
		"the page scrolls sideways":            `document.documentElement.scrollWidth > innerWidth`,
		"the dialog scrolls sideways":          `document.querySelector("dialog").scrollWidth > document.querySelector("dialog").clientWidth`,
		"the review scrolls sideways":          `document.querySelector(".review").scrollWidth > document.querySelector(".review").clientWidth`,
		"elements of the text are in the page": `document.querySelector("dialog img, dialog iframe, dialog script, dialog [onerror], dialog [onload], dialog a")`,
		"an action is out of view":             `[...document.querySelectorAll("dialog button")].some((b) => b.getBoundingClientRect().right > innerWidth)`,
	} {
		if Eval[bool](p, "!!("+wrong+")") {
			t.Error(what)
		}
	}
}
