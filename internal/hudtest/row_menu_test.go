package hudtest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focusedText is an expression for the text of the element with the focus.
const focusedText = `document.activeElement?.innerText.trim()`

// rowOf is the selector of a session's link in the list.
func rowOf(sid string) string { return fmt.Sprintf(".line a[data-session='%s']", sid) }

// focusRow focuses a row of the list.
func (p *Page) focusRow(sid string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("document.querySelector(%s)", quote(rowOf(sid))))
	Eval[bool](p, fmt.Sprintf("(document.querySelector(%s).focus(), true)", quote(rowOf(sid))))
}

// rightClick clicks an element with the right button.
func (p *Page) rightClick(selector string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("document.querySelector(%s)", quote(selector)))
	at := Eval[[]float64](p, fmt.Sprintf("(({x, y, width, height}) => [x + width / 2, y + height / 2])(document.querySelector(%s).getBoundingClientRect())", quote(selector)))
	p.Run(chromedp.MouseClickXY(at[0], at[1], chromedp.ButtonRight))
}

// The actions of a session are in the menu of its row, by the mouse, without opening the session.
func TestH06RowMenuByTheMouse(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(other)
	p.rightClick(rowOf(sid))
	p.Wait(`document.querySelectorAll(".menu [role=menuitem]").length === 4`)
	p.Click(".menu button:nth-child(1)")
	p.Wait(`document.activeElement?.matches(".line .title-field")`)
	p.Type("Named on its row" + kb.Enter)
	p.WaitText(rowOf(sid), "Named on its row")
	p.Wait(fmt.Sprintf("document.activeElement === document.querySelector(%s)", quote(rowOf(sid))))

	p.Click(fmt.Sprintf(".line:has(a[data-session='%s']) .line-menu", sid))
	p.WaitText(".menu", "Fork session")
	p.Click(".menu button:nth-child(2)")
	p.WaitText(".toast", "Session forked.")
	p.Wait(`document.querySelectorAll(".line").length === 3`)
	p.Session(other)

	p.Click(fmt.Sprintf(".line:has(a[data-session='%s']) .line-menu", sid))
	p.WaitText(".menu", "Export session")
	Eval[int](p, `(() => { window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = (b) => { window.saved.push(b); return make.call(URL, b) }; return 1 })()`)
	p.Click(".menu button:nth-child(3)")
	p.Wait(`window.saved.length === 1`)

	p.Click(fmt.Sprintf(".line:has(a[data-session='%s']) .line-menu", sid))
	p.WaitText(".menu", "Delete session")
	p.Click(".menu button:nth-child(4)")
	p.WaitText(".toast", "deleted.")
	p.Wait(fmt.Sprintf("!document.querySelector(%s) && location.hash.includes(%s)", quote(rowOf(sid)), quote(other)))

	// A click outside closes the menu.
	p.rightClick(rowOf(other))
	p.Wait(`document.querySelector(".menu")`)
	p.Click("#search")
	p.Wait(`!document.querySelector(".menu")`)
}

// The same by the keyboard alone.
func TestH06RowMenuByTheKeyboard(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.focusRow(sid)
	p.Type(kb.F2)
	p.Wait(`document.activeElement?.matches(".line .title-field")`)
	p.Type("Discarded" + kb.Escape)
	p.Wait(fmt.Sprintf("document.activeElement === document.querySelector(%s)", quote(rowOf(sid))))
	p.Type(kb.F2)
	p.Wait(`document.activeElement?.matches(".line .title-field")`)
	p.Type("By F2" + kb.Enter)
	p.WaitText(rowOf(sid), "By F2")

	p.Wait(fmt.Sprintf("document.activeElement === document.querySelector(%s)", quote(rowOf(sid))))
	p.Type(kb.F10, chromedp.KeyModifiers(chromedp.ModifierShift))
	p.Wait(focusedText + `?.startsWith("Rename session")`)
	p.Type(kb.ArrowDown)
	p.Wait(focusedText + ` === "Fork session"`)
	p.Type(kb.ArrowUp + kb.ArrowUp)
	p.Wait(focusedText + ` === "Delete session"`)
	p.Type(kb.Home)
	p.Wait(focusedText + `?.startsWith("Rename session")`)
	p.Type("e")
	p.Wait(focusedText + ` === "Export session"`)
	p.Type(kb.Escape)
	p.Wait(fmt.Sprintf("!document.querySelector('.menu') && document.activeElement === document.querySelector(%s)", quote(rowOf(sid))))

	p.Type(kb.ContextMenu)
	p.Wait(focusedText + `?.startsWith("Rename session")`)
	p.Type(kb.End + kb.Enter)
	p.WaitText(".toast", "“By F2” deleted.")
	p.Wait(fmt.Sprintf("document.activeElement === document.querySelector(%s)", quote(rowOf(other)))) // not lost
}

// The menu of a session that another client deletes closes.
func TestH06MenuOfADeletedSessionCloses(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.rightClick(rowOf(sid))
	p.Wait(`document.querySelector(".menu")`)
	if err := e.Call("session/delete", map[string]any{"sessionId": sid}, nil); err != nil {
		t.Fatal(err)
	}
	p.Wait(`!document.querySelector(".menu")`)
}
