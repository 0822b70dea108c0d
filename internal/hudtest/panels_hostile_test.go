package hudtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestK9_06HostileTextStaysTextInPanels checks hostile texts in panels: as names of files, documents and checkpoints, as
// keys and summaries, and in the request.
func TestK9_06HostileTextStaysTextInPanels(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	name := "a<img src=x onerror=window.hit=21>.go"
	w.write(t, name, source("a", 4)+hostile)
	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": name})
	ask[any](t, e, "_strata/documents/set", sid, map[string]any{"name": "design", "text": hostile, "status": "<img src=x onerror=window.hit=22>", "phases": []string{"<svg onload=window.hit=23>"}})
	for i := range 6 {
		prompt(t, e, sid, fmt.Sprint(hostile, i, strings.Repeat(" and more of it", 60)))
	}
	ask[any](t, e, "_strata/checkpoint/create", sid, map[string]any{"name": hostile[:190]})
	ask[any](t, e, "_strata/history/compact", sid, map[string]any{"strategy": "middle"})
	prompt(t, e, sid, hostile)

	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1280, 2000))
	p.Session(sid)
	for tab, shows := range map[string]string{"budget": "of the window", "tiers": "onerror=window.hit=21", "cost": "Calls", "history": "onerror=\"window.hit=1", "files": "onerror=window.hit=21", "workspace": "onerror=window.hit=21"} {
		p.Tab(sid, tab)
		p.WaitText(".panel", shows)
		if tab == "history" {
			p.Click(".timeline-row .link")
			p.Wait(`document.querySelector(".timeline-row-summary")?.textContent.includes("window.hit=1")`)
		}
	}
	p.Tab(sid, "tiers")
	p.Type("f")
	p.Wait(`document.activeElement?.id === "filter"`)
	p.Type("<img")
	p.Wait(`document.querySelector("[data-item] mark")`)
	p.Tab(sid, "workspace")
	p.Type("f")
	p.Wait(`document.activeElement?.id === "filter"`)
	p.Type("<img src" + kb.Enter) // the result is opened when it arrives
	p.WaitText(".panel h2", name)
	p.WaitText(".outline-line", "step1")
	p.Tab(sid, "budget")
	p.Click("#show-request")
	p.WaitText(".request-text", "<svg onload")

	if Eval[bool](p, "'hit' in window") {
		t.Errorf("script %v ran", Eval[any](p, "window.hit"))
	}
	if n := Eval[int](p, `document.querySelectorAll(".panel img, .panel iframe, .panel script, .panel svg[onload], [onerror], [onload], .panel a[href^='javascript:' i]").length`); n != 0 {
		t.Errorf("the text created %d elements", n)
	}
	for _, problem := range p.Problems() {
		if strings.Contains(problem, "Content Security Policy") {
			t.Errorf("stopped only by the content security policy: %s", problem)
		}
	}
}
