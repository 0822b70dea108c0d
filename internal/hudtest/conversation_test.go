package hudtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"strata/internal/testclient"
	"strata/internal/upstream"
)

// maxElements is the maximum number of elements on the page: a window of rows, the list and the frame.
const maxElements = 2500

func elements(p *Page) int { return Eval[int](p, "document.querySelectorAll('*').length") }

func TestEditedPromptReplacesTheEarlierOne(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	for _, text := range []string{"The first prompt", "The second prompt"} {
		if _, err := e.Prompt(sid, text); err != nil {
			t.Fatal(err)
		}
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "The second prompt")
	p.Click(".row.user ~ * button[aria-label='Edit prompt'], button[aria-label='Edit prompt']")
	p.WaitText(".composer-note", "replaces the earlier prompt")
	p.Wait(`document.querySelector("#prompt").value === "The first prompt"`)
	p.Run(chromedp.SendKeys("#prompt", ", edited"))
	p.Click("button[aria-label='Send prompt']")
	p.WaitText(".transcript", "to: The first prompt, edited.")
	p.Wait(`document.querySelectorAll(".is-folded .visibility").length === 4`)
	if marks := slices.Compact(p.Texts(".is-folded .visibility")); !slices.Equal(marks, []string{"Undone"}) {
		t.Errorf("the earlier messages are %q", marks)
	}
	sent := fmt.Sprint(w.Model.Last().Messages)
	if strings.Contains(sent, "second prompt") || !strings.Contains(sent, "edited") {
		t.Errorf("the model was sent %s", sent)
	}
	p.Click(".is-folded .visibility")
	p.WaitText(".row.outside .prose", "The first prompt")
}

func TestFailureOffersARetry(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	w.Model.Push(upstream.Script{Status: http.StatusBadRequest, Body: `{"error":{"type":"invalid_request_error","message":"not like this"}}`})
	p.Prompt("Try this.")
	p.WaitText(".failure", "not like this")
	p.Click(".failure .button")
	p.WaitText(".transcript", "to: Try this.")
	p.Wait(`!document.querySelector(".failure")`)
	var inView []string
	for _, m := range transcript(t, e, sid) {
		if m.InView {
			inView = append(inView, m.Role)
		}
	}
	if !slices.Equal(inView, []string{"user", "assistant"}) {
		t.Errorf("in view are %q", inView)
	}
}

func TestPromptWithoutReplyCanBeResent(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	w.Model.Push(upstream.Script{Status: http.StatusBadRequest})
	if _, err := e.Prompt(sid, "Nobody answers"); err == nil {
		t.Fatal("the prompt got a reply")
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".failure", "without this one")
	p.Click(".failure .button")
	p.WaitText(".transcript", "to: Nobody answers.")
	p.Wait(`!document.querySelector(".failure")`)
}

// fill appends numbered messages to a session, alternating between user and assistant.
func fill(t *testing.T, e *testclient.Editor, sid string, n int) {
	t.Helper()
	for from := 0; from < n; from += 100 {
		var messages []any
		for i := from; i < min(from+100, n); i++ {
			messages = append(messages, map[string]any{"role": []string{"user", "assistant"}[i%2], "content": fmt.Sprintf("Message word%04d of many", i)})
		}
		if err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": messages}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSearchLeadsToAMessageFarBack(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 600)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "word0599")
	p.Click("#search")
	p.Type("word0123")
	p.WaitText(".hit mark", "word0123")
	p.Click(".hit")
	p.WaitText(".row.marked", "word0123")
	inSight := `(() => { const r = document.querySelector(".row.marked .prose").getBoundingClientRect(); return r.top > 0 && r.bottom < innerHeight })()`
	p.Wait(inSight)
	for _, n := range []string{"word0122", "word0124"} {
		p.WaitText(".transcript", n)
	}
	if n := elements(p); n > maxElements {
		t.Errorf("the page has %d elements", n)
	}
	p.Click("button[aria-label='Go to newest message']")
	p.WaitText(".transcript", "word0599")
}

func TestScrollingBackLoadsOlderMessages(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 300)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "word0299")
	p.Wait(`(() => { document.querySelector(".transcript").scrollTop -= 700; return document.querySelector(".transcript").innerText.includes("word0000") })()`)
	if n := elements(p); n > maxElements {
		t.Errorf("the page has %d elements", n)
	}
}

