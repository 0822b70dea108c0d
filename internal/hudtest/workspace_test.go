package hudtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/binary"
	"strata/internal/testclient"
)

// outline is the result of _strata/outline/get.
type outline struct {
	Path, State, Reason, Language string
	Partial                       bool
	Imports                       []struct{ Path string }
	Symbols                       []struct {
		Name, Kind, Signature string
		Line, EndLine, Depth  int
	}
	Tokens int
}

type indexStatus struct {
	Complete                 bool
	Files, Outlined, Pending int
	Omissions                []string
}

type hit struct {
	Path, Name, Kind string
	Line             int
}

const lexerSource = `package lexer

import (
	"io"
	"strings"
)

// Token is a word of the language.
type Token struct{ Text string }

// Scanner reads tokens.
type Scanner[T io.Reader] struct {
	from T
}

func (s *Scanner[T]) NextToken() (Token, error) {
	var b strings.Builder
	return Token{b.String()}, nil
}
`

// newWorkspace writes a small project and creates a session in it.
func newWorkspace(t testing.TB, w *World, e *testclient.Editor) (sid string) {
	t.Helper()
	w.write(t, "internal/lexer/scan.go", lexerSource)
	w.write(t, "internal/parser/parser.go", "package parser\n\nimport \"demo/internal/lexer\"\n\nfunc Parse(s *lexer.Scanner) (tree any) { return nil }\n")
	w.write(t, "web/tree.py", "import os\n\nclass Tree:\n    def grow(self):\n        pass\n\n    def cut(self:\n")
	w.write(t, "notes.txt", "Nothing here.\n")
	sid = e.NewSession(w.Home.Project)
	indexed(t, e, sid, 4)
	return sid
}

// indexed waits until the index of a session's folder is complete with a number of files, and returns its state.
func indexed(t testing.TB, e *testclient.Editor, sid string, files int) indexStatus {
	t.Helper()
	ticker, deadline := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer ticker.Stop()
	for {
		s := ask[struct{ Index indexStatus }](t, e, "_strata/outline/search", sid, map[string]any{"query": ""}).Index
		if s.Complete && s.Files == files {
			return s
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("the index never has %d files: %+v", files, s)
		}
	}
}

// outlineIsThat waits until the panel shows the outline and the state of the RPC result.
func outlineIsThat(t *testing.T, p *Page, e *testclient.Editor, sid, path string) outline {
	t.Helper()
	o := ask[outline](t, e, "_strata/outline/get", sid, map[string]any{"path": path})
	var symbols, imports []string
	for _, s := range o.Symbols {
		symbols = append(symbols, fmt.Sprintf("%s %d", s.Name, s.Line))
	}
	for _, i := range o.Imports {
		imports = append(imports, i.Path)
	}
	p.Equals(data("[data-path]", "path", "state"), []string{path + " " + o.State})
	p.Equals(data("[data-symbol]", "symbol", "line"), symbols)
	p.Equals(data("[data-import]", "import"), imports)
	p.Equals(`[...document.querySelectorAll("[data-outline-tokens]")].map((e) => +e.dataset.outlineTokens)`, []int{o.Tokens})
	return o
}

// find types a query into the search field of the panel, and waits for the results of the server.
func (p *Page) find(t *testing.T, e *testclient.Editor, sid, query string) []hit {
	t.Helper()
	p.Wait(`((field) => field && (field.focus(), field.select(), true))(document.querySelector("#filter"))`)
	p.Type(query)
	hits := ask[struct{ Symbols []hit }](t, e, "_strata/outline/search", sid, map[string]any{"query": query, "limit": 50}).Symbols
	var want []string
	for _, h := range hits {
		want = append(want, fmt.Sprintf("%s %d", h.Path, h.Line))
	}
	p.Equals(data("[data-hit]", "hit", "line"), want)
	return hits
}

