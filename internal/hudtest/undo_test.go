package hudtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// click clicks the newest button with a text, or a label, that starts with a text.
func (p *Page) click(text string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`((b) => b && !b.disabled && (b.click(), true))([...document.querySelectorAll("button")].findLast((b) => (b.ariaLabel ?? b.innerText).startsWith(%s)))`, quote(text)))
}

// What can be undone is done at once, and offers "Undo" in the same way everywhere.
func TestH26WhatCanBeUndoneIsDoneAtOnce(t *testing.T) {
	a := newEditing(t, map[string]string{"a.txt": "1\n"})
	a.run("say Hello.")
	a.call("_strata/checkpoint/create", map[string]any{"name": "before"})
	a.run("call write_file {\"path\":\"new.txt\",\"content\":\"x\\n\"}\n---\nsay Done.")
	a.call("_strata/files/add", map[string]any{"path": "a.txt"})
	p := a.open()
	p.Run(chromedp.EmulateViewport(1440, 1600))
	undone := func(action, done, back string) {
		t.Helper()
		p.click(action)
		p.WaitText(".toast", done)
		if question := p.Text(".confirm, .review-preview, dialog"); question != "" {
			t.Errorf("%s asks: %s", action, question)
		}
		p.click("Undo")
		p.WaitText("body", back)
		p.Wait(`(() => { document.querySelectorAll(".toast button[aria-label=Dismiss]").forEach((b) => b.click()); return !document.querySelector(".toast") })()`)
	}
	p.Tab(a.session, "history")
	undone("Restore this state", "restored", "Undone.")
	undone("Restore with files", "put back", "put forward")
	p.Tab(a.session, "files")
	undone("Remove a.txt", "a.txt removed.", "whole")
	p.Tab(a.session, "changes")
	undone("Take back: new.txt", "put back", "put forward")
	undone("Delete session", "deleted.", "say Hello.")

	p.Session(a.session)
	p.Tab(a.session, "history")
	p.click("Restore this state")
	p.click("Undo: ") // in the timeline
	p.WaitText(".toast", "Undone.")
}

// The page asks before what cannot be undone, and asks one question at a time: neither two questions nor two dialogs are open.
func TestH26OneQuestionAtATime(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	if _, err := e.Prompt(sid, "Hello."); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		ask[any](t, e, "_strata/checkpoint/create", sid, map[string]any{"name": name})
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "history")
	const questions = `[...document.querySelectorAll(".confirm")].map((c) => c.closest("[data-checkpoint]").innerText.match(/one|two/)[0])`
	p.click("Delete checkpoint: “one”")
	p.Equals(questions, []string{"one"})
	p.click("Delete checkpoint: “two”")
	p.Equals(questions, []string{"two"})
	p.Wait(`document.activeElement?.matches(".confirm .primary")`)
	p.Type(kb.Escape)
	p.Equals(questions, []string{})
	p.click("Delete checkpoint: “one”")
	p.Click(".confirm .primary")
	p.Wait(`document.querySelectorAll("[data-checkpoint]").length === 1`)

	p.Tab(sid, "files")
	p.Click("#add-document")
	p.WaitText("dialog", "Add document")
	p.click("Create session")
	p.Equals(`[...document.querySelectorAll("dialog")].map((d) => d.ariaLabel)`, []string{"New session"})
	p.Wait(`document.activeElement?.closest("dialog")`)
	p.Type(kb.Escape)
	p.Wait(noDialog)
	if problems := strings.Join(p.Problems(), ", "); problems != "" {
		t.Error(problems)
	}
}
