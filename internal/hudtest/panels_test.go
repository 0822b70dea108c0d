package hudtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

// Tab opens a panel of a session.
func (p *Page) Tab(sid, tab string) {
	p.t.Helper()
	Eval[string](p, fmt.Sprintf("location.hash = '#/session/' + %s + '/%s'", quote(sid), tab))
	p.Wait(fmt.Sprintf(`document.querySelector("#tab-%s")?.getAttribute("aria-selected") === "true" && document.querySelector(".panel")`, tab))
}

// Equals waits until a JavaScript expression has a value.
func (p *Page) Equals(expression string, want any) {
	p.t.Helper()
	raw, err := json.Marshal(want)
	if err != nil {
		p.t.Fatal(err)
	}
	if string(raw) == "null" { // an empty slice
		raw = []byte("[]")
	}
	p.Wait(fmt.Sprintf("JSON.stringify(%s) === JSON.stringify(%s)", expression, raw))
}

// data returns an expression for the attributes of the matching elements, each as "a b".
func data(selector string, names ...string) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = "e.dataset." + name
	}
	return fmt.Sprintf("[...document.querySelectorAll(%s)].map((e) => [%s].join(' '))", quote(selector), strings.Join(parts, ", "))
}

type budget struct {
	HistoryTokens, MaxInputTokens, ReservedOutput, Used, Remaining, PercentUsed int
	Known                                                                       bool
	Warning                                                                     string
}

type item struct {
	Key, Kind  string
	Tokens, N  int
	Dead       int
	Leaves     bool
	NextThresh int `json:"nextThreshold"`
}

type breakdown struct {
	Used, Dead int
	Categories []struct {
		Name   string
		Tokens int
	}
	Tiers []struct {
		Tier           string
		Tokens, Cached int
		Items          []item
	}
	Changes []struct{ Key, From, To, Reason string }
	LeftOut []struct {
		Key, Reason string
		Tokens      int
		Count       int
	}
}

// budgetIsThat waits until the panel shows the numbers of the RPC results.
func budgetIsThat(t *testing.T, p *Page, e *testclient.Editor, sid string) (budget, breakdown) {
	t.Helper()
	b := ask[budget](t, e, "_strata/context/budget", sid, nil)
	d := ask[breakdown](t, e, "_strata/context/breakdown", sid, nil)
	p.Equals(`[+document.querySelector(".headline-figure")?.dataset.used, +document.querySelector("[data-percent]")?.dataset.percent]`, []int{b.Used, b.PercentUsed})
	shares, counted := make(map[string]float64), 0
	for _, c := range d.Categories {
		counted += c.Tokens
	}
	for _, c := range d.Categories {
		shares[c.Name] = float64(c.Tokens) * float64(b.Used) / float64(counted)
	}
	p.Wait(fmt.Sprintf(`(([shares, all]) => {
		const of = (name) => Number(all.find((r) => r.dataset.category === name)?.dataset.tokens);
		const parts = all.map((r) => r.dataset.category).filter((name) => !["used", "free", "reserve"].includes(name));
		return of("used") === %d && of("free") === %d && of("reserve") === %d && parts.sort().join() === Object.keys(shares).sort().join() &&
			parts.every((name) => Math.abs(of(name) - shares[name]) <= 1) && parts.reduce((sum, name) => sum + of(name), 0) === of("used");
	})([%s, [...document.querySelectorAll("tr[data-category]")]])`, b.Used, b.Remaining, b.ReservedOutput, marshal(t, shares)))
	return b, d
}

// marshal returns a value as JSON.
func marshal(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestBudgetIsWhatTheServerSays(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "budget")
	_, d := budgetIsThat(t, p, e, sid)
	if len(d.Categories) < 5 {
		t.Errorf("the request has only %v", d.Categories)
	}
	w.write(t, "new.go", source("new", 400))
	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": "new.go"})
	budgetIsThat(t, p, e, sid)
	prompt(t, e, sid, "And now?")
	budgetIsThat(t, p, e, sid)

	for _, part := range []string{"files", "free", "reserve"} {
		p.Run(chromedp.Focus("[data-part=" + part + "]"))
		p.Wait(fmt.Sprintf(`document.querySelector("tr.pointed")?.dataset.category === %s`, quote(part)))
	}
	p.WaitText(".parts-now", "8,000 tokens")
	title := Eval[string](p, `document.querySelector("tr[data-category=used] .tokens").title`)
	if used := ask[budget](t, e, "_strata/context/budget", sid, nil).Used; strings.ReplaceAll(title, ",", "") != fmt.Sprintf("%d tokens", used) {
		t.Errorf("the exact number is shown as %q, want %d", title, used)
	}
}

