package hudtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"strata/internal/upstream"
)

// endedCall is a row of the usage log.
type endedCall struct {
	CallID, Status                       string
	Attempts                             int
	Input, Output, CacheRead, CacheWrite int
	Estimated                            bool
	Error                                *struct{ Message string }
}

// Every call is a row, also one that was stopped, failed or was sent again: with its status, attempts and estimate.
func TestH12EveryCallIsARow(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	prompt(t, e, sid, "Say something.")
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "cost")
	p.WaitText(".headline-figure", "for 1 call")

	w.Model.Push(upstream.Script{Status: http.StatusUnauthorized})
	p.Prompt("Fail.")
	p.WaitText(".headline-figure", "for 2 calls, 1 failed")
	gate := make(chan struct{})
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("This much arrives of the reply."), upstream.Hold(gate)}})
	p.Prompt("Begin.")
	p.WaitText(".transcript", "This much arrives")
	p.Click(".send.stop")
	p.WaitText(".headline-figure", "for 3 calls, 1 failed, 1 stopped")
	close(gate)
	w.Model.Push(upstream.Script{Status: http.StatusServiceUnavailable, Header: map[string]string{"Retry-After-Ms": "1"}}, upstream.Script{Steps: upstream.Texts("Done.")})
	p.Prompt("Try twice.")
	p.WaitText(".headline-figure", "for 4 calls, 1 failed, 1 stopped")

	var rows []string
	u := ask[struct {
		Calls  []endedCall
		Totals struct{ Calls, Stopped, Failed int }
	}](t, e, "_strata/usage/list", sid, nil)
	for _, c := range u.Calls {
		rows = append([]string{fmt.Sprint(c.CallID, " ", c.Status)}, rows...)
	}
	if len(rows) != 4 || u.Totals.Calls != 4 || u.Totals.Failed != 1 || u.Totals.Stopped != 1 {
		t.Fatalf("%+v", u)
	}
	p.Equals(data("tr[data-call]", "call", "status"), rows)
	failed, stopped, twice := u.Calls[1], u.Calls[2], u.Calls[3]
	if failed.Input+failed.Output != 0 || failed.Attempts != 1 || failed.Error == nil {
		t.Errorf("refused: %+v", failed)
	}
	if !stopped.Estimated || stopped.Input+stopped.CacheRead+stopped.CacheWrite == 0 || stopped.Output < 5 || stopped.Error != nil {
		t.Errorf("stopped: %+v", stopped)
	}
	if twice.Status != "complete" || twice.Attempts != 2 {
		t.Errorf("sent twice: %+v", twice)
	}
	row := func(c endedCall) string { return fmt.Sprintf(`tr[data-call="%s"]`, c.CallID) }
	p.WaitText(row(failed), "Failed")
	p.WaitText(row(stopped), "Stopped")
	p.WaitText(row(stopped), "~")
	p.WaitText(row(twice), "2 attempts")
	p.Click(row(failed) + " .call-number")
	p.WaitText(".call-error", failed.Error.Message)
	p.Run(chromedp.Reload())
	p.WaitText(".headline-figure", "for 4 calls, 1 failed, 1 stopped")
}

// A model that thinks is seen to think: the row tells time and length while they grow, before the first text, and opens to show
// the newest thoughts. Afterwards the row tells the length of all.
func TestH11ThinkingIsLive(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	gates := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})}
	w.Model.Push(upstream.Script{Steps: []upstream.Step{
		upstream.Hold(gates[0]), upstream.Thinking("First thought.", ""), upstream.Hold(gates[1]), upstream.Thinking(" Second thought.", "sig"), upstream.Hold(gates[2]),
		upstream.Text("The answer."), upstream.Hold(gates[3]), upstream.Text(" It ends."),
	}})
	p.Prompt("Think.")
	p.WaitText(".pace", " s")
	close(gates[0])
	p.WaitText(".is-thinking", "14 characters")
	p.Wait(`document.querySelectorAll(".caret").length === 0`)
	p.Wait(`/Thinking, (\d+ min )?[1-9]\d* s/.test(document.querySelector(".is-thinking").innerText)`)
	p.Click(".is-thinking .disclosure")
	p.WaitText(".thought", "First thought.")
	close(gates[1])
	p.WaitText(".is-thinking", "30 characters")
	p.WaitText(".transcript", "Second thought.")
	close(gates[2])
	p.WaitText(".transcript", "The answer.")
	p.Wait(`document.querySelector(".is-thinking").compareDocumentPosition([...document.querySelectorAll(".prose, .growing")].at(-1)) & Node.DOCUMENT_POSITION_FOLLOWING`)
	p.WaitText(".is-thinking", "30 characters")
	before := p.Text(".is-thinking .disclosure")
	close(gates[3])
	p.WaitText(".transcript", "It ends.")
	p.Wait(`!document.querySelector(".pace")`)
	p.WaitText(".is-thinking .disclosure", "30 characters")
	if !strings.Contains(before, "30 characters") {
		t.Errorf("while the reply arrives the row says %q", before)
	}
}

// While a model answers, the time since the prompt and the estimated rate are shown; after a reload the time goes on.
func TestH11ElapsedTimeAndRate(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	end := make(chan struct{})
	text := func(n int) string { return fmt.Sprintf("Word %d of a long reply. ", n) }
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Endless(end, 20*time.Millisecond, text)}})
	p.Prompt("Write for long.")
	p.Wait(`/^\d+ s, ~[\d,]+ tokens\/s$/.test(document.querySelector(".pace")?.innerText ?? "")`)
	p.Wait(`parseInt(document.querySelector(".pace").innerText) >= 3`)
	p.Run(chromedp.Reload())
	p.Wait(`parseInt(document.querySelector(".pace")?.innerText) >= 3`)
	close(end)
}
