package hudtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
)

// draft is the result of _strata/context/draft.
type draft struct {
	Tokens, Used, Remaining, PercentUsed, ExpectedRead int
	Cost                                               struct{ Input, Cold float64 }
	Evicts                                             []struct{ Key, Reason string }
	Compacts                                           struct{ When string }
	Request                                            struct{ Tokens int }
}

// measured returns the figures of a prompt with a text and links to files of the project.
func (w *World) measured(t *testing.T, e *testclient.Editor, sid, text string, files ...string) draft {
	t.Helper()
	blocks := []map[string]any{{"type": "text", "text": text}}
	for _, name := range files {
		blocks = append(blocks, map[string]any{"type": "resource_link", "name": name, "uri": "file://" + w.Home.Project + "/" + name})
	}
	return ask[draft](t, e, "_strata/context/draft", sid, map[string]any{"prompt": blocks, "request": true})
}

// draftIs waits until the line at the prompt, the meter and the budget panel show figures.
func (p *Page) draftIs(d draft) {
	p.t.Helper()
	p.Equals(`(() => { const l = document.querySelector(".draft-line")?.dataset; return [+l?.draft, +l?.used, +l?.read, +l?.cost]; })()`,
		[]float64{float64(d.Tokens), float64(d.Used), float64(d.ExpectedRead), d.Cost.Input})
	p.Equals(`[+document.querySelector(".meter")?.dataset.used, +document.querySelector("[data-with-draft]")?.dataset.withDraft]`, []int{d.Used, d.Used})
}

// A draft counts: with its files it is measured while it is written, the meter and the budget show the same number.
func TestH28TheDraftCounts(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	w.write(t, "turn.go", source("turn", 60))
	sid := e.NewSession(w.Home.Project)
	prompt(t, e, sid, "Hello. "+strings.Repeat("This is what I want. ", 400))
	p := Open(t, w.Server)
	p.Tab(sid, "budget")
	p.Click("#prompt")
	p.Type("What does it do?")
	p.draftIs(w.measured(t, e, sid, "What does it do?"))
	words := w.measured(t, e, sid, "What does it do?")

	p.Type(" @turn")
	p.Wait(`document.querySelector("[role=listbox] [role=option]")?.textContent.includes("turn.go")`)
	p.Type(kb.Tab)
	p.Wait(`document.querySelector(".chips")?.textContent.includes("turn.go")`)
	text := Eval[string](p, `document.querySelector("#prompt").value`)
	withFile := w.measured(t, e, sid, text, "turn.go")
	if withFile.Used < words.Used+500 || withFile.ExpectedRead == 0 || withFile.Cost.Input <= words.Cost.Input || withFile.Cost.Cold <= withFile.Cost.Input {
		t.Errorf("the file is not counted: %+v, before %+v", withFile, words)
	}
	p.draftIs(withFile)
	p.Wait(fmt.Sprintf(`document.querySelector(".draft-line").textContent.startsWith("+%s tokens, ")`, grouped(withFile.Tokens)))

	p.Click("#show-request")
	p.Equals(`Number(document.querySelector("dialog[open] [data-request-tokens]")?.dataset.requestTokens)`, withFile.Request.Tokens)
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("dialog[open]")`)

	p.Click("#prompt")
	p.Type(kb.Enter)
	p.Wait(`document.querySelector(".draft-line") === null && document.querySelector("[data-with-draft]") === null`)
}

// A draft that does not fit beside everything else names what leaves, and a compaction that it causes.
func TestADraftNamesWhatLeaves(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	for i := range 2 {
		prompt(t, e, sid, fmt.Sprint("Part ", i, strings.Repeat(" of what I want", 1200)))
	}
	text := strings.Repeat("and on it goes ", 12_500)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Wait(`document.querySelector("#prompt")`)
	p.input("#prompt", text)
	d := w.measured(t, e, sid, strings.TrimSpace(text))
	if len(d.Evicts) == 0 && d.Compacts.When != "before" {
		t.Fatalf("nothing leaves: %+v", d)
	}
	p.Wait(`/compacts the history first|evicts \d+ item/.test(document.querySelector(".draft-line")?.textContent ?? "")`)
	p.input("#prompt", strings.Repeat("and on it goes ", 30_000))
	p.Wait(`document.querySelector(".draft-line [role=status]")?.textContent.startsWith("Too large: ")`)
	p.input("#prompt", "/clear")
	p.Wait(`document.querySelector(".draft-line") === null`)
}