func TestBudgetWarnsInWords(t *testing.T) {
	w := newPricedWorld(t, "compaction: {enabled: false}\n")
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "budget")
	budgetIsThat(t, p, e, sid)
	if text := p.Text(".headline"); strings.Contains(text, "full") || strings.Contains(text, "Filling") {
		t.Errorf("an empty session is shown as %q", text)
	}
	for i, want := range []struct {
		lines         int
		word, warning string
	}{{1450, "Filling up", "the window is filling up"}, {280, "Nearly full", "the window is nearly full"}} {
		name := fmt.Sprintf("f%d.go", i)
		w.write(t, name, source("large", want.lines))
		ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": name})
		if b, _ := budgetIsThat(t, p, e, sid); b.Warning != want.warning {
			t.Fatalf("with %d of %d tokens the warning is %q", b.Used, b.MaxInputTokens-b.ReservedOutput, b.Warning)
		}
		p.WaitText(".headline .mark", want.word)
	}
	w.write(t, "f2.go", source("large", 900))
	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": "f2.go"})
	_, d := budgetIsThat(t, p, e, sid)
	if len(d.LeftOut) == 0 {
		t.Fatal("nothing is omitted although the window is too small")
	}
	var want []string
	for _, l := range d.LeftOut {
		want = append(want, l.Key)
	}
	slices.Sort(want)
	p.Equals(data("[data-omitted]", "omitted")+".sort()", want)
	p.WaitText(".group", strings.ToUpper(d.LeftOut[0].Reason[:1])+strings.ReplaceAll(d.LeftOut[0].Reason[1:], "_", " "))
}

func TestBudgetShowsTheSharesOfAProfile(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "budget")
	budgetIsThat(t, p, e, sid)
	p.Equals(`document.querySelectorAll("[data-share]").length`, 0)
	ask[any](t, e, "session/set_config_option", sid, map[string]any{"configId": "profile", "value": "phased"})
	ask[any](t, e, "_strata/documents/set", sid, map[string]any{"name": "design", "text": strings.Repeat("One thing after another. ", 300)})
	var want [][]string
	for _, s := range ask[struct {
		Shares []struct {
			Name        string
			Used, Share int
		}
	}](t, e, "_strata/context/budget", sid, nil).Shares {
		want = append(want, []string{s.Name, grouped(s.Used), grouped(s.Share)})
	}
	if len(want) == 0 {
		t.Fatal("the profile has no shares")
	}
	p.Equals(`[...document.querySelectorAll("[data-share]")].map((r) => [r.dataset.share, ...[...r.querySelectorAll("td:not(:last-child) .tokens")].map((e) => e.title.replace(/ tokens?/, ""))])`, want)
	p.WaitText("[data-share=design]", "over")
}

func TestBudgetSaysThatAWindowIsADefault(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "budget")
	if b, _ := budgetIsThat(t, p, e, sid); b.Known {
		t.Error("the server knows the scripted model")
	}
	p.WaitText(".headline", "default of 128,000 tokens")
}

type request struct {
	Tokens   int
	Messages []struct {
		Role    string
		Tokens  int
		Content []struct{ Text string }
	}
	Breakpoints []struct{ TTL string }
}

