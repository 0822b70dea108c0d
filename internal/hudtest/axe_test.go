package hudtest

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/npm"
	"strata/internal/testclient"
)

//go:embed testdata/axe/*.json
var axePackages embed.FS

// axeScript returns the source of axe-core.
func axeScript(t testing.TB) string {
	t.Helper()
	files, err := fs.Sub(axePackages, "testdata/axe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := npm.Packages{Name: "axe", Files: files, Command: "ci"}.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// violations is the script of a promise: what axe-core objects to, each as its rule and the elements. Of the theme only the
// contrast depends: the other rules count in one of them.
const violations = `axe.run(document, { resultTypes: ["violations"], %s }).then((found) =>
	found.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => v.id + ": " + n.target.join(" ") + " " + n.html.slice(0, 160) + " " + (n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message ?? ""))))`

var axeRules = map[string]string{"light": "", "dark": `runOnly: ["color-contrast"]`}

// view is a state of the page.
type view struct {
	name string
	show func(p *Page)
	hide func(p *Page) // optional
}

// views returns all pages and panels, with the dialogs, lists and menus that open over them. The panels are the tabs that the
// page shows.
func views(p *Page, rich, acting string) []view {
	p.t.Helper()
	address := func(to, shown string) func(*Page) {
		return func(p *Page) {
			Eval[string](p, "location.hash = "+quote(to))
			p.Wait(shown)
			p.settle()
		}
	}
	escape := func(p *Page) { p.Type(kb.Escape); p.Wait(noDialog) }
	session := address("#/session/"+rich, `document.querySelector(".transcript .row")`)
	all := []view{
		{name: "home", show: address("#/", `document.querySelector("main")?.innerText.includes("session")`)},
		{name: "the server", show: address("#/server", `document.querySelector("main")?.innerText.includes("Models")`)},
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
	return append(all,
		view{name: "shortcuts", show: func(p *Page) { session(p); p.press("?"); p.Wait(`document.querySelector("dialog:modal")`) }, hide: escape},
		view{name: "a new session", show: func(p *Page) { session(p); p.press("n"); p.Wait(`document.querySelector("dialog:modal")`) }, hide: escape},
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
	p := Open(t, w.Server)
	Eval[int](p, axeScript(t)+"; 1")
	seen := make(map[string]bool)
	check := func(where, theme string) {
		t.Helper()
		for _, found := range Eval[[]string](p, fmt.Sprintf(violations, axeRules[theme])) {
			if rule, _, _ := strings.Cut(found, " <"); !seen[rule+theme] {
				seen[rule+theme] = true
				t.Errorf("%s, %s: %s", where, theme, found)
			}
		}
	}
	p.Run(chromedp.EmulateViewport(1440, 900))
	all := views(p, rich, acting)
	for _, width := range []int64{390, 900, 1440, 1920} {
		p.Run(chromedp.EmulateViewport(width, 900))
		for _, v := range all {
			v.show(p)
			for theme := range axeRules {
				p.scheme(theme)
				check(fmt.Sprintf("%s at %d pixels", v.name, width), theme)
			}
			if v.hide != nil {
				v.hide(p)
			}
		}
	}
}