func TestWorkspaceSearchShowsTheOutlineOfAFile(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := newWorkspace(t, w, e)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1280, 1200))
	p.Session(sid)
	p.Tab(sid, "workspace")
	p.WaitText(".index-line", "4 files, 3 with an outline")
	p.Type("f")
	p.Wait(`document.activeElement?.id === "filter"`)

	hits := p.find(t, e, sid, "token")
	if len(hits) < 2 || hits[0].Path != "internal/lexer/scan.go" {
		t.Fatalf("the results are %+v", hits)
	}
	p.WaitText("[role=option][aria-selected=true]", hits[0].Name)
	p.WaitText("[role=option][aria-selected=true]", fmt.Sprintf("%s:%d", hits[0].Path, hits[0].Line))
	p.Wait(`document.querySelector("[role=option] mark")`)
	at := slices.IndexFunc(hits, func(h hit) bool { return strings.HasSuffix(h.Name, "NextToken") })
	p.Type(strings.Repeat(kb.ArrowDown, len(hits)+3) + strings.Repeat(kb.ArrowUp, len(hits)-1-at))
	p.Wait(fmt.Sprintf(`document.activeElement.getAttribute("aria-activedescendant") === document.querySelectorAll("[role=option]")[%d].id`, at))
	p.Equals(data("[aria-selected=true][data-hit]", "line"), []string{fmt.Sprint(hits[at].Line)})

	p.Type(kb.Enter)
	o := outlineIsThat(t, p, e, sid, "internal/lexer/scan.go")
	if o.State != "not_available" || len(o.Imports) != 2 || len(o.Symbols) < 4 {
		t.Fatalf("the outline is %+v", o)
	}
	p.WaitText(".panel", "The model receives nothing of this file")
	p.Equals(data(".outline-line.here", "symbol"), []string{hits[at].Name})
	p.WaitText(".outline-line.here", "16–19")
	p.WaitText(".outline-line.here", "NextToken() (Token, error)")
	p.Wait(`document.activeElement?.tagName === "H2"`)

	p.Type(kb.Escape)
	p.Wait(`document.activeElement?.id === "filter" && document.querySelector("[data-hit]")`)
	p.find(t, e, sid, "tree")
	p.Click("[data-hit='web/tree.py'][data-line='3']")
	if o := outlineIsThat(t, p, e, sid, "web/tree.py"); !o.Partial {
		t.Errorf("the outline of a file with a syntax error is %+v", o)
	}
	p.WaitText(".mark", "outline incomplete")
	p.find(t, e, sid, "notes") // typing closes the outline
	p.Type(kb.Enter)
	p.WaitText(".panel", "No outlines for files of this kind")
	p.Equals(`[...document.querySelectorAll(".panel .one-line .button")].map((b) => b.innerText)`, []string{"Show results", "Add in full"})
	p.Wait(`((field) => field && (field.focus(), field.select(), true))(document.querySelector("#filter"))`)
	p.Type("qqqq")
	p.WaitText(".empty", "No results for “qqqq”")
	p.Type(kb.Escape)
	p.Wait(`document.querySelector("#filter").value === "" && document.activeElement.id === "filter"`)
	p.Type(kb.Escape)
	p.Wait(`document.activeElement.id !== "filter"`)
	p.WaitText(".none", "No files in the last request")
}

// The results are those of the last query, whichever response comes last; and the page sends no query for each keystroke.
func TestWorkspaceSearchShowsTheResultsOfTheLastQuery(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := newWorkspace(t, w, e)
	p := newPage(t)
	p.beforeLoad(holdSearches)
	p.Run(chromedp.Navigate(Address(t, w.Server)))
	p.Session(sid)
	p.Tab(sid, "workspace")
	p.Wait(`document.querySelector("[data-complete=true]")`)
	p.Type("f")
	enter := func(query string) { // at once: a busy machine can take longer for a key than the page waits for the next
		Eval[bool](p, `((field) => { field.value = `+strconv.Quote(query)+`; return field.dispatchEvent(new Event("input", {bubbles: true})); })(document.querySelector("#filter"))`)
	}
	enter("scanner")
	p.Equals("queries.slice()", []string{"scanner"}) // after the delay
	p.Wait("held.length === 1")
	enter("parse")
	p.Equals("queries.slice()", []string{"scanner", "parse"})
	p.Wait("held.length === 2")
	Eval[int](p, "(held[1](), held[0](), 1)") // the late result of the first query
	p.Wait(`document.querySelector("[data-hit='internal/parser/parser.go']")`)
	Eval[int](p, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
	if other := Eval[int](p, `document.querySelectorAll("[data-hit='internal/lexer/scan.go'] mark").length`); other > 0 {
		t.Errorf("%d results of an earlier query are shown", other)
	}
	p.Type(kb.Enter)
	p.Wait(`document.querySelector("[data-path='internal/parser/parser.go']")`)
	p.Type(kb.Escape)
	p.Wait(`document.activeElement?.id === "filter"`)
	enter("scanner")
	p.Type(kb.Enter) // the results are those of the query before
	p.Wait("held.length === 3")
	if open := Eval[bool](p, `!!document.querySelector("[data-path]")`); open {
		t.Error("a result of an earlier query was opened")
	}
	Eval[int](p, "(held[2](), 1)")
	p.Wait(`document.querySelector("[data-path='internal/lexer/scan.go']")`)
}

// holdSearches records the queries of searches that are not empty, and holds their responses.
const holdSearches = `(() => {
	window.queries = [];
	window.held = [];
	const ids = new Set();
	const { WebSocket } = window;
	window.WebSocket = class extends WebSocket {
		send(text) {
			const { id, method, params } = JSON.parse(text);
			if (method === "_strata/outline/search" && params.query !== "") {
				queries.push(params.query);
				ids.add(id);
			}
			if (method !== "$/cancel_request") super.send(text);
		}
		set onmessage(fn) {
			super.onmessage = (event) => {
				if (ids.has(JSON.parse(event.data).id)) held.push(() => fn.call(this, event));
				else fn.call(this, event);
			};
		}
	};
})()`

// beforeLoad runs a script in each document of the page before its own.
func (p *Page) beforeLoad(script string) {
	p.t.Helper()
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	}))
}

