package example_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/binary"
	"strata/internal/hudtest"
	"strata/internal/testclient"
)

// example is the page, from another origin than its server.
type example struct {
	*hudtest.Page
	t      *testing.T
	server *binary.Server
	turns  int
}

// serveSite serves the bundle of the page and returns its origin.
func serveSite(t *testing.T) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(site.Close)
	return site.URL
}

// open opens the page with a server whose model does what prompts say.
func open(t *testing.T) *example {
	t.Helper()
	t.Parallel()
	origin := serveSite(t)
	home := binary.NewHome(t, fmt.Sprintf("listen: 127.0.0.1:%d\nmodel: offline/actor\norigins: [%q]\n", hudtest.FreePort(t), origin))
	return &example{Page: hudtest.OpenAddress(t, origin), t: t, server: binary.Start(t, home, binary.Options{})}
}

// connect enters the address of the server and a token.
func (e *example) connect(token string) {
	hudtest.Eval[bool](e.Page, fmt.Sprintf(`(() => {
		const { url, token } = document.querySelector("details form").elements;
		[url.value, token.value] = [%q, %q];
		return true;
	})()`, e.server.WebSocket(), token))
	e.Click("details form button")
}

// connected opens the page and connects it.
func connected(t *testing.T) *example {
	t.Helper()
	e := open(t)
	e.connect(e.server.Token)
	e.waitConnected()
	return e
}

func (e *example) waitConnected() { e.WaitText("#state", "Connected") }

// ask enters the lines of a prompt, and sends it.
func (e *example) ask(lines ...string) {
	e.Click("#prompt")
	hudtest.Eval[bool](e.Page, fmt.Sprintf(`document.execCommand("insertText", false, %s)`, quoted(strings.Join(lines, "\n"))))
	e.Wait(`!document.querySelector("#send").disabled`)
	e.Type(kb.Enter)
}

// do sends a prompt with calls, and waits for the end of its turn. It returns the results of the calls.
func (e *example) do(lines ...string) string {
	e.turns++
	end := fmt.Sprintf("Turn %d has ended.", e.turns)
	e.ask(append(lines, "---", "say "+end)...)
	e.WaitText("#log .assistant", end)
	e.waitIdle()
	return e.results()
}

// results returns the results of the calls of the newest turn.
func (e *example) results() string {
	e.t.Helper()
	editor := testclient.Connect(e.t, e.server.WebSocket(), e.server.Token)
	editor.Initialize()
	results, err := editor.Results(hudtest.Eval[string](e.Page, "sessionStorage.session"))
	if err != nil {
		e.t.Fatal(err)
	}
	return results
}

func (e *example) waitIdle() { e.Wait(`document.querySelector("#stop").hidden`) }

// answer selects an answer to the question about a call.
func (e *example) answer(kind string) { e.Click("#questions button." + kind) }

// show opens a file.
func (e *example) show(name string) {
	e.Wait(fmt.Sprintf(`[...document.querySelectorAll("#tabs button")].find((b) => b.innerText === %q)`, name))
	hudtest.Eval[bool](e.Page, fmt.Sprintf(`[...document.querySelectorAll("#tabs button")].find((b) => b.innerText === %q).click() ?? true`, name))
}

// waitFile waits until the open file contains a text.
func (e *example) waitFile(text string) { e.WaitText("#editor .cm-content", text) }

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // cannot happen: texts are always valid JSON
	}
	return string(raw)
}

const (
	before = "return '$' + cents / 100;"
	after  = "return '$' + (cents / 100).toFixed(2);"
)

// editMoney is a prompt that edits money.js.
var editMoney = []string{
	"say I format two digits.",
	fmt.Sprintf(`call edit_file {"path": "money.js", "edits": [{"old_text": %q, "new_text": %q}]}`, before, after),
	"---", "say It is done.",
}

