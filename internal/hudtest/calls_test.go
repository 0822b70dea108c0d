package hudtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/testclient"
)

// acting is a session with the actor, and an editor that answers the reads of files one by one.
type acting struct {
	*World
	t       *testing.T
	editor  *testclient.Editor
	session string
}

func newActing(t *testing.T, files map[string]string) *acting {
	t.Helper()
	w := NewWorld(t)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(w.Home.Project, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := testclient.Connect(t, w.WebSocket(), w.Token)
	e.InitializeWith(map[string]any{"fs": map[string]any{"readTextFile": true}})
	a := &acting{World: w, t: t, editor: e, session: e.NewSession(w.Home.Project)}
	a.call("session/set_config_option", map[string]any{"configId": "model", "value": "offline/actor"})
	return a
}

func (a *acting) call(method string, params map[string]any) {
	a.t.Helper()
	params["sessionId"] = a.session
	if err := a.editor.Call(method, params, nil); err != nil {
		a.t.Fatalf("%s: %v", method, err)
	}
}

// asked returns the requests for files, from the first one up to the n-th, by the name of the file.
func (a *acting) asked(n int) map[string]testclient.Frame {
	a.t.Helper()
	requests := make(map[string]testclient.Frame)
	for i := range n {
		request := a.editor.Asked("fs/read_text_file", i+1)
		var params struct{ Path string }
		if err := json.Unmarshal(request.Params, &params); err != nil {
			a.t.Fatal(err)
		}
		requests[filepath.Base(params.Path)] = request
	}
	return requests
}

func (a *acting) respond(request testclient.Frame, text string) {
	a.t.Helper()
	if err := a.editor.Respond(request, map[string]any{"content": text}); err != nil {
		a.t.Fatal(err)
	}
}

// open opens the session in a new page.
func (a *acting) open() *Page {
	a.t.Helper()
	p := Open(a.t, a.Server)
	p.Session(a.session)
	return p
}

// calls is a script for the calls of the conversation, each as its title and status.
const calls = `[...document.querySelectorAll(".call")].map((c) => c.querySelector(".call-title").innerText + ": " + c.dataset.status)`

// WaitCalls waits until the conversation shows exactly these calls.
func (p *Page) WaitCalls(want ...string) {
	p.t.Helper()
	p.Wait("JSON.stringify(" + calls + ") === " + quote(jsonOf(want)))
}

// toggleCall opens or closes the call with a title, by the keyboard.
func (p *Page) toggleCall(title string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`((b) => b && (b.focus(), b === document.activeElement))([...document.querySelectorAll(".call > button")].find((b) => b.innerText.includes(%s)))`, quote(title)))
	p.Type("\r")
}

const plannedTurn = `think Two files.
say I read both.
call read_file {"path":"a.txt"}
call read_file {"path":"b.txt"}
---
call search {"pattern":"(","regex":true}
---
call update_plan {"entries":[{"content":"read a","priority":"high","status":"completed"},{"content":"read c","priority":"low","status":"in_progress"},{"content":"tell","priority":"low","status":"pending"}]}
call read_file {"path":"c.txt","start_line":2}
---
say Both are read.`