func TestRequestIsTheAssembledOne(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	w.write(t, "a.go", source("a", 60))
	sid := e.NewSession(w.Home.Project)
	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": "a.go"})
	prompt(t, e, sid, "What is it? "+strings.Repeat("Tell me all. ", 300))
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1280, 2400))
	p.Session(sid)
	p.Tab(sid, "budget")
	p.Click("#show-request")
	isThat := func() {
		t.Helper()
		request := ask[request](t, e, "_strata/context/assemble", sid, map[string]any{"preview": true})
		var entries, texts, breakpoints []string
		for i, m := range request.Messages {
			entries = append(entries, fmt.Sprintf("%d %d", i, m.Tokens))
			for _, b := range m.Content {
				texts = append(texts, b.Text)
			}
		}
		for _, b := range request.Breakpoints {
			breakpoints = append(breakpoints, b.TTL)
		}
		p.Equals(data(".request-entry", "entry", "tokens"), entries)
		p.Equals(data(".request-breakpoint", "breakpoint"), breakpoints)
		p.Equals(`+document.querySelector("[data-request-tokens]").dataset.requestTokens`, request.Tokens)
		p.Equals(`[...document.querySelectorAll(".request-text")].map((e) => e.textContent).join("\n")`, strings.TrimSuffix(strings.Join(texts, "\n"), "\n"))
	}
	isThat()
	prompt(t, e, sid, "And more?") // while it is open
	isThat()
	Eval[int](p, `(window.sorted = (v) => v && typeof v === "object" && !Array.isArray(v) ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : Array.isArray(v) ? v.map(sorted) : v, 1)`)
	Eval[int](p, `(navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }, 1)`)
	p.Click(`.request-head .icon-button`)
	whole := ask[json.RawMessage](t, e, "_strata/context/assemble", sid, map[string]any{"preview": true})
	p.Wait(fmt.Sprintf("JSON.stringify(sorted(JSON.parse(window.copied ?? 'null'))) === JSON.stringify(sorted(%s))", whole))
	p.Click(`.request-entry .icon-button`)
	p.Wait(`window.copied === document.querySelector(".request-text").textContent`)
	p.Click(".request-head .button")
	p.Equals(`document.querySelectorAll(".request-text").length`, 0)
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("dialog")`)
}

func TestTiersAreWhatTheServerSays(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1280, 4000)) // makes all rows visible
	p.Session(sid)
	p.Tab(sid, "tiers")
	isThat := func() breakdown {
		t.Helper()
		d := ask[breakdown](t, e, "_strata/context/breakdown", sid, nil)
		var tiers, items []string
		for _, tier := range d.Tiers {
			tiers = append(tiers, fmt.Sprintf("%s %d %d %d", tier.Tier, tier.Tokens, tier.Cached, len(tier.Items)))
			for _, it := range tier.Items {
				if it.Kind != "outline" { // folded, as TestTiersFoldOutlines checks
					items = append(items, fmt.Sprintf("%s %d %d", it.Key, it.Tokens, it.N))
				}
			}
		}
		p.Equals(data("[data-tier]", "tier", "tokens", "cached", "items"), tiers)
		p.Equals(data("[data-item]", "item", "tokens", "n"), items)
		return d
	}
	d := isThat()
	if d.Dead == 0 {
		t.Error("nothing remains until the next rebuild")
	}
	p.WaitText("[data-item='file:README.md']", "removed at the next rebuild")
	prompt(t, e, sid, "Once more.")
	d = isThat()
	p.Click(".tier-head .disclosure-line")
	var changes []string
	for _, c := range d.Changes {
		changes = append(changes, c.Key)
	}
	p.Equals(data("[data-change]", "change"), changes)
	for _, c := range d.Changes {
		if c.Reason != "new" {
			p.WaitText(fmt.Sprintf("[data-change=%s]", quote(c.Key)), c.Reason)
		}
	}
	p.Type("f")
	p.Wait(`document.activeElement?.id === "filter"`)
	p.Type("lxrscan")
	p.Equals(data("[data-item]", "item"), []string{"file:internal/lexer/scan.go"})
	p.Wait(`document.querySelector("[data-item] mark")`)
	p.Type("zzz")
	p.WaitText(".none", "No matching items")
	p.Type(kb.Escape)
	isThat()
}

func TestManyItemsAreWindowed(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	var messages []any
	for i := range 250 {
		messages = append(messages, map[string]any{"role": "user", "content": fmt.Sprint("q", i)}, map[string]any{"role": "assistant", "content": "a"})
	}
	for range 4 {
		ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": messages})
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "tiers")
	p.Wait(`document.querySelectorAll("[data-item]").length > 10`)
	p.WaitText("[data-tier=active]", "2,00")
	if n := Eval[int](p, `document.querySelectorAll(".panel *").length`); n > 1500 {
		t.Errorf("%d elements for 2,000 items", n)
	}
	// The page redraws twice before the scroll event.
	if list := Eval[struct {
		Before, At, Height float64
		Replaced           bool
	}](p, `(async () => {
		const list = document.querySelector(".window.tiers");
		list.scrollTop = 300;
		const before = list.scrollTop;
		for (let n = 0; n < 2; n++) {
			document.querySelector("[data-tier=L1] button").click();
			await Promise.resolve(); // the page redraws in a microtask
		}
		return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done({
			before, at: list.scrollTop, height: list.scrollHeight, replaced: !list.isConnected,
		}))));
	})()`); list.At < 250 {
		t.Errorf("a redraw reset the scroll position of 300: %+v", list)
	}
	newest := "msg:" + transcript(t, e, sid)[49].ID
	p.Wait(fmt.Sprintf(`(() => {
		document.querySelector(".window.tiers").scrollTop = 1e9; // again, while rows are still being measured
		return document.querySelector("[data-item=%s]");
	})()`, strings.ReplaceAll(quote(newest), `"`, `'`)))
}

