package hudtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
	"strata/internal/upstream"
)

// axeChecks are the rules that axe-core checks at each width, by theme. Only colors depend on the theme. The page changes its
// elements at 800 and 1200 pixels (web/hud/src/ui/media.ts), and no color with the width. So all rules run at one width of each
// kind; at the fourth run those that depend on what scrolls and on which labels are hidden.
var axeChecks = []struct {
	width int64
	rules map[string]string
}{
	{390, allRules}, {900, allRules}, {1440, allRules}, {1920, rulesOfWidths},
}

var (
	allRules      = map[string]string{"light": "", "dark": `runOnly: ["color-contrast"]`}
	rulesOfWidths = map[string]string{"light": `runOnly: ["scrollable-region-focusable", "button-name", "link-name", "label", "aria-input-field-name"]`}
)

// quietFrames is the script of a promise: the page has the same elements for a few frames.
const quietFrames = `new Promise((done) => {
	let quiet = 0, last = 0;
	const look = () => {
		const now = document.getElementsByTagName("*").length;
		quiet = now === last ? quiet + 1 : 0;
		last = now;
		if (quiet > 4) done(1);
		else requestAnimationFrame(look);
	};
	look();
})`

// view is a state of the page.
type view struct {
	name string
	show func(p *Page)
	hide func(p *Page) // optional
}

// menus is an expression for the buttons that open a menu, one of each kind, by the words before their object.
const menus = `[...new Map([...document.querySelectorAll("button[aria-haspopup=menu]:not(:disabled)")].filter((b) => b.checkVisibility()).map((b) => [(b.ariaLabel ?? b.innerText).split(":")[0], b])).values()]`

// menuViews returns the menus of the page that is shown.
func menuViews(p *Page, session func(*Page)) []view {
	p.t.Helper()
	var all []view
	for i := range Eval[int](p, menus+".length") {
		all = append(all, view{name: fmt.Sprintf("menu %d", i), show: func(p *Page) {
			session(p)
			if Eval[bool](p, fmt.Sprintf("((b) => b && (b.click(), true))(%s[%d]) ?? false", menus, i)) {
				p.Wait(`document.querySelector("[role=menu]")`)
			}
		}, hide: func(p *Page) { p.Type(kb.Escape); p.Wait(`!document.querySelector("[role=menu]")`) }})
	}
	return all
}

// views returns all pages and panels, with the dialogs, lists and menus that open over them. The panels are the tabs that the
// page shows.
func views(p *Page, rich, lastCall, acting, failed string) []view {
	p.t.Helper()
	address := func(to, shown string) func(*Page) {
		return func(p *Page) {
			Eval[string](p, "location.hash = "+quote(to))
			p.Wait(shown)
			Eval[int](p, quietFrames)
		}
	}
	escape := func(p *Page) { p.Type(kb.Escape); p.Wait(noDialog) }
	session := address("#/session/"+rich, `document.querySelector(".transcript .row")`)
	all := []view{
		{name: "home", show: address("#/", `document.querySelector("main")?.innerText.includes("session")`)},
		{name: "the server", show: address("#/server", `document.querySelector("main")?.innerText.includes("Models")`)},
		{name: "deleted sessions", show: address("#/bin", `document.querySelector("[data-deleted]")`)},
		{name: "editors", show: address("#/connect", `document.querySelector("main pre")`)},
		{name: "a request beside another", show: address("#/session/"+rich+"/requests/"+lastCall, `document.querySelector(".compared-list [data-item]")`)},
		{name: "no request", show: address("#/session/"+rich+"/requests/call_none", `document.querySelector(".request-page .mark.bad")`)},
		{name: "print", show: address("#/session/"+acting+"/print", `document.querySelector(".print-title [role=status]")`)},
		{name: "no session", show: address("#/session/sess_none", `document.querySelector("main")?.innerText.includes("not found")`)},
	}
	session(p)
	for _, tab := range p.tabs() {
		if tab == "" {
			continue
		}
		shown := fmt.Sprintf(`document.querySelector("#tab-%s")?.getAttribute("aria-selected") === "true" && document.querySelector(".panel")`, tab)
		all = append(all, view{name: "panel " + tab, show: address("#/session/"+rich+"/"+tab, shown)})
	}
	all = append(all, menuViews(p, session)...)
	return append(all,
		view{name: "the next request", show: func(p *Page) {
			address("#/session/"+rich+"/budget", `document.querySelector("#show-request")`)(p)
			p.Click("#show-request")
			p.Wait(`document.querySelector("dialog:modal .request-head")`)
		}, hide: escape},
		view{name: "a review", show: func(p *Page) {
			address("#/session/"+acting, `document.querySelector(".question")`)(p)
			p.press("r")
			p.Wait(`document.querySelector("dialog:modal .review-file")`)
		}, hide: escape},
		view{name: "a failed turn", show: address("#/session/"+failed, `document.querySelector(".failure")`)},
		view{name: "shortcuts", show: func(p *Page) { session(p); p.press("?"); p.Wait(`document.querySelector("dialog:modal")`) }, hide: escape},
		view{name: "a new session", show: func(p *Page) { session(p); p.press("n"); p.Wait(`document.querySelector("dialog:modal")`) }, hide: escape},
		view{name: "is it in", show: func(p *Page) {
			session(p)
			p.Wait(`((b) => b && (b.click(), true))(document.querySelector("[aria-label='Is it in the next request?']"))`)
			p.Wait(openFind + ` && document.querySelector("dialog [data-found]")`)
		}, hide: escape},
		view{name: "find", show: func(p *Page) {
			session(p)
			p.press("c")
			p.chord("f")
			p.Wait(`document.activeElement?.id === "find"`)
			p.input("#find", "case")
			p.WaitText(".find-state", "1 of")
		}, hide: func(p *Page) { p.Type(kb.Escape); p.Wait(`!document.querySelector(".find")`) }},
		view{name: "a draft", show: func(p *Page) {
			session(p)
			p.input("#prompt", "What does it do?")
			p.Wait(`document.querySelector(".draft-line")`)
		}, hide: func(p *Page) { p.input("#prompt", "") }},
		view{name: "the list of sessions", show: func(p *Page) {
			session(p)
			p.Wait(`document.querySelector(".sidebar") || (document.querySelector("` + showSessions + `").click(), false)`)
		}, hide: func(p *Page) {
			p.Wait(`!document.querySelector(".drawer") || (document.querySelector(".drawer [aria-label^='Hide sessions']").click(), false)`)
		}},
		view{name: "completions", show: func(p *Page) {
			session(p)
			p.input("#prompt", "@parser")
			p.Wait(`document.querySelector("#prompt").getAttribute("aria-expanded") === "true" || document.querySelector("[role=option]")`)
		}, hide: func(p *Page) { p.input("#prompt", "") }},
		view{name: "calls, code and a question", show: address("#/session/"+acting, `document.querySelector(".question")`)},
		view{name: "hits", show: func(p *Page) {
			session(p)
			p.press("/")
			p.Wait(`document.activeElement?.id === "search"`)
			p.input("#search", "parser")
			p.Wait(`document.querySelector(".hit mark")`)
		}, hide: func(p *Page) {
			p.input("#search", "")
			p.Type(kb.Escape)
			Eval[int](p, "(document.activeElement?.blur(), 1)")
		}},
	)
}