func TestCallsAreShownLiveAndAfterReload(t *testing.T) {
	a := newActing(t, map[string]string{"a.txt": "on disk", "b.txt": "on disk", "c.txt": "on disk\ntwo"})
	p := a.open()
	turn := a.editor.Start(a.session, plannedTurn)
	requests := a.asked(2)
	p.WaitCalls("Read a.txt: running", "Read b.txt: running")
	a.respond(requests["b.txt"], "unsaved b")
	p.WaitCalls("Read a.txt: running", "Read b.txt: done")
	p.toggleCall("Read b.txt")
	p.WaitText(".call-body .result pre", "unsaved b")
	p.WaitText(".call-body .result pre", `"path": "b.txt"`)

	second := a.open()
	second.WaitCalls("Read a.txt: running", "Read b.txt: done")
	second.WaitText(".transcript", "I read both.")
	a.respond(requests["a.txt"], "unsaved a")
	c := a.asked(3)["c.txt"]
	third := a.open() // the results of the step are not stored yet
	for _, page := range []*Page{p, second, third} {
		page.WaitCalls("Read a.txt: done", "Read b.txt: done", "Search for (: failed", "Update the plan: done", "Read c.txt from line 2: running")
		page.WaitText(".plan", "1 of 3 done")
	}
	p.WaitText(".call-body .result pre", "unsaved b")
	a.respond(c, "one\nunsaved c")
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
	settled := []string{"Read a.txt: done", "Read b.txt: done", "Search for (: failed", "Update the plan: done", "Read c.txt from line 2: done"}
	reloaded := a.open()
	for _, page := range []*Page{p, second, third, reloaded} {
		page.WaitText(".transcript", "Both are read.")
		page.WaitText(".steps", "5 calls")
		if page != p { // whose user has opened a call
			page.WaitCalls()
			page.Click(".steps .disclosure")
		}
		page.WaitCalls(settled...)
		page.WaitText(".steps", "1 failed")
		page.Equals(`[...document.querySelectorAll(".plan")].map((e) => e.innerText.replace(/\s+/g, " ").trim())`, []string{"Plan 1 of 3 done ☑ read a (done) ◐ read c (in progress) ☐ tell (open)"})
	}
	order := `[...document.querySelectorAll(".row")].map((r) => r.className.match(/is-(\S+)/)[1]).filter((kind) => kind !== "head").join()`
	for _, page := range []*Page{second, reloaded} {
		page.Equals(order, "segment,steps,thinking,segment,call,call,call,call,call,segment,plan")
	}
	reloaded.toggleCall("Search for (")
	reloaded.WaitText(".result.bad", "missing closing )")
	if labels := reloaded.Texts(".result-label"); !slices.Equal(labels, []string{"Input", "Failed"}) {
		t.Errorf("the parts of the call are labeled %q", labels)
	}
	if nameless, _ := namelessOf(reloaded); len(nameless) > 0 {
		t.Errorf("elements without a name: %q", nameless)
	}
	reloaded.reachesAll("the conversation")
	reloaded.toggleCall("Search for (")
	reloaded.Wait(`!document.querySelector(".call-body")`)
	p.WaitText(".call-body .result pre", "unsaved b")
}

func TestACancelledCallIsMarked(t *testing.T) {
	a := newActing(t, map[string]string{"a.txt": "a"})
	p := a.open()
	turn := a.editor.Start(a.session, "call read_file {\"path\":\"a.txt\"}\n---\nsay never")
	a.asked(1)
	p.WaitCalls("Read a.txt: running")
	p.Click("button[aria-label='Stop reply']")
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	p.WaitCalls("Read a.txt: cancelled")
	reloaded := a.open()
	reloaded.WaitCalls("Read a.txt: cancelled")
}

func TestThePageWaitsForTheModelBetweenSteps(t *testing.T) {
	a := newActing(t, map[string]string{"a.txt": "a"})
	p := a.open()
	turn := a.editor.Start(a.session, "call list_files\n---\nwait 60s\nsay never")
	waits := `[...document.querySelectorAll(".row")].at(-1)?.querySelector(".waiting") && document.querySelectorAll(".call").length === 1`
	p.Wait(waits)
	p.WaitCalls("List files: done")
	second := a.open()
	second.Wait(waits)
	if err := a.editor.Cancel(a.session); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, page := range []*Page{p, second} {
		page.Wait(`!document.querySelector(".waiting")`)
	}
}

// TestAFailedStepLeavesNoCallOpen: the calls of a step that the provider broke off have ended.
func TestAFailedStepLeavesNoCallOpen(t *testing.T) {
	a := newActing(t, map[string]string{"a.txt": "a"})
	p := a.open()
	if _, err := a.editor.Prompt(a.session, "call list_files\n---\ncall list_files\nfail 500"); err == nil {
		t.Fatal("the turn did not fail")
	}
	p.Wait(`document.querySelector(".failure")`)
	p.WaitCalls("List files: done", "list_files: not run")
}