// openedCalls is an expression for the rows of the calls, after it has opened all of them.
const openedCalls = `(document.querySelectorAll(".call-number[aria-expanded=false]").forEach((b) => b.click()), [...document.querySelectorAll("tr[data-call]")])`

func TestCostIsTheUsageLog(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "cost")
	type call struct {
		CallID, Purpose                                         string
		Input, Output, CacheRead, CacheWrite, ExpectedCacheRead int
		Cost, UncachedCost                                      float64
	}
	type page struct {
		Calls  []call
		Totals struct {
			Calls              int
			Usage              struct{ Input, Output, CacheRead, CacheWrite int }
			Cost, UncachedCost float64
			ExpectedCacheRead  int
		}
	}
	isThat := func() page {
		t.Helper()
		u := ask[page](t, e, "_strata/usage/list", sid, map[string]any{"newest": true})
		p.Equals(`[+document.querySelector("[data-cost]")?.dataset.cost, +document.querySelector("[data-uncached]")?.dataset.uncached]`, []float64{u.Totals.Cost, u.Totals.UncachedCost})
		p.Equals(data("[data-sum]", "sum", "tokens"), []string{
			fmt.Sprint("read ", u.Totals.Usage.CacheRead), fmt.Sprint("expected ", u.Totals.ExpectedCacheRead),
			fmt.Sprint("written ", u.Totals.Usage.CacheWrite), fmt.Sprint("uncached ", u.Totals.Usage.Input), fmt.Sprint("output ", u.Totals.Usage.Output),
		})
		var rows [][]string
		for _, c := range slices.Backward(u.Calls) {
			row := []string{c.CallID, c.Purpose}
			for _, n := range []int{c.Input + c.CacheRead + c.CacheWrite, c.Output, c.CacheRead, c.ExpectedCacheRead, c.CacheWrite, c.Input} {
				row = append(row, fmt.Sprint(n))
			}
			rows = append(rows, row)
		}
		p.Equals(openedCalls+`.map((r) => [r.dataset.call, r.cells[1].innerText, ...[...r.querySelectorAll(".tokens"), ...(r.nextElementSibling?.querySelectorAll(".tokens") ?? [])].map((e) => e.title.replace(/,| tokens?/g, ""))])`, rows)
		return u
	}
	u := isThat()
	if u.Totals.UncachedCost <= u.Totals.Cost || u.Totals.ExpectedCacheRead == 0 {
		t.Errorf("the cache saved nothing: %+v", u.Totals)
	}
	saved := int((u.Totals.UncachedCost-u.Totals.Cost)/u.Totals.UncachedCost*100 + 0.5)
	p.WaitText(".headline-words", fmt.Sprintf("%d %% less than without a cache", saved))
	p.Wait(`document.querySelector(".plot canvas")?.width > 200`)
	if legend := p.Text(".legend"); !strings.Contains(legend, "Cache reads") || !strings.Contains(legend, "Expected cache reads") {
		t.Errorf("the legend is %q", legend)
	}
	prompt(t, e, sid, "Once more.")
	isThat()
}

