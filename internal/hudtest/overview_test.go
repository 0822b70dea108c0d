package hudtest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/overview"
)

// overviewAs returns the server's overview of the last days in the page's time zone.
func overviewAs(t *testing.T, p *Page, e *testclient.Editor, days int) (o overview.Overview) {
	t.Helper()
	zone := Eval[string](p, `Intl.DateTimeFormat().resolvedOptions().timeZone`)
	if err := e.Call("_strata/usage/overview", map[string]any{"days": days, "timeZone": zone}, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// figure returns the value behind a figure of the overview.
func (p *Page) figure(name string) float64 {
	p.t.Helper()
	n, err := strconv.ParseFloat(Eval[string](p, fmt.Sprintf(`document.querySelector("[data-figure=%s]").dataset.value`, name)), 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// waitCalls waits until the overview shows so many calls.
func (p *Page) waitCalls(n int) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`document.querySelector("[data-calls='%d'] [data-figure=calls]")`, n))
}

// The home page shows the numbers of the server, follows the turns of all sessions, and leads to the sessions.
func TestTheOverviewIsTheHomePage(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	part := filepath.Join(w.Home.Project, "part")
	if err := os.Mkdir(part, 0o700); err != nil {
		t.Fatal(err)
	}
	dear, cheap := e.NewSession(w.Home.Project), e.NewSession(part)
	ask[any](t, e, "_strata/session/rename", dear, map[string]any{"title": "A dear session"})
	for range 3 {
		prompt(t, e, dear, source("dear", 60))
	}
	prompt(t, e, cheap, "hello")
	p := Open(t, w.Server)
	p.waitCalls(4)
	for days, title := range map[int]string{1: "Today", 7: "7 days", 30: "30 days"} {
		p.Click(fmt.Sprintf(".switch [data-days='%d']", days))
		p.Wait(fmt.Sprintf(`document.querySelector(".switch [aria-pressed=true]").innerText === %s`, quote(title)))
		if days > 1 {
			p.Wait(fmt.Sprintf(`document.querySelectorAll("[data-day]").length === %d && document.querySelectorAll(".day-table tbody tr").length === %d`, days, days))
		} else {
			p.Wait(`document.querySelectorAll("[data-day]").length === 0`)
		}
		o := overviewAs(t, p, e, days)
		for name, want := range map[string]float64{
			"cost": o.Totals.Cost, "uncached": o.Totals.Uncached, "calls": float64(o.Totals.Calls), "input": float64(o.Totals.Usage.Context()),
			"output": float64(o.Totals.Usage.Output), "hit": o.Totals.HitRate,
		} {
			if got := p.figure(name); math.Abs(got-want) > 1e-12 || want == 0 {
				t.Errorf("%s: %s is %v, the server says %v", title, name, got, want)
			}
		}
		p.Equals(`[...document.querySelectorAll("[aria-labelledby=by-folder] [data-group]")].map((r) => r.dataset.group)`, []string{o.Folders[0].Folder, o.Folders[1].Folder})
		p.Equals(`[...document.querySelectorAll("[aria-labelledby=by-session] [data-group]")].map((r) => r.dataset.group)`, []string{dear, cheap})
		p.Equals(`[...document.querySelectorAll("[aria-labelledby=by-model] [data-group]")].map((r) => r.dataset.group)`, []string{"priced/test"})
	}
	p.Run(chromedp.Reload())
	p.Wait(`document.querySelector(".switch [aria-pressed=true]")?.dataset.days`)
	prompt(t, e, cheap, "again")
	p.waitCalls(5)
	if o := overviewAs(t, p, e, 30); math.Abs(p.figure("cost")-o.Totals.Cost) > 1e-12 {
		t.Errorf("the cost is %v, the server says %v", p.figure("cost"), o.Totals.Cost)
	}
	if nameless, _ := namelessOf(p); len(nameless) > 0 {
		t.Errorf("elements without a name: %q", nameless)
	}
	for _, width := range []int64{390, 900, 1440, 1920} {
		p.Run(chromedp.EmulateViewport(width, 900))
		if Eval[bool](p, `((m) => m.scrollWidth > m.clientWidth)(document.querySelector("#main"))`) {
			t.Errorf("at %d px the page scrolls sideways", width)
		}
	}
	p.Run(chromedp.EmulateViewport(1280, 800))
	p.Click(fmt.Sprintf("[data-group=%s] a", dear))
	p.WaitText(".title h1", "A dear session")
	p.Type("o")
	p.waitCalls(5)
}

// The home page shows what each session does now.
func TestTheOverviewShowsWhatRunsNow(t *testing.T) {
	a := newAsking(t, true)
	gate := make(chan struct{})
	a.Model.Choose(func(*upstream.Request) upstream.Script {
		return upstream.Script{Steps: []upstream.Step{upstream.Text("Half"), upstream.Hold(gate)}}
	})
	sid := a.editor.NewSession(a.Home.Project)
	p := Open(t, a.Server)
	p.WaitText("#main", "No session is running")
	answering := a.editor.Start(sid, "Answer")
	running := func(sid, kind string) string {
		return fmt.Sprintf(`document.querySelector("[data-running='%s'][data-activity=%s]")`, sid, kind)
	}
	p.Wait(running(sid, "answering"))
	asking := a.editor.Start(a.session, pressing("Enter"))
	p.Wait(running(a.session, "asking"))
	p.WaitText(fmt.Sprintf("[data-running='%s']", a.session), "Needs permission: press")
	p.Equals(`[...document.querySelectorAll("[data-running]")].map((r) => r.dataset.running)`, []string{a.session, sid})
	p.Run(chromedp.Reload())
	p.Wait(running(sid, "answering"))
	p.Wait(running(a.session, "asking"))
	p.WaitText(fmt.Sprintf("[data-session='%s'] .line-state", a.session), "needs permission")
	close(gate)
	a.end(answering)
	p.Wait(`document.querySelectorAll("[data-running]").length === 1`)
	if err := a.editor.Cancel(a.session); err != nil {
		t.Fatal(err)
	}
	if _, err := asking.Wait(); err != nil {
		t.Fatal(err)
	}
	p.WaitText("#main", "No session is running")
}

// A budget is shown with what is spent of it, and the page warns when it is exceeded.
func TestTheOverviewShowsBudgets(t *testing.T) {
	w := newPricedWorld(t, "budgets:\n  day: {usd: 0.0001}\n  month: {usd: 1000, per: month}\n")
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	state := func(name, state string) string {
		return fmt.Sprintf(`document.querySelector("[data-budget=%s][data-state=%s]")`, name, state)
	}
	p.Wait(state("day", "ok") + " && " + state("month", "ok"))
	prompt(t, e, sid, "hello")
	p.WaitText(".toast.bad", "Budget day exceeded")
	p.Wait(state("day", "over") + " && " + state("month", "ok"))
	p.WaitText("[data-budget=day]", "Exceeded")
	for _, b := range overviewAs(t, p, e, 1).Budgets {
		if got := Eval[string](p, fmt.Sprintf(`document.querySelector("[data-budget=%s]").dataset.spent`, b.Name)); got != strconv.FormatFloat(b.Spent, 'f', -1, 64) || b.Spent == 0 {
			t.Errorf("%s: $%s is spent, the server says %v", b.Name, got, b.Spent)
		}
	}
	p.Session(sid)
	p.Prompt("again")
	p.WaitText("#main", "Budget day exceeded")
	if nameless, _ := namelessOf(p); len(nameless) > 0 {
		t.Errorf("elements without a name: %q", nameless)
	}
}
