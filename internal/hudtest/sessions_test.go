package hudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestSessionIsRenamedDeletedAndUndeleted(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click("button[aria-label='Rename session']")
	p.Wait(`document.activeElement?.className === "title-field"`)
	p.Type("A better name" + kb.Enter)
	p.WaitText(".title h1", "A better name")
	p.WaitText(".line-title", "A better name")
	p.Click("button[aria-label='Delete session']")
	p.WaitText(".toast", "deleted.")
	p.Wait(`!document.querySelector(".line") && location.hash === "#/"`)
	p.Click(".toast .button")
	p.WaitText(".line-title", "A better name")
	var list struct {
		Sessions []struct{ SessionID, Title string }
	}
	if err := e.Call("session/list", map[string]any{}, &list); err != nil || len(list.Sessions) != 1 || list.Sessions[0].Title != "A better name" {
		t.Errorf("listed are %+v, error %v", list.Sessions, err)
	}
}

func TestForkIsOpened(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	if _, err := e.Prompt(sid, "To be forked"); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "To be forked")
	p.Click("button[aria-label^='Fork']")
	p.Wait(fmt.Sprintf(`location.hash.startsWith("#/session/") && !location.hash.includes(%s)`, quote(sid)))
	p.WaitText(".transcript", "to: To be forked.")
	p.Wait(`document.querySelectorAll(".line").length === 2`)
}

func TestExportIsImportedAsTheSameTranscript(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 900)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "word0899")
	Eval[int](p, `(() => { window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = (b) => { window.saved.push(b); return make.call(URL, b) }; return 1 })()`)
	p.Click("button[aria-label='Export session']")
	p.Wait(`window.saved.length === 1`)
	exported := Eval[string](p, "window.saved[0].text()")
	file := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(file, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Run(chromedp.SetUploadFiles("input[type=file]", []string{file}, chromedp.NodeReady))
	p.WaitText(".toast", "imported.")
	p.Wait(fmt.Sprintf(`location.hash.startsWith("#/session/") && !location.hash.includes(%s)`, quote(sid)))
	p.WaitText(".transcript", "word0899")
	imported := strings.TrimPrefix(Eval[string](p, "location.hash"), "#/session/")
	for _, cursor := range []string{"", "400"} {
		one, other := pageOf(t, w, sid, cursor), pageOf(t, w, imported, cursor)
		if !slices.Equal(one, other) || len(one) == 0 {
			t.Errorf("the pages before %q are %q and %q", cursor, one, other)
		}
	}
}

// pageOf returns the texts of a page of a transcript.
func pageOf(t *testing.T, w *World, sid, cursor string) []string {
	t.Helper()
	var page struct{ Messages []message }
	if err := w.Editor(t).Call("_strata/history/list", map[string]any{"sessionId": sid, "cursor": cursor}, &page); err != nil {
		t.Fatal(err)
	}
	return texts(page.Messages)
}

func TestBrokenImportIsTold(t *testing.T) {
	w := NewWorld(t)
	file := filepath.Join(t.TempDir(), "broken.jsonl")
	if err := os.WriteFile(file, []byte("{\"type\":\"header\"\nnot JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Wait(`!document.querySelector("button[aria-label^='Import']").disabled`)
	p.Run(chromedp.SetUploadFiles("input[type=file]", []string{file}, chromedp.NodeReady))
	p.WaitText(".toast.bad", "Cannot import broken.jsonl")
	p.Wait(`!document.querySelector(".transfers")`)
}

func TestServerPageIsWhatTheServerSays(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	e.NewSession(w.Home.Project)
	var info struct {
		Version  string
		Database struct{ Path string }
		Address  struct{ WebSocket, ServerFile, TokenFile string }
		Models   []struct{ Name string }
	}
	if err := e.Call("_strata/server/info", map[string]any{}, &info); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	Eval[string](p, "location.hash = '#/server'")
	for _, text := range []string{info.Version, info.Database.Path, info.Address.WebSocket, info.Address.ServerFile, info.Address.TokenFile, info.Models[0].Name} {
		if text == "" {
			t.Error("a value of the server is empty")
		}
		p.WaitText("main", text)
	}
	var counts struct{ Counts map[string]int }
	if err := e.Call("_strata/server/subscribe", map[string]any{}, &counts); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"connections", "sessionsInMemory", "writesWaiting", "repliesWaiting"} {
		p.WaitText("[data-count="+name+"]", fmt.Sprint(counts.Counts[name]))
	}

	const key = "sk-a-key-that-is-never-shown"
	p.Run(chromedp.SendKeys("input[aria-label='API key of anthropic']", key))
	p.Click(".provider-key .button")
	p.WaitText(".provider", "key set until the server stops")
	if held := Eval[string](p, "document.documentElement.outerHTML + [...document.querySelectorAll('input')].map((i) => i.value)"); strings.Contains(held, key) {
		t.Error("the page still contains the key")
	}
	p.Click(".provider-key .button:last-child")
	p.WaitText(".provider", "key missing")
}

func TestHitIsInSightOfALongMessage(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	text := strings.Repeat("some words before it ", 40) + "needle" + strings.Repeat(" and some behind it", 40)
	if err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": []any{map[string]any{"role": "user", "content": text}}}, nil); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Click("#search")
	p.Type("needle")
	p.WaitText(".hit mark", "needle")
	if !Eval[bool](p, `document.querySelector(".hit mark").getBoundingClientRect().bottom <= document.querySelector(".hit-text").getBoundingClientRect().bottom + 1`) {
		t.Errorf("the hit is out of sight in %q", p.Text(".hit-text"))
	}
}

func TestSearchThatFindsNothingSaysSo(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	p.WaitText(".sidebar", "No sessions yet")
	p.Click("#search")
	p.Type("nowhere")
	p.WaitText(".hits", "No results for")
	p.Type(kb.Escape)
	p.WaitText(".sidebar", "No sessions yet")
}
