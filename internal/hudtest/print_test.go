package hudtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"strata/internal/upstream"
	"strata/session"
)

// emulateMedia makes the page believe in a medium, and in a preferred color scheme.
func (p *Page) emulateMedia(medium, scheme string) {
	p.t.Helper()
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// The print view has all messages of a session, in a light color scheme, and nothing of the page around them.
func TestH19ThePrintViewHasAllMessages(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 450)
	ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		map[string]any{"role": "assistant", "content": []any{
			map[string]any{"type": "tool_call", "callId": "c1", "name": "look_around", "args": `{}`}, map[string]any{"type": "tool_call", "callId": "c2", "name": "fail", "args": `{}`},
		}},
		map[string]any{"role": "tool", "content": []any{
			map[string]any{"type": "tool_result", "callId": "c1", "content": []any{map[string]any{"type": "text", "text": "hidden output"}}},
			map[string]any{"type": "tool_result", "callId": "c2", "isError": true, "content": []any{map[string]any{"type": "text", "text": "hidden failure"}}},
		}},
	}})
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("See [the page](https://example.com/path).\n\n```go\nfunc last() {}\n```")}})
	if _, err := e.Prompt(sid, "The last prompt"); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "func last")
	p.Click(`.title-actions [aria-label="Print view"]`)
	p.Wait(`document.activeElement.textContent === "Print"`)
	p.Wait(`!document.querySelector(".sidebar, .inspector, .composer")`)
	stored := ask[session.Info](t, e, "_strata/session/info", sid, nil).Messages
	p.WaitText(".print-title [role=status]", fmt.Sprintf("%d messages, printed", stored))
	p.Equals(`[...document.querySelectorAll(".printed-call")].map((e) => e.innerText)`, []string{"look_around: done", "fail: failed"})
	text := pdfText(t, p.pdf())
	for _, want := range []string{"word0000 ", "word0223 ", "word0449 ", "look_around: done", "fail: failed", "The last prompt", "(https://example.com/path)", "func last() {}"} {
		if !strings.Contains(text, want) {
			t.Errorf("the printed text does not contain %q", want)
		}
	}
	for _, not := range []string{"hidden", "Back to session", "Server"} {
		if strings.Contains(text, not) {
			t.Errorf("the printed text contains %q", not)
		}
	}
	if t.Failed() {
		t.Logf("%d bytes of text: %.500s", len(text), text)
	}
	p.emulateMedia("print", "dark")
	p.Equals(`getComputedStyle(document.querySelector(".print-page")).backgroundColor`, "rgb(255, 255, 255)")
	p.Equals(`getComputedStyle(document.querySelector(".prose")).color`, "rgb(0, 0, 0)")
	p.emulateMedia("", "light")
	p.Click(".print-actions a")
	p.Wait(`document.querySelector("#prompt")`)
}

// Ctrl+P in a session opens the print view, which prints when all messages are there. The page itself, printed by the
// browser's menu, says so.
func TestH19CtrlPPrintsTheWholeSession(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 250)
	p := Open(t, w.Server)
	Eval[any](p, `window.prints = [], window.print = () => { prints.push(document.querySelectorAll(".printed").length) }, null`)
	p.Session(sid)
	p.WaitText(".transcript", "word0249")
	p.emulateMedia("print", "light")
	p.Wait(`getComputedStyle(document.querySelector(".print-hint")).display === "block" && getComputedStyle(document.querySelector(".sidebar")).display === "none"`)
	p.emulateMedia("", "light")
	p.Wait(`getComputedStyle(document.querySelector(".print-hint")).display === "none"`)
	p.Click("#prompt")
	p.chord("p")
	p.Equals("prints", []int{250})
	p.Equals("location.hash", "#/session/"+sid+"/print")
	Eval[any](p, `window.taken = [], addEventListener("keydown", (e) => e.key === "p" && taken.push(e.defaultPrevented)), null`)
	p.chord("p") // the browser's own
	p.Equals("taken", []bool{false})
	p.Equals("prints", []int{250})
}

// A session that is not there, and one that cannot be read, say so.
func TestH19PrintingNothing(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	Eval[string](p, `location.hash = "#/session/sess_none/print"`)
	p.WaitText(".print-page .empty-title", "Session not found")
}