func TestLongReplyKeepsThePageSmall(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	gate := make(chan struct{})
	var steps []upstream.Step
	for i := range 400 {
		steps = append(steps, upstream.Text(fmt.Sprintf("Paragraph %d of **many**.\n\n```go\n%s```\n\n", i, strings.Repeat("line()\n", 12))))
	}
	steps = append(steps, upstream.Text("```\n"+strings.Repeat("a long block\n", 2000)+"```\n\nThe last paragraph"), upstream.Hold(gate), upstream.Text(" ends."))
	w.Model.Push(upstream.Script{Steps: steps})
	p := Open(t, w.Server)
	p.Session(sid)
	p.Prompt("Write a long answer.")
	p.WaitText(".transcript", "The last paragraph")
	if n := elements(p); n > maxElements {
		t.Errorf("while it streams the page has %d elements", n)
	}
	close(gate)
	p.WaitText(".transcript", "The last paragraph ends.")
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
	p.Wait(`(() => { document.querySelector(".transcript").scrollTop = 0; return document.querySelector(".transcript").innerText.includes("Write a long answer.") })()`)
	p.WaitText(".transcript", "Paragraph 0 of many.")
	if n := elements(p); n > maxElements {
		t.Errorf("the page has %d elements", n)
	}
}

// TestEndStaysInSight: a layout change during automatic scrolling is not mistaken for a user who scrolls away from the
// end.
func TestEndStaysInSight(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 60)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "word0059")
	p.Wait(`(() => { const e = document.querySelector(".transcript"); return e.scrollHeight - e.scrollTop - e.clientHeight < 1 })()`)
	Eval[bool](p, `(() => {
		const e = document.querySelector(".transcript");
		e.style.height = e.clientHeight - 120 + "px";
		e.style.flex = "none";
		return e.dispatchEvent(new Event("scroll")); // of the previous scroll
	})()`)
	if _, err := e.Prompt(sid, "Is this in sight?"); err != nil {
		t.Fatal(err)
	}
	p.Wait(`(() => {
		const row = [...document.querySelectorAll(".transcript .prose")].find((e) => e.innerText.includes("to: Is this in sight?."));
		return row && row.getBoundingClientRect().bottom < document.querySelector(".transcript").getBoundingClientRect().bottom;
	})()`)
	p.Wait(`(() => { document.querySelector(".transcript").scrollTop -= 100; return document.querySelector(".to-end") })()`)
	if _, err := e.Prompt(sid, "And is this?"); err != nil {
		t.Fatal(err)
	}
	p.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
	if !Eval[bool](p, `document.querySelector(".to-end") !== null`) {
		t.Error("the page scrolled to the end, away from the shown message")
	}
}

func TestViewIsShownInPlace(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 24)
	var compacted struct {
		Outcome string
		Summary string
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "word0023")
	if err := e.Call("_strata/history/compact", map[string]any{"sessionId": sid, "strategy": "rolling"}, &compacted); err != nil || compacted.Outcome != "compacted" {
		t.Fatalf("compacted: %+v, error %v", compacted, err)
	}
	p.Wait(`document.querySelector(".is-folded .visibility")`)
	p.Wait(`(() => { document.querySelector(".transcript").scrollTop -= 300; return document.querySelector(".summary-text") })()`)
	var page struct {
		Messages []struct {
			InView bool
			View   *struct{ State string }
		}
		Summary struct {
			Text     string
			Messages int
		}
	}
	if err := e.Call("_strata/history/list", map[string]any{"sessionId": sid}, &page); err != nil {
		t.Fatal(err)
	}
	gone := 0
	for _, m := range page.Messages {
		if m.InView {
			continue
		}
		gone++
		if m.View == nil || m.View.State != "summarised" {
			t.Errorf("a message out of view has %+v", m.View)
		}
	}
	if gone != page.Summary.Messages || page.Summary.Text == "" {
		t.Errorf("%d messages are not in view, the summary %q replaces %d", gone, page.Summary.Text, page.Summary.Messages)
	}
	p.WaitText(".summary-head", fmt.Sprintf("Summary of %d messages", page.Summary.Messages))
	if got := strings.TrimSpace(p.Text(".summary-text")); got != strings.TrimSpace(page.Summary.Text) {
		t.Errorf("the page shows the summary %q, want %q", got, page.Summary.Text)
	}
	if err := e.Call("_strata/checkpoint/undo", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	p.Wait(`!document.querySelector(".is-folded") && !document.querySelector(".summary-card")`)
}

