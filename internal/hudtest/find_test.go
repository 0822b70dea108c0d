package hudtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/server/wire"
)

// needles creates a session that contains "needle" in a folded result, far above, in a prompt, in code, and in thinking. It
// returns the number of matches that the server finds.
func needles(t *testing.T, w *World, e *testclient.Editor) (sid string, matches int) {
	t.Helper()
	sid = e.NewSession(w.Home.Project)
	ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": "Look for the **nee**dle."},
		map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_call", "callId": "c1", "name": "look", "args": `{"for": "a\nneedle"}`}}},
		map[string]any{"role": "tool", "content": []any{map[string]any{"type": "tool_result", "callId": "c1", "content": []any{
			map[string]any{"type": "text", "text": strings.Repeat("hay\n", 3000) + "NEEDLE in hay"},
		}}}},
	}})
	fill(t, e, sid, 500)
	w.Model.Push(upstream.Script{Steps: []upstream.Step{
		upstream.Thinking("Where is the needle?", "sig"), upstream.Text("In code:\n\n```go\nneedle(\"needle\")\n```\n\nThat is all."),
	}})
	if _, err := e.Prompt(sid, "And now?"); err != nil {
		t.Fatal(err)
	}
	for _, place := range ask[wire.FindPage](t, e, "_strata/history/find", sid, map[string]any{"text": "needle"}).Places {
		matches += place.Count
	}
	return sid, matches
}

// matchInView is an expression for the marked match, if it is within the window.
const matchInView = `((r) => { const b = r?.getBoundingClientRect(); return b && b.top > 0 && b.bottom < innerHeight && b.width > 0 ? r.toString() : "" })(CSS.highlights.get("found-here")?.values().next().value)`

func (p *Page) chord(key string) { p.Type(key, chromedp.KeyModifiers(chromedp.ModifierCtrl)) }

func (p *Page) shift(key string) { p.Type(key, chromedp.KeyModifiers(chromedp.ModifierShift)) }