// importCalls imports a session with calls and returns its id.
func importCalls(t *testing.T, w *World, e *testclient.Editor, many int) string {
	t.Helper()
	lines := []any{map[string]any{"type": "header", "header": map[string]any{
		"format": "strata-session", "version": 1, "session": map[string]any{
			"cwd": w.Home.Project, "title": "Long", "config": map[string]any{}, "createdAt": time.Now(), "updatedAt": time.Now()}}}}
	for i := range many {
		lines = append(lines, map[string]any{"type": "call", "call": map[string]any{
			"id": fmt.Sprint("call_", i), "purpose": "turn", "model": "priced/test", "cost": 0.01, "expected": 900,
			"usage": map[string]any{"input": i, "output": 10, "cacheRead": 1000, "cacheWrite": 50}, "at": time.Now().Add(time.Duration(i-many) * time.Second)}})
	}
	var imported struct{ SessionID string }
	if err := e.Call("_strata/session/import", map[string]any{"lines": lines, "done": true}, &imported); err != nil {
		t.Fatal(err)
	}
	return imported.SessionID
}

func TestManyCallsComeInPages(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	const many = 2000
	sid := importCalls(t, w, e, many)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "cost")
	p.WaitText(".pager", "2,000 to 1,976 of 2,000")
	p.Wait(`document.querySelector(".plot canvas")`)
	for page := 1; page < many/25; page++ {
		p.Click(".pager .button:nth-child(2)")
		p.WaitText(".pager", fmt.Sprintf("to %s of 2,000", grouped(many-25*page-24)))
	}
	p.Wait(`document.querySelector(".pager .button:nth-child(2)").disabled`)
	if n := Eval[int](p, `document.querySelectorAll("tr[data-call]").length`); n != 25 {
		t.Errorf("%d rows are drawn", n)
	}
	p.Equals(`document.querySelector("tr[data-call]:last-child").cells[0].innerText`, "1")
}

// grouped formats a number below a million like the page.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

type edit struct {
	ID, Kind, Reason string
	Seq              int64
	Before, After    int
	InForce          bool
}

// timelineIsThat waits until the panel shows the edits and checkpoints of the RPC results.
func timelineIsThat(t *testing.T, p *Page, e *testclient.Editor, sid string) []edit {
	t.Helper()
	edits := ask[struct{ Edits []edit }](t, e, "_strata/history/edits", sid, nil).Edits
	var want []string
	for _, d := range slices.Backward(edits) {
		want = append(want, fmt.Sprintf("%s %s %v %d %d", d.ID, d.Kind, d.InForce, d.Before, d.After))
	}
	p.Equals(data("[data-edit]", "edit", "kind", "inForce", "before", "after"), want)
	list := ask[struct {
		Checkpoints []struct{ CheckpointID string }
	}](t, e, "_strata/checkpoint/list", sid, nil)
	var names []string
	for _, c := range slices.Backward(list.Checkpoints) {
		names = append(names, c.CheckpointID)
	}
	p.Equals(data("[data-checkpoint]", "checkpoint"), names)
	return edits
}

// choose selects an option of a select element.
func (p *Page) choose(selector, value string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`((e) => e && (e.value = %s, e.dispatchEvent(new Event("change", {bubbles: true})), true))(document.querySelector(%s))`, quote(value), quote(selector)))
}

// confirm presses a button and confirms its question.
func (p *Page) confirm(selector string) {
	p.t.Helper()
	p.Click(selector)
	p.Click(".confirm .primary")
	p.Wait(`!document.querySelector(".confirm")`)
}

