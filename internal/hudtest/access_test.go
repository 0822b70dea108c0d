package hudtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// named are the roles of controls and groups. Each must have an accessible name.
var named = []string{
	"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "tab", "tabpanel", "slider", "menuitem", "option",
	"treeitem", "progressbar", "ProgressIndicator", "meter", "img", "image", "dialog", "table", "tree", "log", "region",
}

// namelessOf returns the roles of elements without a name in the page's accessibility tree.
func namelessOf(p *Page) (nameless []string, seen int) {
	p.t.Helper()
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		tree, err := cdp.Call(ctx, target, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		for _, node := range tree.Nodes {
			role := textOf(node.Role)
			if node.Ignored || !slices.Contains(named, role) {
				continue
			}
			seen++
			if strings.TrimSpace(textOf(node.Name)) == "" {
				nameless = append(nameless, role)
			}
		}
		return err
	}))
	return nameless, seen
}

func textOf(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}

func TestEveryControlHasAName(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 900))
	check := func(where string) {
		t.Helper()
		nameless, seen := namelessOf(p)
		if len(nameless) > 0 {
			t.Errorf("%s: elements without a name: %q", where, nameless)
		}
		if seen < 2 {
			t.Errorf("%s: only %d elements were found", where, seen)
		}
		if n := Eval[int](p, `document.querySelectorAll("main").length`); n != 1 {
			t.Errorf("%s: %d main landmarks", where, n)
		}
	}
	p.WaitText("main", "Most expensive sessions")
	check("home")
	p.Session(sid)
	for _, tab := range p.tabs() {
		p.Tab(sid, tab)
		p.settle()
		check(tab)
	}
	p.Type("?")
	p.WaitText("dialog", "Keyboard shortcuts")
	check("the shortcuts")
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("dialog")`)
	p.Type("n")
	p.Wait(`document.activeElement?.id === "new-folder"`)
	check("a new session")
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("dialog")`)
	p.search("parser")
	p.Wait(`document.querySelector(".hit mark")`)
	check("hits")
	Eval[string](p, `location.hash = "#/server"`)
	p.WaitText("main", "Models")
	check("the server")
}

// reachable numbers the elements that the Tab key must reach and returns their count. Of a group of tabs this is the
// selected one. Scrollable elements may be reached, too.
const reachable = `(() => {
	const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")].filter((e) =>
		!e.disabled && e.tabIndex >= 0 && e.checkVisibility({ visibilityProperty: true }) && !e.closest("[inert]") && e.type !== "file");
	all.forEach((e, i) => (e.dataset.stop = String(i)));
	return all.length;
})()`

// focused returns the number of the focused element, -1 for others, and whether its focus is visible.
const focused = `(() => {
	const e = document.activeElement;
	const sample = document.body.appendChild(document.createElement("i"));
	sample.style.color = "var(--accent)";
	const accent = getComputedStyle(sample).color;
	sample.remove();
	const shown = (x) => x && (getComputedStyle(x).outlineStyle !== "none" || getComputedStyle(x).borderTopColor === accent);
	return [Number(e?.dataset?.stop ?? -1), shown(e) || shown(e?.closest(".composer, .search")) ? 1 : 0];
})()`

