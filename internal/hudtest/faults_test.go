package hudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/binary"
	"strata/internal/upstream"
)

// afterCrash kills and restarts the server, and waits until the page is up to date again.
func afterCrash(p *Page, w *World) {
	w.Kill()
	p.WaitText(".banner", "Not connected")
	w.Restart(binary.Options{})
	p.Wait(`!document.querySelector(".banner") && !document.querySelector(".meter.stale")`)
	p.Allow("ERR_CONNECTION")
	p.Allow("WebSocket connection to")
}

// liveSummaries makes the model write the summaries.
const liveSummaries = "summary_model: local/test\n"

// Whatever ran when the server crashed does not run any more, and the page says so.
func TestF24NothingRunsAfterACrash(t *testing.T) {
	w := NewWorld(t, liveSummaries)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 40)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "word0039")
	gate := make(chan struct{})
	defer close(gate)

	// A compaction, for this page and for one that is opened during it.
	answer := func(script upstream.Script) {
		w.Model.Choose(func(*upstream.Request) upstream.Script { return script })
	}
	answer(upstream.Script{Steps: []upstream.Step{upstream.Hold(gate)}})
	e.Go("_strata/history/compact", map[string]any{"sessionId": sid, "strategy": "rolling"})
	p.WaitText(".title-state", "compacting")
	p.WaitText(".line-state", "compacting")
	p.Run(chromedp.Reload())
	p.WaitText(".title-state", "compacting")
	afterCrash(p, w)
	p.Wait(`!document.querySelector(".title-state") && !document.querySelector(".line-state")`)

	// A turn that waits for a retry.
	e = w.Editor(t)
	answer(upstream.Script{Status: 503})
	e.Start(sid, "Hello")
	p.Wait(`document.querySelector(".retrying")`)
	afterCrash(p, w)
	p.Wait(`!document.querySelector(".title-state") && !document.querySelector(".line-state") && !document.querySelector(".retrying")`)
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)

	// A reply, and items that were omitted from its request.
	e = w.Editor(t)
	answer(upstream.Script{Steps: []upstream.Step{upstream.Text("Half"), upstream.Hold(gate)}})
	blocks := []any{map[string]any{"type": "text", "text": "Look"}, map[string]any{"type": "resource_link", "name": "gone", "uri": "file://" + w.Home.Project + "/gone.txt"}}
	e.StartWith(sid, blocks, "")
	p.WaitText(".transcript", "Half")
	p.WaitText(".below", "omitted from the last request")
	afterCrash(p, w)
	p.Wait(`!document.querySelector(".title-state") && !document.querySelector(".omitted")`)
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
}

// A session whose folder was renamed is given the new one on the page.
func TestF20ChoosingTheNewFolder(t *testing.T) {
	w := NewWorld(t)
	old, now := filepath.Join(w.Home.Project, "old"), filepath.Join(w.Home.Project, "new")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	e := w.Editor(t)
	sid := e.NewSession(old)
	if _, err := e.Prompt(sid, "Before"); err != nil {
		t.Fatal(err)
	}
	if err := e.Call("session/close", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, now); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".notices", "does not exist any more")
	p.Click(".notice-action button")
	p.Wait(`document.querySelector("#moved-folder")?.value.endsWith("/old")`)
	p.input("#moved-folder", filepath.Join(w.Home.Project, "none"))
	p.Click(".dialog-foot .primary")
	p.WaitText("#moved-folder-note", "is not an existing folder")
	p.input("#moved-folder", now)
	p.Click(".dialog-foot .primary")
	p.WaitText(".toast", "Session moved")
	p.Wait(`!document.querySelector(".notice-action") && document.querySelector(".title-path").innerText.endsWith("/new")`)
	p.Wait(`[...document.querySelectorAll(".folder-name")].map((f) => f.innerText).join() === "new"`)
	var info struct{ Session struct{ CWD string } }
	if err := e.Call("_strata/session/info", map[string]any{"sessionId": sid}, &info); err != nil || info.Session.CWD != now {
		t.Errorf("the session is in %s, error %v", info.Session.CWD, err)
	}
}

// The list has one group for all spellings of a folder.
func TestF19OneGroupForAFolder(t *testing.T) {
	w := NewWorld(t)
	project, link := filepath.Join(w.Home.Project, "project"), filepath.Join(w.Home.Project, "link")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(project, link); err != nil {
		t.Skip(err)
	}
	e := w.Editor(t)
	for _, cwd := range []string{project, link, project + "/"} {
		e.NewSession(cwd)
	}
	p := Open(t, w.Server)
	one := `document.querySelectorAll(".line").length === %d && [...document.querySelectorAll(".folder-name")].map((f) => f.innerText).join() === "project"`
	p.Wait(strings.Replace(one, "%d", "3", 1))
	sid := e.NewSession(link + "/") // while the page is open
	p.Wait(strings.Replace(one, "%d", "4", 1))
	if err := e.Call("_strata/session/rename", map[string]any{"sessionId": sid, "title": "Renamed"}, nil); err != nil {
		t.Fatal(err)
	}
	p.WaitText(".sidebar", "Renamed")
	p.Wait(strings.Replace(one, "%d", "4", 1))
}

// A database file that was moved away is shown, and that it is back.
func TestR08TheDatabaseIsGone(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	var info struct{ Database struct{ Path string } }
	if err := e.Call("_strata/server/info", nil, &info); err != nil {
		t.Fatal(err)
	}
	path := info.Database.Path
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	p.WaitText(".banner", "the database file was moved, deleted or replaced")
	if err := os.Rename(path+".moved", path); err != nil {
		t.Fatal(err)
	}
	p.Wait(`!document.querySelector(".banner")`)
}

// A search shows the original with the number of its copies.
func TestR10CopiesInASearch(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 2)
	for range 60 {
		if err := e.Call("_strata/session/fork", map[string]any{"sessionId": sid}, nil); err != nil {
			t.Fatal(err)
		}
	}
	p := Open(t, w.Server)
	p.input("#search", "word0001")
	p.Wait(`document.querySelectorAll(".hit").length === 1`)
	p.WaitText(".hit-text", "(60 copies)")
	if href := Eval[string](p, `document.querySelector(".hit").getAttribute("href")`); !strings.Contains(href, sid) {
		t.Errorf("the hit is %s, not in %s", href, sid)
	}
}

// input sets the text of a field.
func (p *Page) input(selector, text string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf(`((e) => e && (e.value = %s, e.dispatchEvent(new Event("input", {bubbles: true})), true))(document.querySelector(%s))`, quote(text), quote(selector)))
}
