package hudtest

import "testing"

// Anything can stand in an address: what is not encoded correctly names no session and no request.
func TestHostileAddressesAreAnswered(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	for _, hostile := range []string{"#/session/%", "#/session/%E0%A4%A/requests/%", "#/session/<b>%3Cscript%3E?at=-1"} {
		Eval[string](p, "location.hash = "+quote(hostile))
		p.WaitText("#main", "Session not found")
	}
	for _, hostile := range []string{"/requests/%E0%A4%A", "/requests/call_none?with=%E0%A4%A"} {
		Eval[string](p, "location.hash = "+quote("#/session/"+sid+hostile))
		p.Wait(`document.querySelector(".request-page [data-not-kept], .request-page .bad, .request-page [role=alert]")`)
	}
	for _, hostile := range []string{"?at=1e999", "?at=-3", "?at=0x10&at=%", "/%00%", "/budget%2F"} {
		Eval[string](p, "location.hash = "+quote("#/session/"+sid+hostile))
		p.Wait(`document.querySelector("#prompt")`)
	}
	for _, hostile := range []string{"#%", "#/%E0%A4%A", "#/toString"} {
		Eval[string](p, "location.hash = "+quote(hostile))
		p.WaitText("#main", "Overview")
	}
}