func TestKeyboardAloneReachesEverything(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 900))
	p.Wait(`document.querySelector(".line a")`)
	p.tabTo(`document.activeElement?.closest(".sidebar .window")`)
	p.Type(kb.ArrowDown)
	p.Wait(`document.activeElement?.dataset.session`)
	p.Type(kb.Enter)
	p.Wait(fmt.Sprintf(`location.hash.includes(%s) && document.querySelector("#prompt")`, quote(sid)))
	tabs := p.tabs()
	for i, tab := range tabs {
		if i > 0 {
			p.tabTo(`!document.activeElement?.matches("input, textarea, select")`) // a field takes the key itself
			p.Type("]")
		}
		p.Wait(fmt.Sprintf(`document.querySelector("#tab-%s").getAttribute("aria-selected") === "true"`, tab))
		p.settle()
		p.reachesAll(tab)
	}
	p.tabTo(`document.activeElement?.getAttribute("role") === "tab"`)
	p.Type(kb.ArrowRight)
	p.Wait(fmt.Sprintf(`document.activeElement?.id === "tab-%s" && document.activeElement.getAttribute("aria-selected") === "true"`, tabs[0]))

	p.tabTo(`document.activeElement?.innerText === "Show request"`)
	p.Type(kb.Enter)
	p.Wait(`document.querySelector("dialog[open]")?.contains(document.activeElement)`)
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("dialog") && document.activeElement?.innerText === "Show request"`)
	p.Type("s")
	p.WaitText("main", "Models")
	p.settle()
	p.reachesAll("the server")
}

// tabTo presses the Tab key until an expression is true.
func (p *Page) tabTo(expression string) {
	p.t.Helper()
	const most = 200
	for range most {
		if p.holds(expression) {
			return
		}
		p.Type(kb.Tab)
	}
	p.t.Fatalf("the Tab key never reaches %s", expression)
}

// reachesAll presses the Tab key through a whole cycle and checks that it reaches all elements with visible focus.
func (p *Page) reachesAll(where string) {
	p.t.Helper()
	n := Eval[int](p, reachable)
	been := make(map[int]bool)
	for range n + 20 {
		p.Type(kb.Tab)
		at := Eval[[]int](p, focused)
		if at[0] >= 0 {
			been[at[0]] = true
			if at[1] == 0 {
				p.t.Errorf("%s: the focus on %s is not visible", where, Eval[string](p, `document.activeElement.outerHTML.slice(0, 150)`))
			}
		}
		if len(been) == n {
			return
		}
	}
	for i := range n {
		missed := Eval[string](p, fmt.Sprintf(`document.querySelector("[data-stop='%d']")?.outerHTML.slice(0, 150) ?? ""`, i))
		if !been[i] && missed != "" { // list rows are removed when they are scrolled out of sight
			p.t.Errorf("%s: the Tab key never reaches %s", where, missed)
		}
	}
}

// visible rows of a long list, and where the focus is.
const longAnswer = 400

// j and k go from message to message by the data, also over an answer that is longer than what is drawn, and y copies it. A button
// that copies is in sight wherever one reads.
func TestH17TheKeysActOnTheData(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	var answer strings.Builder
	for i := range longAnswer {
		fmt.Fprintf(&answer, "Paragraph %d of many.\n\n", i)
	}
	answer.WriteString("```go\n" + strings.Repeat("line()\n", 300) + "```\n")
	ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": "First"}, map[string]any{"role": "assistant", "content": answer.String()},
		map[string]any{"role": "user", "content": "Second"}, map[string]any{"role": "assistant", "content": "Short"},
	}})
	ids := make([]string, 0, 4)
	for _, m := range transcript(t, e, sid) {
		ids = append(ids, m.ID)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "Short")
	at := func(i int) {
		t.Helper()
		p.Wait(fmt.Sprintf(`document.activeElement?.dataset.message === %s && ((r, a) => r.top >= a.top && r.bottom <= a.bottom)(document.activeElement.getBoundingClientRect(), document.querySelector(".transcript").getBoundingClientRect())`, quote(ids[i])))
	}
	for _, i := range []int{3, 2, 1, 0} {
		p.Type("k")
		at(i)
	}
	for _, i := range []int{1, 2, 1} {
		p.Type(map[bool]string{true: "j", false: "k"}[i == 1 && Eval[string](p, "document.activeElement.dataset.message") == ids[0] || i == 2])
		at(i)
	}
	// Far from both ends, the focus stays in the transcript, and the way to copy in sight.
	p.Wait(`((t) => { t.scrollTop = 200 * 35; return document.querySelector(".above button[aria-label='Copy message']") && !document.querySelector(".transcript [data-message]") })(document.querySelector(".transcript"))`)
	p.Equals(`document.activeElement.className.includes("transcript")`, true)
	p.Wait(`((r) => r.top >= 0 && r.bottom <= innerHeight && r.width > 0)(document.querySelector(".above button[aria-label='Copy message']").getBoundingClientRect())`)
	copied := func() {
		t.Helper()
		Eval[int](p, `(window.copied = "", Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: (text) => { window.copied = text; return Promise.resolve(); } } }), 1)`)
	}
	copied()
	p.Type("y")
	p.Wait(`window.copied.startsWith("Paragraph 0 of many.") && window.copied.includes("Paragraph 399 of many.")`)
	copied()
	p.Click(".above button[aria-label='Copy message']")
	p.Wait(`window.copied.startsWith("Paragraph 0 of many.")`)
	p.Type("j")
	at(2)
	p.Type("k")
	at(1)
	// In the middle of long code, a button copies all of it.
	p.Wait(`((t) => { t.scrollTop += 300; return [...document.querySelectorAll(".code.continued .code-head button")].find((b) => ((r) => r.top > 60 && r.bottom < innerHeight - 200)(b.getBoundingClientRect())) })(document.querySelector(".transcript"))`)
	copied()
	Eval[int](p, `([...document.querySelectorAll(".code.continued .code-head button")].find((b) => b.getBoundingClientRect().top > 60).click(), 1)`)
	p.Wait(`window.copied.split("line()").length === 301`)
}

// A list, a table, the transcript and a bar of tabs are one Tab stop each; the arrow keys reach the rest.
func TestH17AListIsOneTabStop(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	for range 30 {
		e.NewSession(w.Home.Project)
	}
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 900))
	p.Session(sid)
	p.Wait(`document.querySelectorAll(".sidebar .line").length > 20`)
	stops := `(selector) => [...document.querySelectorAll(selector)].flatMap((w) => [[...w.querySelectorAll("a[href], button, [tabindex='0']")].filter((e) => e.tabIndex >= 0 && !e.closest(".question, pre, form")).length]).filter((n) => n !== 1)`
	for _, tab := range p.tabs() {
		p.Tab(sid, tab)
		p.settle()
		p.Equals(fmt.Sprintf("(%s)(%s)", stops, quote(".sidebar .window, .transcript, [role=tablist], .inspected .window:has(a, button), .inspected table:has(a, button)")), []int{})
	}
	// The Tab key leaves the list for what follows it, and comes back to the same entry.
	p.focusOn(".sidebar .line a[aria-current]")
	p.Type(kb.ArrowUp + kb.ArrowUp)
	entry := Eval[string](p, "document.activeElement.dataset.session")
	if entry == sid || entry == "" {
		t.Errorf("the arrow keys focus %q", entry)
	}
	p.Type(kb.Tab)
	p.Wait(`!document.activeElement.closest(".sidebar .window")`)
	p.Type(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift))
	p.Equals("document.activeElement.dataset.session", entry)
	// In a row, left and right lead to its other controls.
	p.Tab(sid, "tiers")
	p.Wait(`document.querySelector(".item-copy button")`)
	p.Wait(`((b) => b && (b.scrollIntoView({ block: "center" }), b.focus(), b === document.activeElement))(document.querySelector(".item-copy button"))`)
	row := `document.activeElement.closest(".window-row").dataset.key`
	key := Eval[string](p, row)
	p.Type(kb.ArrowLeft)
	p.Equals(row, key)
	p.Wait(`!document.activeElement.matches(".item-copy button") || !document.activeElement.closest(".window-row").querySelector("a, button:not(.item-copy button)")`)
	p.Type(kb.ArrowDown)
	p.Wait(row + " !== " + quote(key))
}
