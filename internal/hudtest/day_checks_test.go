package hudtest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/chromedp/chromedp"

	"strata/history"
	"strata/server/wire"
)

// mix counts what has happened in a day, so that a day without it does not pass.
type mix struct{ calls, failed, stopped, tools, compactions int }

// happened returns the mix of all sessions, as the protocol has it.
func (d *day) happened() (m mix) {
	d.t.Helper()
	for _, sid := range d.sessions {
		for cursor := ""; ; {
			page := ask[wire.UsagePage](d.t, d.e, "_strata/usage/list", sid, map[string]any{"cursor": cursor})
			for _, c := range page.Calls {
				m.calls++
				switch c.Status {
				case history.CallFailed:
					m.failed++
				case history.CallStopped:
					m.stopped++
				}
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		for _, message := range ask[struct{ Messages []message }](d.t, d.e, "_strata/history/list", sid, nil).Messages {
			for _, b := range message.Blocks {
				if b.Type == "tool_call" {
					m.tools++
				}
			}
		}
		m.compactions += len(ask[struct{ Edits []edit }](d.t, d.e, "_strata/history/edits", sid, nil).Edits)
	}
	return m
}

// overviewAgrees waits until the home page shows the sums over the usage of all sessions, and the budgets.
func (d *day) overviewAgrees(p *Page) {
	d.t.Helper()
	var calls, stopped, failed int
	var cost float64
	for _, sid := range d.sessions {
		totals := ask[wire.UsagePage](d.t, d.e, "_strata/usage/list", sid, nil).Totals
		calls, stopped, failed, cost = calls+totals.Calls, stopped+totals.Stopped, failed+totals.Failed, cost+totals.Cost
	}
	Eval[string](p, `location.hash = "#/"`)
	p.Click(".switch [data-days='30']")
	p.waitCalls(calls)
	o := overviewAs(d.t, p, d.e, 30)
	if t := o.Totals; t.Calls != calls || t.Stopped != stopped || t.Failed != failed || math.Abs(t.Cost-cost) > 1e-9 {
		d.t.Errorf("the overview has %d calls, %d stopped, %d failed, for $%v; the sessions %d, %d, %d, $%v", t.Calls, t.Stopped, t.Failed, t.Cost, calls, stopped, failed, cost)
	}
	p.Equals(`["cost", "input", "output", "hit"].map((name) => +document.querySelector("[data-figure=" + name + "]").dataset.value)`,
		[]float64{o.Totals.Cost, float64(o.Totals.Usage.Context()), float64(o.Totals.Usage.Output), o.Totals.HitRate})
	var budgets []string
	for _, b := range o.Budgets {
		budgets = append(budgets, strings.Join([]string{b.Name, strconv.FormatFloat(b.Spent, 'f', -1, 64), b.State}, " "))
	}
	if !slices.IsSorted(budgets) || len(budgets) != 2 || o.Budgets[0].Spent == 0 {
		d.t.Errorf("the budgets are %q", budgets)
	}
	p.Equals(data("[data-budget]", "budget", "spent", "state"), budgets)
}

// requestAgrees waits until the page of the request of some call of a session shows the server's comparison.
func (d *day) requestAgrees(p *Page, sid string) {
	d.t.Helper()
	calls := ask[wire.UsagePage](d.t, d.e, "_strata/usage/list", sid, nil).Calls
	if len(calls) == 0 {
		return
	}
	id := calls[d.pick.IntN(len(calls))].ID
	got := ask[sentRequest](d.t, d.e, "_strata/requests/get", sid, map[string]any{"callId": id})
	p.request(sid, id)
	if !got.Kept {
		p.Wait(`document.querySelector("[data-not-kept]")`)
		return
	}
	want := ask[comparison](d.t, d.e, "_strata/requests/compare", sid, map[string]any{"callId": id})
	if !want.Kept {
		p.Wait(`document.querySelector("[data-not-compared]")`)
		return
	}
	d.compared++
	first := ""
	if want.First != nil {
		first = want.First.Key
	}
	p.Equals(data(".cache-ends", "first", "anew", "cost"), []string{fmt.Sprint(first, " ", want.Anew.Tokens, " ", want.Anew.Cost)})
	if want.Prefix.Items > 0 {
		p.Equals(data("[data-prefix]", "prefix", "tokens"), []string{fmt.Sprint(want.Prefix.Items, want.Prefix.Tokens)})
	}
}

// draftAgrees types a draft and waits until the page shows the server's figures of it.
func (d *day) draftAgrees(p *Page, sid string) {
	d.t.Helper()
	text := strings.TrimSpace(strings.Repeat("What would that cost? ", 1+d.pick.IntN(20)))
	p.Tab(sid, "budget")
	p.input("#prompt", text)
	p.draftIs(d.measured(d.t, d.e, sid, text))
	p.input("#prompt", "")
	p.Wait(`!document.querySelector(".draft-line")`)
}

// binAgrees deletes a session, finds it in the bin and brings it back: its usage counts all the time.
func (d *day) binAgrees(p *Page, sid string) {
	d.t.Helper()
	usage := func() wire.UsageTotals { return ask[wire.UsagePage](d.t, d.e, "_strata/usage/list", sid, nil).Totals }
	before, all := usage(), overviewAs(d.t, p, d.e, 30).Totals
	ask[any](d.t, d.e, "session/delete", sid, nil)
	Eval[string](p, `location.hash = "#/bin"`)
	p.Wait(fmt.Sprintf("document.querySelector(%s)", quote(entry(sid))))
	told := deletedSessions(d.t, d.e)[0]
	if told.SessionID != sid || math.Abs(told.Cost-before.Cost) > 1e-9 {
		d.t.Errorf("the bin has %+v of a session that cost $%v", told, before.Cost)
	}
	if now := overviewAs(d.t, p, d.e, 30).Totals; now.Calls != all.Calls || math.Abs(now.Cost-all.Cost) > 1e-9 {
		d.t.Errorf("with a session in the bin the overview has %+v, before %+v", now, all)
	}
	p.Click(entry(sid) + " button[aria-label^='Undelete']")
	p.Wait(fmt.Sprintf("document.querySelector(%s) && !document.querySelector(%s)", quote(rowOf(sid)), quote(entry(sid))))
	if now := usage(); now != before {
		d.t.Errorf("a session from the bin has the usage %+v, before %+v", now, before)
	}
}

// marksAgree waits until both windows mark the sessions in which a turn has ended since no window shows them.
func (d *day) marksAgree(pages ...*Page) {
	d.t.Helper()
	want := make([]string, 0, len(d.unread))
	for sid := range d.unread {
		want = append(want, sid)
	}
	slices.Sort(want)
	for _, p := range pages {
		p.Equals(`[...document.querySelectorAll(".line:has(.dot.unread) a")].map((a) => a.dataset.session).sort()`, want)
		p.Wait(fmt.Sprintf(`(document.title.match(/^\((\d+)\)/)?.[1] ?? "0") === "%d"`, len(want)))
	}
}

// show opens the conversation of a session in a window.
func (d *day) show(p *Page, sid string) {
	d.t.Helper()
	p.Session(sid)
	p.Wait(fmt.Sprintf(`location.hash === "#/session/%s"`, sid))
	delete(d.unread, sid)
	d.shown[p] = sid
}

// agrees waits until the page shows of each session what the server returns.
func (d *day) agrees(p *Page) {
	d.t.Helper()
	for _, sid := range d.sessions {
		p.Session(sid)
		delete(d.unread, sid)
		p.Tab(sid, "cost")
		if usage := ask[wire.UsagePage](d.t, d.e, "_strata/usage/list", sid, nil); usage.Totals.Calls > 0 {
			p.Equals(`+document.querySelector("[data-cost]")?.dataset.cost`, usage.Totals.Cost)
		}
		p.Tab(sid, "budget")
		budgetIsThat(d.t, p, d.e, sid)
		d.showsNewest(p, sid)
	}
	d.overviewAgrees(p)
	for range 3 {
		d.requestAgrees(p, d.any())
	}
	d.draftAgrees(p, d.any())
	d.binAgrees(p, d.any())
	d.overviewAgrees(p)
	d.show(p, d.any())
}

// showsNewest waits until the conversation contains the beginning of the newest text of the transcript.
func (d *day) showsNewest(p *Page, sid string) {
	d.t.Helper()
	if all := texts(transcript(d.t, d.e, sid)); len(all) > 0 {
		line, _, _ := strings.Cut(all[len(all)-1], "\n")
		p.WaitText(".transcript", strings.TrimSpace(line[:min(len(line), 60)]))
	}
}

// measures returns the resource use of a window and the server.
func (d *day) measures(p *Page) use {
	d.t.Helper()
	p.Run(chromedp.EmulateViewport(1440, 900))
	return p.use(d.use(d.t))
}