func TestWorkspaceAddsAFileInFullAndAsOutline(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := newWorkspace(t, w, e)
	const path = "internal/lexer/scan.go"
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1280, 1200))
	p.Session(sid)
	p.Tab(sid, "workspace")
	p.find(t, e, sid, "scanner")
	p.Type(kb.Enter)
	press := func(button, says string) outline {
		t.Helper()
		p.Wait(fmt.Sprintf(`((b) => b && !b.disabled && (b.click(), true))([...document.querySelectorAll(".panel .button")].find((b) => b.innerText === %s))`, quote(button)))
		p.WaitText(".headline-words", says)
		return outlineIsThat(t, p, e, sid, path)
	}
	added := func() (state string) {
		for _, f := range ask[struct{ Files []outline }](t, e, "_strata/files/list", sid, nil).Files {
			if f.Path == path {
				return f.State
			}
		}
		return ""
	}
	if o := press("Add in full", "The model receives the whole file."); o.State != "full" || added() != "full" {
		t.Fatalf("the file is %q, its outline is %+v", added(), o)
	}
	p.WaitText(".toast", path+" added")
	p.Equals(`[...document.querySelectorAll(".panel .one-line .button")].map((b) => b.innerText)`, []string{"Show results", "Replace with outline", "Remove"})
	if o := press("Replace with outline", "The model receives the outline."); o.State != "summary_only" || added() != "summary_only" {
		t.Fatalf("the file is %q, its outline is %+v", added(), o)
	}
	p.Tab(sid, "files")
	p.WaitText("[data-file='"+path+"'] .mark", "outline only")
	p.Click("[data-file='" + path + "'] button[aria-label^='Remove']")
	p.Wait(`!document.querySelector("[data-file]")`)
	Eval[int](p, `([...document.querySelectorAll(".toast .button")].findLast((b) => b.innerText === "Undo").click(), 1)`)
	p.WaitText("[data-file='"+path+"'] .mark", "outline only") // and not in full
	p.Tab(sid, "workspace")
	p.WaitText(".headline-words", "The model receives the outline.") // the panel keeps its place
	press("Add in full", "The model receives the whole file.")
	if o := press("Remove", "The model receives nothing of this file."); o.State != "not_available" || added() != "" {
		t.Fatalf("the file is %q, its outline is %+v", added(), o)
	}
	p.Tab(sid, "budget") // the next request is without it
	if _, d := budgetIsThat(t, p, e, sid); slices.ContainsFunc(d.Tiers[len(d.Tiers)-1].Items, func(it item) bool { return it.Key == "file:"+path }) {
		t.Errorf("the file is still in %+v", d.Tiers)
	}

	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": path, "range": map[string]any{"start": 3, "end": 6}}) // elsewhere
	p.Tab(sid, "workspace")
	p.WaitText(".headline-words", "The model receives lines 3 to 6.")
}