func TestEditIsRejectedApprovedAndUndone(t *testing.T) {
	e := connected(t)
	e.show("money.js")
	read := `call read_file {"path": "money.js"}`
	for _, kind := range []string{"reject_once", "allow_once"} {
		e.ask(append([]string{read, "---"}, editMoney...)...)
		e.WaitText("#questions .cm-deletedChunk", before)
		e.WaitText("#questions .cm-changedLine", after)
		e.waitFile(before)
		e.answer(kind)
		e.WaitText("#log .assistant", "It is done.")
		e.waitIdle()
		if kind == "reject_once" {
			e.waitFile(before)
			hudtest.Eval[bool](e.Page, `document.querySelector("#log").replaceChildren() ?? true`)
		}
	}
	e.waitFile(after)
	e.Wait(`!document.querySelector("#questions form")`)

	e.Click("#editor .cm-content")
	e.Type("z", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.waitFile(before)
	if seen := e.do(read); !strings.Contains(seen, before) {
		t.Errorf("after the undo, the model reads:\n%s", seen)
	}
}

func TestPromptOfTheReadmeMakesAnEdit(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "4. Paste this prompt")
	_, rest, _ = strings.Cut(rest, "```\n")
	block, _, found := strings.Cut(rest, "   ```")
	if !found {
		t.Fatal("README.md has no prompt to paste")
	}
	var prompt []string
	for line := range strings.Lines(block) {
		prompt = append(prompt, strings.TrimSpace(line))
	}
	e := connected(t)
	e.show("money.js")
	e.ask(prompt...)
	e.answer("allow_once")
	e.waitFile(after)
}