func TestTimelineGoesBackAndUndoes(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1280, 2000))
	p.Session(sid)
	p.Tab(sid, "history")
	p.WaitText(".panel", "No changes to the view yet")
	for i := range 4 {
		prompt(t, e, sid, fmt.Sprintf("Question %d. %s", i, strings.Repeat("It is long. ", 100)))
	}
	p.Click("#checkpoint-name")
	p.Type("four questions" + kb.Enter)
	p.WaitText(".timeline-row", "four questions")
	timelineIsThat(t, p, e, sid)
	prompt(t, e, sid, "Question 4.")
	inView := func() int {
		return ask[struct{ InView int }](t, e, "_strata/session/info", sid, nil).InView
	}
	if n := inView(); n != 10 {
		t.Fatalf("%d messages are in view", n)
	}

	p.Click("[data-checkpoint] .timeline-row-actions .button")
	p.WaitText(".toast", "2 messages removed from the view")
	p.WaitText(".timeline-row-title", "Restored “four questions”")
	if n := inView(); n != 8 {
		t.Errorf("after the restore %d messages are in view", n)
	}
	timelineIsThat(t, p, e, sid)
	p.Click(".toast .button")
	p.WaitText(".toast", "Undone")
	if n := inView(); n != 10 {
		t.Errorf("after the undo %d messages are in view", n)
	}
	edits := timelineIsThat(t, p, e, sid)
	if len(edits) != 2 || edits[0].Before <= edits[0].After || edits[1].After != edits[0].Before {
		t.Errorf("the edits are %+v", edits)
	}

	p.choose("#compact-strategy", "middle")
	p.Click(".panel-head form button[type=submit]")
	p.WaitText(".toast", "History compacted")
	if edits = timelineIsThat(t, p, e, sid); edits[len(edits)-1].Kind != "compact" {
		t.Fatalf("the newest edit is %+v", edits[len(edits)-1])
	}
	p.Click(".timeline-row .link")
	p.Wait(`document.querySelector(".timeline-row-summary")?.textContent.length > 10`)
	p.Click("[data-kind=compact] .timeline-row-actions .button")
	p.Wait(`document.querySelectorAll("[data-edit]").length === 4`)
	if edits = timelineIsThat(t, p, e, sid); edits[2].InForce || edits[3].Reason != "undo of a compact" {
		t.Errorf("after the undo the edits are %+v", edits)
	}
	Eval[int](p, `([...document.querySelectorAll(".toast .button")].findLast((b) => b.innerText === "Redo").click(), 1)`)
	p.Wait(`document.querySelectorAll("[data-edit]").length === 5`)
	if edits = timelineIsThat(t, p, e, sid); !edits[2].InForce {
		t.Errorf("after the redo the edits are %+v", edits)
	}
	p.confirm("[data-checkpoint] .timeline-row-actions > .button:last-child")
	p.Wait(`!document.querySelector("[data-checkpoint]")`)
	timelineIsThat(t, p, e, sid)
}

// The history tab shows how the history stands to its next compaction, and the budget tab whether one is due, as the server
// says.
func TestF18TheNextCompactionIsWhatTheServerSays(t *testing.T) {
	w := newPricedWorld(t, "summary_model: priced/test\nprofiles: {chat: {compaction: {compaction_trigger_tokens: 2000}}}\n")
	e := w.Editor(t)
	p := Open(t, w.Server)
	for _, profile := range []string{"chat", "steps"} {
		sid := e.NewSession(w.Home.Project)
		if err := e.Call("session/set_config_option", map[string]any{"sessionId": sid, "configId": "profile", "value": profile}, nil); err != nil {
			t.Fatal(err)
		}
		gate := make(chan struct{})
		for due := false; !due; {
			w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Hold(gate)}}) // a compaction that starts is held
			messages := []any{map[string]any{"role": "user", "content": strings.Repeat("It is long. ", 80)}, map[string]any{"role": "assistant", "content": "Yes."}}
			ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": messages})
			s := ask[struct {
				Size, Trigger, PercentUsed int
				Unit                       string
				NeedsCompaction            bool
			}](t, e, "_strata/context/compaction", sid, nil)
			due = s.NeedsCompaction
			p.Session(sid)
			p.Tab(sid, "history")
			p.Equals(data(".status", "history", "trigger", "due"), []string{fmt.Sprintf("%d %d %t", s.Size, s.Trigger, due)})
			filled := fmt.Sprintf("%d %%", s.PercentUsed)
			if s.Size > s.Trigger {
				filled = "above the trigger"
			}
			p.WaitText(".status", filled)
			p.WaitText(".status", s.Unit)
			p.Tab(sid, "budget")
			p.Wait(fmt.Sprintf(`document.querySelector(".headline-figure") && document.querySelector(".headline-words").textContent.includes("Compaction due") === %t`, due))
		}
		close(gate)
	}
}

