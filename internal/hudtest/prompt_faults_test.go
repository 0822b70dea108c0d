package hudtest

import (
	"fmt"
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
