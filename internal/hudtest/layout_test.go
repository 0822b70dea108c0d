package hudtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// size gives the page a size and waits until it has it.
func (p *Page) size(width, height int64) {
	p.t.Helper()
	p.Run(chromedp.EmulateViewport(width, height))
	p.Wait(fmt.Sprintf("innerWidth === %d && innerHeight === %d", width, height))
	p.settleFor(4) // a size asks nothing of the server
}

// outside is an expression for the elements that scroll the page sideways, or that end outside it.
const outside = `[document.documentElement, ...document.querySelectorAll("main, .sidebar, .session-main, .inspector, .inspected, .panel, .transcript, .composer")]
	.filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible" || document.documentElement.scrollWidth > innerWidth || e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.className || e.tagName)`

// wideParts is an expression for the parts of the panel that are wider than it.
const wideParts = `[...document.querySelectorAll(".panel *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className).slice(0, 5)`

// scrollBars is an expression for the columns with more than one vertical scroll bar, without those of fields and of blocks of text.
const scrollBars = `[".sidebar", ".session-main", ".inspector", "main.page"].flatMap((column) => {
	const found = [...document.querySelectorAll(column + ", " + column + " *")].filter((e) => e.scrollHeight > e.clientHeight + 1 && e.clientHeight > 0 &&
		/auto|scroll/.test(getComputedStyle(e).overflowY) && !e.closest("pre, textarea, .composer, .notices, .call, .scroll-x, .tabs"));
	return found.length > 1 ? [column + ": " + found.map((e) => e.className).join(", ")] : [];
})`

// From 320 pixels on, and enlarged to 200 %, no page and no panel scrolls sideways, and a column has one scroll bar.
func TestH14EachWidthFits(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	p := Open(t, w.Server)
	p.Session(sid)
	sizes := [][2]int64{{320, 640}, {390, 844}, {640, 400}, {799, 600}, {800, 600}, {1200, 800}, {1920, 1080}}
	check := func(where string) {
		t.Helper()
		for _, size := range sizes {
			p.size(size[0], size[1])
			if wide := Eval[[]string](p, outside); len(wide) > 0 {
				t.Errorf("%s, %d pixels: outside are %q: %q", where, size[0], wide, Eval[[]string](p, wideParts))
			}
			if twice := Eval[[]string](p, scrollBars); len(twice) > 0 {
				t.Errorf("%s, %d x %d pixels: %q", where, size[0], size[1], twice)
			}
		}
	}
	check("the conversation")
	for _, tab := range p.tabs() {
		if tab == "" {
			continue
		}
		p.Tab(sid, tab)
		check(tab)
	}
	Eval[string](p, `location.hash = "#/server"`)
	p.WaitText("main", "Models")
	check("the server")
	Eval[string](p, `location.hash = "#/"`)
	p.WaitText("main", "session")
	check("home")
}

const showSessions = ".show-sessions button"

// Below 800 pixels, the list of sessions is a modal drawer.
func TestH14TheListIsADrawer(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	one, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(one)
	p.size(390, 844)
	p.Wait(`!document.querySelector(".sidebar") && document.querySelector("` + showSessions + `").getAttribute("aria-expanded") === "false"`)
	back := `!document.querySelector(".drawer") && document.activeElement === document.querySelector("` + showSessions + `")`
	p.Click(showSessions)
	p.Wait(`document.querySelector("dialog.drawer:modal")?.contains(document.activeElement) && document.querySelector("` + showSessions + `").getAttribute("aria-expanded") === "true"`)
	p.Type(kb.Escape)
	p.Wait(back)
	p.Type("b")
	p.Wait(`document.querySelector("dialog.drawer:modal")`)
	p.Type("b")
	p.Wait(back)
	p.Type("/")
	p.Wait(`document.activeElement?.id === "search"`)
	p.Click(fmt.Sprintf("[data-session=%s]", quote(other)))
	p.Wait(fmt.Sprintf(`location.hash.includes(%s) && !document.querySelector(".drawer")`, quote(other)))
	p.Click(showSessions)
	p.Run(chromedp.EmulateViewport(900, 800))
	p.Wait(`document.querySelector(".app > .sidebar") && !document.querySelector(".drawer")`)
	p.Run(chromedp.EmulateViewport(390, 844))
	p.Wait(`!document.querySelector(".sidebar")`)
}