// The find bar finds a text in all messages of a session, and shows what hides a match.
func TestH19FindInTheSession(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, matches := needles(t, w, e)
	if matches != 6 {
		t.Fatalf("the server finds %d matches", matches)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "That is all.")
	p.Click("#prompt")
	p.chord("f")
	p.Wait(`document.activeElement.id === "find"`)
	p.Type("needle")
	// The search starts at the first message in view; those above come after the last.
	p.WaitText(".find-state", "4 of 6")
	p.WaitText(".thought", "Where is the needle?")
	p.Wait(matchInView + ` === "needle"`)
	for n, want := range []string{"5 of 6", "6 of 6", "1 of 6"} {
		p.Type(kb.Enter)
		p.WaitText(".find-state", want)
		p.Wait(matchInView + ` === "needle"`)
		p.Wait(fmt.Sprintf(`[...CSS.highlights.get("found")].length >= %d`, []int{3, 3, 1}[n]))
	}
	p.WaitText(".transcript", "Look for the needle.")
	p.Type(kb.F3)
	p.WaitText(".find-state", "2 of 6")
	p.WaitText(".call-body .result pre", "needle")
	p.Wait(matchInView + ` === "needle"`)
	p.Type(kb.Enter)
	p.WaitText(".find-state", "3 of 6")
	p.Wait(matchInView + ` === "NEEDLE"`) // below the shortened part of a result
	p.shift(kb.Enter)
	p.WaitText(".find-state", "2 of 6")
	p.shift(kb.F3)
	p.WaitText(".find-state", "1 of 6")
	p.shift(kb.Enter)
	p.WaitText(".find-state", "6 of 6")
	p.Wait(matchInView + ` === "needle"`)

	p.Type("ss")
	p.WaitText(".find-state", "No matches")
	p.Equals(`[...CSS.highlights.get("found")].length`, 0)
	p.input("#find", "WORD0250")
	p.WaitText(".find-state", "1 of 1")
	p.Wait(matchInView + ` === "word0250"`)
	if n := elements(p); n > maxElements {
		t.Errorf("the page has %d elements", n)
	}
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector(".find") && document.activeElement.id === "prompt"`)
	p.Equals(`[...CSS.highlights.get("found")].length`, 0)
	p.WaitText(".transcript", "word0250") // the page stays where the match is
}

// While its field has the focus, the same keys belong to the browser; so they do in the list of sessions.
func TestH19TheBrowsersOwnSearchIsReachable(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, _ := needles(t, w, e)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "That is all.")
	Eval[any](p, `window.taken = [], addEventListener("keydown", (e) => e.key === "f" && taken.push(e.defaultPrevented)), null`)
	p.Click("#search")
	p.chord("f")
	p.Click("#prompt")
	p.chord("f")
	p.Wait(`document.activeElement.id === "find"`)
	p.chord("f")
	p.Equals("taken", []bool{false, true, false})
}

// New messages are found, and what cannot be searched is said in the bar.
func TestH19FindFollowsTheSession(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, _ := needles(t, w, e)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "That is all.")
	p.Click("#prompt")
	p.chord("f")
	p.Wait(`document.activeElement.id === "find"`)
	p.Type("needle")
	p.WaitText(".find-state", "4 of 6")
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("One more needle.")}})
	if _, err := e.Prompt(sid, "More?"); err != nil {
		t.Fatal(err)
	}
	p.WaitText(".find-state", "4 of 7")
	p.input("#find", strings.Repeat("漢", 400))
	p.WaitText(".find-state", "exceeds the limit")
	p.input("#find", "")
	p.Equals(`document.querySelector(".find-state").textContent`, "")
}

// A match within folded steps of a turn, and one in messages outside the view, are unfolded.
func TestH19FindUnfoldsStepsAndHiddenMessages(t *testing.T) {
	a := newActing(t, map[string]string{"a.txt": "a"})
	a.call("_strata/history/append", map[string]any{"messages": []any{map[string]any{"role": "user", "content": "A cleared needle"}}})
	a.call("_strata/history/clear", map[string]any{})
	turn := a.editor.Start(a.session, strings.Repeat("call list_files\n", 5)+"call read_file {\"path\":\"a.txt\"}\n---\nsay Read.")
	a.respond(a.asked(1)["a.txt"], "the needle in a file")
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	p := a.open()
	p.WaitText(".steps", "6 calls")
	p.Wait(`document.querySelector(".folded-line")`)
	p.Click("#prompt")
	p.chord("f")
	p.Wait(`document.activeElement.id === "find"`)
	p.Type("needle")
	for n, want := range []string{"A cleared needle", "the needle in a file"} {
		p.WaitText(".find-state", fmt.Sprintf("%d of 2", n+1))
		p.Wait(matchInView + ` === "needle"`)
		p.Wait(`CSS.highlights.get("found-here").values().next().value.startContainer.data.includes(` + quote(want) + `)`)
		p.Type(kb.Enter)
	}
}

// The matches of a long session are loaded in pages, and the page stays small wherever they are.
func TestH19FindInALongSession(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 2100)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "word2099")
	p.Click("#prompt")
	p.chord("f")
	p.Wait(`document.activeElement.id === "find"`)
	p.Type("of many")
	p.Wait(`/of 2,100$/.test(document.querySelector(".find-state").textContent)`)
	p.input("#find", "word0000 of")
	p.WaitText(".find-state", "1 of 1")
	p.input("#find", " of many")
	p.WaitText(".find-state", "1 of 2,100")
	for _, step := range []struct{ key, state, word string }{{"shift", "2,100 of 2,100", "word2099"}, {"", "1 of 2,100", "word0000"}, {"", "2 of 2,100", "word0001"}} {
		if step.key == "shift" {
			p.shift(kb.Enter)
		} else {
			p.Type(kb.Enter)
		}
		p.WaitText(".find-state", step.state)
		p.Wait(matchInView + ` === " of many"`)
		p.Wait(`CSS.highlights.get("found-here").values().next().value.startContainer.data.includes(` + quote(step.word) + `)`)
		if n := elements(p); n > maxElements {
			t.Errorf("the page has %d elements", n)
		}
	}
}
