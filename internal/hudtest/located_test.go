package hudtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
)

// located is the result of _strata/context/find.
type located struct {
	Key, State, Rule, Tier string
	Tokens                 int
	Kept, Cached           bool
	Since                  *struct {
		At     *time.Time
		CallID string
	}
	Text    *struct{ Here, Elsewhere bool }
	Actions []string
}

// foundIs waits until the dialog shows what the method says of something, and returns that.
func (p *Page) foundIs(t *testing.T, e *testclient.Editor, sid string, of map[string]any) located {
	t.Helper()
	l := ask[located](t, e, "_strata/context/find", sid, of)
	call, text := "", ""
	if l.Since != nil {
		call = l.Since.CallID
	}
	if l.Text != nil {
		text = map[bool]string{true: "here", false: map[bool]string{true: "elsewhere", false: "gone"}[l.Text.Elsewhere]}[l.Text.Here]
	}
	p.Equals(`(() => {
		const one = (name) => document.querySelector("dialog[open] [data-" + name + "]")?.dataset[name] ?? "";
		return [one("found"), one("rule"), one("call"), one("text"), [...document.querySelectorAll("dialog[open] [data-action]")].map((b) => b.dataset.action).join()];
	})()`, []string{l.State, l.Rule, call, text, strings.Join(l.Actions, ",")})
	if l.Tokens > 0 {
		p.WaitText("dialog[open]", grouped(l.Tokens)+" tokens, tier "+l.Tier)
	}
	return l
}

// selectText selects the text of an element.
func (p *Page) selectText(selector string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`((e) => e && (getSelection().selectAllChildren(e), true))(document.querySelector(%s))`, quote(selector)))
}

const openFind = `document.querySelector("dialog[open]")?.getAttribute("aria-label") === "Is it in the next request?"`

// Whether something is in the next request is asked from a message, from a text in it and from a file, by mouse and keyboard;
// a message is taken out, brought back and kept.
func TestIsItIn(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	w.write(t, "turn.go", source("turn", 20))
	sid := e.NewSession(w.Home.Project)
	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": "turn.go"})
	prompt(t, e, sid, "The colour is **heliotrope**, and [nothing](https://example.org) else.")
	prompt(t, e, sid, "Good.")
	id := transcript(t, e, sid)[0].ID

	p := Open(t, w.Server)
	p.Tab(sid, "files")
	head := fmt.Sprintf(`header[data-message=%q]`, id)
	p.Click(head + " button[aria-label='Is it in the next request?']")
	p.Wait(openFind)
	l := p.foundIs(t, e, sid, map[string]any{"messageId": id})
	if l.State != "whole" || l.Since == nil || l.Since.CallID == "" {
		t.Errorf("the message is %+v", l)
	}
	p.Click("dialog[open] [data-action=take_out]")
	p.Wait(`document.querySelector("dialog[open] [data-found]").dataset.rule === "taken_out"`)
	p.foundIs(t, e, sid, map[string]any{"messageId": id})
	p.Click("dialog[open] [data-action=keep]")
	p.Wait(`document.querySelector("dialog[open] [data-found=whole]")?.textContent.includes("Kept")`)
	if l := p.foundIs(t, e, sid, map[string]any{"messageId": id}); !l.Kept {
		t.Errorf("the message is %+v", l)
	}
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("dialog[open]")`)
	p.WaitText(head, "Kept")

	p.selectText(fmt.Sprintf(`[data-of=%q] strong`, id))
	p.Type("w")
	p.Wait(openFind)
	p.WaitText("dialog[open] .found-text", "heliotrope")
	if l := p.foundIs(t, e, sid, map[string]any{"messageId": id, "text": "heliotrope"}); l.Text == nil || !l.Text.Here {
		t.Errorf("the text is %+v", l)
	}
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("dialog[open]")`)

	p.Click(`[data-file="turn.go"] button[aria-label="Is turn.go in the next request?"]`)
	p.Wait(openFind)
	l = p.foundIs(t, e, sid, map[string]any{"path": "turn.go"})
	p.Equals(`+document.querySelector("[data-file='turn.go']").dataset.tokens`, l.Tokens) // the panel shows the same size
	p.Click("dialog[open] [data-action=remove]")
	p.Wait(`document.querySelector("dialog[open] [data-found]").dataset.found !== "whole"`)
	p.foundIs(t, e, sid, map[string]any{"path": "turn.go"})
}

// Text that is selected with the mouse has a button. A shortened message says that the text is gone.
func TestASelectedTextIsLookedFor(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	prompt(t, e, sid, "The first word is heliotrope.")
	for i := range 5 {
		prompt(t, e, sid, fmt.Sprintf("Step %d.", i))
	}
	id := transcript(t, e, sid)[2].ID
	ask[any](t, e, "_strata/history/compact", sid, map[string]any{"strategy": "middle", "keep": "lastTwo"})
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click(fmt.Sprintf(`[data-message=%q] .visibility`, id))
	p.selectText(fmt.Sprintf(`[data-of=%q].is-segment`, id))
	p.Wait(`(document.querySelector(".transcript").dispatchEvent(new MouseEvent("mouseup", {bubbles: true})), document.querySelector(".find-selected") !== null)`)
	p.Click(".find-selected")
	p.Wait(openFind)
	l := p.foundIs(t, e, sid, map[string]any{"messageId": id, "text": "Step 0."})
	if l.State == "whole" || l.Rule != "middle" || l.Text.Here {
		t.Errorf("the message is %+v", l)
	}
	p.Click("dialog[open] [data-action=keep]")
	p.Wait(`document.querySelector("dialog[open] [data-found=whole]") && document.querySelector("dialog[open] [data-text=here]")`)
}

// The undo of a toast takes its own edit back, and not a newer one that another client made.
func TestAToastUndoesItsOwnEdit(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	prompt(t, e, sid, "One.")
	prompt(t, e, sid, "Two.")
	id := transcript(t, e, sid)[0].ID
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click(fmt.Sprintf(`header[data-message=%q] button[aria-label='Is it in the next request?']`, id))
	p.Wait(openFind)
	p.Click("dialog[open] [data-action=take_out]")
	p.WaitText(".toast", "Taken out")
	ask[any](t, e, "_strata/history/clear", sid, nil)
	p.Wait(`((b) => b && (b.click(), true))([...document.querySelectorAll(".toast button")].find((b) => b.innerText === "Undo"))`)
	p.Wait(`[...document.querySelectorAll(".toast")].some((t) => t.textContent.includes("Cannot undo"))`)
	var info struct{ InView int }
	if err := e.Call("_strata/session/info", map[string]any{"sessionId": sid}, &info); err != nil || info.InView != 0 {
		t.Errorf("%d messages are in view, %v", info.InView, err)
	}
}
