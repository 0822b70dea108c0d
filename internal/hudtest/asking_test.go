package hudtest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
	"strata/rpc"
)

// newAsking returns a session with the actor and a tool `press` whose calls need permission. Its editor runs the tool, and is
// asked itself only if it is told to.
func newAsking(t *testing.T, editorIsAsked bool) *acting {
	t.Helper()
	w := NewWorld(t)
	e := testclient.Connect(t, w.WebSocket(), w.Token)
	e.InitializeWith(map[string]any{"_meta": map[string]any{"strata": map[string]any{"permission": editorIsAsked}}})
	e.Serve("_strata/tool/call", func(params json.RawMessage) (any, *rpc.Error) {
		var call struct{ Input struct{ Key string } }
		if err := json.Unmarshal(params, &call); err != nil {
			t.Error(err)
		}
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": "pressed " + call.Input.Key}}}, nil
	})
	tool := map[string]any{"name": "press", "description": "Presses a key", "kind": "other", "inputSchema": map[string]any{"type": "object"}}
	var created struct{ SessionID string }
	params := map[string]any{"cwd": w.Home.Project, "mcpServers": []any{}, "_meta": map[string]any{"strata": map[string]any{"tools": []any{tool}}}}
	if err := e.Call("session/new", params, &created); err != nil {
		t.Fatal(err)
	}
	a := &acting{World: w, t: t, editor: e, session: created.SessionID}
	a.call("session/set_config_option", map[string]any{"configId": "model", "value": "offline/actor"})
	return a
}

// pressing is a turn that presses keys one after the other.
func pressing(keys ...string) string {
	var script strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&script, "call press {\"key\":%q}\n---\n", key)
	}
	return script.String() + "say Done."
}

// end waits for the end of a turn.
func (a *acting) end(turn *testclient.Turn) {
	a.t.Helper()
	if _, err := turn.Wait(); err != nil {
		a.t.Fatal(err)
	}
}

const noQuestion = `!document.querySelector(".question")`

// clickAnswer clicks the button of the only question with this text.
func (p *Page) clickAnswer(text string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`((b) => b && (b.id = "answer"))([...document.querySelectorAll(".question button")].find((b) => b.innerText === %s))`, quote(text)))
	p.Click("#answer")
}

func TestThePageAsksUnderTheCallAndAllowsIt(t *testing.T) {
	a := newAsking(t, false)
	p := a.open()
	turn := a.editor.Start(a.session, pressing("Enter", "Tab", "Home"))
	p.WaitText(".call .question", "Permission needed press")
	p.WaitText(".question pre", `"key": "Enter"`)
	p.WaitCalls("press: pending")
	p.WaitText(".title-path", "needs permission")
	p.WaitText(".line.here .line-state", "needs permission")
	p.Wait(`document.title.startsWith("(1) ")`)
	p.Wait(`[...document.querySelectorAll("[aria-live]")].some((e) => e.textContent === "Permission needed: press")`)
	p.Equals(`[...document.querySelectorAll(".question button[data-kind]")].map((b) => b.dataset.kind)`, []string{"allow_once", "allow_always", "reject_once"})
	if nameless, _ := namelessOf(p); len(nameless) > 0 {
		t.Errorf("elements without a name: %q", nameless)
	}
	p.reachesAll("a question")
	p.clickAnswer("Allow once")
	p.WaitCalls("press: done", "press: pending")
	p.WaitText(".question pre", `"key": "Tab"`)
	p.Run(chromedp.Reload())
	p.WaitText(".question pre", `"key": "Tab"`) // the new page is asked again
	Eval[bool](p, `document.querySelector(".question button[data-kind=reject_once]").dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 }))`)
	p.Click(".question button[data-kind=allow_always]")
	a.end(turn)
	p.WaitCalls("press: done", "press: done", "press: done")
	p.Wait(noQuestion + ` && !document.title.startsWith("(")`)
	p.Equals(`[...document.querySelectorAll(".line-state")].map((e) => e.innerText)`, []string{})
}

