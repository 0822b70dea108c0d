package hudtest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// shownTab is an expression that is true if the inspector shows a tab.
func shownTab(tab string) string {
	return fmt.Sprintf(`document.querySelector(".inspector [aria-selected=true]")?.id === "tab-%s" && document.querySelector(".inspector .panel")`, tab)
}

// The inspector keeps its tab in other sessions, after a search, on the way back from the server's page, and after a reload.
func TestH20TheInspectorKeepsItsTab(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	one, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	prompt(t, e, other, "Somewhere else entirely")
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 900))
	p.Session(one)
	p.Wait(shownTab("budget"))
	p.Click("#tab-files")
	p.Wait(shownTab("files"))
	line := func(sid string) { p.Click(fmt.Sprintf("[data-session=%s]", quote(sid))) }
	line(other)
	p.Wait(fmt.Sprintf(`location.hash === "#/session/%s"`, other))
	p.Wait(shownTab("files"))
	p.input("#search", "entirely")
	p.Click(".hit[href*='at=']")
	p.WaitText(".row.marked", "entirely")
	p.Wait(shownTab("files"))
	p.input("#search", "")
	p.Type("]")
	p.Wait(shownTab("workspace"))
	Eval[string](p, `location.hash = "#/server"`)
	p.WaitText("main h1", "Server")
	line(one)
	p.Wait(shownTab("workspace"))
	p.Run(chromedp.Reload())
	p.Wait(shownTab("workspace"))

	// The order of the files is a choice of the same kind.
	p.Tab(one, "files")
	p.Wait(`((s) => s && (s.value = "size", s.dispatchEvent(new Event("change", { bubbles: true })), true))(document.querySelector(".panel-head select"))`)
	line(other)
	p.Run(chromedp.Reload())
	p.Wait(shownTab("files") + ` && document.querySelector(".panel-head select").value === "size"`)

	// A narrow page shows the conversation of the session that is opened.
	p.Run(chromedp.EmulateViewport(900, 900))
	line(one)
	p.Wait(`document.querySelector("#prompt") && document.querySelector("#tab-").getAttribute("aria-selected") === "true"`)

	// Another window keeps its own tab while it is open.
	p.Run(chromedp.EmulateViewport(1440, 900))
	second := p.Another(Eval[string](p, "location.href"))
	second.Run(chromedp.EmulateViewport(1440, 900))
	second.Wait(shownTab("files"))
	p.Click("#tab-cost")
	p.Wait(shownTab("cost"))
	second.Wait(shownTab("files"))
}

// Whatever is in the storage of the browser, the page works: also if the storage is full, or cannot be used.
func TestH20AStorageThatIsFullOrHostile(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 900))
	for name, fill := range map[string]string{
		"no JSON": `"{["`, "another type": `"{\"id\":\"files\"}"`, "no panel": `"\"<img src=x>\""`, "a prototype": `"\"__proto__\""`, "too long": `JSON.stringify("x".repeat(2e6))`, "null": `"null"`,
	} {
		Eval[int](p, fmt.Sprintf(`(["panel", "files order"].forEach((n) => localStorage.setItem("strata." + n, %s)), 1)`, fill))
		p.Run(chromedp.Reload())
		p.Session(sid)
		p.Wait(shownTab("budget"))
		p.Click("#tab-files")
		p.Wait(shownTab("files") + ` && document.querySelector(".panel-head select").value === "name"`)
		p.Click(fmt.Sprintf("[data-session=%s]", quote(other)))
		p.Wait(shownTab("files"))
		if stored := Eval[string](p, `localStorage.getItem("strata.panel")`); stored != `"files"` {
			t.Errorf("%s: then stored is %q", name, stored)
		}
	}
	// Full: nothing more is stored, and the window remembers by itself.
	Eval[int](p, `(() => {
		localStorage.removeItem("strata.panel");
		for (let size = 1 << 22; size > 0; size >>= 1) try { for (let i = 0; ; i++) localStorage.setItem("fill" + size + "." + i, "x".repeat(size)); } catch {}
		return 1;
	})()`)
	p.Click("#tab-cost")
	p.Wait(shownTab("cost"))
	p.Click(fmt.Sprintf("[data-session=%s]", quote(sid)))
	p.Wait(shownTab("cost"))
}
