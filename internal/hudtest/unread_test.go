package hudtest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/upstream"
)

// recordNotifications replaces the browser's notifications, which a test cannot see: the page's go to window.notified.
const recordNotifications = `{
	window.notified = [];
	window.requests = 0;
	window.Notification = class {
		static permission = localStorage.getItem("test.permission") ?? "default";
		static async requestPermission() {
			window.requests++;
			localStorage.setItem("test.permission", "granted");
			return (this.permission = "granted");
		}
		constructor(title, { body, tag }) { window.notified.push(title + ": " + body); this.tag = tag; window.newest = this; }
		close() { this.closed = true; }
	};
}`

const (
	isMarked = `document.querySelector("[data-session='%s'] .dot.unread")`
	isTitled = `document.title.startsWith("(%d) ")`
)

// A reply that ends in another session marks the session until it is opened: in its row, its collapsed folder, the title, all
// tabs, and after a reload.
func TestH22AReplyInAnotherSession(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	here, there, third := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	for _, sid := range []string{here, there, third} {
		prompt(t, e, sid, "Named "+sid[len(sid)-4:])
	}
	p := Open(t, w.Server)
	p.Session(here)
	p.Wait(`document.querySelectorAll(".line").length === 3`)
	p.Wait(`!document.title.startsWith("(") && !document.querySelector(".dot.unread")`)

	prompt(t, e, here, "In view")
	p.WaitText(".transcript", "In view")
	prompt(t, e, there, "Elsewhere")
	p.Wait(fmt.Sprintf(isMarked, there))
	p.Wait(fmt.Sprintf(isTitled, 1))
	p.Wait(`document.querySelectorAll(".dot.unread").length === 1`)
	w.Model.Push(upstream.Script{Status: 400})
	if _, err := e.Prompt(third, "Fails"); err == nil {
		t.Fatal("the prompt does not fail")
	}
	p.Wait(fmt.Sprintf(isMarked, third))
	p.Wait(fmt.Sprintf(isTitled, 2))
	p.Click(".folder")
	p.Wait(`document.querySelector(".folder .mark")?.textContent === "2 unread"`)
	p.Click(".folder")

	p.Run(chromedp.Reload())
	p.Wait(fmt.Sprintf(isMarked, there))
	p.Wait(fmt.Sprintf(isTitled, 2))
	other := p.Another(Eval[string](p, "location.href"))
	other.Wait(fmt.Sprintf(isTitled, 2))
	other.Session(there)
	other.Wait(fmt.Sprintf(isTitled, 1))
	p.Wait(fmt.Sprintf(isTitled+" && !"+isMarked, 1, there))
	p.Session(third)
	p.Wait(`!document.title.startsWith("(") && !document.querySelector(".dot.unread")`)
	other.Wait(`!document.title.startsWith("(")`)
}

// A turn that the user has stopped is no news.
func TestH22AStoppedTurnIsNoNews(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, last := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Wait(`document.querySelectorAll(".line").length === 2`)
	gate := make(chan struct{})
	defer close(gate)
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Half"), upstream.Hold(gate)}})
	turn := e.Start(sid, "Stop this")
	p.WaitText(fmt.Sprintf("[data-session='%s'] .line-state", sid), "running")
	if err := e.Cancel(sid); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	prompt(t, e, last, "Let this end") // a later event
	p.Wait(fmt.Sprintf(isMarked, last))
	p.Wait(fmt.Sprintf("!"+isMarked, sid))
}

// The browser shows notifications only if the user has asked for them, and only about sessions out of view.
func TestH22Notifications(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	here, there := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	ask[any](t, e, "_strata/session/rename", there, map[string]any{"title": "Another"})
	p := newPage(t)
	p.beforeLoad(recordNotifications)
	p.Run(chromedp.Navigate(Address(t, w.Server)))
	p.Wait(`document.querySelectorAll(".line").length === 2`)
	p.Session(here)
	prompt(t, e, there, "Unasked")
	p.Wait(fmt.Sprintf(isMarked, there))
	if n := Eval[int](p, "window.requests"); n != 0 {
		t.Errorf("the page asked %d times", n)
	}
	Eval[any](p, `document.activeElement.blur()`)
	p.Type("?")
	p.Click("#notifications")
	p.Wait(`window.requests === 1 && document.querySelector("#notifications").checked`)
	p.Click("dialog button[aria-label=Close]")
	prompt(t, e, here, "In view")
	prompt(t, e, there, "Asked")
	p.Wait(`window.notified.length > 0`)
	p.Equals(`window.notified`, []string{"Another: The reply is complete"})
	Eval[any](p, `window.newest.onclick()`)
	p.Wait(fmt.Sprintf(`location.hash.includes(%s) && window.newest.closed && !%s`, quote(there), fmt.Sprintf(isMarked, there)))
	p.Run(chromedp.Reload())
	p.Session(here)
	prompt(t, e, there, "After a reload")
	p.Wait(`window.notified.length === 1 && window.requests === 0`)
}

// A session that needs permission while the user is elsewhere is news, too.
func TestH22PermissionInAnotherSession(t *testing.T) {
	a := newAsking(t, true)
	ask[any](t, a.editor, "_strata/session/rename", a.session, map[string]any{"title": "Presses keys"})
	here := a.editor.NewSession(a.Home.Project)
	p := newPage(t)
	p.beforeLoad(`localStorage.setItem("test.permission", "granted"); localStorage.setItem("strata.notifications", "true");` + recordNotifications)
	p.Run(chromedp.Navigate(Address(t, a.Server)))
	p.Wait(`document.querySelectorAll(".line").length === 2`)
	p.Session(here)
	turn := a.editor.Start(a.session, pressing("Enter"))
	p.Wait(fmt.Sprintf(isTitled, 1))
	p.WaitText(fmt.Sprintf("[data-session='%s'] .line-state", a.session), "needs permission")
	p.Wait(`window.notified.length === 1`)
	p.Equals(`window.notified`, []string{"Presses keys: Needs permission: press"})
	p.Session(a.session)
	p.clickAnswer("Allow once")
	a.end(turn)
	p.Wait(`!document.title.startsWith("(")`)
}

// Whatever another program has stored as marks, the page works, and its own marks are bounded.
func TestH22HostileMarks(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	for _, stored := range []string{`5`, `{"a":1}`, `[1,null,{"id":"x"}]`, `[`, `["sess_unknown"]`, `Array.from({length: 20000}, (_, i) => "sess_" + i)`} {
		p := newPage(t)
		value := quote(stored)
		if stored[0] == 'A' {
			value = "JSON.stringify(" + stored + ")"
		}
		p.beforeLoad(`if (!localStorage.getItem("strata.unread")) localStorage.setItem("strata.unread", ` + value + `)`)
		p.Run(chromedp.Navigate(Address(t, w.Server)))
		p.Wait(`document.querySelectorAll(".line").length === 1`)
		p.Wait(`document.title === "Strata"`)
		prompt(t, e, sid, "Mark this")
		p.Wait(fmt.Sprintf(isMarked, sid))
		p.Wait(fmt.Sprintf(`((ids) => ids.length <= 500 && ids.at(-1) === %s)(JSON.parse(localStorage.getItem("strata.unread")))`, quote(sid)))
	}
}
