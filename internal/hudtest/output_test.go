package hudtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// commanding is a session whose model runs commands with this approval.
func commanding(t *testing.T, approval string) *acting {
	t.Helper()
	w := NewWorld(t)
	e := w.Editor(t)
	a := &acting{World: w, t: t, editor: e, session: e.NewSession(w.Home.Project)}
	a.call("session/set_config_option", map[string]any{"configId": "model", "value": "offline/actor"})
	a.call("session/set_config_option", map[string]any{"configId": "approval", "value": approval})
	return a
}

// runs is a step of the actor that runs a command.
func runs(input map[string]any) string {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err) // cannot happen: tests pass plain values
	}
	return "call run_command " + string(raw) + "\n---\n"
}

// awaited is a command line that goes on when the project has a file.
func awaited(file string) string { return fmt.Sprintf("until [ -e %s ]; do sleep 0.02; done; ", file) }

// allow makes a file for which a command waits.
func (a *acting) allow(file string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.Home.Project, file), nil, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

const (
	outputText = `(document.querySelector(".output pre")?.innerText ?? "")`
	atEnd      = `((e) => e.scrollHeight - e.scrollTop - e.clientHeight < 2)(document.querySelector(".output pre"))`
)

func TestTheOutputOfACommandFollowsUntilTheReaderScrolls(t *testing.T) {
	a := commanding(t, "auto")
	p := a.open()
	line := "seq 300; " + awaited("more") + "seq 301 320; " + awaited("end") + "echo last; exit 3"
	turn := a.editor.Start(a.session, runs(map[string]any{"command": line})+"say Done.")
	p.WaitCalls(line + ": running")
	p.Equals(`document.querySelectorAll(".output").length`, 0) // the call is closed
	p.toggleCall("seq 300")
	p.Wait(outputText + `.endsWith("\n300\n")`)
	p.Wait(atEnd)
	p.Equals(outputText+`.split("\n")[0]`, "101")
	p.WaitText(".output .result-label", " omitted")
	p.Equals(`document.querySelector(".output pre").getAttribute("aria-live")`, "off")
	p.Equals(`[...document.querySelectorAll(".call-body .result-label")].map((e) => e.innerText.split(",")[0])`, []string{"Output"})
	second := a.open()
	second.toggleCall("seq 300")
	second.Wait(outputText + `.endsWith("\n300\n")`)

	Eval[bool](p, `(document.querySelector(".output pre").scrollTop = 40, true)`)
	p.WaitText(".output .link", "Follow output")
	read := Eval[string](p, outputText)
	a.allow("more")
	second.Wait(outputText + `.endsWith("\n320\n")`)
	p.Equals(outputText, read)
	p.Equals(`document.querySelector(".output pre").scrollTop`, 40)
	p.Click(".output .link")
	p.Wait(outputText + `.endsWith("\n320\n")`)
	p.Wait(atEnd + ` && !document.querySelector(".output .link")`)
	if nameless, _ := namelessOf(p); len(nameless) > 0 {
		t.Errorf("elements without a name: %q", nameless)
	}

	a.allow("end")
	a.end(turn)
	for _, page := range []*Page{p, second} {
		page.Wait(`!document.querySelector(".output")`)
		page.WaitText(".call-status", "exit code 3")
		page.Equals(`[...document.querySelectorAll(".call-body .result-label")].map((e) => e.innerText)`, []string{"Exit code 3"})
		page.Wait(`((text) => text.startsWith("1\n2\n") && text.endsWith("320\nlast\n"))([...document.querySelectorAll(".call-body pre")].at(-1).textContent)`)
	}
	reloaded := a.open()
	reloaded.WaitText(".call-status", "exit code 3")
}

func TestTheQuestionOfACommandShowsItsLineAndTheRules(t *testing.T) {
	a := commanding(t, "ask")
	if err := os.Mkdir(filepath.Join(a.Home.Project, "web"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := a.open()
	turn := a.editor.Start(a.session, runs(map[string]any{"command": "cat  'a b'", "cwd": "."})+
		runs(map[string]any{"command": "echo one &&\necho two", "cwd": "web", "timeout_s": 90})+"say Done.")
	p.WaitText(".question-title", "Permission needed Run a command")
	p.WaitCalls("cat 'a b': pending")
	p.Equals(`[...document.querySelectorAll(".question .result-label, .question pre")].map((e) => e.innerText)`, []string{"Command", "cat  'a b'"})
	p.Equals(`[...document.querySelectorAll(".question [data-kind=allow_always]")].length > 0`, true)
	p.Wait(`[...document.querySelectorAll("[aria-live]")].some((e) => e.textContent === "Permission needed: cat 'a b'")`)
	if nameless, _ := namelessOf(p); len(nameless) > 0 {
		t.Errorf("elements without a name: %q", nameless)
	}
	p.toggleCall("cat")
	p.Equals(`document.querySelectorAll(".call .command").length`, 1) // only in the question
	p.clickAnswer("Allow once")
	p.WaitText(".call-status", "exit code 1")
	p.Wait(`document.querySelectorAll(".call-body .command").length === 1`)
	p.Wait(`document.querySelectorAll(".question .command").length === 1`)
	p.Equals(`[...document.querySelectorAll(".question .result-label, .question pre")].map((e) => e.innerText)`, []string{"Command in web, at most 90 s", "echo one &&\necho two"})
	p.clickAnswer("Reject")
	a.end(turn)
	p.Wait(noQuestion)
}

func TestHostileCommandsStayTextOnASmallScreen(t *testing.T) {
	a := commanding(t, "auto")
	text := filepath.Join(a.Home.Project, "text")
	if err := os.WriteFile(text, []byte(hostile+"\u202e"+strings.Repeat("x", 3000)+"\n"+strings.Repeat(hostile+"\n", 9)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := a.open()
	p.Run(chromedp.EmulateViewport(360, 700))
	line := "cat text; " + awaited("end") + "exit 1 # \u202e" + strings.Repeat("x", 999) + hostile
	turn := a.editor.Start(a.session, runs(map[string]any{"command": line, "cwd": a.Home.Project})+"say Done.")
	p.toggleCall("cat text")
	p.Wait(outputText + `.includes("<svg onload")`)
	check := func() {
		t.Helper()
		for what, wrong := range map[string]string{
			"the page scrolls sideways":             `document.documentElement.scrollWidth > innerWidth`,
			"the conversation scrolls sideways":     `document.querySelector(".transcript").scrollWidth > document.querySelector(".transcript").clientWidth`,
			"a text is not bounded":                 `[...document.querySelectorAll(".call-body pre")].some((e) => e.clientHeight > 300)`,
			"the title is not bounded":              `document.querySelector(".call .disclosure").clientHeight > 300`,
			"the line changes the direction":        `document.querySelector(".command").innerText.includes("\u202e")`,
			"elements of the text are in the page":  `document.querySelector(".transcript iframe, .transcript script, .transcript [onerror], .transcript [onload], .call-body a")`,
			"the status of the call is out of view": `document.querySelector(".call-status").getBoundingClientRect().right > innerWidth`,
		} {
			if Eval[bool](p, "!!("+wrong+")") {
				t.Error(what)
			}
		}
	}
	check()
	a.allow("end")
	a.end(turn)
	p.WaitText(".call-status", "exit code 1")
	check()
	if Eval[bool](p, "'hit' in window") {
		t.Errorf("script %v ran", Eval[any](p, "window.hit"))
	}
}
