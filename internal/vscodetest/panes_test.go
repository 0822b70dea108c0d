package vscodetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/filecontext"
	"strata/internal/hudtest"
	"strata/internal/testclient"
)

// pane is the selector of a view in the side bar.
func pane(title string) string {
	return fmt.Sprintf(".pane:has(.pane-header[aria-label^=%q])", title)
}

// row is the selector of a row of a view. The rows of the views of sessions and files begin with their names.
func row(title, label string) string {
	return pane(title) + fmt.Sprintf(" .monaco-list-row[aria-label^=%q]", label)
}

// tall makes room for all views.
func (e *editor) tall() {
	e.Run(chromedp.EmulateViewport(1400, 1600))
}

// rpc is a second connection to the server, to compare the views with its data.
type rpc struct {
	*testclient.Editor
	t *testing.T
}

func (e *editor) rpc(t *testing.T) rpc {
	t.Helper()
	client := testclient.Connect(t, e.server.WebSocket(), e.server.Token)
	client.Initialize()
	return rpc{client, t}
}

// ask calls a method with parameters as JSON, and returns its result.
func ask[T any](c rpc, method string, params map[string]any) (result T) {
	c.t.Helper()
	if err := c.Call(method, params, &result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return result
}

// listedSession is a session of the server.
type listedSession struct {
	SessionID string
	Title     string
	Cwd       string
}

func (c rpc) sessions() []listedSession {
	c.t.Helper()
	return ask[struct{ Sessions []listedSession }](c, "session/list", map[string]any{}).Sessions
}

// session returns the id of the only session.
func (c rpc) session() string {
	c.t.Helper()
	all := c.sessions()
	if len(all) != 1 {
		c.t.Fatalf("there are the sessions %v", all)
	}
	return all[0].SessionID
}

// contextFile is a file of a session.
type contextFile struct {
	Path   string
	Tokens int
	Pinned bool
}

func (c rpc) files(session string) []contextFile {
	c.t.Helper()
	return ask[struct{ Files []contextFile }](c, "_strata/files/list", map[string]any{"sessionId": session}).Files
}

// grouped writes a number as the editor does in English.
func grouped(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// badge returns an expression: the badge of a file in the explorer or in a view.
func badge(selector string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q + " .monaco-icon-label")].map((e) => getComputedStyle(e, "::after").content.replaceAll('"', "")).join("")`, selector)
}

func TestContextView(t *testing.T) {
	e := open(t)
	for name, lines := range map[string]int{"small.txt": 3, "large.txt": 900} {
		if err := os.WriteFile(filepath.Join(e.disk, name), []byte(strings.Repeat("one line of many\n", lines)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.start(t)
	e.tall()
	e.newSession()
	c := e.rpc(t)
	sid := c.session()
	e.WaitText(pane("Context"), "No files in the context")

	e.run("workbench.view.explorer")
	inExplorer := ".explorer-folders-view .monaco-list-row[aria-label^='small.txt']"
	e.Click(inExplorer)
	e.Wait(`document.querySelector(".tab.active[data-resource-name='small.txt']")`)
	e.command("Strata: Add to Strata Context")
	e.Wait(badge(inExplorer) + ` === "◆"`)
	e.focus("Context")
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Context", "small.txt")))
	ask[any](c, "_strata/files/add", map[string]any{"sessionId": sid, "path": "large.txt"}) // another client
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Context", "large.txt")))
	files := c.files(sid)
	sum := 0
	for _, f := range files {
		sum += f.Tokens
		e.WaitText(row("Context", fmt.Sprintf("%s, whole file, %s tokens", f.Path, grouped(f.Tokens))), f.Path)
	}
	e.WaitText(pane("Context")+" .pane-header", grouped(sum)+" tokens")
	shown := hudtest.Eval[[]string](e.Page, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.ariaLabel.split(",")[0])`, pane("Context")+" .monaco-list-row"))
	if want := []string{"large.txt", "small.txt"}; !slices.Equal(shown, want) {
		t.Errorf("the view shows %v, not %v", shown, want)
	}

	e.Click(row("Context", "small.txt"))
	e.Click(row("Context", "small.txt") + " .action-label[aria-label^='Pin File']")
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Context", "small.txt")+" .action-label[aria-label^='Unpin File']"))
	if i := slices.IndexFunc(c.files(sid), func(f contextFile) bool { return f.Path == "small.txt" && f.Pinned }); i < 0 {
		t.Errorf("the server has %v", c.files(sid))
	}
	e.Wait(badge(row("Context", "small.txt")) + ` === "◈"`)

	e.Click(row("Context", "small.txt"))
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Context", "small.txt")+".focused"))
	e.focus("Context")
	e.Type(kb.Delete)
	e.Wait(fmt.Sprintf("!document.querySelector(%q)", row("Context", "small.txt")))
	if files := c.files(sid); len(files) != 1 {
		t.Errorf("the server has %v", files)
	}
	e.notice("small.txt removed", "Undo")
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Context", "small.txt")))
	if !slices.ContainsFunc(c.files(sid), func(f contextFile) bool { return f.Path == "small.txt" && f.Pinned }) {
		t.Errorf("after the undo the server has %v", c.files(sid))
	}
	ask[any](c, "_strata/files/clear", map[string]any{"sessionId": sid})
	e.WaitText(pane("Context"), "No files in the context")
	e.run("workbench.view.explorer")
	e.Wait("!/[◆◈]/.test(" + badge(inExplorer) + ")")
}

