package hudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/upstream"
)

const (
	noDialog = `!document.querySelector("dialog")`
	canSend  = `document.querySelector("button[aria-label='Send prompt']")`
)

// composing sends the prompt a key of an input method, in the two ways of browsers.
const composing = `[{ isComposing: true }, { keyCode: 229 }].map((how) => {
	const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...how });
	document.querySelector("#prompt").dispatchEvent(event);
	return event.defaultPrevented;
}).join()`

// Enter sends, and Shift+Enter starts a new line. The browser remembers the other way. A damaged or full storage breaks
// nothing.
func TestH02EnterSends(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click("#prompt")
	p.Type("One")
	p.Type(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift))
	p.Type("two")
	if got := Eval[string](p, composing); got != "false,false" {
		t.Errorf("keys of an input method were taken: %s", got)
	}
	p.Equals(`document.querySelector("#prompt").value`, "One\ntwo")
	p.Type(kb.Enter)
	p.WaitText(".transcript", "Answer 1")
	p.Wait(canSend)
	if sent := w.Model.Last().LastText(); !strings.Contains(sent, "One\ntwo") {
		t.Errorf("the model was sent %q", sent)
	}

	set := func() {
		p.Click("button[aria-label^='Keyboard shortcuts']")
		p.Click("#enter-sends")
	}
	set()
	p.WaitText(".shortcuts", "Ctrl\nEnter\nSend the prompt")
	p.Type(kb.Escape)
	p.Wait(noDialog)
	p.Run(chromedp.Reload())
	p.Wait(`document.querySelector("#prompt") && ` + canSend)
	p.Click("#prompt")
	p.Type("Three" + kb.Enter + "four")
	p.Equals(`document.querySelector("#prompt").value`, "Three\nfour")
	p.Type(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	p.WaitText(".transcript", "Answer 2")
	p.Wait(canSend)

	Eval[int](p, `(localStorage.setItem("strata.enter-sends", '{"not":"a setting"'), 1)`)
	p.Run(chromedp.Reload())
	p.Wait(`document.querySelector("#prompt") && ` + canSend)
	Eval[int](p, `(Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError") }, 1)`)
	set() // holds in this tab
	p.WaitText(".shortcuts", "Ctrl\nEnter\nSend the prompt")
	p.Click("#enter-sends")
	p.WaitText(".shortcuts", "Shift\nEnter\nStart a new line in the prompt")
	p.Type(kb.Escape)
	p.Wait(noDialog)
	p.Click("#prompt")
	p.Type("Five" + kb.Enter)
	p.WaitText(".transcript", "Answer 3")
}

// endlessOffer makes the offer to stop the reply end only with the turn.
const endlessOffer = `{
	const { setTimeout } = window;
	window.setTimeout = (run, ms, ...more) => setTimeout(run, ms === 2000 ? 2 ** 30 : ms, ...more);
}`

// The offer to stop a reply by a second Escape ends after two seconds, and with the turn. Then one Escape stops nothing.
func TestH23TheOfferToStopEnds(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	const offer = "Press Escape again to stop the reply"
	offered := fmt.Sprintf(`document.querySelector(".composer-hint").innerText === %q`, offer)
	answer := func(prompt, text string) (end chan struct{}) {
		end = make(chan struct{})
		w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text(text), upstream.Hold(end)}})
		p.Click("#prompt")
		p.Type(prompt + kb.Enter)
		p.WaitText(".transcript", text)
		return end
	}
	p.Session(sid)
	end := answer("First", "Long ago")
	p.Type(kb.Escape)
	p.Wait(offered)
	p.Wait("!(" + offered + ")")
	if !Eval[bool](p, `document.querySelector("button[aria-label='Stop reply']") !== null`) {
		t.Error("the reply ended")
	}
	close(end)
	p.Wait(canSend)

	p.beforeLoad(endlessOffer)
	p.Run(chromedp.Reload())
	p.Wait(`document.querySelector("#prompt") && ` + canSend)
	end = answer("Second", "and far away")
	p.Type(kb.Escape)
	p.Wait(offered)
	close(end)
	p.Wait(canSend)
	end = answer("Third", "lived a fish")
	if Eval[bool](p, offered) {
		t.Error("the next turn shows the offer")
	}
	p.Type(kb.Escape)
	p.Wait(offered)
	close(end)
	p.Wait(canSend)
	for _, m := range transcript(t, e, sid) {
		if m.Status != "complete" {
			t.Errorf("a message is %s", m.Status)
		}
	}
	end = answer("Fourth", "and was stopped")
	defer close(end)
	p.Type(kb.Escape + kb.Escape)
	p.WaitText(".ending", "Stopped")
}

const (
	promptText = `document.querySelector("#prompt").value`
	noList     = `!document.querySelector("#completion-list")`
)

// A list above the prompt follows the text, which stays in the prompt with the focus. Tab or Enter takes the marked choice,
// also one that is not found yet.
func TestH01APathIsCompletedInPlace(t *testing.T) {
	w := NewWorld(t)
	for _, name := range []string{"turn.go", "pkg/return.go", "notes.txt"} {
		path := filepath.Join(w.Home.Project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sid := w.Editor(t).NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click("#prompt")
	p.Type("What does @turn.go do?")
	p.Wait(promptText + ` === "What does @turn.go do?" && document.activeElement.id === "prompt" && ` + noList)
	if p.Text(".composer .chips") != "" {
		t.Error("a file is attached that nobody took")
	}
	p.Type(" And @turn")
	p.Wait(`document.querySelectorAll("#completion-list [role=option]").length === 2 && document.querySelector("#prompt").getAttribute("aria-activedescendant") === "completion-0"`)
	p.Type(kb.ArrowDown)
	marked := p.Text(`#completion-list [aria-selected="true"]`)
	p.Type(kb.Escape)
	p.Wait(noList + ` && document.activeElement.id === "prompt" && ` + promptText + `.endsWith(" And @turn")`)
	p.Type(kb.Backspace)
	p.Wait(`document.querySelectorAll("#completion-list [role=option]").length === 2`)
	p.Type("n" + kb.ArrowDown + kb.Tab)
	p.Wait(noList + " && " + promptText + " === " + quote("What does @turn.go do? And @"+marked+" "))
	p.WaitText(".composer .chip", marked)
	p.Type("me@turn ")
	p.Wait(noList)
	p.Type("@nts" + kb.Enter) // before the file is found
	p.Wait(promptText + ` === ` + quote("What does @turn.go do? And @"+marked+" me@turn @notes.txt "))
	p.Equals(`[...document.querySelectorAll(".composer .chip")].map((c) => c.innerText.trim())`, []string{marked, "notes.txt"})
	p.Click("button[aria-label='Attach file (@)']")
	p.Wait(`document.querySelectorAll("#completion-list [role=option]").length === 3 && document.activeElement.id === "prompt"`)
	p.Type("nosuchfile")
	p.WaitText(".composer .picker", "No matching files")
	p.Type(kb.Enter) // sends
	p.WaitText(".transcript", "Answer 1")
	if sent := w.Model.Last().LastText(); !strings.Contains(sent, "me@turn @notes.txt @nosuchfile") {
		t.Errorf("the model was sent %q", sent)
	}
	p.Wait(canSend)

	p.Type("/hel")
	p.WaitText("#completion-list", "/help")
	p.Type(kb.Tab)
	p.Wait(promptText + ` === "/help" && ` + noList)
	p.Type(kb.Backspace + "p")
	p.WaitText("#completion-list", "/help")
	p.Type(kb.Enter) // a whole command is sent
	p.WaitText(".command-output", "/undo")
	p.Equals(promptText, "")
}