// countQuestions counts the server's requests for permission, and those that it no longer waits for.
const countQuestions = `{
	window.asked = window.cancelled = 0;
	const Native = window.WebSocket;
	window.WebSocket = class extends Native {
		set onmessage(run) {
			super.onmessage = (event) => {
				const { method } = JSON.parse(event.data);
				run(event);
				if (method === "session/request_permission") window.asked++;
				if (method === "$/cancel_request") window.cancelled++;
			};
		}
	};
}`

func TestAQuestionIsRejectedWithWordsByTheKeyboard(t *testing.T) {
	a := newAsking(t, false)
	p := a.openWith(countQuestions)
	p.Click("#prompt")
	p.Type("I am ")
	turn := a.editor.Start(a.session, pressing("Any"))
	p.Wait(`document.querySelector(".question")`)
	p.Type("typing")
	p.Equals(`[document.activeElement.id, document.activeElement.value]`, []string{"prompt", "I am typing"})
	p.tabTo(`!document.activeElement.matches("input, textarea, select")`) // a field takes the key itself
	p.Type("a")
	p.Wait(`document.activeElement.innerText === "Allow once"`)
	p.tabTo(`document.activeElement.innerText === "Reject with message"`)
	p.Type(kb.Enter)
	p.Wait(`document.activeElement.matches(".question textarea")`)
	p.Type("a key that exists")
	// A change of the approval asks again. The user goes on typing.
	a.call("session/set_config_option", map[string]any{"configId": "approval", "value": "edits"})
	p.Wait(`window.asked === 2 && window.cancelled === 1`)
	p.Wait(`document.activeElement.matches(".question textarea")`)
	p.Type(", please")
	p.Equals(`[...document.querySelectorAll(".question textarea")].map((e) => e.value)`, []string{"a key that exists, please"})
	p.Click("#prompt") // from there, the next question does not take the focus
	a.call("session/set_config_option", map[string]any{"configId": "approval", "value": "ask"})
	p.Wait(`window.asked === 3 && window.cancelled === 2 && document.querySelector(".question textarea")`)
	p.Type("!")
	p.Equals(`[document.activeElement.id, document.activeElement.value]`, []string{"prompt", "I am typing!"})
	p.Click(".question textarea")
	p.Type(kb.Escape)
	p.Wait(`document.querySelector(".question button[data-kind]")`)
	p.clickAnswer("Reject with message")
	p.Wait(`document.activeElement.value === "a key that exists, please"`)
	p.Type(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	a.end(turn)
	p.WaitCalls("press: failed")
	p.Wait(noQuestion + ` && document.activeElement.matches(".call > .disclosure")`)
	p.Type(kb.Enter)
	p.WaitText(".call-body .result.bad", "The user says: a key that exists, please")
}

func TestTheFirstOfTwoPagesAnswers(t *testing.T) {
	a := newAsking(t, true)
	p, second := a.open(), a.open()
	turn := a.editor.Start(a.session, pressing("Enter", "Tab"))
	for _, page := range []*Page{p, second} {
		page.WaitText(".question pre", `"key": "Enter"`)
	}
	second.clickAnswer("Allow once")
	for _, page := range []*Page{p, second} {
		page.WaitText(".question pre", `"key": "Tab"`)
		page.WaitCalls("press: done", "press: pending")
	}
	asked := a.editor.Asked("session/request_permission", 2)
	if err := a.editor.Respond(asked, map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "reject_once"}}); err != nil {
		t.Fatal(err)
	}
	a.end(turn)
	for _, page := range []*Page{p, second} {
		page.WaitCalls("press: done", "press: failed")
		page.Wait(noQuestion)
	}
}

func TestAQuestionEndsWithItsTurn(t *testing.T) {
	a := newAsking(t, false)
	p := a.open()
	turn := a.editor.Start(a.session, pressing("Enter"))
	p.Wait(`document.querySelector(".question")`)
	p.Click("button[aria-label='Stop reply']")
	a.end(turn)
	p.WaitCalls("press: cancelled")
	p.Wait(noQuestion)
}

