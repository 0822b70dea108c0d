package hudtest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// An address that was cut or mistyped in the middle of an encoded character names nothing. The page says so, and goes on.
func TestAnInvalidAddressNamesNothing(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	prompt(t, e, sid, "hello")
	p := Open(t, w.Server)
	for _, test := range []struct{ address, shown string }{
		{"#/session/%", "Session not found"},
		{"#/session/%E0%A4%A", "Session not found"},
		{"#/session/" + sid + "/requests/%", "call % not found"},
		{"#/session/" + sid + "/requests/call_none?with=%", "call call_none not found"},
		{"#/%", "Overview"},
	} {
		Eval[string](p, "location.hash = "+quote(test.address))
		p.WaitText("#main", test.shown)
		p.Run(chromedp.Reload())
		p.WaitText("#main", test.shown)
		p.Session(sid)
		p.WaitText(".transcript", "hello")
		p.Wait(fmt.Sprintf(`document.querySelector("a[data-session='%s']")`, sid))
	}
}
