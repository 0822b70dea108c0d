package vscodetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/testclient"
)

// openHeld opens an editor whose folder, with these files, the server does not have.
func openHeld(t *testing.T, files map[string]string) *editor {
	t.Helper()
	e := open(t)
	e.disk = t.TempDir()
	e.settings["strata.pathMappings"] = map[string]string{}
	for name, content := range files {
		name = filepath.Join(e.disk, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.start(t)
	return e
}

// do sends a prompt with calls, approves as many as it says, and returns the results of the calls.
func (e *editor) do(t *testing.T, c chat, approvals int, calls ...string) string {
	t.Helper()
	sid, turns := e.newest(t)
	end := fmt.Sprintf("Turn %d has ended.", turns)
	c.prompt(strings.Join(append(calls, "---", "say "+end), "\n"))
	for range approvals {
		c.click(".question button.primary")
		c.Wait(`!document.querySelector(".question")`)
	}
	c.waitText(".row.reply", end)
	c.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
	return e.results(t, sid)
}

// newest returns the id of the newest session and the number of its messages.
func (e *editor) newest(t *testing.T) (id string, messages int) {
	t.Helper()
	var list struct {
		Sessions []struct {
			SessionID string `json:"sessionId"`
		}
	}
	client := testclient.Connect(t, e.server.WebSocket(), e.server.Token)
	defer client.Close()
	client.Initialize()
	if err := client.Call("session/list", map[string]any{}, &list); err != nil || len(list.Sessions) == 0 {
		t.Fatalf("there are no sessions: %v", err)
	}
	var info struct{ Messages int }
	if err := client.Call("_strata/session/info", map[string]any{"sessionId": list.Sessions[0].SessionID}, &info); err != nil {
		t.Fatal(err)
	}
	return list.Sessions[0].SessionID, info.Messages
}

// results returns the results of the calls of the newest turn of a session.
func (e *editor) results(t *testing.T, sid string) string {
	t.Helper()
	client := testclient.Connect(t, e.server.WebSocket(), e.server.Token)
	defer client.Close()
	client.Initialize()
	results, err := client.Results(sid)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestFolderThatOnlyTheEditorHas(t *testing.T) {
	e := openHeld(t, map[string]string{
		"greeting.txt": "hello\nworld\n", "src/a.ts": "export const planet = 'Earth';\n", ".gitignore": "*.log\n/out/\n",
		"debug.log": "planet log\n", "out/a.js": "planet out\n", "src/.gitignore": "!keep.log\n", "src/keep.log": "planet kept\n",
	})
	c := e.newSession()

	found := e.do(t, c, 0, "call list_files", `call search {"pattern": "planet"}`)
	for _, want := range []string{"greeting.txt", "src/a.ts", "Earth", "planet kept"} {
		if !strings.Contains(found, want) {
			t.Errorf("the results do not contain %q:\n%s", want, found)
		}
	}
	for _, unwanted := range []string{"debug.log", "out/a.js"} {
		if strings.Contains(found, unwanted) {
			t.Errorf("the results contain %q, which .gitignore excludes:\n%s", unwanted, found)
		}
	}

	e.openFile("greeting.txt")
	read := `call read_file {"path": "greeting.txt"}`
	e.do(t, c, 1, read, "---", `call edit_file {"path": "greeting.txt", "edits": [{"old_text": "world", "new_text": "Strata"}]}`)
	e.waitLines("hello", "Strata")
	if content := e.file(t, "greeting.txt"); content != "hello\nStrata\n" {
		t.Errorf("after the edit, the file contains %q", content)
	}
	e.Click(".editor-instance .view-lines")
	e.Type("z", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.waitLines("hello", "world")
	if seen := e.do(t, c, 0, `call search {"pattern": "world"}`); !strings.Contains(seen, "greeting.txt") { // it is not saved
		t.Errorf("after the undo, the model finds:\n%s", seen)
	}

	e.do(t, c, 1, `call write_file {"path": "new/b.ts", "content": "export {};\n"}`)
	if content := e.file(t, "new/b.ts"); content != "export {};\n" {
		t.Errorf("the new file contains %q", content)
	}
	e.do(t, c, 1, `call move_file {"from": "new/b.ts", "to": "src/c.ts"}`)
	if content := e.file(t, "src/c.ts"); content != "export {};\n" {
		t.Errorf("the moved file contains %q", content)
	}
	e.do(t, c, 1, `call delete_file {"path": "src/a.ts"}`)
	if _, err := os.Stat(filepath.Join(e.disk, "src", "a.ts")); !os.IsNotExist(err) {
		t.Errorf("the deleted file is there: %v", err)
	}
	if seen := e.do(t, c, 0, "call list_files"); strings.Contains(seen, "a.ts") || strings.Contains(seen, "b.ts") || !strings.Contains(seen, "c.ts") {
		t.Errorf("at the end, the model sees:\n%s", seen)
	}
}

func (e *editor) file(t *testing.T, name string) string {
	t.Helper()
	return read(t, filepath.Join(e.disk, name))
}

func TestWindowOfAHeldFolderIsReloadedInMidTurn(t *testing.T) {
	e := openHeld(t, map[string]string{"greeting.txt": "hello\nworld\n"})
	c := e.newSession()
	c.prompt("say Before.\ncall write_file {\"path\": \"new.txt\", \"content\": \"new\\n\"}\n---\ncall read_file {\"path\": \"greeting.txt\"}\n---\nsay After.")
	c.waitText(".question", "new.txt")
	e.Run(chromedp.Reload())
	e.waitWorkbench()
	e.connect()
	c = e.chat("#prompt")
	c.waitText(".question", "new.txt") // the server asks again
	c.click(".question button.primary")
	c.waitText(".row.reply", "After.")
	c.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
	if content := e.file(t, "new.txt"); content != "new\n" {
		t.Errorf("the new file contains %q", content)
	}
	sid, _ := e.newest(t)
	if seen := e.results(t, sid); !strings.Contains(seen, "world") {
		t.Errorf("after the reload, the model reads:\n%s", seen)
	}
}

func TestFileOfAHeldFolderIsMentioned(t *testing.T) {
	e := openHeld(t, map[string]string{"greeting.txt": "hello\nworld\n"})
	c := e.newSession()
	e.openFile("greeting.txt")
	e.Click(".editor-instance .view-lines")
	e.command("Add to Strata Prompt")
	c.waitText(".composer", "greeting.txt")
	c.prompt("say I see it.")
	c.waitText(".row.reply", "I see it.")
	sid, _ := e.newest(t)
	client := testclient.Connect(t, e.server.WebSocket(), e.server.Token)
	client.Initialize()
	var list struct {
		Files []struct{ Path, State string }
	}
	if err := client.Call("_strata/files/list", map[string]any{"sessionId": sid}, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Files) != 1 || list.Files[0].Path != "greeting.txt" || list.Files[0].State != "full" {
		t.Errorf("the files of the context are %+v", list.Files)
	}
}
