package hudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
)

// folderWorld returns a page with sessions in folders of a world, the first folder on top, and a function that adds one.
func folderWorld(t *testing.T, folders ...string) (p *Page, e *testclient.Editor, add func(folder, title string) string) {
	t.Helper()
	w := NewWorld(t)
	e = w.Editor(t)
	add = func(folder, title string) string {
		t.Helper()
		path := filepath.Join(w.Home.Project, folder)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		sid := e.NewSession(path)
		ask[any](t, e, "_strata/session/rename", sid, map[string]any{"title": title})
		return sid
	}
	for i := len(folders) - 1; i >= 0; i-- {
		add(folders[i], "In "+folders[i])
	}
	return Open(t, w.Server), e, add
}

// moveTo moves the pointer to the center of an element.
func (p *Page) moveTo(selector string) {
	p.t.Helper()
	at := Eval[[]float64](p, `(({ x, y, width, height }) => [x + width / 2, y + height / 2])(document.querySelector(`+quote(selector)+`).getBoundingClientRect())`)
	p.Run(chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1]))
}

// lines are the titles of the list's folders and sessions, in their order.
const lines = `[...document.querySelectorAll(".folder-name, .line-title")].map((e) => e.textContent.replace(", unread", ""))`

// Activity in other sessions moves nothing under the pointer, or at the keyboard's focus: new sessions come last. The list is
// sorted when the pointer or the focus leaves it.
func TestH25NothingMovesUnderThePointer(t *testing.T) {
	p, e, add := folderWorld(t, "one", "two", "three")
	p.Wait(lines + `.join() === "one,In one,two,In two,three,In three"`)
	active := func(sid, prompt string) {
		t.Helper()
		if _, err := e.Prompt(sid, prompt); err != nil {
			t.Fatal(err)
		}
		info := ask[struct {
			Session struct{ UpdatedAt string }
		}](t, e, "_strata/session/info", sid, nil)
		p.Wait(fmt.Sprintf(`document.querySelector("a[data-session=%s] time")?.dateTime === %q`, sid, info.Session.UpdatedAt))
	}
	three := Eval[string](p, `[...document.querySelectorAll(".line a")].at(-1).dataset.session`)

	p.moveTo(".line a")
	p.Wait(`document.querySelector(".line a:hover")`)
	fourth := add("four", "In four")
	active(three, "Work")
	active(fourth, "Work")
	p.Wait(lines + `.join() === "one,In one,two,In two,three,In three,four,In four"`)
	p.moveTo("#main")
	p.Wait(lines + `.join() === "four,In four,three,In three,one,In one,two,In two"`)

	p.Type("/")
	p.Wait(`document.activeElement?.matches("#search")`)
	p.Type(kb.ArrowDown)
	p.Wait(`document.activeElement?.matches(".line a")`)
	add("two", "Also in two")
	p.Wait(lines + `.join() === "four,In four,three,In three,one,In one,two,In two,Also in two"`)
	add("one", "Also in one")
	p.Wait(lines + `.join() === "four,In four,three,In three,one,In one,two,In two,Also in two,one,Also in one"`)
	p.Type("c/")
	p.Wait(lines + `.join() === "one,Also in one,In one,two,Also in two,In two,four,In four,three,In three"`)
}

// Folders with the same name show as much of their paths as tells them apart.
func TestH25FoldersWithTheSameNameAreToldApart(t *testing.T) {
	p, _, _ := folderWorld(t, "a/strata", "b/strata", "other", "deep/a/strata")
	p.Wait(`[...document.querySelectorAll(".folder-name")].length === 4`)
	p.Equals(`[...document.querySelectorAll(".folder-name")].map((e) => e.innerText)`, []string{"project/a/strata", "b/strata", "other", "deep/a/strata"})
	p.Equals(`[...document.querySelectorAll(".folder")].map((e) => e.title.endsWith(e.querySelector(".folder-name").innerText))`, []bool{true, true, true, true})
}

// A row that moves in the list keeps the focus; a click beside the list takes it.
func TestAMovedRowKeepsTheFocus(t *testing.T) {
	p, e, _ := folderWorld(t, "one", "two")
	p.Wait(lines + `.join() === "one,In one,two,In two"`)
	p.Type("/" + kb.ArrowDown)
	p.Wait(`document.activeElement?.matches(".line a")`)
	sid := Eval[string](p, `document.activeElement.dataset.session`)
	renamed := func(title string) {
		t.Helper()
		ask[any](t, e, "_strata/session/rename", sid, map[string]any{"title": title})
		p.WaitText(".session-list", title)
	}
	lost := Eval[bool](p, `((row) => (row.parentElement.append(row), document.activeElement === document.body))(document.activeElement.closest("[data-key]"))`)
	if !lost {
		t.Error("the row has not lost the focus")
	}
	renamed("Renamed once")
	p.Wait(fmt.Sprintf(`document.activeElement?.dataset.session === %q`, sid))
	p.Click("main")
	p.Wait(`document.activeElement?.dataset.session === undefined`)
	renamed("Renamed twice")
	if Eval[bool](p, `document.activeElement?.dataset.session !== undefined`) {
		t.Error("the list takes the focus back")
	}
}