func TestFoldersAndDroppedFilesAreAdded(t *testing.T) {
	e := open(t)
	for _, name := range []string{"notes/one.txt", "notes/deep/two.txt", "other.txt"} {
		file := filepath.Join(e.disk, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("text of "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.start(t)
	e.tall()
	e.connect()
	e.run("workbench.view.explorer")
	e.menu(".explorer-folders-view .monaco-list-row[aria-label^='notes']", "Add to Strata Context") // creates a session
	e.chat("#prompt")
	e.Wait(fmt.Sprintf("document.querySelector(%q) && document.querySelector(%q)", row("Context", "notes/one.txt"), row("Context", "notes/deep/two.txt")))
	c := e.rpc(t)
	if files := c.files(c.session()); len(files) != 2 {
		t.Errorf("the server has %v", files)
	}

	e.run("workbench.view.explorer")
	e.Click(".explorer-folders-view .monaco-list-row[aria-label^='other.txt']")
	e.Wait(`document.querySelector(".tab.active[data-resource-name='other.txt']")`)
	e.focus("Context")
	e.Run(chromedp.DragAndDrop(".tab[data-resource-name='other.txt']", pane("Context")+" .pane-body"))
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Context", "other.txt")))
}

// As many files as a session can have.
func TestManyFilesInTheContext(t *testing.T) {
	e := open(t)
	const many = filecontext.MaxFiles
	for i := range many {
		if err := os.WriteFile(filepath.Join(e.disk, fmt.Sprintf("file%04d.txt", i)), fmt.Appendf(nil, "text %d\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := e.rpc(t)
	sid := c.NewSession(e.disk)
	for i := range many {
		ask[any](c, "_strata/files/add", map[string]any{"sessionId": sid, "path": fmt.Sprintf("file%04d.txt", i)})
	}
	files, sum := c.files(sid), 0
	for _, f := range files {
		sum += f.Tokens
	}
	if len(files) != many {
		t.Fatalf("the server has %d files", len(files))
	}
	e.start(t)
	e.tall()
	e.connect()
	e.run("strata.sessions.focus")
	e.openRow("Untitled session")
	e.WaitText(pane("Context")+" .pane-header", grouped(sum)+" tokens")
	e.focus("Context")
	e.Type(kb.End)
	last := slices.MinFunc(files, func(a, b contextFile) int { return cmp.Or(a.Tokens-b.Tokens, strings.Compare(b.Path, a.Path)) })
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Context", last.Path)+".focused"))
}

// menu chooses an entry of a context menu.
func (e *editor) menu(selector, entry string) {
	e.Wait(fmt.Sprintf("document.querySelector(%q)", selector))
	x, y := e.center(fmt.Sprintf("document.querySelector(%q)", selector))
	e.Run(chromedp.MouseClickXY(x, y, chromedp.ButtonRight))
	e.WaitText(".monaco-menu .action-label", entry)
	for !hudtest.Eval[bool](e.Page, fmt.Sprintf(`document.querySelector(".monaco-menu .action-item.focused .action-label")?.textContent === %q`, entry)) {
		e.Type(kb.ArrowDown)
	}
	e.Type(kb.Enter)
}

// center returns the center of an element.
func (e *editor) center(element string) (x, y float64) {
	at := hudtest.Eval[[]float64](e.Page, fmt.Sprintf("(() => { const { x, y, width, height } = %s.getBoundingClientRect(); return [x + width / 2, y + height / 2]; })()", element))
	return at[0], at[1]
}

// notice clicks a button of a notification. Notifications do not pop up unless the window has the focus.
func (e *editor) notice(text, button string) {
	e.run("notifications.showList")
	e.Wait(fmt.Sprintf(`[...document.querySelectorAll(".notifications-center .monaco-list-row")].some((row) => row.innerText.includes(%q) &&
		[...row.querySelectorAll(".monaco-button")].some((e) => e.innerText === %q && (e.click(), true)))`, text, button))
}

func TestSessionsView(t *testing.T) {
	e := open(t)
	e.start(t)
	e.tall()
	e.newSession()
	c := e.rpc(t)
	first := c.session()

	e.focusSession("Untitled session")
	e.Type(kb.F2)
	e.enter("Rename Session", "The quokka")
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Sessions", "The quokka")))
	if title := c.sessions()[0].Title; title != "The quokka" {
		t.Errorf("the title is %q", title)
	}

	e.command("Strata: Fork Session")
	e.Wait(fmt.Sprintf("document.querySelectorAll(%q).length === 2", row("Sessions", "The quokka")))
	all := c.sessions()
	if len(all) != 2 {
		t.Fatalf("the server has %v", all)
	}
	fork := all[slices.IndexFunc(all, func(s listedSession) bool { return s.SessionID != first })].SessionID
	ask[any](c, "_strata/session/rename", map[string]any{"sessionId": fork, "title": "The fork"}) // another client
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Sessions", "The fork")))                // the rows have their places

	e.focusSession("The quokka")
	e.Type(kb.Delete)
	e.Wait(fmt.Sprintf("!document.querySelector(%q)", row("Sessions", "The quokka")))
	if all := c.sessions(); len(all) != 1 || all[0].SessionID != fork {
		t.Errorf("the server has %v", all)
	}
	e.notice(`The quokka`, "Undo")
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Sessions", "The quokka")))

	e.focusSession("The quokka")
	e.Type(kb.Delete)
	e.Wait(fmt.Sprintf("!document.querySelector(%q)", row("Sessions", "The quokka")))
	e.run("notifications.clearAll")
	e.command("Strata: Deleted Sessions")
	e.WaitText(".quick-input-titlebar", "Deleted Sessions")
	e.WaitText(".quick-input-list .monaco-list-row.focused", "The quokka")
	e.Type(kb.Enter)
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Sessions", "The quokka")))
	if len(c.sessions()) != 2 {
		t.Errorf("the server has %v", c.sessions())
	}
}

// openRow opens a session of the tree by its title. The chat then has the focus.
func (e *editor) openRow(title string) {
	e.Click(row("Sessions", title))
	c := e.chat("#prompt")
	c.waitText("#main h1", strings.Replace(title, "Untitled session", "Strata chat", 1))
	c.Wait(`document.hasFocus() && document.activeElement?.id === "prompt"`)
}

// focusSession opens a session of the tree, and moves the focus back to the tree.
func (e *editor) focusSession(title string) {
	e.openRow(title)
	e.focus("Sessions")
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Sessions", title)+".focused"))
}

// focus moves the focus to a view.
func (e *editor) focus(title string) {
	command := "strata." + strings.ToLower(title) + ".focus"
	e.run(command)
	e.chat("#hud > *") // it takes the focus when it is loaded
	e.run(command)
	e.Wait(fmt.Sprintf("document.querySelector(%q)?.contains(document.activeElement)", pane(title)))
}

func TestMoreSessionsAreLoaded(t *testing.T) {
	e := open(t)
	c := e.rpc(t)
	oldest := c.NewSession(e.disk)
	ask[any](c, "_strata/session/rename", map[string]any{"sessionId": oldest, "title": "The oldest"})
	for range 200 { // as many as are loaded first
		c.NewSession(e.disk)
	}
	e.start(t)
	e.tall()
	e.connect()
	e.run("strata.sessions.focus")
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Sessions", "Untitled session")))
	e.focus("Sessions") // there was no list before
	e.Type(kb.End)
	e.Click(row("Sessions", "Load More Sessions"))
	e.WaitText(row("Sessions", "The oldest"), "The oldest")
	e.Wait(fmt.Sprintf("!document.querySelector(%q)", row("Sessions", "Load More Sessions")))
}

func TestSearchFindsReplies(t *testing.T) {
	e := open(t)
	e.start(t)
	e.tall()
	chat := e.newSession()
	chat.prompt("think Nothing.\nsay The wombat sleeps by day.")
	chat.waitText(".transcript", "sleeps by day.")
	c := e.rpc(t)
	searched := c.session()
	ask[any](c, "_strata/session/rename", map[string]any{"sessionId": searched, "title": "Animals"})
	e.command("Strata: New Session")
	e.Wait(fmt.Sprintf("document.querySelectorAll(%q).length === 2", pane("Sessions")+" .monaco-list-row"))

	e.command("Strata: Search Sessions")
	e.WaitText(".quick-input-titlebar", "Search Sessions")
	e.fill("wombat")
	e.WaitText(".quick-input-list .monaco-list-row", "Messages")
	e.WaitText(".quick-input-list .monaco-list-row", "The wombat sleeps by day.")
	e.WaitText(".quick-input-list .monaco-list-row.focused", "Animals")
	e.Type(kb.Enter)
	e.chat("#prompt").waitText(".transcript", "sleeps by day.")
}

func TestExportAndImport(t *testing.T) {
	e := open(t)
	e.start(t)
	e.tall()
	chat := e.newSession()
	chat.prompt("say The echidna digs.")
	chat.waitText(".transcript", "echidna digs.")
	chat.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
	c := e.rpc(t)
	sid := c.session()
	ask[any](c, "_strata/session/rename", map[string]any{"sessionId": sid, "title": "Echidna"})
	e.Wait(fmt.Sprintf("document.querySelector(%q)", row("Sessions", "Echidna")))

	e.command("Strata: Export Session")
	e.WaitText(".quick-input-titlebar", "Export Session")
	e.Wait(`document.querySelector(".quick-input-widget input").value.endsWith("Echidna.jsonl")`)
	e.Type(kb.Enter)
	e.WaitText("body", `"Echidna" exported to Echidna.jsonl.`) // for screen readers
	var exported, want []string
	for line := range strings.Lines(read(t, filepath.Join(e.disk, "Echidna.jsonl"))) {
		exported = append(exported, compact(t, []byte(line)))
	}
	for cursor, more := "", true; more; {
		params := map[string]any{"sessionId": sid}
		if cursor != "" {
			params["cursor"] = cursor
		}
		page := ask[struct {
			Lines      []json.RawMessage
			NextCursor string
		}](c, "_strata/session/export", params)
		for _, line := range page.Lines {
			want = append(want, compact(t, line))
		}
		cursor, more = page.NextCursor, page.NextCursor != ""
	}
	if !slices.Equal(exported, want) {
		t.Errorf("the file has the lines\n%v\nnot\n%v", exported, want)
	}

	e.command("Strata: Import Session")
	e.WaitText(".quick-input-titlebar", "Import Session")
	e.Click(".quick-input-list .monaco-list-row[aria-label^='Echidna.jsonl']")
	e.Wait(fmt.Sprintf("document.querySelectorAll(%q).length === 2", row("Sessions", "Echidna")))
	e.chat("#prompt").waitText(".transcript", "echidna digs.")
}

// compact returns JSON with its members in one order.
func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return jsonOf(value)
}

func TestStatusBarFigures(t *testing.T) {
	e := open(t)
	e.start(t)
	chat := e.newSession()
	chat.prompt("say Hello.\nusage 60000 40")
	chat.waitText(".transcript", "Hello.")
	chat.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
	c := e.rpc(t)
	of := map[string]any{"sessionId": c.session()}
	budget := ask[struct{ Used, MaxInputTokens, PercentUsed int }](c, "_strata/context/budget", of)
	info := ask[struct {
		Totals struct {
			Calls int
			Usage struct{ Input, Output, CacheRead, CacheWrite int }
			Cost  float64
		}
	}](c, "_strata/session/info", of)
	e.WaitText(".statusbar-item", fmt.Sprintf("%d %% · $%s", budget.PercentUsed, cost(info.Totals.Cost)))
	e.hover("[id*='strata.status']")
	e.WaitText(".monaco-hover", fmt.Sprintf("Next request: %s of %s tokens (%d %%)", grouped(budget.Used), grouped(budget.MaxInputTokens), budget.PercentUsed))
	usage := info.Totals.Usage
	e.WaitText(".monaco-hover", fmt.Sprintf("%s tokens in, %s out", grouped(usage.Input+usage.CacheRead+usage.CacheWrite), grouped(usage.Output)))
	e.WaitText(".monaco-hover", "Today: ")

	e.server.Stop()
	e.Wait(`document.querySelector(".statusbar .codicon-debug-disconnect")`)
	e.Wait(`document.querySelector(".statusbar [aria-label='Strata, Strata']")`) // no figures without a connection
}

// cost writes US dollars as the extension does.
func cost(dollars float64) string {
	switch {
	case dollars == 0:
		return "0"
	case dollars < 1:
		return fmt.Sprintf("%.4f", dollars)
	}
	return fmt.Sprintf("%.2f", dollars)
}

// hover moves the pointer over an element.
func (e *editor) hover(selector string) {
	x, y := e.center(fmt.Sprintf("document.querySelector(%q)", selector))
	e.Run(chromedp.MouseEvent("mouseMoved", x-3, y), chromedp.MouseEvent("mouseMoved", x, y))
}

func TestWalkthrough(t *testing.T) {
	e := openNew(t)
	e.start(t)
	e.command("Strata: Show Walkthrough")
	for _, step := range []string{"Connect to the server", "Choose a model", "Create a session", "Add files and ask", "Watch the context and the cost"} {
		e.WaitText(".gettingStartedContainer .step-title", step)
	}
	e.connect()
	e.Wait(`[...document.querySelectorAll(".gettingStartedContainer .getting-started-step")].some((e) =>
		e.innerText.includes("Connect to the server") && e.querySelector(".codicon.complete"))`)
}
