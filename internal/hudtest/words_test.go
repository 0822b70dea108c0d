package hudtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"strata/internal/upstream"
)

// wrongPlurals is an expression for the texts of the page, shown or read aloud, in which 1 precedes a plural, or another number a singular.
const wrongPlurals = `(() => {
	const attributes = ["aria-label", "title", "placeholder"].flatMap((name) =>
		[...document.querySelectorAll("[" + name + "]")].map((e) => e.getAttribute(name)));
	const nouns = "session|message|token|file|call|entry|item|line|tool|copy|picture|character|request|result|member|breakpoint|connection|document|reply|checkpoint|outline|change|output token|model call|cache breakpoint|more character|new message";
	const many = nouns.split("|").map((n) => n.replace(/y$/, "ie") + "s").join("|");
	const wrong = new RegExp("(?<![\\d,.])(?:1 (?:" + many + ")|(?:0|[2-9]|[\\d,.]+\\d[KM]?) (?:" + nouns + "))\\b(?! of)", "g");
	return [document.body.innerText, ...attributes].flatMap((text) => text.match(wrong) ?? []);
})()`

// A session with one of each thing, on all panels and the page of the server.
func TestH09OneIsSingular(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	w.write(t, "one.md", "One")
	sid := e.NewSession(w.Home.Project)
	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": "one.md", "range": map[string]any{"start": 1, "end": 1}})
	ask[any](t, e, "_strata/documents/set", sid, map[string]any{"name": "facts", "text": "One"})
	w.Model.Push(upstream.Script{Steps: upstream.Texts("Uniquely")})
	prompt(t, e, sid, "Hi")
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "Uniquely")
	right := func(where string) {
		t.Helper()
		if wrong := Eval[[]string](p, wrongPlurals); len(wrong) > 0 {
			t.Errorf("%s: %q", where, wrong)
		}
	}
	for tab, shown := range map[string]string{
		"budget": ".headline", "tiers": "[data-item]", "cost": "[data-call]", "history": ".status", "files": "[data-file]", "workspace": "[data-known]",
	} {
		p.Tab(sid, tab)
		p.Wait(fmt.Sprintf(`document.querySelector(".inspected %s")`, shown))
		right(tab)
	}
	p.WaitText("body", "Uniquely")
	p.Tab(sid, "files")
	p.WaitText("[data-file='one.md']", "line 1")
	p.Tab(sid, "budget")
	p.Click("#show-request")
	p.Wait(`document.querySelector(".request-head")`)
	right("request")
	p.Type(kb.Escape)

	p.input("#search", "Uniquely")
	p.WaitText(".hits [role=status]", "1 message")
	right("search")
	p.input("#search", "")
	p.Prompt("/files")
	p.WaitText(".command-output", "one.md")
	right("output of a command")

	Eval[string](p, `location.hash = "#/server"`)
	p.WaitText(".facts", "1 session, 2 messages")
	right("server")

	// The check itself finds what it looks for.
	Eval[string](p, `document.querySelector("h1").innerText = "1 sessions, 2 message, 1 copies"`)
	if found := strings.Join(Eval[[]string](p, wrongPlurals), "; "); found != "1 sessions; 2 message; 1 copies" {
		t.Errorf("found %q", found)
	}
}