func TestAQuestionOutOfSightIsFound(t *testing.T) {
	a := newAsking(t, false)
	var messages []any
	for i := range 60 {
		messages = append(messages,
			map[string]any{"role": "user", "content": fmt.Sprintf("Question %d", i)}, map[string]any{"role": "assistant", "content": strings.Repeat("Words. ", 1000)})
	}
	a.call("_strata/history/append", map[string]any{"messages": messages})
	p := a.open()
	turn := a.editor.Start(a.session, pressing("Enter", "Tab"))
	p.Wait(`document.querySelector(".call .question")`)
	p.Equals(`document.querySelectorAll(".question-link").length`, 0)
	Eval[bool](p, `(document.querySelector(".transcript").scrollTop = 0, true)`)
	p.WaitText(".question-link", "Permission needed: press")
	p.Click(".question-link button")
	p.Wait(`((q) => q && q.getBoundingClientRect().bottom <= innerHeight)(document.querySelector(".call .question"))`)
	p.clickAnswer("Allow once")
	p.WaitText(".question pre", `"key": "Tab"`)
	far := a.open()
	far.Wait(`document.querySelector(".call .question")`)
	Eval[string](far, `location.hash += "?at=3"`) // the newest messages are not loaded there
	far.Wait(`document.querySelector(".questions > .question")`)
	far.clickAnswer("Reject")
	a.end(turn)
	far.Wait(noQuestion)
	p.Wait(noQuestion)
}

// withDiffs makes a page get diffs with the calls of a session: in requests for permission, in updates, and in stored
// results.
func withDiffs(updates, stored []any) string {
	return fmt.Sprintf(`{
	const [updates, stored] = [%s, %s];
	const changed = (key, value) => {
		if (value?.toolCallId && (key === "toolCall" || value.sessionUpdate === "tool_call_update")) return { ...value, content: [...(value.content ?? []), ...updates] };
		if (value?.type === "tool_result") return { ...value, call: { ...value.call, diffs: stored } };
		return value;
	};
	const Native = window.WebSocket;
	window.WebSocket = class extends Native {
		set onmessage(run) {
			super.onmessage = (event) => run({ data: JSON.stringify(JSON.parse(event.data, changed)) });
		}
	};
}`, mustJSON(updates), mustJSON(stored))
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: tests pass plain values
	}
	return string(raw)
}

// openWith opens the session in a new page, with a script that runs before it.
func (a *acting) openWith(script string) *Page {
	a.t.Helper()
	p := newPage(a.t)
	p.beforeLoad(script)
	p.Run(chromedp.Navigate(Address(a.t, a.Server)))
	p.Wait(`document.querySelector(".sidebar")`)
	p.Session(a.session)
	return p
}

// diffLines are the shown lines of all diffs, each as its number, its sign and its text.
const diffLines = `[...document.querySelectorAll(".diff-line")].map((l) => l.innerText.trim().split(/\s+/).join(" ")).join("|")`

