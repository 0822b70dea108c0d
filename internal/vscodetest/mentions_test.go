package vscodetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/hudtest"
)

// waitChips waits until these things, and no others, go with the prompt.
func (c chat) waitChips(names ...string) {
	c.Wait(fmt.Sprintf(`JSON.stringify([...document.querySelectorAll(".composer .chip bdi")].map((e) => e.title)) === %s`, quoted(jsonOf(append([]string{}, names...)))))
}

// waitDraft waits until the prompt has a text.
func (c chat) waitDraft(text string) {
	c.Wait(fmt.Sprintf("document.querySelector('#prompt')?.value === %s", quoted(text)))
}

// mention types an @ and a query into the prompt, and takes the mention with a label and a detail.
func (c chat) mention(query, label, detail string) {
	c.Wait(`document.querySelector("#prompt")`)
	hudtest.EvalIn[bool](c.Frame, fmt.Sprintf(`(() => {
		document.querySelector("#prompt").focus();
		return document.execCommand("insertText", false, %s);
	})()`, quoted(" @"+query)))
	choice := fmt.Sprintf("[...document.querySelectorAll('.picker-list li')].find((e) => e.innerText.trim() === %s)", quoted(strings.TrimSpace(label+" "+detail)))
	c.Wait(choice)
	hudtest.EvalIn[bool](c.Frame, choice+`.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, cancelable: true })) || true`)
	c.Wait(`!document.querySelector(".picker-list")`)
}

// clearDraft removes the text and the attachments of the prompt.
func (c chat) clearDraft() {
	c.Wait(`document.querySelector("#prompt")`)
	hudtest.EvalIn[bool](c.Frame, `(() => {
		document.querySelector("#prompt").focus();
		document.execCommand("selectAll");
		document.execCommand("delete");
		return document.querySelectorAll(".composer .chip button").forEach((button) => button.click()) ?? true;
	})()`)
	c.waitChips()
	c.waitDraft("")
}

// choose runs an entry of the open context menu.
func (e *editor) choose(t *testing.T, label string) {
	t.Helper()
	e.pick(t, ".monaco-menu .action-item", label)
}

// pick runs an item of a list by the keyboard: lists that have just opened ignore the mouse.
func (e *editor) pick(t *testing.T, items, label string) {
	t.Helper()
	e.WaitText(items, label)
	list, _, _ := strings.Cut(items, " ")
	e.Wait(fmt.Sprintf("document.activeElement?.closest(%q)", list))
	for range 1 + len(e.Texts(items)) {
		if strings.Contains(e.Text(items+".focused"), label) {
			e.Type(kb.Enter)
			return
		}
		e.Type(kb.ArrowDown)
	}
	t.Fatalf("the list has no item %q", label)
}

// rightClick opens the context menu of an element.
func (e *editor) rightClick(selector string) {
	e.Wait(fmt.Sprintf("document.querySelector(%q)", selector))
	e.clickAt(fmt.Sprintf("document.querySelector(%q)", selector), chromedp.ButtonRight)
}

// TestEditorIsMentioned: files from the explorer and a tab, lines of a selection, problems and symbols go with the prompt.
func TestEditorIsMentioned(t *testing.T) {
	e := open(t)
	e.write(t, "bad.txt", "right\nthis is wrong\nright")
	e.write(t, "def.txt", "def alpha\nbody\n")
	e.start(t)
	c := e.newSession()
	e.openFile("bad.txt")

	e.Click(".editor-instance .view-lines")
	e.Type("a", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.command("Strata: Add Selection to Strata")
	c.waitChips("bad.txt#L1:3")
	c.clearDraft()
	e.command("Strata: Explain Selection")
	c.waitChips("bad.txt#L1:3")
	c.waitDraft("Explain these lines.")
	c.clearDraft()

	c.mention("sel", "bad.txt#L1:3", "Selection")
	c.mention("prob", "problems", "1 problem")
	c.mention("alp", "alpha", "class def.txt#L1:2")
	c.mention("bad", "bad.txt", "")
	c.waitChips("bad.txt#L1:3", "problems", "def.txt#L1:2", "bad.txt")
	c.waitDraft(" @bad.txt#L1:3  @problems  @alpha  @bad.txt ")
	c.clearDraft()

	e.run("workbench.view.explorer")
	e.rightClickRow("def.txt")
	e.choose(t, "Add to Strata")
	c.waitChips("def.txt")
	e.rightClick(".tab.active .label-name")
	e.choose(t, "Add to Strata")
	c.waitChips("def.txt", "bad.txt")
}

// rightClickRow opens the context menu of a file in the explorer.
func (e *editor) rightClickRow(name string) {
	e.rightClick(fmt.Sprintf(".explorer-folders-view .monaco-list-row[aria-label^=%q]", name))
}

// TestProblemIsFixedAndExplained: the quick fixes of a problem begin a prompt with its text and a link to its lines.
func TestProblemIsFixedAndExplained(t *testing.T) {
	e := open(t)
	e.write(t, "bad.txt", "right\nthis is wrong")
	e.start(t)
	c := e.newSession()
	e.openFile("bad.txt")
	for _, tt := range []struct{ action, draft string }{
		{"Fix with Strata", "Fix this:\n- \"wrong\" is not right (checker 7)"},
		{"Explain with Strata", "Explain this:\n- \"wrong\" is not right (checker 7)"},
	} {
		e.Click(".editor-instance .view-lines")
		e.Type(kb.End, chromedp.KeyModifiers(chromedp.ModifierCtrl))
		e.Wait(`document.querySelector(".editor-instance .squiggly-error")`)
		e.Type(".", chromedp.KeyModifiers(chromedp.ModifierCtrl))
		e.pick(t, ".action-widget .monaco-list-row", tt.action)
		c.waitDraft(tt.draft)
		c.waitChips("bad.txt#L2:2")
		c.clearDraft()
	}
}

// clickAt clicks the middle of the element that an expression returns.
func (e *editor) clickAt(expression string, options ...chromedp.MouseOption) {
	at := hudtest.Eval[[]float64](e.Page, fmt.Sprintf("(({x, y, width, height}) => [x + width / 2, y + height / 2])(%s.getBoundingClientRect())", expression))
	e.Run(chromedp.MouseClickXY(at[0], at[1], options...))
}
