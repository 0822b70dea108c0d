package vscodetest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/binary"
	"strata/internal/hudtest"
)

// another opens another window of the same editor, which shares no state of the browser with the first one.
func (e *editor) another(t *testing.T) *editor {
	t.Helper()
	other := &editor{server: e.server, site: e.site, disk: e.disk, settings: e.settings, window: &window{tenant: &tenant{TB: t}, site: e.site}}
	t.Cleanup(other.window.end)
	other.start(t)
	other.connect()
	return other
}

// openSession opens a session from the tree, by a part of its row.
func (e *editor) openSession(text string) chat {
	e.showStrata()
	row := fmt.Sprintf("[...document.querySelectorAll('.pane .monaco-list-row')].find((row) => row.innerText.includes(%s))", quoted(text))
	e.Wait(row)
	hudtest.Eval[bool](e.Page, fmt.Sprintf("(%s).setAttribute('data-test', 'session') ?? true", row))
	e.Click("[data-test=session]")
	return e.chat("#prompt")
}

// showStrata shows the extension's view container.
func (e *editor) showStrata() {
	const icon = ".activitybar .action-label[aria-label='Strata']"
	if !hudtest.Eval[bool](e.Page, fmt.Sprintf("!!document.querySelector(%q).closest('.checked')", icon)) { // a click on a checked one hides it
		e.Click(icon)
	}
	e.chat("#hud > *") // it takes the focus when it is loaded
}

// notified waits for a notification with a text, and clicks one of its buttons unless it is "".
func (e *editor) notified(text, button string) {
	find := fmt.Sprintf(`[...document.querySelectorAll(".notification-toast")].find((toast) => toast.innerText.includes(%s))`, quoted(text))
	e.Wait(find)
	if button == "" {
		return
	}
	e.Wait(clicked(fmt.Sprintf(`[...(%s)?.querySelectorAll(".monaco-button") ?? []].find((button) => button.innerText === %s)`, find, quoted(button))))
}

// restart starts the server again, at the same address.
func (e *editor) restart(t *testing.T) {
	t.Helper()
	address, err := url.Parse(e.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	e.server.Restart(binary.Options{Args: []string{"--listen", address.Host}})
}

// welcomed waits for the text in place of the sessions, and clicks one of its buttons unless it is "".
func (e *editor) welcomed(text, button string) {
	e.showStrata()
	e.WaitText(".welcome-view", text)
	if button != "" {
		e.Wait(clicked(fmt.Sprintf(`[...document.querySelectorAll(".welcome-view .monaco-button")].find((b) => b.innerText === %s)`, quoted(button))))
	}
}

// isOpen is true in a window with a connection.
const isOpen = `document.querySelector(".statusbar .codicon-layers")`

// isIdle is true in a chat without a running turn.
const isIdle = `!document.querySelector("button[aria-label='Stop reply']")`

func TestWindowsShareSessions(t *testing.T) {
	first := open(t)
	first.start(t)
	one := first.newSession()
	one.prompt("say Shared\nsay session.")
	one.waitText(".transcript", "Shared session.")
	second := first.another(t)
	two := second.openSession("Shared")
	two.waitText(".transcript", "Shared session.")

	two.prompt("call write_file {\"path\": \"new.txt\", \"content\": \"new\\n\"}\n---\nsay Answered\nsay once.")
	two.waitText(".question", "new.txt")
	one.waitText(".question", "new.txt")
	one.click(".question button.primary")
	one.waitText(".transcript", "Answered once.")
	two.waitText(".transcript", "Answered once.")
	two.Wait(`!document.querySelector(".question") && ` + isIdle)
	if content := read(t, filepath.Join(first.disk, "new.txt")); content != "new\n" {
		t.Errorf("the new file contains %q", content)
	}

	one.prompt("say Slow\nsay reply.\nwait 60s\nsay Never.")
	two.waitText(".transcript", "Slow reply.") // while it runs
	two.click("button[aria-label='Stop reply']")
	two.Wait(isIdle)
	one.Wait(isIdle)

	first.server.Stop()
	first.Wait("!" + isOpen)
	second.Wait("!" + isOpen)
	first.restart(t)
	first.Wait(isOpen)
	second.Wait(isOpen)
	two.prompt("say After\nsay the restart.")
	for _, c := range []chat{one, two} {
		c.waitText(".transcript", "After the restart.")
		c.waitText(".transcript", "Shared session.")
	}
}

func TestWrongTokenAndSettings(t *testing.T) {
	e := openNew(t)
	other := binary.Start(t, binary.NewHome(t, fmt.Sprintf("listen: 127.0.0.1:0\nmodel: offline/actor\norigins: [%q]\n", e.site.Origin())), binary.Options{})
	e.start(t)
	e.welcomed("Set the token of the Strata server.", "Set Token")
	e.enter("Token of the Strata server", strings.Repeat("x", 43))
	e.welcomed("The Strata server does not accept this editor.", "")
	e.notified("does not accept this editor", "Set Token")
	e.enter("Token of the Strata server", e.server.Token)
	e.Wait(isOpen)

	e.set(map[string]any{"strata.pathMappings": map[string]string{"disk:/": "project"}})
	e.notified("Ignoring disk:/ in strata.pathMappings", "")
	e.set(map[string]any{"strata.server.url": "http://"})
	e.welcomed("The setting strata.server.url is not the address of a server", "")

	e.set(map[string]any{"strata.server.url": other.WebSocket()})
	e.welcomed("Set the token of the Strata server.", "Set Token") // that of the first server is not sent
	e.enter("Token of the Strata server", other.Token)
	e.Wait(isOpen)

	other.Stop()
	e.Wait("!" + isOpen)
	mappings := map[string]string{"disk:/": e.server.Home.Project}
	e.set(map[string]any{"strata.pathMappings": mappings, "strata.server.url": e.server.WebSocket()})
	e.Wait(isOpen) // with the token that is stored for it
	e.command("Strata: New Session")
	c := e.chat("#prompt")
	if err := os.WriteFile(filepath.Join(e.disk, "mapped.txt"), []byte("mapped text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.prompt("call read_file {\"path\": \"mapped.txt\"}\n---\nsay Mapped\nsay file.")
	c.waitText(".transcript", "Mapped file.")
}
