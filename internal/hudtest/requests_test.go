package hudtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
)

// place is an item in a request, as the server compares it.
type place struct{ Index, Tokens int }

// comparison is the result of _strata/requests/compare.
type comparison struct {
	Kept   bool
	Prefix struct{ Items, Tokens int }
	First  *struct{ Key, Reason string } `json:"firstChange"`
	Anew   struct {
		Tokens int
		Cost   float64
	}
	Rows []struct {
		Change, Key, Reason string
		Before, After       *place
	}
}

type sentRequest struct {
	Kept    bool
	Request struct {
		MessageID string
		Tokens    int
		Items     []struct {
			Key    string
			Tokens int
		}
	}
}

// editedSession is a session whose file was edited before its last call, in the layout in which that ends the cache. It returns
// the ids of its calls.
func editedSession(t *testing.T, w *World, e *testclient.Editor) (sid string, calls []string) {
	t.Helper()
	w.write(t, "turn.go", source("turn", 60))
	sid = e.NewSession(w.Home.Project)
	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": "turn.go"})
	prompt(t, e, sid, "What does it do?")
	prompt(t, e, sid, "And then?")
	w.write(t, "turn.go", source("turn", 61))
	prompt(t, e, sid, "And now?")
	for _, c := range ask[struct{ Calls []struct{ CallID string } }](t, e, "_strata/usage/list", sid, nil).Calls {
		calls = append(calls, c.CallID)
	}
	return sid, calls
}

// request opens the page of a request.
func (p *Page) request(sid, of string) {
	p.t.Helper()
	Eval[string](p, fmt.Sprintf("location.hash = '#/session/' + %s + '/requests/%s'", quote(sid), of))
	p.Wait(`document.querySelector(".request-page .compared-list [data-item], .request-page [data-not-kept]")`)
}

func TestTwoRequestsAreComparedAsTheServerDoes(t *testing.T) {
	w := newPricedWorld(t, "stability: {layout: ripple}\n")
	e := w.Editor(t)
	sid, calls := editedSession(t, w, e)
	last := calls[len(calls)-1]
	want := ask[comparison](t, e, "_strata/requests/compare", sid, map[string]any{"callId": last})
	if !want.Kept || want.First == nil || want.First.Key != "file:turn.go" || want.Anew.Cost <= 0 {
		t.Fatalf("%+v", want)
	}
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 900))
	p.request(sid, last)

	p.Equals(data("[data-prefix]", "prefix", "tokens"), []string{fmt.Sprint(want.Prefix.Items, want.Prefix.Tokens)})
	p.Equals(data(".cache-ends", "first", "anew", "cost"), []string{fmt.Sprint(want.First.Key, " ", want.Anew.Tokens, " ", want.Anew.Cost)})
	for _, text := range []string{"Cache ends here:", "turn.go", "edited", "more than from the cache"} {
		p.WaitText(".cache-ends", text)
	}
	var rows, before, after []string
	for _, r := range want.Rows {
		rows = append(rows, strings.Join([]string{r.Change, r.Key, r.Reason}, " "))
		if r.Before != nil {
			before = append(before, fmt.Sprint(r.Before.Index, " ", r.Before.Tokens))
		}
		if r.After != nil {
			after = append(after, fmt.Sprint(r.After.Index, " ", r.After.Tokens))
		}
	}
	p.Equals(data(".compared-list [data-change]", "change", "item", "reason"), rows)
	p.Equals(data(".compared-list .before", "index", "tokens"), before)
	p.Equals(data(".compared-list .after", "index", "tokens"), after)

	// The unchanged beginning opens.
	p.Click("[data-prefix] button")
	got := ask[sentRequest](t, e, "_strata/requests/get", sid, map[string]any{"callId": last})
	var all []string
	for _, it := range got.Request.Items[:want.Prefix.Items] {
		all = append(all, it.Key)
	}
	for _, r := range want.Rows {
		all = append(all, r.Key)
	}
	p.Equals(data(".compared-list [data-change]", "item"), all)

	// Another request to compare with is chosen, and back leads to the comparison before.
	first := ask[comparison](t, e, "_strata/requests/compare", sid, map[string]any{"callId": last, "with": calls[0]})
	Eval[string](p, fmt.Sprintf(`(() => { const s = document.querySelector(".compare-with select"); s.value = %s; s.dispatchEvent(new Event("change", { bubbles: true })); return ""; })()`, quote(calls[0])))
	p.Wait(fmt.Sprintf("location.hash.endsWith(%s)", quote("?with="+calls[0])))
	p.Equals(data("[data-prefix]", "prefix", "tokens"), []string{fmt.Sprint(first.Prefix.Items, first.Prefix.Tokens)})
	p.Equals(data(".compared-head", "call"), []string{calls[0], last})
	p.Run(chromedp.NavigateBack())
	p.Equals(data(".compared-head", "call"), []string{calls[1], last})
}

