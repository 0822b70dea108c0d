package hudtest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
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