func TestDiffsAreShownInTheQuestionAndInTheCall(t *testing.T) {
	a := newAsking(t, false)
	path := filepath.Join(a.Home.Project, "main.go")
	updates := []any{
		map[string]any{"type": "diff", "path": path, "oldText": "a\nb\nc\n", "newText": "a\nB\nc\n", "_meta": map[string]any{"strata": map[string]any{"oldLine": 7, "newLine": 7}}},
		map[string]any{"type": "diff", "path": path, "oldText": "x\n", "newText": "", "_meta": map[string]any{"strata": map[string]any{"oldLine": 20, "newLine": 20, "cut": true}}},
		map[string]any{"type": "diff", "path": filepath.Join(a.Home.Project, "new.txt"), "oldText": nil, "newText": "new\n", "_meta": map[string]any{"strata": map[string]any{"oldLine": 0, "newLine": 1}}},
	}
	stored := []any{
		map[string]any{"path": path, "hunks": []any{map[string]any{"oldStart": 7, "newStart": 7, "old": "a\nb\nc\n", "new": "a\nB\nc\n"}, map[string]any{"oldStart": 20, "newStart": 20, "old": "x\n"}}, "cut": true},
		map[string]any{"path": filepath.Join(a.Home.Project, "new.txt"), "created": true, "hunks": []any{map[string]any{"oldStart": 0, "newStart": 1, "new": "new\n"}}},
	}
	p := a.openWith(withDiffs(updates, stored))
	turn := a.editor.Start(a.session, pressing("Enter")+"\nwait 60s")
	const want = "7 a|8 - b|8 + B|9 c|20 - x|1 + new"
	shows := func() {
		t.Helper()
		p.WaitText(".diff-path", "main.go")
		p.Wait(`document.querySelectorAll(".diff").length === 2`)
		p.Equals(diffLines, want)
		p.Equals(`[...document.querySelectorAll(".diff-size [aria-hidden]")].map((e) => e.innerText)`, []string{"+1 −2", "+1 −0"})
		p.Equals(`[...document.querySelectorAll(".diff .mark")].map((e) => e.innerText)`, []string{"New file"})
		p.Equals(`document.querySelectorAll(".diff-gap").length`, 1)
		p.WaitText(".diff .note", "not all of its lines")
	}
	p.Wait(`document.querySelector(".question .diff")`)
	shows()
	p.Equals(`document.querySelectorAll(".question .call-places").length`, 0)
	p.WaitText(".question .result", `"key": "Enter"`) // the diff is not whole
	p.toggleCall("press")
	p.clickAnswer("Allow once")
	p.Click(".call-body .disclosure")
	p.WaitText(".call-body .result pre", "pressed Enter")
	shows()
	if err := a.editor.Cancel(a.session); err != nil {
		t.Fatal(err)
	}
	a.end(turn)
	p.Run(chromedp.Reload())
	p.WaitCalls("press: done")
	p.Equals(`document.querySelectorAll(".diff").length`, 0)
	p.toggleCall("press")
	shows()
}

func TestAHostileDiffStaysTextOnASmallScreen(t *testing.T) {
	a := newAsking(t, false)
	long := strings.Repeat("x", 3000)
	update := map[string]any{
		"type": "diff", "path": "/elsewhere/" + hostile + "\u202e" + long,
		"oldText": strings.Repeat("old line\n", 2500), "newText": hostile + "\u202e\x1b[31m" + long + "\n" + strings.Repeat("new line\n", 4000),
	}
	p := a.openWith(withDiffs([]any{update}, nil))
	p.Run(chromedp.EmulateViewport(360, 700))
	turn := a.editor.Start(a.session, pressing("Enter"))
	p.WaitText(".question .diff", "old line")
	p.Equals(`document.querySelectorAll(".diff-line").length`, 60)
	p.WaitText(".diff .link", "Show 4,940 more lines")
	p.Click(".diff .link")
	p.Wait(`document.querySelectorAll(".diff-line").length === 5000`)
	p.WaitText(".diff .note", "not all of its lines")
	p.WaitText(".diff-text", "⟨U+202E⟩␛[31m")
	if Eval[bool](p, "'hit' in window") {
		t.Errorf("script %v ran", Eval[any](p, "window.hit"))
	}
	for what, wrong := range map[string]string{
		"the page scrolls sideways":            `document.documentElement.scrollWidth > innerWidth`,
		"the conversation scrolls sideways":    `document.querySelector(".transcript").scrollWidth > document.querySelector(".transcript").clientWidth`,
		"the diff scrolls sideways":            `document.querySelector(".diff-lines").scrollWidth > document.querySelector(".diff-lines").clientWidth`,
		"the diff is not bounded":              `document.querySelector(".diff-lines").clientHeight > 400`,
		"the path has more than one line":      `document.querySelector(".diff-head").clientHeight > 40`,
		"elements of the text are in the page": `document.querySelector(".transcript iframe, .transcript script, .transcript [onerror], .transcript [onload], .question a")`,
		"an answer is out of view":             `[...document.querySelectorAll(".question button")].some((b) => b.getBoundingClientRect().right > innerWidth)`,
	} {
		if Eval[bool](p, "!!("+wrong+")") {
			t.Error(what)
		}
	}
	p.Click(".diff .link")
	p.Wait(`document.querySelectorAll(".diff-line").length === 60`)
	p.clickAnswer("Allow once")
	a.end(turn)
}
