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