// TestASearchFindsAResultInItsCall: a message with results has no rows of its own.
func TestASearchFindsAResultInItsCall(t *testing.T) {
	a := newActing(t, map[string]string{"a.txt": "a"})
	turn := a.editor.Start(a.session, strings.Repeat("call list_files\n", 5)+"call read_file {\"path\":\"a.txt\"}\n---\nsay Read.")
	a.respond(a.asked(1)["a.txt"], "the needle in a file")
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	p := a.open()
	p.WaitText(".steps", "6 calls")
	p.search("needle")
	p.Click(".hit")
	p.WaitText(".row.marked .call-body .result pre", "the needle in a file")
	p.Equals(`[...document.querySelectorAll(".row.marked .call-title")].map((e) => e.innerText).at(-1)`, "Read a.txt")
}

// TestACallIsShownWhenItsNameIsKnown: also to a page that opens while the arguments arrive.
func TestACallIsShownWhenItsNameIsKnown(t *testing.T) {
	a := newActing(t, map[string]string{"a.txt": "a"})
	p := a.open()
	turn := a.editor.Start(a.session, "say One moment.\ncall list_files\nwait 60s")
	p.WaitCalls("list_files: pending")
	second := a.open()
	second.WaitCalls("list_files: pending")
	second.WaitText(".transcript", "One moment.")
	if err := a.editor.Cancel(a.session); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, page := range []*Page{p, second} {
		page.WaitCalls("list_files: cancelled")
	}
}

func TestHostileCallsStayTextOnASmallScreen(t *testing.T) {
	a := newActing(t, map[string]string{"a.txt": "a"})
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.Home.Project, "p.png"), picture.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 3000)
	text := hostile + "\x00\x1b[31m\u202e" + strings.Repeat(long+"\n", 16)
	result := func(id, title, text string) map[string]any {
		return map[string]any{
			"type": "tool_result", "callId": id, "content": []any{
				map[string]any{"type": "text", "text": text}, map[string]any{"type": "image", "mimeType": "image/png", "data": picture.Bytes()},
			},
		}
	}
	a.call("_strata/history/append", map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": "Look."},
		map[string]any{"role": "assistant", "content": []any{
			map[string]any{"type": "tool_call", "callId": "c1", "name": hostile + "\u202e\n" + long, "args": hostile + text},
			map[string]any{"type": "tool_call", "callId": "c2", "name": "alone", "args": "{}"},
		}},
		map[string]any{"role": "tool", "content": []any{result("c1", hostile, text)}},
	}})
	p := a.open()
	p.Run(chromedp.EmulateViewport(360, 700))
	p.WaitText(".call-title", "<img src=x onerror")
	p.toggleCall("<img src=x")
	p.WaitText(".call-body .result pre", "<svg onload")
	p.Wait(`document.querySelector(".call-body img.picture")`)
	p.Equals(`[...document.querySelectorAll(".call")].map((c) => c.dataset.status)`, []string{"done", ""})
	if Eval[bool](p, "'hit' in window") {
		t.Errorf("script %v ran", Eval[any](p, "window.hit"))
	}
	for what, wrong := range map[string]string{
		"the page scrolls sideways":             `document.documentElement.scrollWidth > innerWidth`,
		"the conversation scrolls sideways":     `document.querySelector(".transcript").scrollWidth > document.querySelector(".transcript").clientWidth`,
		"the result is not bounded":             `[...document.querySelectorAll(".call-body pre")].some((e) => e.clientHeight > 300)`,
		"the title has more than one line":      `document.querySelector(".call .disclosure").clientHeight > 40`,
		"the title changes the direction":       `document.querySelector(".call-title").innerText.includes("\u202e")`,
		"elements of the text are in the page":  `document.querySelector(".transcript iframe, .transcript script, .transcript [onerror], .transcript [onload], .call-body a")`,
		"the status of the call is out of view": `document.querySelector(".call-status").getBoundingClientRect().right > innerWidth`,
	} {
		if Eval[bool](p, "!!("+wrong+")") {
			t.Error(what)
		}
	}
	p.Click(".call-body .result:nth-of-type(2) .link")
	p.WaitText(".call-body .link", "Show less")
}
