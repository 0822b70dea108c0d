package hudtest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"strata/internal/editorcheck"
)

// The first screen has one primary action, and leads to a page with the configuration of each editor.
func TestH30FirstRunAndHowEditorsConnect(t *testing.T) {
	w := NewWorld(t)
	var info struct {
		Executable string
		Address    struct{ WebSocket string }
	}
	if err := w.Editor(t).Call("_strata/server/info", map[string]any{}, &info); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.WaitText("main", "Strata is running")
	p.WaitText(".sidebar", "No sessions yet")
	if n := Eval[int](p, `[...document.querySelectorAll("button, a.button")].filter((b) => b.matches(".primary")).length`); n != 1 {
		t.Errorf("%d primary actions", n)
	}
	p.Click("main a[href='#/connect']")
	p.WaitText("main h1", "Connect an editor")
	p.Wait(`document.querySelectorAll("[data-way]").length === 9`)

	shown := Eval[[][]string](p, `[...document.querySelectorAll("[data-way]")].map((w) => [w.querySelector("h2").textContent, w.querySelector("pre").textContent])`)
	for _, way := range shown {
		if want := info.Executable; way[0] != "WebSocket" && way[0] != "VS Code" && !strings.Contains(way[1], want) {
			t.Errorf("%s: %q does not name %s", way[0], way[1], want)
		}
	}
	if code := shown[len(shown)-1][1]; !strings.Contains(code, info.Address.WebSocket) {
		t.Errorf("the WebSocket's code %q does not have the address %s", code, info.Address.WebSocket)
	}
	if strings.Contains(Eval[string](p, "document.documentElement.outerHTML"), w.Token) {
		t.Error("the page shows the token")
	}

	// What is copied is what is shown. A page without the permission to read the clipboard replaces the writer.
	Eval[bool](p, `(navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve() }, true)`)
	p.Click("[data-way=zed] button")
	p.Wait(`window.copied === document.querySelector("[data-way=zed] pre").textContent`)

	wantDocument(t, shown, info.Executable, info.Address.WebSocket)
}

// wantDocument compares the configurations with those of the document, in which the program is on the search path and the
// server has its usual address.
func wantDocument(t *testing.T, shown [][]string, program, address string) {
	t.Helper()
	blocks, err := editorcheck.Read("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := make(map[string]string)
	for _, b := range editorcheck.First(blocks) {
		documented[b.Heading] = b.Code
	}
	for _, way := range shown {
		code := strings.ReplaceAll(way[1], program, "strata")
		code = strings.ReplaceAll(code, address, "ws://127.0.0.1:7717/acp")
		if documented[way[0]] != code {
			t.Errorf("%s: docs/editors.md has\n%s\nthe page shows\n%s", way[0], documented[way[0]], code)
		}
	}
}

// The command on the page is an ACP agent.
func TestH30CommandOfThePageIsAnAgent(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	Eval[string](p, "location.hash = '#/connect'")
	p.Wait(`document.querySelector("[data-way=acp] pre")`)
	program, args, _ := strings.Cut(p.Text("[data-way=acp] pre"), " ")
	cmd := exec.CommandContext(t.Context(), program, args)
	cmd.Env = w.Home.Environment()
	cmd.Stdin = strings.NewReader(fmt.Sprintln(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}`))
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"agentInfo"`) {
		t.Errorf("%s %s: %s, error %v", program, args, out, err)
	}
}