// A request opens from the row of its call, from its bar and from the reply, with the keyboard too.
func TestARequestOpensFromItsCallItsBarAndItsReply(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid, calls := editedSession(t, w, e)
	reply := ask[sentRequest](t, e, "_strata/requests/get", sid, map[string]any{"callId": calls[1]}).Request.MessageID
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 900))
	ends := func(of string) {
		t.Helper()
		p.Wait(fmt.Sprintf(`location.hash.endsWith("/requests/%s") && document.querySelector(".request-page [data-item]")`, of))
	}

	p.Tab(sid, "cost")
	p.Wait(fmt.Sprintf(`document.querySelector("[data-call='%s'] a.call-request")`, calls[2]))
	Eval[string](p, fmt.Sprintf(`(document.querySelector("[data-call='%s'] a.call-request").focus(), "")`, calls[2]))
	p.Type(kb.Enter)
	ends(calls[2])
	p.Run(chromedp.NavigateBack())

	p.Wait(`document.querySelector(".plot .u-over")`)
	p.Click(".plot .u-over") // the middle of three bars
	ends(calls[1])

	p.Click(`.request-page a[href$="` + sid + `"]`)
	link := fmt.Sprintf("[data-message='%s'] a[aria-label='Open the request of this reply']", reply)
	p.Click(link)
	ends(reply)
	p.Equals(data(".compared-head", "call"), []string{calls[0], calls[1]})
}

func TestARequestThatIsNotKeptSaysWhy(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid, calls := editedSession(t, w, e)
	p := Open(t, w.Server)
	p.request(sid, calls[0])
	p.WaitText("[data-not-compared]", "There is no earlier request")
	p.request(sid, "msg_none")
	p.WaitText("[data-not-kept]", "It was deleted to save space")
	Eval[string](p, fmt.Sprintf("location.hash = '#/session/' + %s + '/requests/call_none'", quote(sid)))
	p.WaitText(".request-page", "call call_none not found")
}

// On a small screen there is one column that fits the page: the later request, and what only the earlier one has.
func TestRequestsFitASmallScreen(t *testing.T) {
	w := newPricedWorld(t, "stability: {layout: ripple}\n")
	e := w.Editor(t)
	sid, calls := editedSession(t, w, e)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(390, 800))
	p.request(sid, calls[2])
	const visible = `[...document.querySelectorAll(".compared-list [data-change]")].every((row) => [...row.children].filter((e) => e.offsetWidth > 0).length === 1)`
	p.Wait(visible)
	p.Wait(`document.documentElement.scrollWidth <= 390 && [...document.querySelectorAll(".request-page *")].every((e) => e.getBoundingClientRect().right <= 391 || e.closest(".item-name, .compare-with"))`)
	p.Run(chromedp.EmulateViewport(1440, 900))
	p.Wait(`[...document.querySelectorAll(".compared-list .is-same")].every((row) => [...row.children].filter((e) => e.offsetWidth > 0).length === 2)`)
}

func TestAxeFindsNoViolationInARequest(t *testing.T) {
	w := newPricedWorld(t, "stability: {layout: ripple}\n")
	e := w.Editor(t)
	sid, calls := editedSession(t, w, e)
	p := Open(t, w.Server)
	Eval[int](p, AxeScript(t)+"; 1")
	for _, at := range axeChecks {
		p.Run(chromedp.EmulateViewport(at.width, 900))
		for _, of := range []string{calls[2], calls[0], "msg_none"} {
			p.request(sid, of)
			for theme, rules := range at.rules {
				p.scheme(theme)
				for _, found := range Eval[[]string](p, fmt.Sprintf(Violations, rules)) {
					t.Errorf("%s at %d pixels, %s: %s", of, at.width, theme, found)
				}
			}
		}
	}
}

// Thousands of items are a list of which only the visible ones are drawn.
func TestARequestOfThousandsOfItems(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	const many = 2000
	for range many / 500 {
		var messages []any
		for i := range 250 {
			messages = append(messages, map[string]any{"role": "user", "content": fmt.Sprint("Question ", i)}, map[string]any{"role": "assistant", "content": fmt.Sprint("Answer ", i)})
		}
		ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": messages})
	}
	prompt(t, e, sid, "And now?")
	prompt(t, e, sid, "And then?")
	usage := ask[struct{ Calls []struct{ CallID string } }](t, e, "_strata/usage/list", sid, nil)
	last := usage.Calls[len(usage.Calls)-1].CallID
	want := ask[comparison](t, e, "_strata/requests/compare", sid, map[string]any{"callId": last})
	if want.Prefix.Items < many {
		t.Fatalf("%d items are the same", want.Prefix.Items)
	}
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 900))
	p.request(sid, last)
	p.Equals(data("[data-prefix]", "prefix", "tokens"), []string{fmt.Sprint(want.Prefix.Items, want.Prefix.Tokens)})
	p.Click("[data-prefix] button")
	p.Wait(`document.querySelectorAll(".compared-list [data-item]").length > 10`)
	if n := Eval[int](p, `document.querySelectorAll(".compared-list [data-item]").length`); n > 100 {
		t.Errorf("%d items are drawn", n)
	}
	Eval[int](p, `document.querySelector(".compared-list").scrollTop = 1e9`)
	p.Wait(fmt.Sprintf(`document.querySelector(".compared-list [data-index='%d']")`, want.Rows[len(want.Rows)-1].After.Index))
}