func TestWorkspaceListsTheFilesThatTheModelKnows(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := newWorkspace(t, w, e)
	ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": "notes.txt"})
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "workspace")
	isThat := func() []string {
		t.Helper()
		var added, selected []string
		for _, f := range ask[struct{ Files []outline }](t, e, "_strata/files/list", sid, map[string]any{"outlines": true}).Files {
			line := fmt.Sprintf("%s %s %d", f.Path, f.State, f.Tokens)
			if f.Path == "notes.txt" {
				added = append(added, line)
			} else {
				selected = append(selected, line)
			}
		}
		p.Equals(data("[data-known]", "known", "state", "tokens"), append(added, selected...))
		return selected
	}
	if selected := isThat(); len(selected) != 0 {
		t.Errorf("before the first request, the outlines are %q", selected)
	}
	prompt(t, e, sid, "What is here?")
	if selected := isThat(); len(selected) != 3 {
		t.Errorf("the outlines are %q", selected)
	}
	p.WaitText(".tier-name", "Outlines selected by Strata")
	p.Click("[data-known='web/tree.py'] button")
	if o := outlineIsThat(t, p, e, sid, "web/tree.py"); o.State != "summary_only" {
		t.Errorf("the outline is %+v", o)
	}
	p.WaitText(".headline-words", "selected by Strata, not added")
	p.Equals(`[...document.querySelectorAll(".panel .one-line .button")].map((b) => b.innerText)`, []string{"Show files", "Add in full", "Add outline"})
}

// keepSockets makes the sockets of a page reachable.
const keepSockets = `(() => {
	window.sockets = [];
	const { WebSocket } = window;
	window.WebSocket = class extends WebSocket {
		constructor(...all) { super(...all); sockets.push(this); }
	};
})()`

func TestWorkspaceShowsTheProgressOfTheIndex(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := newWorkspace(t, w, e)
	p := newPage(t)
	p.beforeLoad(keepSockets)
	p.Run(chromedp.Navigate(Address(t, w.Server)))
	p.Session(sid)
	p.Tab(sid, "workspace")
	isThat := func(files int) indexStatus {
		t.Helper()
		s := indexed(t, e, sid, files)
		p.WaitText("[data-complete=true]", fmt.Sprintf("%d files, %d with an outline", s.Files, s.Outlined))
		return s
	}
	isThat(4)
	w.write(t, "web/leaf.py", "class Leaf:\n    pass\n")
	w.write(t, "broken.go", "package broken\x00")
	if s := isThat(6); s.Outlined != 4 || len(s.Omissions) != 1 {
		t.Fatalf("the index is %+v", s)
	}
	p.Click(".index-line summary")
	p.WaitText(".index-line li", "listed by name only: binary")

	// A large folder takes longer than a test should: its events are made up, with the next sequence numbers.
	at := ask[struct {
		Epoch string
		Seq   int
	}](t, e, "_strata/session/info", sid, nil)
	event := func(s map[string]any) {
		t.Helper()
		at.Seq++
		all := map[string]any{"sessionId": sid, "epoch": at.Epoch, "seq": at.Seq, "type": "index"}
		for name, value := range s {
			all[name] = value
		}
		raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "_strata/event", "params": all})
		if err != nil {
			t.Fatal(err)
		}
		Eval[int](p, fmt.Sprintf("(sockets.at(-1).onmessage({ data: %s }), 1)", quote(string(raw))))
	}
	event(map[string]any{"complete": false, "files": 5000, "outlined": 900, "pending": 3796})
	p.WaitText("[data-complete=false] .note", "1,204 of 5,000 files read")
	p.Wait(`Math.abs(document.querySelector(".index-line progress").value - 1204 / 5000) < 0.001`)
	p.Wait(`!document.querySelector(".index-line details")`)
	event(map[string]any{"complete": false, "files": 5000, "outlined": 900, "pending": 0, "problem": "permission denied"})
	p.WaitText(".index-line .bad", "The folder is not indexed: permission denied")
	p.Wait(`!document.querySelector(".index-line progress")`)
}

func TestWorkspaceSaysWhyThereAreNoOutlines(t *testing.T) {
	w := newPricedWorld(t, "outlines: {enabled: false}\n")
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "workspace")
	p.WaitText(".panel-head .bad", "outlines are turned off")
	p.WaitText(".none", "No files in the last request")
}

