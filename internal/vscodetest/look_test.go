package vscodetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"strata/internal/hudtest"
)

// themes are the color themes of the editor, by the classes that their webviews have.
var themes = map[string]string{
	"Dark Modern": "vscode-dark", "Light Modern": "vscode-light",
	"Default High Contrast": "vscode-high-contrast", "Default High Contrast Light": "vscode-high-contrast-light",
}

// theme selects a color theme, and waits until the frames have it.
func (e *editor) theme(name string, frames ...*hudtest.Frame) {
	e.set(map[string]any{"workbench.colorTheme": name})
	for _, f := range frames {
		f.Wait(fmt.Sprintf(`document.body.classList.contains(%q) && (%[1]q !== "vscode-high-contrast" || !document.body.classList.contains("vscode-high-contrast-light"))`, themes[name]))
	}
}

// sideBar gives the side bar a width in pixels, by dragging its edge.
func (e *editor) sideBar(width int) {
	e.spoiled = true
	edge := hudtest.Eval[[2]float64](e.Page, `((r) => [r.right, r.left])(document.querySelector(".part.sidebar").getBoundingClientRect())`)
	drag := func(kind input.DispatchMouseEventType, x float64) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: 300, Button: input.MouseButtonLeft, ClickCount: 1, Buttons: 1})
			return err
		})
	}
	to := edge[1] + float64(width)
	e.Run(drag(input.DispatchMouseEventTypeMouseMoved, edge[0]), drag(input.DispatchMouseEventTypeMousePressed, edge[0]),
		drag(input.DispatchMouseEventTypeMouseMoved, to+1), drag(input.DispatchMouseEventTypeMouseMoved, to), drag(input.DispatchMouseEventTypeMouseReleased, to))
	e.Wait(fmt.Sprintf(`Math.abs(document.querySelector(".part.sidebar").clientWidth - %d) < 4`, width))
}

// everyKind has what is wider than a side bar: code, a table and a long word.
const everyKind = "# Title\n\nA paragraph with `code`, a [link](https://example.com) and **weight**.\n\n> A quote\n\n" +
	"| name | purpose | default | since |\n|---|---|---|---|\n| `retention.days` | days until deleted sessions are removed | 30 | 1.4 |\n\n" +
	"```go\nfunc (c *Client) Reconnect(ctx context.Context, endpoint Endpoint, attempts int, backoff time.Duration) (*Connection, error) { return nil, nil }\n```\n\n" +
	"internal/architecture/averyveryveryveryveryverylongnamewithoutanybreakinitatallwhichisnotunusualinpaths.go\n"

// asking opens a chat with every kind of content, whose last turn asks for permission.
func (e *editor) asking(t *testing.T) (c chat, session string) {
	t.Helper()
	c = e.newSession()
	client, sid := e.session(t)
	err := client.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": []any{
		map[string]any{"role": "user", "content": "Write code and a table."},
		map[string]any{"role": "assistant", "content": everyKind},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.prompt(strings.Join([]string{
		`call run_command {"command": "echo said"}`, "---",
		`call write_file {"path": "client.go", "content": "package client\n\n` + strings.Repeat(`// A line that is longer than the side bar is wide, as most lines of code are.\n`, 30) + `"}`, "---", "say Done.",
	}, "\n"))
	c.waitText(".question", "echo said")
	c.click(".question button.primary")
	c.waitText(".question", "client.go")
	return c, sid
}

func TestChatInANarrowSideBar(t *testing.T) {
	e := open(t)
	e.start(t)
	c, _ := e.asking(t)
	for _, width := range []int{400, 300, 200} {
		e.sideBar(width)
		c.Wait(fmt.Sprintf(`innerWidth <= %d && innerWidth > %d`, width, width-20))
		for _, problem := range hudtest.EvalIn[[]string](c.Frame, unfit) {
			t.Errorf("at %d pixels: %s", width, problem)
		}
	}
}

// unfit is the script of a promise: what does not fit the width of the page once it is at rest.
const unfit = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))).then(() => {
	const name = (e) => e.tagName + "." + e.className;
	const all = [...document.querySelectorAll(":is(.window, .composer, .question, .diff, .prose), :is(.window, .composer) *")].filter((e) => e.checkVisibility());
	const isScrolled = (e) => e && (e.matches("pre, .prose-table, .choices, .hidden, .diff-lines") || isScrolled(e.parentElement));
	const found = all.filter((e) => !isScrolled(e) && e.getBoundingClientRect().right > innerWidth + 1).map((e) => name(e) + " is wider than the page");
	if (document.documentElement.scrollWidth > innerWidth) found.push("the page scrolls");
	for (const e of document.querySelectorAll(".window, .composer, .question")) if (e.scrollWidth > e.clientWidth) found.push(name(e) + " scrolls: " + e.scrollWidth + " of " + e.clientWidth);
	if (document.querySelector(".choices").clientHeight > 34) found.push("the options are on several lines");
	const view = document.querySelector(".transcript").getBoundingClientRect();
	for (const b of document.querySelectorAll(".question-answers button")) {
		const { top, bottom } = b.getBoundingClientRect();
		if (top < view.top || bottom > view.bottom) found.push(b.innerText + " is out of sight");
	}
	return found;
})`

// axe-core finds no violation in the chat and in the panel of the HUD, in dark, light and high contrast themes.
func TestAxeFindsNoViolation(t *testing.T) {
	e := open(t)
	e.start(t)
	c, sid := e.asking(t)
	e.sideBar(300)
	e.command("Strata: Open HUD")
	h := e.hud()
	source := hudtest.AxeScript(t) + "; 1"
	hudtest.EvalIn[int](c.Frame, source)
	hudtest.EvalIn[int](h, source)
	seen := make(map[string]bool)
	check := func(where string, f *hudtest.Frame) {
		t.Helper()
		for _, found := range hudtest.EvalIn[[]string](f, fmt.Sprintf(hudtest.Violations, "")) {
			if rule, _, _ := strings.Cut(found, " <"); !seen[where+rule] {
				seen[where+rule] = true
				t.Errorf("%s: %s", where, found)
			}
		}
	}
	for name := range themes {
		e.theme(name, c.Frame, h)
		check("the chat, "+name, c.Frame)
		for address, shown := range map[string]string{
			"#/": `document.querySelector("main")?.innerText.includes("session")`, "#/server": `document.querySelector("main")?.innerText.includes("Models")`,
			"#/session/" + sid: `document.querySelector(".question")`, "#/session/" + sid + "/tiers": `document.querySelector(".inspected .panel")`,
		} {
			hudtest.EvalIn[string](h, "location.hash = "+quoted(address))
			h.Wait(shown + ` && !document.querySelector(".stale")`) // what is not up to date is pale
			check(fmt.Sprintf("%s in the panel, %s", strings.Replace(address, sid, "ID", 1), name), h)
		}
	}
}