// press presses a key outside of fields.
func (p *Page) press(key string) {
	p.t.Helper()
	Eval[int](p, "(document.activeElement?.blur(), 1)")
	p.Type(key)
}

// acting is a session whose last turn asks for permission, after calls, code and a table, and after a failed prompt.
func actingSession(t *testing.T, w *World, e *testclient.Editor) string {
	t.Helper()
	w.write(t, "a.go", "package a\n\n// before\nfunc Old() {}\n")
	sid := e.NewSession(w.Home.Project)
	choose := func(option, value string) {
		ask[any](t, e, "session/set_config_option", sid, map[string]any{"configId": option, "value": value})
	}
	ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": "Write code, a table and a list."},
		map[string]any{"role": "assistant", "content": everyKind},
	}})
	choose("model", "offline/actor")
	choose("approval", "auto")
	prompt(t, e, sid, `call read_file {"path":"a.go"}
---
call edit_file {"path":"a.go","edits":[{"old_text":"func Old() {}","new_text":"func New() { return \"new\" }"}]}
---
call run_command {"command":"echo said; exit 3"}
---
call update_plan {"entries":[{"content":"read","priority":"high","status":"completed"},{"content":"write","priority":"low","status":"in_progress"}]}
---
say Done.`)
	choose("approval", "ask")
	e.Start(sid, `call write_file {"path":"b.go","content":"package b\n"}
---
say Written.`)
	return sid
}

const everyKind = "# Title\n\nA paragraph with `code`, a [link](https://example.com) and **weight**.\n\n> A quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n- [ ] open\n\n" +
	"```go\npackage a // said\n\ntype T struct{ n int }\n\nfunc (t T) F() string { return \"a\" + 1.5 }\n```\n\n```diff\n-old\n+new\n```\n\n```json\n{\"a\": [true, null, 1]}\n```\n\n" +
	"1. one\n\n   ```sh\n   echo \"$HOME\" # said\n   ```\n"

// axe-core finds no violation on any page, panel, dialog or list, in both themes and at four widths.
func TestH17AxeFindsNoViolation(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	rich := richSession(t, w, e)
	acting := actingSession(t, w, e)
	failed := e.NewSession(w.Home.Project)
	w.Model.Push(upstream.Script{Status: http.StatusBadRequest, Body: `{"error":{"message":"not like this"}}`})
	if _, err := e.Prompt(failed, "Fail"); err == nil {
		t.Error("the prompt did not fail")
	}
	gone := e.NewSession(w.Home.Project)
	ask[any](t, e, "session/delete", gone, nil)
	calls := ask[struct{ Calls []struct{ CallID string } }](t, e, "_strata/usage/list", rich, nil).Calls
	p := Open(t, w.Server)
	Eval[int](p, AxeScript(t)+"; 1")
	seen := make(map[string]bool)
	var checking time.Duration
	begun := time.Now()
	check := func(where, theme, rules string) {
		t.Helper()
		since := time.Now()
		defer func() { checking += time.Since(since) }()
		for _, found := range Eval[[]string](p, fmt.Sprintf(Violations, rules)) {
			if rule, _, _ := strings.Cut(found, " <"); !seen[rule+theme] {
				seen[rule+theme] = true
				t.Errorf("%s, %s: %s", where, theme, found)
			}
		}
	}
	p.Run(chromedp.EmulateViewport(1440, 900))
	all := views(p, rich, calls[len(calls)-1].CallID, acting, failed)
	for _, v := range all {
		for _, at := range axeChecks {
			p.Run(chromedp.EmulateViewport(at.width, 900))
			v.show(p)
			for theme, rules := range at.rules {
				p.scheme(theme)
				check(fmt.Sprintf("%s at %d pixels", v.name, at.width), theme, rules)
			}
			if v.hide != nil {
				v.hide(p)
			}
		}
	}
	t.Logf("%d views, %v of %v in axe-core", len(all), checking, time.Since(begun))
}
