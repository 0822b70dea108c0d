package hudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
	"strata/server/wire"
)

// titledSession creates a session with a title and messages, each from the user.
func titledSession(t *testing.T, e *testclient.Editor, cwd, title string, texts ...string) string {
	t.Helper()
	if err := os.MkdirAll(cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	sid := e.NewSession(cwd)
	ask[any](t, e, "_strata/session/rename", sid, map[string]any{"title": title})
	var messages []any
	for _, text := range texts {
		messages = append(messages, map[string]any{"role": "user", "content": text})
	}
	if len(messages) > 0 {
		ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": messages})
	}
	return sid
}

// One field finds sessions by title and folder, before the messages; its scope is all sessions, a folder with those below
// it, or the open session.
func TestH19SearchFindsTitlesAndFoldersInItsScope(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	app := filepath.Join(w.Home.Project, "parser-app")
	inApp := titledSession(t, e, app, "Fix the café", "The parser fails")
	below := titledSession(t, e, filepath.Join(app, "lib"), "Parser of the library", "No such word")
	beside := titledSession(t, e, filepath.Join(w.Home.Project, "other"), "Parser beside", "The parser again")
	for i := range 7 {
		titledSession(t, e, w.Home.Project, fmt.Sprint("A parser ", i))
	}
	deleted := titledSession(t, e, w.Home.Project, "Parser that is deleted", "parser")
	ask[any](t, e, "session/delete", deleted, nil)

	p := Open(t, w.Server)
	p.Session(inApp)
	p.Type("/")
	p.Type("pars")
	sessions, messages := `section[aria-label="Sessions"]`, `section[aria-label="Messages"]`
	p.WaitText(sessions+" h2", "Sessions 10")
	p.WaitText(messages+" h2", "Messages 2")
	if found := ask[wire.FoundSessions](t, e, "_strata/session/search", "", map[string]any{"query": "pars"}); found.Total != 10 {
		t.Errorf("the server finds %d", found.Total)
	}
	p.Equals(`[...document.querySelector(".hits").querySelectorAll("section")].map((s) => s.ariaLabel)`, []string{"Sessions", "Messages"})
	p.Equals(`document.querySelectorAll(".hits [data-session]").length`, 5)
	p.Click(sessions + " .button.wide")
	p.Equals(`document.querySelectorAll(".hits [data-session]").length`, 10)
	p.Wait(`[...document.querySelectorAll(".hits .hit")].every((e) => /pars/i.test(e.querySelector("mark")?.textContent))`)
	p.WaitText(`.hits [data-session="`+inApp+`"] .hit-folder mark`, "pars")
	p.Wait(`!document.querySelector('.hits [data-session="` + deleted + `"]')`)

	p.choose(".search-scope", "folder")
	p.Equals(`[...document.querySelectorAll(".hits [data-session]")].map((e) => e.dataset.session)`, []string{below, inApp})
	p.WaitText(messages+" h2", "Messages 1")
	p.Click(`.hits [data-session="` + below + `"]`) // the scope stays that of the search
	p.WaitText(".title h1", "Parser of the library")
	p.Equals(`document.querySelectorAll(".hits [data-session]").length`, 2)

	p.choose(".search-scope", "session")
	p.WaitText(".hits .empty-title", "No results for “pars”")
	p.input("#search", "such")
	p.WaitText(messages+" h2", "Messages 1")
	p.Wait(`!document.querySelector('` + sessions + `')`)
	p.input("#search", "")
	p.Wait(`document.querySelector(".session-list")`)

	p.Session(beside)
	p.input("#search", "again") // a new search is in the session that is open now
	p.WaitText(messages+" h2", "Messages 1")
	p.choose(".search-scope", "all")
	p.input("#search", "caf")
	p.WaitText(sessions+" mark", "caf")
	p.Wait(`document.querySelector("#search").focus() ?? true`)
	p.Type(kb.ArrowDown)
	p.Wait(`document.activeElement.dataset.session === ` + quote(inApp))
	p.Type(kb.Enter)
	p.WaitText(".title h1", "Fix the café")
}