func TestOptionsAreThoseOfTheSession(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Wait(`document.querySelector("select[data-option=profile]")`)
	p.Run(chromedp.SendKeys("select[data-option=profile]", "Phased"))
	p.Wait(`document.querySelector("select[data-option=mode]")`)
	var info struct {
		Config map[string]string
	}
	if err := e.Call("_strata/session/info", map[string]any{"sessionId": sid}, &info); err != nil {
		t.Fatal(err)
	}
	shown := Eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("select[data-option]")].map((s) => [s.dataset.option, s.value]))`)
	for _, id := range []string{"model", "profile", "mode", "compaction"} {
		if shown[id] != info.Config[id] || shown[id] == "" {
			t.Errorf("%s: the page shows %q, the session has %q", id, shown[id], info.Config[id])
		}
	}
	if err := e.Call("session/set_config_option", map[string]any{"sessionId": sid, "configId": "compaction", "value": "rolling"}, nil); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.querySelector("select[data-option=compaction]").value === "rolling"`)
}

func TestClosedSessionIsReopened(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "No messages yet")
	if err := e.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	p.WaitText(".conversation", "Another client closed the session")
	p.Click(".conversation .button")
	p.Prompt("Still there?")
	p.WaitText(".transcript", "to: Still there?.")
}

// TestWorkPerDeltaIsConstant counts the nodes changed by the page each time it shows more of the same text, at the start
// and at the end of a long reply. The number of deltas shown at a time depends on the load of the machine.
func TestWorkPerDeltaIsConstant(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	gates := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})}
	var steps []upstream.Step
	deltas := func(end string) {
		for i := range 50 {
			steps = append(steps, upstream.Text(fmt.Sprintf("word %d ", i)), upstream.Wait(4*time.Millisecond))
		}
		steps = append(steps, upstream.Text(end))
	}
	steps = append(steps, upstream.Text("Begun\n\n"), upstream.Hold(gates[0]))
	deltas("first\n\n")
	steps = append(steps, upstream.Hold(gates[1]))
	for i := range 1500 {
		steps = append(steps, upstream.Text(fmt.Sprintf("Paragraph %d\n\n", i)))
	}
	steps = append(steps, upstream.Text("Filled\n\n"), upstream.Hold(gates[2]))
	deltas("second\n\n")
	steps = append(steps, upstream.Hold(gates[3]))
	w.Model.Push(upstream.Script{Steps: steps})
	p := Open(t, w.Server)
	p.Session(sid)
	p.Prompt("Write for long.")
	p.WaitText(".transcript", "Begun")
	Eval[int](p, `(() => {
		window.touched = window.times = 0;
		new MutationObserver((all) => { window.times++; for (const m of all) window.touched += m.addedNodes.length + m.removedNodes.length + (m.type === "childList" ? 0 : 1) })
			.observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true, attributes: true });
		return 1;
	})()`)
	touched := func(open chan struct{}, until string) float64 {
		Eval[int](p, "window.touched = window.times = 0; 1")
		close(open)
		p.WaitText(".transcript", until)
		Eval[int](p, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
		return Eval[float64](p, "window.touched / window.times")
	}
	first := touched(gates[0], "first")
	touched(gates[1], "Filled")
	second := touched(gates[2], "second")
	close(gates[3])
	t.Logf("%.1f nodes at a time at the start, %.1f at the end", first, second)
	if second > 3*first+2 {
		t.Errorf("the page changes %.1f nodes at a time at the end of a long reply, %.1f at its start", second, first)
	}
}