func TestSelectionIsPartOfThePrompt(t *testing.T) {
	e := connected(t)
	e.show("cart.js")
	e.Click("#editor .cm-content")
	e.Type(kb.Home, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.Type(kb.ArrowDown)
	e.Type(kb.ArrowDown+kb.End, chromedp.KeyModifiers(chromedp.ModifierShift))
	e.WaitText("#about", "cart.js#L2-L3")
	e.ask("say I see the selection.")
	e.WaitText("#log .assistant", "I see the selection.")
	e.waitIdle()
	e.WaitText("#log .user", "cart.js#L2-L3")
	editor := testclient.Connect(t, e.server.WebSocket(), e.server.Token)
	editor.Initialize()
	var list struct {
		Files []struct {
			Path  string
			Range struct{ Start, End int }
		}
	}
	session := hudtest.Eval[string](e.Page, "sessionStorage.session")
	if err := editor.Call("_strata/files/list", map[string]any{"sessionId": session}, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Files) != 1 || list.Files[0].Path != "cart.js" || list.Files[0].Range.Start != 2 || list.Files[0].Range.End != 3 {
		t.Errorf("the files of the context are %+v", list.Files)
	}
}

func TestModelListsSearchesAndChangesTheFilesOfThePage(t *testing.T) {
	e := connected(t)
	found := e.do("call list_files", `call search {"pattern": "price"}`)
	for _, want := range []string{"main.js", "README.md", "cart.js", "sum += price;"} {
		if !strings.Contains(found, want) {
			t.Errorf("the results do not contain %q:\n%s", want, found)
		}
	}
	for _, step := range []struct{ call, tabs string }{
		{`call write_file {"path": "src/new.js", "content": "export {};\n"}`, "cart.js,main.js,money.js,README.md,src/new.js"},
		{`call move_file {"from": "src/new.js", "to": "index.js"}`, "cart.js,index.js,main.js,money.js,README.md"},
		{`call delete_file {"path": "main.js"}`, "cart.js,index.js,money.js,README.md"},
	} {
		e.turns++
		e.ask(step.call, "---", fmt.Sprintf("say Changed %d.", e.turns))
		e.answer("allow_once")
		e.WaitText("#log .assistant", fmt.Sprintf("Changed %d.", e.turns))
		e.Wait(fmt.Sprintf(`[...document.querySelectorAll("#tabs button")].map((b) => b.innerText).sort((a, b) => a.localeCompare(b)).join() === %q`, step.tabs))
	}
	e.show("index.js")
	e.waitFile("export {};")
}

func TestPageIsReloadedInMidTurn(t *testing.T) {
	e := connected(t)
	e.show("money.js")
	e.ask(editMoney...)
	e.WaitText("#log .assistant", "I format two digits.")
	e.WaitText("#questions .cm-changedLine", after)
	e.Run(chromedp.Reload())
	e.waitConnected()
	e.WaitText("#log .assistant", "I format two digits.")
	e.answer("allow_once") // the server asks again
	e.WaitText("#log .assistant", "It is done.")
	e.waitIdle()
	e.show("money.js")
	e.waitFile(after)
	e.Run(chromedp.Reload())
	e.waitConnected()
	e.WaitText("#log .assistant", "It is done.")
	e.show("money.js")
	e.waitFile(after)
}

func TestReplyIsStopped(t *testing.T) {
	e := connected(t)
	e.ask("say This is long.", "wait 60s", "say Never.")
	e.WaitText("#log .assistant", "This is long.")
	e.Click("#stop")
	e.waitIdle()
	e.ask("say Next.")
	e.WaitText("#log .assistant", "Next.")
	if replies := e.Texts("#log .assistant"); !slices.Equal(replies, []string{"This is long.", "Next."}) {
		t.Errorf("the replies are %q", replies)
	}
}

func TestTextsOfTheModelAreNoHTML(t *testing.T) {
	e := connected(t)
	e.ask("say <img src=x onerror=alert(1)><b>bold</b>")
	e.WaitText("#log .assistant", "<img src=x onerror=alert(1)><b>bold</b>")
	if n := hudtest.Eval[int](e.Page, `document.querySelectorAll("#log img, #log b").length`); n != 0 {
		t.Errorf("the page made %d elements of a reply", n)
	}
}

func TestWrongTokenAndServerAway(t *testing.T) {
	e := open(t)
	e.connect(strings.Repeat("x", 43))
	e.WaitText("#state", "check the token")
	e.connect(e.server.Token)
	e.waitConnected()
	e.server.Stop()
	e.WaitText("#state", "strata serve")
	e.Wait(`document.querySelector("details").open`)
	e.server.Restart(binary.Options{})
	e.waitConnected()
	e.ask("say Hello again.")
	e.WaitText("#log .assistant", "Hello again.")
	e.AllowAll() // the browser reports the refused connections
}

func TestOriginThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	home := binary.NewHome(t, "listen: 127.0.0.1:0\nmodel: offline/actor\n")
	origin := serveSite(t)
	e := &example{Page: hudtest.OpenAddress(t, origin), t: t, server: binary.Start(t, home, binary.Options{})}
	e.connect(e.server.Token)
	e.WaitText("#state", fmt.Sprintf("add its origin %s to `origins`", origin))
	e.AllowAll() // the browser reports the refused connection
}

func TestNarrowPage(t *testing.T) {
	e := connected(t)
	e.Run(chromedp.EmulateViewport(390, 844))
	e.ask(append([]string{`call read_file {"path": "money.js"}`, "---"}, editMoney...)...)
	e.WaitText("#questions .cm-changedLine", after)
	for _, selector := range []string{"#tabs button", "#editor .cm-content", "#questions .reject_once", "#prompt", "#send"} {
		if !hudtest.Eval[bool](e.Page, fmt.Sprintf(`(() => {
			const element = document.querySelector(%q);
			element.scrollIntoView({ block: "nearest" });
			const { left, right, top, bottom } = element.getBoundingClientRect();
			return document.documentElement.scrollWidth <= 390 && left >= 0 && right <= 390 && top >= 0 && bottom <= 844;
		})()`, selector)) {
			t.Errorf("%s is not visible in a narrow window", selector)
		}
	}
	e.answer("reject_once")
	e.WaitText("#log .assistant", "It is done.")
}