// The panes are resized by keyboard and pointer, and hidden; the browser remembers that, within bounds.
func TestH14PanesAreResizedAndHidden(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 900))
	p.Session(sid)
	width := func(selector string) int {
		t.Helper()
		return Eval[int](p, fmt.Sprintf(`Math.round(document.querySelector(%s)?.getBoundingClientRect().width ?? 0)`, quote(selector)))
	}
	for selector, keys := range map[string][2]string{".sidebar": {kb.ArrowRight, "[aria-label='Width: Sessions']"}, ".inspector": {kb.ArrowLeft, "[aria-label='Width: Inspector']"}} {
		p.Wait(fmt.Sprintf(`document.querySelector(%s) && document.querySelector(%s)`, quote(selector), quote(keys[1])))
		before := width(selector)
		p.focusOn(keys[1])
		p.Type(keys[0])
		p.Wait(fmt.Sprintf(`Math.round(document.querySelector(%s).getBoundingClientRect().width) === %d`, quote(selector), before+24))
		p.Equals(fmt.Sprintf(`document.querySelector(%s).getAttribute("aria-valuenow")`, quote(keys[1])), fmt.Sprint(before+24))
		p.Type(kb.Home)
		p.Wait(fmt.Sprintf(`((d) => d.getAttribute("aria-valuenow") === d.getAttribute("aria-valuemin"))(document.querySelector(%s))`, quote(keys[1])))
	}
	p.Run(chromedp.Reload())
	p.Wait(`document.querySelector(".inspector")`)
	if got := [2]int{width(".sidebar"), width(".inspector")}; got != [2]int{200, 320} {
		t.Errorf("after a reload the widths are %v", got)
	}
	p.drag("[aria-label='Width: Sessions']", 100)
	p.Wait(`Math.abs(document.querySelector(".sidebar").getBoundingClientRect().width - 300) < 6`)
	p.drag("[aria-label='Width: Inspector']", -100)
	p.Wait(`Math.abs(document.querySelector(".inspector").getBoundingClientRect().width - 420) < 6`)

	p.Type("b")
	p.Wait(`!document.querySelector(".sidebar")`)
	p.Type("i")
	p.Wait(`!document.querySelector(".inspector")`)
	p.Run(chromedp.Reload())
	p.Wait(`document.querySelector("#prompt") && !document.querySelector(".sidebar") && !document.querySelector(".inspector")`)
	p.Click("button[aria-label^='Show inspector']")
	p.Wait(`document.querySelector(".inspector")`)
	p.Click("button[aria-label^='Hide inspector']")
	p.Wait(`!document.querySelector(".inspector")`)
	p.Type("]") // an address with a tab shows it
	p.Wait(`document.querySelector(".inspector")`)
	p.Click(showSessions)
	p.Wait(`document.querySelector(".sidebar")`)
	p.Click(".sidebar button[aria-label^='Hide sessions']")
	p.Wait(`document.activeElement === document.querySelector("` + showSessions + `")`)

	for _, stored := range []string{`"{["`, `"\"<img>\""`, `"1e99"`, `"-5"`, `"null"`} {
		Eval[int](p, fmt.Sprintf(`(["sidebar width", "sidebar hidden", "inspector width", "inspector hidden"].forEach((n) => localStorage.setItem("strata." + n, %s)), 1)`, stored))
		p.Run(chromedp.Reload())
		p.Wait(`document.querySelector(".inspector") && document.querySelector(".sidebar") && document.querySelector("#prompt")`)
		if got := width(".session-main"); got < 400 {
			t.Errorf("%s: the conversation has %d pixels", stored, got)
		}
	}
}

func (p *Page) focusOn(selector string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`((e) => e && (e.focus(), e === document.activeElement))(document.querySelector(%s))`, quote(selector)))
}

// drag moves an element sideways with the pointer.
func (p *Page) drag(selector string, by float64) {
	p.t.Helper()
	at := Eval[[]float64](p, fmt.Sprintf(`((r) => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector(%s).getBoundingClientRect())`, quote(selector)))
	mouse := func(kind input.DispatchMouseEventType, x float64) {
		p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: at[1], Button: "left", Buttons: 1, ClickCount: 1})
			return err
		}))
	}
	mouse(input.DispatchMouseEventTypeMousePressed, at[0])
	mouse(input.DispatchMouseEventTypeMouseMoved, at[0]+by/2)
	mouse(input.DispatchMouseEventTypeMouseMoved, at[0]+by)
	mouse(input.DispatchMouseEventTypeMouseReleased, at[0]+by)
}

// All tabs of the inspector are in sight beside a conversation at the width of a laptop, the chosen one always, and the
// foot of the prompt says no number twice.
func TestTheInspectorsTabsAreInSight(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	prompt(t, e, sid, "Remember this. "+strings.Repeat("A word of a long prompt. ", 400))
	p := Open(t, w.Server)
	p.Tab(sid, "rules")
	p.size(1440, 900)
	p.Equals(`(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector(".tabs"))`, 0)
	p.size(390, 844)
	p.Tab(sid, "budget")
	p.Tab(sid, "rules")
	p.Wait(`document.querySelector("#tab-rules").getBoundingClientRect().right <= innerWidth - 16`)
	p.size(1440, 900)
	p.input("#prompt", "What about this?")
	p.Wait(`/^\+\d+ tokens, reads .+ from the cache, about \$0\.\d+$/.test(document.querySelector(".draft-line")?.innerText ?? "")`)
	p.Wait(`/^Cache warm for .+ s, then \$0\.\d+$/.test(document.querySelector(".warmth")?.innerText ?? "")`)
	p.Wait(`document.querySelector(".draft-line").getBoundingClientRect().top === document.querySelector(".warmth").getBoundingClientRect().top`)
}