func TestCompactionShowsProgressAndIsCancelled(t *testing.T) {
	w := newPricedWorld(t, "summary_model: priced/test\n")
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	for i := range 6 {
		prompt(t, e, sid, fmt.Sprintf("Question %d. %s", i, strings.Repeat("It is long. ", 200)))
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "history")
	gate := make(chan struct{})
	defer close(gate)
	held := upstream.Script{Steps: []upstream.Step{upstream.Text("A summary"), upstream.Hold(gate)}}
	for _, began := range []string{"here", "elsewhere"} {
		w.Model.Push(held)
		if began == "here" {
			p.choose("#compact-strategy", "rolling")
			p.Click(".panel-head form button[type=submit]")
		} else {
			e.Go("_strata/history/compact", map[string]any{"sessionId": sid, "strategy": "rolling"})
		}
		p.WaitText(".running", "Compacting")
		p.WaitText(".running", "1 s")
		p.Click(".running .button")
		p.Wait(`!document.querySelector(".running")`)
		if c := ask[struct{ LastOutcome string }](t, e, "_strata/context/compaction", sid, nil); c.LastOutcome != "cancelled" {
			t.Errorf("%s: the compaction ended as %q", began, c.LastOutcome)
		}
		p.WaitText(".status", "cancelled")
	}
	if edits := timelineIsThat(t, p, e, sid); len(edits) != 0 {
		t.Errorf("there are edits: %+v", edits)
	}
}

// compactions holds when n compactions of a session have ended with the given outcome.
func compactions(sid, outcome string, n int) testclient.Condition {
	return testclient.Condition{
		Name: fmt.Sprintf("%d compactions that ended as %s", n, outcome),
		Met: func(fs testclient.Frames) bool {
			seen := 0
			for _, f := range fs.Of(sid).Kind("compaction") {
				if strings.Contains(string(f.Params), `"outcome":"`+outcome+`"`) {
					seen++
				}
			}
			return seen >= n
		},
	}
}

// The case requires a second. The time is only logged, as it depends on the load of the machine.
func TestK9_02BudgetFollowsCompactions(t *testing.T) {
	w := newPricedWorld(t, "summary_model: priced/test\nprofiles: {chat: {compaction: {strategy: middle, compaction_trigger_tokens: 6000}}}\n")
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	if _, err := e.Attach(sid, testclient.Place{}); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "budget")
	used := func() int { return ask[budget](t, e, "_strata/context/budget", sid, nil).Used }
	shown := func() []int {
		return Eval[[]int](p, `[+(document.querySelector(".headline-figure")?.dataset.used ?? -1), +(document.querySelector(".meter")?.dataset.used ?? -1)]`)
	}
	// shows waits until the page agrees with the server, which may be compacting.
	shows := func(what string) int {
		t.Helper()
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for since := time.Now(); ; <-ticker.C {
			want, got := used(), shown()
			took := time.Since(since)
			if slices.Equal(got, []int{want, want}) {
				t.Logf("%s: shown after %v", what, took)
				return want
			}
			if took > patience {
				t.Fatalf("%s: after %v the page shows %d, the server reports %d", what, took, got, want)
			}
		}
	}
	p.Wait(`document.querySelector(".headline-figure") && document.querySelector(".meter")`)

	// The worker compacts after a turn, without further requests.
	long := strings.Repeat("It is long. ", 200)
	for i := 0; !compactions(sid, "running", 1).Met(e.Frames()); i++ {
		if i == 20 {
			t.Fatal("no automatic compaction")
		}
		shows("a turn")
		prompt(t, e, sid, fmt.Sprintf("Question %d. %s", i, long))
	}
	e.Expect(compactions(sid, "compacted", 1))
	shows("an automatic compaction")
	if edits := ask[struct{ Edits []edit }](t, e, "_strata/history/edits", sid, nil).Edits; len(edits) == 0 || edits[0].Kind != "compact" || edits[0].After >= edits[0].Before {
		t.Errorf("the edits are %+v", edits)
	}

	for i := range 6 { // enough to fold some
		ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": []any{
			map[string]any{"role": "user", "content": fmt.Sprintf("Number %d. %s", i, strings.Repeat("It is short. ", 10))},
			map[string]any{"role": "assistant", "content": "Yes."}}})
	}
	ask[any](t, e, "_strata/checkpoint/create", sid, map[string]any{"name": "before"})
	before := shows("messages")
	w.Model.Choose(func(*upstream.Request) upstream.Script { return upstream.Script{Status: http.StatusBadRequest} })
	if c := ask[struct{ Outcome string }](t, e, "_strata/history/compact", sid, map[string]any{"strategy": "rolling"}); c.Outcome != "failed" {
		t.Errorf("the compaction ended as %q", c.Outcome)
	}
	if after := shows("a compaction that failed"); after != before {
		t.Errorf("after a failed compaction %d tokens, before it %d", after, before)
	}

	ask[any](t, e, "_strata/history/clear", sid, nil)
	if after := shows("a clear"); after >= before {
		t.Errorf("after a clear %d tokens, before it %d", after, before)
	}
	ask[any](t, e, "_strata/checkpoint/undo", sid, nil)
	shows("an undo")
	list := ask[struct {
		Checkpoints []struct{ CheckpointID string }
	}](t, e, "_strata/checkpoint/list", sid, nil)
	ask[any](t, e, "_strata/checkpoint/restore", sid, map[string]any{"checkpointId": list.Checkpoints[0].CheckpointID})
	shows("a restore")
}

