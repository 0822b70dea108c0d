package hudtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/binary"
	"strata/internal/upstream"
)

// wider is an expression for the tables and boxes of the panel that are wider than it.
const wider = `((panel) => [...panel.querySelectorAll("table, td, .scroll-x, .card, .call-details dd")]
	.filter((e) => e.getBoundingClientRect().right > panel.getBoundingClientRect().right + 0.5 || e.scrollWidth > e.clientWidth + 1 && e.matches(".scroll-x"))
	.map((e) => e.className || e.tagName))(document.querySelector(".panel"))`

// The table of calls fits, with wide figures too, and a row opens by keyboard to show the others.
func TestH07TheTableOfCallsFits(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := importCalls(t, w, e, 1234)
	p := Open(t, w.Server)
	p.Session(sid)
	for _, width := range []int64{390, 900, 1200, 1440, 1920} {
		p.Run(chromedp.EmulateViewport(width, 900))
		p.Wait(fmt.Sprintf("innerWidth === %d", width))
		p.Tab(sid, "cost")
		p.Wait(`document.querySelectorAll("tr[data-call]").length === 25`)
		p.Equals(wider, []string{})
		p.Wait(openedCalls + `.every((r) => r.nextElementSibling?.matches(".call-details"))`)
		p.Equals(wider, []string{})
		p.WaitText(".call-details", "priced/test")
	}
	p.Run(chromedp.Focus(".call-number"))
	p.Type(kb.Enter)
	p.Wait(`document.activeElement.getAttribute("aria-expanded") === "false" && document.querySelectorAll(".call-details").length === 24`)
	p.Type(kb.Enter)
	p.Wait(`document.querySelectorAll(".call-details").length === 25`)
	p.WaitText(".call-details", "Without cache")
}

// A budget has one number for each category, as the provider counts. They add up to the use of the window in the headline; the
// factor is named once, below.
func TestH08OneNumberForEachCategory(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "budget")
	b, d := budgetIsThat(t, p, e, sid)
	if b.Used == d.Used {
		t.Fatal("the provider counts as Strata does")
	}
	p.Equals(`document.querySelectorAll(".sum tr").length`, 1)
	p.WaitText(".panel", fmt.Sprintf("the provider counts %.2f tokens per token counted by Strata", float64(b.Used)/float64(d.Used)))
	p.Equals(`document.querySelector(".panel").innerText.match(/counted by Strata/g).length`, 1)
	p.Wait(`document.querySelector("tr[data-category=used] .tokens").title === document.querySelector(".headline-figure .tokens").title`)
	p.Wait(`[...document.querySelectorAll("[data-part]")].every((e) => e.ariaLabel.includes(document.querySelector("tr[data-category=" + e.dataset.part + "] .tokens").title))`)
}

// recordTexts records the texts that are drawn on canvases.
const recordTexts = `{
	window.drawn = [];
	const { fillText } = CanvasRenderingContext2D.prototype;
	CanvasRenderingContext2D.prototype.fillText = function (text, ...where) { window.drawn.push(text); return fillText.call(this, text, ...where); };
	const { clearRect } = CanvasRenderingContext2D.prototype;
	CanvasRenderingContext2D.prototype.clearRect = function (...where) { window.drawn = []; return clearRect.apply(this, where); };
}`

// The axis of the plot names calls that there are, and the panel knows of the call that runs.
func TestH27ThePlotNamesOnlyCallsThatWereMade(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: recordTexts})
		return err
	}), chromedp.Reload())
	p.Session(sid)
	p.Tab(sid, "cost")
	p.WaitText(".panel", "No model calls yet")
	gate := make(chan struct{})
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Half"), upstream.Hold(gate), upstream.Text(" and half")}})
	turn := e.Start(sid, "Hello")
	p.WaitText(".panel", "The first model call is running")
	close(gate)
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.querySelector(".plot canvas")`)
	calls := `window.drawn.filter((text) => /^\d+$/.test(text) && Number(text) > 0 && Number(text) < 10)`
	p.Equals(calls, []string{"1"})
	prompt(t, e, sid, "Once more.")
	p.Equals(calls, []string{"1", "2"})
}

// Nothing is more than whole: what exceeds a share or a trigger says so in words.
func TestH27NoShareIsMoreThanWhole(t *testing.T) {
	w := newPricedWorld(t, "compaction: {enabled: false}\n")
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	ask[any](t, e, "session/set_config_option", sid, map[string]any{"configId": "profile", "value": "phased"})
	ask[any](t, e, "_strata/documents/set", sid, map[string]any{"name": "design", "text": strings.Repeat("One thing after another. ", 300)})
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "budget")
	p.WaitText("[data-share=design]", "over by ")
	p.Wait(`(document.body.innerText.match(/[\d,]+(?= %)/g) ?? []).every((n) => Number(n.replace(",", "")) <= 100)`)
}

// A session that does not exist has no actions and no inspector.
func TestH27NoActionsWithoutASession(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	for _, width := range []int64{390, 1440} {
		p.Run(chromedp.EmulateViewport(width, 900))
		Eval[string](p, `location.hash = "#/session/sess_none/tiers"`)
		p.WaitText("main", "Session not found")
		p.Equals(`document.querySelectorAll(".title-actions, .tabs, .inspector, #prompt").length`, 0)
	}
}

// A number that may be out of date is dimmed and says so; it is not struck out.
func TestH27AMeterIsNotStruckOut(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Wait(`document.querySelector(".meter")`)
	p.Allow("ERR_CONNECTION")
	p.Allow("WebSocket connection to")
	w.Kill()
	p.Wait(`document.querySelector(".meter.stale")?.title.endsWith("not up to date")`)
	p.Equals(`getComputedStyle(document.querySelector(".meter")).textDecorationLine`, "none")
	w.Restart(binary.Options{})
	p.Wait(`!document.querySelector(".meter.stale")`)
	p.Allow("ERR_CONNECTION")
	p.Allow("WebSocket connection to")
}