func TestWorkspaceSearchGoesOnAfterALostConnection(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := newWorkspace(t, w, e)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "workspace")
	p.find(t, e, sid, "scanner")
	p.Type(kb.Enter)
	p.WaitText(".headline-words", "nothing of this file")
	w.Kill()
	p.WaitText(".panel .mark", "Not up to date")
	p.Wait(`document.querySelector(".index-line.stale") && [...document.querySelectorAll(".panel .one-line:not(.file-title) .button")].every((b) => b.disabled)`)
	p.Wait(`((field) => field && (field.focus(), field.select(), true))(document.querySelector("#filter"))`)
	p.Type("parse")
	p.Wait(`document.querySelector(".panel progress")`)
	w.Restart(binary.Options{})
	p.Wait(`document.querySelector(".banner .button")?.click() || document.querySelector("[data-hit='internal/parser/parser.go']")`)
	p.Wait(`!document.querySelector(".index-line.stale")`)
	p.Allow("net::ERR_")
	p.Allow("WebSocket connection to")
}

// A tier can contain hundreds of outlines: they share a line, which can be opened.
func TestTiersFoldOutlines(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := newWorkspace(t, w, e)
	for i := range 84 {
		w.write(t, fmt.Sprintf("pkg/part%d.go", i), fmt.Sprintf("package pkg\n\nfunc Part%d() {}\n", i))
	}
	indexed(t, e, sid, 88)
	prompt(t, e, sid, "What is here?")
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(1280, 6000))
	p.Session(sid)
	p.Tab(sid, "tiers")
	var folded, others, outlines []string
	for _, tier := range ask[breakdown](t, e, "_strata/context/breakdown", sid, nil).Tiers {
		many, size := 0, 0
		for _, it := range tier.Items {
			switch {
			case it.Kind != "outline":
				others = append(others, it.Key)
				continue
			case strings.HasPrefix(it.Key, "outline:"):
				many++
			}
			outlines = append(outlines, it.Key)
			size += it.Tokens
		}
		if many > 0 {
			folded = append(folded, fmt.Sprintf("%s %d %d", tier.Tier, many, size))
		}
	}
	if len(outlines) < 87 || len(others) == 0 {
		t.Fatalf("the request contains %d outlines and %q", len(outlines), others)
	}
	p.Equals(data("[data-outlines]", "outlines", "many", "tokens"), folded)
	p.Equals(data("[data-item]", "item"), others)
	p.WaitText("[data-outlines] button", "outlines (")
	for i := range folded {
		p.Click(fmt.Sprintf("[data-outlines=%s] button", strings.Fields(folded[i])[0]))
	}
	all := slices.Sorted(slices.Values(append(others, outlines...)))
	p.Equals(data("[data-item]", "item")+".sort()", all)
	for i := range folded {
		p.Click(fmt.Sprintf("[data-outlines=%s] button", strings.Fields(folded[i])[0]))
	}
	p.Equals(data("[data-item]", "item"), others)
	p.Type("f")
	p.Type("part83.go")
	p.Equals(data("[data-item]", "item"), []string{"outline:pkg/part83.go"}) // a filter finds outlines, too
}

// The panel fits a narrow window, in light and dark, without a text that leaves it.
func TestWorkspaceFitsNarrowWindows(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := newWorkspace(t, w, e)
	long := strings.Repeat("a_folder_with_a_long_name/", 6) + "file.go"
	w.write(t, long, "package a\n\nfunc "+strings.Repeat("Long", 60)+"(a int) {}\n")
	indexed(t, e, sid, 5)
	p := Open(t, w.Server)
	p.Run(chromedp.EmulateViewport(480, 800))
	p.Session(sid)
	p.Tab(sid, "workspace")
	fits := func(where string) {
		t.Helper()
		p.settle()
		if wide := Eval[[]string](p, `[...document.querySelectorAll(".panel *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".entry-key, .entry-label")).map((e) => e.className || e.tagName)`); len(wide) > 0 {
			t.Errorf("%s: wider than the window: %q", where, wide)
		}
		if nameless, _ := namelessOf(p); len(nameless) > 0 {
			t.Errorf("%s: elements without a name: %q", where, nameless)
		}
	}
	fits("the files")
	p.find(t, e, sid, "LongLong")
	fits("the results")
	p.Type(kb.Enter)
	outlineIsThat(t, p, e, sid, long)
	fits("the outline")
	p.reachesAll("the outline")
}
