package hudtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/upstream"
)

// rawIDs is an expression for the texts of the page that contain ids of messages.
const rawIDs = `(document.body.innerText.match(/\S*(?:msg|edit)_[0-9A-Za-z]{6,}\S*/g) ?? [])`

// Rows name messages by author and first words, also those that are no longer loaded; their ids can be copied.
func TestH03ItemsAreNamedByTheirWords(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	w.write(t, "kept.go", "package kept\n")
	sid := e.NewSession(w.Home.Project)
	var messages []any
	for i := range 500 {
		messages = append(messages, map[string]any{"role": "user", "content": fmt.Sprintf("Question **%d** of many", i)}, map[string]any{"role": "assistant", "content": fmt.Sprint("Reply number ", i)})
	}
	for half := range slices.Chunk(messages, 500) {
		ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": half})
	}
	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": "kept.go"})
	prompt(t, e, sid, "Look at it")
	w.write(t, "kept.go", "package kept\n\nvar changed = 1\n")
	ask[any](t, e, "_strata/files/remove", sid, map[string]any{"path": "kept.go"})
	prompt(t, e, sid, "And once more")
	d := ask[breakdown](t, e, "_strata/context/breakdown", sid, nil)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 1000))
	p.Session(sid)
	p.Tab(sid, "tiers")
	rows := func(part string) { // scrolls through all of the list
		t.Helper()
		Eval[int](p, fmt.Sprintf(`(document.querySelector(".window.tiers").scrollTop = document.querySelector(".window.tiers").scrollHeight * %s, 1)`, part))
	}
	p.WaitText(".tiers", "You: Question 0 of many")
	p.Equals(rawIDs, []string{})
	for _, part := range []string{"0.3", "0.6", "1"} {
		rows(part)
		p.Wait(`![...document.querySelectorAll("[data-item^='msg:']")].some((e) => !/(You|Reply|Result): \S/.test(e.innerText))`)
		p.Equals(rawIDs, []string{})
	}
	var note string
	for _, tier := range d.Tiers {
		for _, it := range tier.Items {
			if strings.HasPrefix(it.Key, "note:") {
				note = it.Key
			}
		}
	}
	if note == "" {
		t.Fatal("the request has no note")
	}
	row := fmt.Sprintf("[data-item='%s']", note)
	p.WaitText(row, "Note on files before: ")
	if title := Eval[string](p, fmt.Sprintf(`document.querySelector("%s .item-name").title`, row)); title != note {
		t.Errorf("on hover is %q, want %q", title, note)
	}
	Eval[int](p, `(navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }, 1)`)
	p.Click(row + " button[aria-label='Copy id']")
	p.Wait("window.copied === " + quote(note))

	// The changes of the last reply, and a filter by words.
	rows("0")
	p.Click(".tier-head .disclosure-line")
	p.Wait(`document.querySelector("[data-change^='msg:']")`)
	p.Equals(rawIDs, []string{})
	p.Type("f")
	p.Type("number 123")
	p.Wait(`document.querySelectorAll("[data-item]").length === 1 && document.querySelector("[data-item] mark")`)
}

// Omitted items are named in the same way, in the panel and below the conversation.
func TestH03OmittedItemsAreNamedByTheirWords(t *testing.T) {
	w := newPricedWorld(t, "compaction: {enabled: false}\n")
	w.Model.Choose(func(*upstream.Request) upstream.Script { return upstream.Script{Steps: upstream.Texts("Fine")} })
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	var messages []any
	for i := range 40 {
		messages = append(messages, map[string]any{"role": "user", "content": fmt.Sprintf("Question %d. %s", i, strings.Repeat("It is a long one. ", 400))}, map[string]any{"role": "assistant", "content": "Yes."})
	}
	ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": messages})
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1440, 1000))
	p.Session(sid)
	p.Tab(sid, "budget")
	p.Prompt("Does it fit?")
	p.WaitText(".transcript", "Fine")
	p.WaitText(".below .omitted", "omitted from the last request")
	p.Click(".omitted summary")
	p.WaitText(".below .omitted", "Question")
	p.WaitText("[data-omitted]", "Question")
	p.Equals(rawIDs, []string{})
}

// Hits are plain text with the matches marked, also where the text is Markdown.
func TestH05SearchHitsArePlainText(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	texts := map[string]string{
		"Use **zebras** and *not* `horses` here":                              "Use zebras and not horses here",
		"## Heading of zebras\n\n- the first\n- the second\n\n> quoted":       "Heading of zebras the first the second quoted",
		"Run it:\n\n```go\nfunc zebras(a *int) int { return 2 * *a }\n```\n":  "Run it: func zebras(a *int) int { return 2 * *a }",
		"See [the zebras](https://example.org/x) or ![a picture](p.png) soon": "See the zebras or a picture soon",
		"| zebras | b |\n|---|:--:|\n| 1 | 2 |":                               "zebras | b 1 | 2",
		"snake_case_zebras __init__ and 2 * 3 * 4, a**b, **kwargs zebras":     "snake_case_zebras __init__ and 2 * 3 * 4, a**b, **kwargs zebras",
		"Say ~~old~~ ***very new*** zebras":                                   "Say old very new zebras",
	}
	var messages []any
	var want []string
	for text, plain := range texts {
		messages = append(messages, map[string]any{"role": "user", "content": text})
		want = append(want, "You: "+plain)
	}
	slices.Sort(want)
	ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": messages})
	p := Open(t, w.Server)
	p.input("#search", "zebras")
	p.Equals(`[...document.querySelectorAll(".hit-text")].map((e) => e.textContent.replace(/\s+/g, " ").trim()).sort()`, want)
	p.Wait(`[...document.querySelectorAll(".hit-text")].every((e) => [...e.querySelectorAll("mark")].some((m) => /zebras/.test(m.textContent)))`)

	// The folded line of a message, and its name in the list of items, are plain too.
	ask[any](t, e, "_strata/history/clear", sid, nil)
	p.Session(sid)
	p.WaitText(".folded-text", "Use zebras and not horses here")
	p.Equals(`[...document.querySelectorAll(".folded-text")].filter((e) => /\*\*|~~|#|\x60/.test(e.innerText) && !e.innerText.includes("a**b")).length`, 0)
}
