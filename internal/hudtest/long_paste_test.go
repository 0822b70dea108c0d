package hudtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// paste pastes a repeated text into the prompt and reports whether the page took it instead of the browser.
func (p *Page) paste(text string, times int) bool {
	p.t.Helper()
	return Eval[bool](p, fmt.Sprintf(`(() => {
		const data = new DataTransfer();
		data.setData("text/plain", %s.repeat(%d));
		const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
		document.querySelector("#prompt").dispatchEvent(event);
		return event.defaultPrevented;
	})()`, quote(text), times))
}

// A browser takes long to lay out a box with a long text: a long paste goes with the prompt as a file, and counts.
func TestALongPasteIsAttached(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click("#prompt")
	p.Type("Look")
	if p.paste("word ", 2000) {
		t.Error("a short paste is not left to the browser")
	}
	if !p.paste("a line of a log\n", 4000) {
		t.Error("a long paste is left to the browser")
	}
	p.WaitText(".chips", "Pasted text")
	if text := Eval[string](p, `document.querySelector("#prompt").value`); text != "Look" {
		t.Errorf("the prompt is %.100q", text)
	}
	p.Wait(`Number(document.querySelector(".draft-line")?.dataset.draft) > 4000`)

	p.paste("word ", 1_000_000)
	p.WaitText(".toast.bad", "Cannot attach Pasted text: 4.8 MiB exceeds the limit of 1.0 MiB")
	p.Equals(`document.querySelectorAll(".chips li").length`, 1)

	p.Click("#prompt")
	p.Type(kb.Enter)
	p.WaitText(".transcript", "Answer 1")
	if sent := string(w.Model.Last().Body); strings.Count(sent, "a line of a log") != 4000 {
		t.Errorf("the model received %d of the 4000 lines", strings.Count(sent, "a line of a log"))
	}
}
