package hudtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A slash lists the commands. Letters narrow the list, arrows and Tab complete one, and its output is below the messages.
func TestCommandsAreCompletedAndShowTheirOutput(t *testing.T) {
	w := NewWorld(t)
	command := filepath.Join(w.Home.Project, ".strata/commands/<b>.md")
	if err := os.MkdirAll(filepath.Dir(command), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{command: "no name", filepath.Join(filepath.Dir(command), "chat.md"): "---\ndescription: <img src=x onerror=alert(1)>\n---\nTalk"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click("#prompt")
	p.Run(chromedp.SendKeys("#prompt", "/"))
	p.WaitText("#completion-list", "/compact")
	p.Run(chromedp.SendKeys("#prompt", "ch"))
	p.WaitText("#completion-list", "<img src=x onerror=alert(1)>")
	p.Equals(`[...document.querySelectorAll("#completion-list code")].map((c) => c.innerText)`, []string{"/checkpoint", "/chat"})
	p.Type(kb.ArrowDown)
	p.WaitText(`#completion-list [aria-selected="true"]`, "/chat")
	p.Type(kb.ArrowUp)
	p.Type(kb.Tab)
	p.Equals(`document.querySelector("#prompt").value`, "/checkpoint ")
	p.Wait(`!document.querySelector("#completion-list")`)
	p.Run(chromedp.SendKeys("#prompt", "here"))
	p.Click("button[aria-label='Send prompt']")
	p.WaitText(".command-output", "Created the checkpoint “here”.")
	p.Wait(`!document.querySelector("[aria-label='Stop reply']")`)
	p.WaitText(".transcript", "No messages yet")
	p.Prompt("Hello.")
	p.WaitText(".transcript", "to: Hello.")
	p.Wait(`!document.querySelector(".command-output")`)
	p.Prompt("/undo now")
	p.WaitText(".command-output", "“Hello.”")
	p.Click(".command-output button")
	p.Wait(`!document.querySelector(".command-output")`)
	if n := len(transcript(t, e, sid)); n != 2 {
		t.Errorf("%d messages are stored", n)
	}
}

// Escape closes the list and leaves the text; more letters open it again.
func TestEscapeClosesTheListOfCommands(t *testing.T) {
	w := NewWorld(t)
	sid := w.Editor(t).NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Click("#prompt")
	p.Run(chromedp.SendKeys("#prompt", "/re"))
	p.WaitText("#completion-list", "/rename")
	p.Type(kb.Escape)
	p.Wait(`!document.querySelector("#completion-list")`)
	p.Equals(`document.querySelector("#prompt").value`, "/re")
	p.Run(chromedp.SendKeys("#prompt", "s"))
	p.WaitText("#completion-list", "/restore")
	p.Run(chromedp.SendKeys("#prompt", "/x"))
	p.Wait(`!document.querySelector("#completion-list")`)
}
