package hudtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/upstream"
)

// late keeps a tab from being told of changes that other tabs make in the storage.
const late = `addEventListener("storage", (event) => event.stopImmediatePropagation(), true)`

// Two tabs of a session share one queue. Each prompt is sent once and shown once, also by a tab that is not told of what the
// other has sent; and such a tab brings no prompt back.
func TestTwoTabsSendAQueuedPromptOnce(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	hold := func(prompt string) (end chan struct{}) {
		end = make(chan struct{})
		w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Held: " + prompt), upstream.Hold(end)}})
		return end
	}
	queue := func(p *Page, prompt string) {
		p.Click("#prompt")
		p.Type(prompt + kb.Enter)
		p.Wait(promptText + ` === ""`)
	}
	queued := `[...document.querySelectorAll(".queued-text")].map((e) => e.innerText)`
	first, second := hold("First"), hold("Second")
	queue(p, "First")
	p.WaitText(".transcript", "Held: First")
	queue(p, "Second")
	queue(p, "Third")
	p.Equals(queued, []string{"Second", "Third"})

	other := p.Another(Eval[string](p, "location.href"))
	other.beforeLoad(late)
	other.Run(chromedp.Reload())
	other.Equals(queued, []string{"Second", "Third"})
	close(first)
	for _, page := range []*Page{p, other} {
		page.WaitText(".transcript", "Held: Second")
	}
	queue(other, "Fourth")
	p.Equals(queued, []string{"Third", "Fourth"})
	close(second)
	for _, page := range []*Page{p, other} {
		page.WaitText(".transcript", "to: Fourth")
		page.Wait(canSend + ` && !document.querySelector(".queued")`)
	}
	var asked []string
	for _, m := range transcript(t, e, sid) {
		if m.Role == "user" {
			asked = append(asked, m.Blocks[0].Text)
		}
	}
	want := []string{"First", "Second", "Third", "Fourth"}
	if !slices.Equal(asked, want) || len(w.Model.Requests()) != len(want) {
		t.Errorf("%d requests, of the prompts %q", len(w.Model.Requests()), asked)
	}
	for _, page := range []*Page{p, other} {
		page.Equals(`[...document.querySelectorAll(".row.user .prose")].map((e) => e.innerText.trim())`, want)
	}
}

// A tab that does not take part in the sending goes on when the other one is closed.
func TestAQueueOutlivesItsTab(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	other := p.Another(Eval[string](p, "location.href"))
	other.Wait(`document.querySelector("#prompt")`)
	end := make(chan struct{})
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Held"), upstream.Hold(end)}})
	p.Prompt("First")
	p.WaitText(".transcript", "Held")
	p.Click("#prompt")
	p.Type("Second" + kb.Enter)
	other.WaitText(".queued", "1 prompt queued until the reply is complete")
	p.Run(chromedp.Navigate("about:blank"))
	close(end)
	other.WaitText(".transcript", "to: Second")
	other.Wait(`!document.querySelector(".queued")`)
}

// Messages that come while a page of newer ones is loaded, by a refresh or as the newest, are in the list once.
func TestNewerMessagesAreLoadedOnce(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	Eval[int](p, bundle(t, "../../web/hud/src/store/transcript.ts"))
	Eval[bool](p, `(window.loads = async (meanwhile, gone = () => false) => {
		const all = Array.from({ length: 200 }, (_, i) => ({ id: "m" + (i + 1), seq: i + 1, role: "user", blocks: [], inView: true })).filter((m) => !gone(m.seq));
		let waiting = null;
		const list = async ({ cursor, limit = 50 }) => {
			const before = cursor === undefined ? 201 : Number(cursor);
			const messages = all.filter((m) => m.seq < before).slice(-limit);
			if (waiting && before === 161) await waiting();
			return { messages, ...(messages[0]?.seq > 1 ? { nextCursor: String(messages[0].seq) } : {}) };
		};
		const transcript = new module.Transcript(list);
		await transcript.show(60);
		waiting = async () => {
			waiting = null;
			await meanwhile(transcript);
		};
		while (transcript.newer.value) await transcript.loadNewer();
		const seqs = transcript.entries.value.map((e) => e.message.seq);
		return (waiting === null) + " " + seqs.at(-1) + " " + seqs.every((s, i) => i === 0 || s > seqs[i - 1]);
	}, true)`)
	for name, args := range map[string]string{
		"nothing":                           `async () => {}`,
		"a refresh":                         `(t) => t.refresh()`,
		"the newest":                        `(t) => t.showNewest()`,
		"the newest, and a refresh":         `async (t) => { await t.showNewest(); await t.refresh(); }`,
		"another place":                     `(t) => t.show(30)`,
		"a gap of more than a page of them": `async () => {}, (seq) => seq > 110 && seq < 165`,
	} {
		if got := Eval[string](p, fmt.Sprintf("loads(%s)", args)); got != "true 200 true" { // it came meanwhile; the last; in order, each once
			t.Errorf("%s: %s", name, got)
		}
	}
}
