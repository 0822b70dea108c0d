package vscodetest

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"strata/internal/hudtest"
	"strata/internal/npm"
)

//go:embed testdata
var testdata embed.FS

func TestMain(m *testing.M) { hudtest.Main(m) }

// sources is the folder of the extension.
const sources = "../../web/vscode"

// built builds the extension once and returns its folder.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "strata-vscode-")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package.nls.json"} {
		content, err := os.ReadFile(filepath.Join(sources, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return "", err
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "media"), os.DirFS(filepath.Join(sources, "media"))); err != nil {
		return "", err
	}
	return dir, build(filepath.Join(dir, "dist"))
})

// build builds the extension into a folder.
func build(out string) error {
	packages, err := packagesOf("hud")
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(sources, "build"), out)
	cmd.Env = append(os.Environ(), "NODE_PATH="+packages)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the extension: %w\n%s", err, out)
	}
	return nil
}

// packagesOf returns the folder node_modules for a folder of web.
func packagesOf(folder string) (string, error) {
	dir, err := npm.Packages{Name: folder, Files: onlyPackages(filepath.Join("../../web", folder)), Command: "ci"}.Install(context.Background())
	return filepath.Join(dir, "node_modules"), err
}

// onlyPackages are package.json and package-lock.json of a folder.
func onlyPackages(folder string) fs.FS { return packageFiles{os.DirFS(folder)} }

type packageFiles struct{ fs.FS }

func (p packageFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(p.FS, name)
	var kept []fs.DirEntry
	for _, entry := range entries {
		if entry.Name() == "package.json" || entry.Name() == "package-lock.json" {
			kept = append(kept, entry)
		}
	}
	return kept, err
}

// waitWorkbench waits until the window is drawn, and the extension has started and is not connected.
func (e *editor) waitWorkbench() {
	e.WaitText(".statusbar-item", "Strata")
	e.Wait(`document.querySelector(".activitybar .action-label[aria-label='Strata']")`)
}

// connect stores the token of the server, which this editor keeps until its window is loaded again.
func (e *editor) connect() {
	e.command("Strata: Set Token")
	e.enter("Token of the Strata server", e.server.Token)
	e.Wait(`document.querySelector(".statusbar .codicon-layers")`)
}

// newSession connects, creates a session and returns its chat.
func (e *editor) newSession() chat {
	e.connect()
	e.command("Strata: New Session")
	return e.chat("#prompt")
}

// command runs a command of the palette by its title. The palette opens with the title: each letter typed would search again.
func (e *editor) command(title string) {
	e.run("workbench.action.quickOpen", ">"+title)
	e.WaitText(".quick-input-list .monaco-list-row.focused", title)
	e.accept()
}

// enter enters a text into the open input.
func (e *editor) enter(title, text string) {
	e.WaitText(".quick-input-titlebar", title)
	e.fill(text)
	e.accept()
}

// quickInput is an expression: the field of the palette and of the editor's questions.
const quickInput = `document.querySelector(".quick-input-widget input:not([type=checkbox])")`

// fill replaces the text of the open input.
func (e *editor) fill(text string) {
	e.Wait(fmt.Sprintf("((input) => { input?.focus(); input?.select(); return input && input === document.activeElement; })(%s)", quickInput))
	e.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
	e.Wait(fmt.Sprintf("%s.value === %s", quickInput, quoted(text)))
}

// accept takes the selected entry of the open input, or its text.
func (e *editor) accept() { e.run("workbench.action.acceptSelectedQuickOpenItem") }

// run runs a command of the editor, whatever has the focus, and waits for its end.
func (e *editor) run(command string, args ...any) {
	hudtest.Eval[bool](e.Page, fmt.Sprintf(`import(%q).then(({ commands }) => commands.executeCommand(...%s)).then(() => true)`,
		mainScript, jsonOf(append([]any{command}, args...))))
}

// Click clicks an element. The pointer leaves its place first: a hover there could cover the element.
func (e *editor) Click(selector string) {
	e.leave()
	e.Page.Click(selector)
}

// leave moves the pointer to a corner of the window.
func (e *editor) leave() { e.Run(chromedp.MouseEvent("mouseMoved", 1, 1)) }

