package hudtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/upstream"
)

// covered is an expression for the texts of visible notices over which something else lies.
const covered = `[...document.querySelectorAll(".below > *, .transcript .failure, .notices > *, .command-output, .composer")].filter((e) => {
	const r = e.getBoundingClientRect();
	for (let i = 1; i < 12; i++) for (const y of [r.top + 3, (r.top + r.bottom) / 2, r.bottom - 3]) {
		const top = document.elementFromPoint(r.left + r.width * i / 12, y);
		if (top && !e.contains(top)) return true;
	}
	return false;
}).map((e) => e.className + ": " + e.innerText)`

// The button that leads to the newest message is above the notices of a turn, and leads there.
func TestH18NothingCoversErrors(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 60)
	p := Open(t, w.Server)
	p.Session(sid)
	up := func() {
		t.Helper()
		p.Wait(`(() => { document.querySelector(".transcript").scrollTop -= 400; return document.querySelector(".to-end"); })()`)
	}
	check := func(what string) {
		t.Helper()
		for _, width := range []int64{390, 900, 1440} {
			p.Run(chromedp.EmulateViewport(width, 800))
			p.Wait(fmt.Sprintf("innerWidth === %d", width))
			up()
			p.WaitText(".below", what)
			p.Equals(covered, []string{})
			p.Wait(`((b, n) => b.bottom <= n.top)(document.querySelector(".to-end").getBoundingClientRect(), document.querySelector(".transcript-frame > .below:not(:empty)").getBoundingClientRect())`)
		}
	}

	p.WaitText(".transcript", "word0059")
	up()
	w.Model.Choose(func(*upstream.Request) upstream.Script { return upstream.Script{Status: http.StatusServiceUnavailable} })
	p.Prompt("Try")
	p.Wait(`document.querySelector(".retrying")`)
	check("Attempt")
	p.Click("button[aria-label='Stop reply']")
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
	w.Model.Choose(func(*upstream.Request) upstream.Script {
		return upstream.Script{Status: http.StatusBadRequest, Body: `{"error":{"message":"` + strings.Repeat("no, not like this ", 12) + `"}}`}
	})
	p.Prompt("Try again")
	p.WaitText(".failure", "not like this")
	for _, width := range []int64{390, 900, 1440} { // the error is the last row of the transcript
		p.Run(chromedp.EmulateViewport(width, 800))
		p.Wait(fmt.Sprintf("innerWidth === %d", width))
		up()
		p.Click(".to-end")
		p.Wait(`!document.querySelector(".to-end")`)
		p.WaitText(".transcript .failure", "not like this")
		p.Equals(covered, []string{})
	}
}