func TestFilesAreThoseOfTheSession(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1280, 1600))
	p.Session(sid)
	p.Tab(sid, "files")
	isThat := func() []string {
		t.Helper()
		var files, documents []string
		for _, f := range ask[struct {
			Files []struct {
				Path, State string
				Tokens      int
			}
		}](t, e, "_strata/files/list", sid, nil).Files {
			files = append(files, fmt.Sprintf("%s %d %s", f.Path, f.Tokens, f.State))
		}
		for _, d := range ask[struct {
			Documents []struct {
				Name   string
				Tokens int
			}
		}](t, e, "_strata/documents/list", sid, nil).Documents {
			documents = append(documents, fmt.Sprintf("%s %d", d.Name, d.Tokens))
		}
		p.Equals(data("[data-file]", "file", "tokens", "state"), files)
		p.Equals(data("[data-document]", "document", "tokens"), documents)
		return files
	}
	if files := isThat(); len(files) != 4 {
		t.Fatalf("the files are %q", files)
	}
	p.Equals(data("[data-removed]", "removed"), []string{"README.md"})

	p.Click("#add-file")
	p.Wait(`document.activeElement?.getAttribute("role") === "combobox"`)
	p.Type("readme")
	p.Equals(`[...document.querySelectorAll(".picker-list li")].map((e) => e.innerText)`, []string{"README.md"})
	p.Type(kb.Enter)
	p.WaitText("[data-file='README.md']", "whole")
	if files := isThat(); len(files) != 5 {
		t.Errorf("the files are %q", files)
	}
	p.Click("[data-file='parser.go'] .icon-button")
	p.Wait(`!document.querySelector("[data-file='parser.go']")`)
	isThat()
	p.WaitText(".toast", "parser.go removed")
	Eval[int](p, `([...document.querySelectorAll(".toast")].find((t) => t.innerText.includes("parser.go")).querySelector(".button").click(), 1)`)
	p.WaitText("[data-file='parser.go']", "whole")
	isThat()

	p.Click("#add-document")
	p.Wait(`document.querySelector("dialog input[type=text]") === document.activeElement`)
	p.Type("facts\tThe sea is deep.")
	p.Click("dialog .primary")
	p.WaitText("[data-document=facts]", "priority")
	isThat()
	p.confirm("[data-document=facts] .button")
	p.Wait(`!document.querySelector("[data-document=facts]")`)
	isThat()
	p.Type("f")
	p.Type("lxrscan")
	p.Equals(data("[data-file]", "file"), []string{"internal/lexer/scan.go"})
}

func TestPanelsMarkWhatIsStale(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	prompt(t, e, sid, "Hello")
	p := Open(t, w.Server)
	p.Session(sid)
	for _, tab := range []string{"budget", "tiers", "cost", "history", "files", "workspace"} {
		p.Tab(sid, tab)
		p.Wait(`document.querySelector(".panel .shown:not(.stale)") && !document.querySelector(".panel .progress:indeterminate")`)
		w.Kill()
		p.WaitText(".panel .mark", "Not up to date")
		p.Wait(`document.querySelector(".panel .shown.stale")`)
		w.Restart(binary.Options{})
		p.Wait(`document.querySelector(".banner .button")?.click() || // skips the delay before the next attempt
			(!document.querySelector(".panel .stale") && document.querySelector(".panel .shown"))`)
	}
	p.Allow("net::ERR_")
	p.Allow("WebSocket connection to")
}
