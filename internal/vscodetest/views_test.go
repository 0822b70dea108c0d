package vscodetest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/hudtest"
)

// atTop is an expression for the row at the upper edge of the messages: its name, and its distance in pixels.
const atTop = `(() => {
	const edge = document.querySelector(".transcript").getBoundingClientRect().top;
	const row = [...document.querySelectorAll(".transcript .window-row")].find((r) => r.getBoundingClientRect().bottom > edge + 1);
	return [row?.dataset.key ?? "", row ? row.getBoundingClientRect().top - edge : 0];
})()`

// restsAtTop is the script of a promise: the row at the upper edge once it has stayed there for some frames.
const restsAtTop = `new Promise((done) => {
	let last = "", quiet = 0;
	const look = () => {
		const now = ` + atTop + `;
		quiet = String(now) === last ? quiet + 1 : 0;
		last = String(now);
		if (quiet > 20) done(now);
		else requestAnimationFrame(look);
	};
	look();
})`

// shown returns an expression that is true if the transcript shows a text, and goes to the newest message.
func shown(text string) string {
	return fmt.Sprintf(`(document.querySelector(".to-end")?.click(), document.querySelector(".transcript")?.innerText.includes(%s))`, quoted(text))
}

// markSeen marks the document.
const markSeen = `document.querySelector("#prompt").dataset.seen = "yes"`

// The draft, the place among the messages and the opened parts outlive the page: when it is hidden, loaded again by the
// editor, and with the window.
func TestChatIsHiddenAndShown(t *testing.T) {
	e := open(t)
	e.start(t)
	c := e.newSession()
	client, sid := e.session(t)
	var messages []any
	for i := range 80 {
		messages = append(messages, map[string]any{"role": "user", "content": fmt.Sprintf("Prompt %d", i)},
			map[string]any{"role": "assistant", "content": fmt.Sprintf("Reply %d\n\nin two paragraphs", i)})
	}
	if err := client.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": messages}, nil); err != nil {
		t.Fatal(err)
	}
	c.Wait(shown("Reply 79"))
	c.prompt("call run_command {\"command\": \"echo first; echo second\"}\n---\nsay Done.")
	c.click(".question button.primary")
	c.Wait(shown("Done."))
	c.click(".call .disclosure")
	c.Wait(`document.querySelector(".call-body")`)
	hudtest.EvalIn[bool](c.Frame, `(document.querySelector("#prompt").focus(), document.execCommand("insertText", false, "A draft"))`)
	hudtest.EvalIn[int](c.Frame, `((w) => (w.scrollTop = w.scrollHeight / 2, 1))(document.querySelector(".transcript"))`)
	c.Wait(`document.querySelector(".to-end")`)
	hudtest.EvalIn[string](c.Frame, markSeen)
	place := hudtest.EvalIn[[2]any](c.Frame, restsAtTop)
	for place[1].(float64) > -4 { // a row that begins at the edge is sometimes not the one at the edge
		hudtest.EvalIn[int](c.Frame, `((w) => (w.scrollTop += 12, 1))(document.querySelector(".transcript"))`)
		place = hudtest.EvalIn[[2]any](c.Frame, restsAtTop)
	}
	key := func() string { return place[0].(string) }
	check := func(after string) {
		t.Helper()
		c = e.chat("#prompt:not([data-seen])") // another document
		hudtest.EvalIn[string](c.Frame, markSeen)
		c = e.chat("#prompt")
		c.Wait(`document.querySelector("#prompt").value === "A draft"`)
		c.Wait(fmt.Sprintf("(([key, at]) => key === %s && Math.abs(at - %v) < 8)(%s)", quoted(key()), place[1], atTop))
		t.Logf("after %s: %v", after, place)
	}
	e.run("workbench.view.explorer")
	e.Wait(`document.querySelector(".explorer-folders-view")`)
	e.run("workbench.view.extension.strata")
	check("the view was hidden")
	e.reloadStored(t, "expanded", sid, key()) // there may be an earlier state, without the place
	e.connect()
	check("the window was loaded again")
	e.run("workbench.action.webview.reloadWebviewAction")
	check("the pages were loaded again")
	c.click(".to-end")
	c.Wait(`document.querySelector(".call-body")`)
}

func TestTwoViewsAtOnce(t *testing.T) {
	e := open(t)
	e.start(t)
	c := e.newSession()
	e.command("Strata: Open HUD")
	h := chat{e.hud()}
	client, sid := e.session(t)
	if err := client.Call("_strata/session/rename", map[string]any{"sessionId": sid, "title": "See both"}, nil); err != nil {
		t.Fatal(err)
	}
	e.WaitText(".tab.active", "See both") // the panel has the title of its session
	c.prompt("call run_command {\"command\": \"echo once\"}\n---\nsay Both see it.")
	h.waitText(".question", "echo once")
	c.waitText(".question", "echo once")
	h.click(".question button.primary") // the answer of one view counts for both
	c.Wait(`!document.querySelector(".question")`)
	c.waitText(".transcript", "Both see it.")
	h.waitText(".transcript", "Both see it.")
	h.prompt("say From the panel.")
	c.waitText(".transcript", "From the panel.")
	for range 5 {
		e.Click(".tab.active .tab-actions .action-label")
		e.Wait(`!document.querySelector(".tab.active .tab-actions")?.closest(".tab").ariaLabel.includes("See both")`)
		e.command("Strata: Open HUD")
		e.hud().Wait(`document.querySelector(".transcript")?.innerText.includes("From the panel.")`)
	}
	e.Click(".tab.active .tab-actions .action-label")
	c.prompt("say It goes on.")
	c.waitText(".transcript", "It goes on.")
}

func TestFocusGoesToThePrompt(t *testing.T) {
	e := open(t)
	e.start(t)
	c := e.newSession()
	isThere := `document.hasFocus() && document.activeElement?.id === "prompt"`
	leave := func() {
		e.run("workbench.view.explorer")
		e.Wait(`document.activeElement?.closest(".explorer-folders-view")`)
	}
	c.Wait(isThere)
	hudtest.EvalIn[string](c.Frame, markSeen)
	other := e.rpc(t).NewSession(e.disk)
	hudtest.EvalIn[bool](c.Frame, fmt.Sprintf(`(postMessage({ type: "show", sessionId: %s }, "*"), true)`, quoted(other))) // it can come after the focus
	c.Wait(`!document.querySelector("#prompt[data-seen]") && ` + isThere)
	e.Type(kb.F1) // the editor has its keys in the chat too
	e.Wait(quickInput + " === document.activeElement")
	e.Type(kb.Escape)
	leave()
	e.command("Strata: Focus on Chat View")
	c = e.chat("#prompt")
	c.Wait(isThere)
	leave()
	e.Type("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.Type("a")
	c = e.chat("#prompt")
	c.Wait(isThere)
	e.run("workbench.action.focusActiveEditorGroup")
	c.Wait("!document.hasFocus()")
	hudtest.EvalIn[bool](c.Frame, "new Promise((done) => setTimeout(() => done(true), 500))") // the editor looks every 250 ms; before, it would take the focus for that of the page
	for range 8 {
		if hudtest.Eval[bool](e.Page, `document.activeElement?.tagName === "IFRAME"`) {
			break
		}
		e.Type(kb.F6)
	}
	c.Wait(isThere)

	e.run("workbench.action.focusActiveEditorGroup")
	c.Wait("!document.hasFocus()")
	hudtest.EvalIn[bool](c.Frame, `(postMessage({ type: "focus" }, "*"), true)`) // the editor's own focus can stop at the frame around the page
	c.Wait(isThere)
}