// chat is the page of the chat.
type chat struct{ *hudtest.Frame }

// chat waits for the chat to be drawn, with an element.
func (e *editor) chat(selector string) chat {
	return chat{e.Frame(".localhost:"+e.site.port(), fmt.Sprintf("document.querySelector(%q)", selector))}
}

func (c chat) waitText(selector, text string) {
	c.Wait(fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.innerText.includes(%s))", selector, quoted(text)))
}

func (c chat) click(selector string) {
	c.Wait(clicked(fmt.Sprintf("document.querySelector(%q)", selector)))
}

// clicked returns an expression that clicks an element, and is true if the element was there and enabled. To find it first and click
// it later would fail if it were drawn again meanwhile.
func clicked(element string) string {
	return fmt.Sprintf("((element) => element && !element.disabled && (element.click(), true))(%s)", element)
}

// prompt enters a prompt and sends it.
func (c chat) prompt(text string) {
	c.Wait(`document.querySelector("#prompt")`)
	hudtest.EvalIn[bool](c.Frame, fmt.Sprintf(`(() => {
		document.querySelector("#prompt").focus();
		return document.execCommand("insertText", false, %s);
	})()`, quoted(text)))
	c.click("button[aria-label='Send prompt']")
}

func quoted(text string) string { return jsonOf(text) }

func jsonOf(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot happen: texts are always valid JSON
	}
	return string(raw)
}

func TestConnectPromptAndEdit(t *testing.T) {
	e := open(t)
	file := filepath.Join(e.disk, "greeting.txt")
	if err := os.WriteFile(file, []byte("hello\nworld\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.start(t)
	c := e.newSession()
	e.openFile("greeting.txt")
	c.prompt(strings.Join([]string{
		"say I read the file.", `call read_file {"path": "greeting.txt"}`, "---",
		`call edit_file {"path": "greeting.txt", "edits": [{"old_text": "world", "new_text": "Strata"}]}`, "---", "say It is done.",
	}, "\n"))
	c.waitText(".question", "greeting.txt")
	if content := read(t, file); content != "hello\nworld\n" {
		t.Errorf("before the approval, the file contains %q", content)
	}
	c.click(".question button.primary")
	e.waitLines("hello", "Strata")
	c.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
	if content := read(t, file); content != "hello\nStrata\n" {
		t.Errorf("after the edit, the file contains %q", content)
	}

	e.Click(".editor-instance .view-lines")
	e.Type("z", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.waitLines("hello", "world")
	e.Wait(`document.querySelector(".tab.active.dirty")`)
}

func TestWindowIsReloadedInMidTurn(t *testing.T) {
	e := open(t)
	e.start(t)
	c := e.newSession()
	c.prompt("say Before.\ncall write_file {\"path\": \"new.txt\", \"content\": \"new\\n\"}\n---\nsay After.")
	c.waitText(".question", "new.txt")
	e.Run(chromedp.Reload())
	e.waitWorkbench()
	e.connect()
	c = e.chat("#prompt")
	c.waitText(".question", "new.txt") // the server asks again
	c.waitText(".transcript", "Before.")
	c.click(".question button.primary")
	c.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
	if content := read(t, filepath.Join(e.disk, "new.txt")); content != "new\n" {
		t.Errorf("the new file contains %q", content)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// openFile opens a file of the workspace from the explorer.
func (e *editor) openFile(name string) {
	e.run("workbench.view.explorer")
	e.run("workbench.files.action.refreshFilesExplorer") // the disk reports no changes by others
	e.Click(fmt.Sprintf(".explorer-folders-view .monaco-list-row[aria-label^=%q]", name))
	e.Wait(fmt.Sprintf("document.querySelector(\".tab.active[data-resource-name='%s']\")", name))
	e.run("workbench.view.extension.strata")
	e.chat("#hud > *") // it can take the focus until it is loaded
}

// waitLines waits until the open document has these first lines.
func (e *editor) waitLines(lines ...string) {
	e.Wait(fmt.Sprintf(`(() => {
		const shown = [...document.querySelectorAll(".editor-instance .view-line")].sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top));
		return %s.every((line, i) => shown[i]?.innerText.replaceAll("\u00a0", " ") === line);
	})()`, jsonOf(lines)))
}
