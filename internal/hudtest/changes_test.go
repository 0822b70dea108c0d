package hudtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/testclient"
)

// TestAChangeOfAFileIsAllowedByItsDiff: the page shows the diff before the change, and the call keeps it.
func TestAChangeOfAFileIsAllowedByItsDiff(t *testing.T) {
	w := NewWorld(t)
	path := filepath.Join(w.Home.Project, "main.txt")
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := testclient.Connect(t, w.WebSocket(), w.Token)
	e.InitializeWith(map[string]any{"_meta": map[string]any{"strata": map[string]any{}}})
	a := &acting{World: w, t: t, editor: e, session: e.NewSession(w.Home.Project)}
	a.call("session/set_config_option", map[string]any{"configId": "model", "value": "offline/actor"})
	p := a.open()
	turn := e.Start(a.session, `call read_file {"path":"main.txt"}
---
call edit_file {"path":"main.txt","edits":[{"old_text":"two\n","new_text":"2\n"}]}
---
call write_file {"path":"new.txt","content":"new\n"}
---
call delete_file {"path":"new.txt"}
---
say Done.`)
	const edited = "1 one|2 - two|2 + 2|3 three"
	p.Wait(`document.querySelector(".question .diff")`)
	p.Equals(diffLines, edited)
	p.WaitText(".diff-path", "main.txt")
	p.Equals(`document.querySelectorAll(".question .result").length`, 0)
	p.toggleCall("Edit main.txt") // its body has no second diff
	p.WaitText(".call-body .result", "old_text")
	p.Equals(diffLines, edited)
	p.toggleCall("Edit main.txt")
	p.clickAnswer("Allow once")
	p.WaitText(".question .mark", "New file")
	p.Equals(diffLines, "1 + new")
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\n2\nthree\n" {
		t.Errorf("the file contains %q, error %v", text, err)
	}
	p.Click(".question button[data-kind=allow_once]")
	p.WaitText(".diff .mark", "Deleted")
	p.Equals(diffLines, "1 - new")
	p.clickAnswer("Reject")
	a.end(turn)
	p.WaitCalls("Read main.txt: done", "Edit main.txt: done", "Write new.txt: done", "Delete new.txt: failed")
	p.toggleCall("Edit main.txt")
	p.Equals(diffLines, edited)
	p.Run(chromedp.Reload())
	p.WaitCalls("Read main.txt: done", "Edit main.txt: done", "Write new.txt: done", "Delete new.txt: failed")
	p.toggleCall("Edit main.txt")
	p.Equals(diffLines, edited)
}
