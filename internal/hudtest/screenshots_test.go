package hudtest

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/upstream"
)

// screenshots is the output folder of `make screenshots`.
var screenshots = flag.String("screenshots", "", "folder that TestScreenshots writes the pictures of the documentation to")

// The contents of the pictures, and their maximum size.
const (
	shotWidth, shotHeight = 1440, 900
	shotScale             = 2
	maxShot               = 150_000 // bytes
)

// retouch replaces values that differ between runs or reveal the machine with typical ones: folders, ports, times and
// ids.
const retouch = `((folder, port) => {
	for (const cut of document.querySelectorAll(".cut")) { // in two parts
		const [start, end] = cut.childNodes;
		const text = cut.textContent;
		if (end && text.startsWith(folder)) [start.firstChild.nodeValue, end.nodeValue] = ["", text];
	}
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = walker.nextNode()); ) {
		const text = node.nodeValue.replaceAll(folder + "/project", "/home/me").replaceAll(folder, "/home/me/.local")
			.replace(/[^" ]*\/strata-binary-\d+\//g, "/usr/local/bin/")
			.replaceAll(":" + port, ":7717").replace(/http:\/\/127\.0\.0\.1:(?!7717\b)\d+/g, "https://api.anthropic.com").replace(/\b\d{1,2}:\d\d(:\d\d)?[\s\u202f][AP]M\b/g, "9:41 AM").replace(/^\d+ min \d+ s$/, "4 min 12 s").replace(/^\d+ s$/, "8 s").replace(/(msg|note)_[0-9A-Z]{26}/g, "$1_01KE6D00000000000000000001");
		if (text !== node.nodeValue) node.nodeValue = text;
	}
	return document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1)))));
})`

func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("`make screenshots` runs it")
	}
	s := newStory(t)
	p := Open(t, s.Server)
	session := func(tab, shown string) func() {
		return func() {
			p.Session(s.session)
			p.Tab(s.session, tab)
			p.WaitText(".transcript", "a minute's work")
			p.Wait(shown)
		}
	}
	p.shoot(s, "overview", func() {
		Eval[string](p, `location.hash = "#/"`)
		p.Click(".switch [data-days='1']") // without dates
		p.WaitText("main", "Most expensive sessions")
	})
	p.shoot(s, "sessions", func() {
		Eval[string](p, `location.hash = "#/"`)
		p.WaitText("main", "Most expensive sessions")
		p.search("column")
		p.Wait(`document.querySelectorAll(".hit mark").length > 3`)
	})
	p.search(kb.Backspace)
	p.Wait(`document.querySelector(".line") && (document.activeElement.blur(), true)`)
	draft := func() {
		p.input("#prompt", "Write the line of the changelog, and the sentence on tabs.")
		p.Wait(`document.querySelector(".draft-line") && document.querySelector("[data-with-draft]")`)
	}
	p.shoot(s, "budget", func() {
		session("budget", `document.querySelector(".panel").innerText.includes("Calibrated:")`)()
		draft()
	})
	p.input("#prompt", "")
	for tab, shown := range map[string]string{
		"tiers":   `document.querySelector(".panel").innerText.includes("parser.go")`,
		"cost":    `document.querySelector(".panel .plot canvas") && document.querySelector(".panel .calls tbody tr")`,
		"history": `document.querySelectorAll(".timeline-row").length >= 4`,
		"files":   `document.querySelector(".panel").innerText.includes("grammar")`,
	} {
		p.shoot(s, tab, session(tab, shown))
	}
	p.shoot(s, "request", func() {
		session("budget", `document.querySelector(".panel").innerText.includes("Calibrated:")`)()
		p.Wait(`((b) => b && (b.click(), true))([...document.querySelectorAll(".panel .button")].find((b) => b.innerText === "Show request"))`)
		p.Wait(`document.querySelector(".panel pre, .panel .window")`)
		// The system prompt is closed: it is long and has the date.
		p.Wait(`((b) => b?.getAttribute("aria-expanded") === "false" || (b?.click(), false))(document.querySelector("[data-entry='0'] .disclosure-line"))`)
		p.WaitText(".request-lines", "grammar")
	})
	p.shoot(s, "located", func() {
		session("files", `document.querySelector("[data-file='parser.go']")`)()
		p.Wait(`document.querySelector("dialog [data-found]") || (document.querySelector("[data-file='parser.go'] button[aria-label='Is parser.go in the next request?']").click(), false)`)
		p.Wait(`(document.activeElement.blur(), true)`)
	})
	p.Type(kb.Escape)
	p.Wait(noDialog)
	rebuilt := s.rebuilt(t)
	p.shoot(s, "compare", func() {
		p.request(s.session, rebuilt)
		p.Wait(`document.querySelector(".cache-ends")`)
	})
	p.shoot(s, "connect", func() {
		Eval[string](p, `location.hash = "#/connect"`)
		p.WaitText("main", "Zed")
	})
	p.shoot(s, "server", func() {
		Eval[string](p, `location.hash = "#/server"`)
		p.WaitText("main", "Models")
	})
	session("budget", `document.querySelector(".panel").innerText.includes("Calibrated:")`)()
	gate := make(chan struct{})
	s.Model.Choose(func(req *upstream.Request) upstream.Script { return s.script(req, streamed, gate) })
	p.Prompt(streamed.prompt)
	p.WaitText(".transcript", "The difference is in")
	p.shoot(s, "conversation", func() {
		p.Tab(s.session, "tiers")
		p.Wait(`document.querySelector(".panel").innerText.includes("parser.go")`)
	})
	close(gate)
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
	gate = make(chan struct{})
	s.Model.Choose(s.searching(gate))
	p.Prompt("Where is the width of a character measured?")
	p.WaitText(".transcript", "measured in")
	p.toggleCall("Search for")
	p.shoot(s, "calls", func() { p.Wait(`document.querySelector(".call-body .result")`) })
	close(gate)
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)

	s.tour(t, p)
	s.servers(t)

	outside := newPage(t)
	outside.shoot(s, "entry", func() {
		outside.Run(chromedp.Navigate(s.HTTP("/")))
		outside.WaitText("h1", "Authorization required")
		outside.Allow("401")
	})
}

// rebuilt returns the id of the call that read most anew because the cache of the call before it ended early.
func (s *story) rebuilt(t *testing.T) (call string) {
	t.Helper()
	most := 0
	for _, c := range ask[struct {
		Calls []struct{ CallID, Purpose string }
	}](t, s.e, "_strata/usage/list", s.session, nil).Calls {
		if c.Purpose != "turn" {
			continue
		}
		if got := ask[comparison](t, s.e, "_strata/requests/compare", s.session, map[string]any{"callId": c.CallID}); got.First != nil && got.Anew.Tokens > most {
			call, most = c.CallID, got.Anew.Tokens
		}
	}
	if call == "" {
		t.Fatal("no call of the story read anything anew")
	}
	return call
}

// tour shows the session of docs/tour.md: the review of its turn, and then a question about the next change.
func (s *story) tour(t *testing.T, p *Page) {
	t.Helper()
	folder := s.cwd(t, "greet")
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.TrimPrefix(newTour(t, s.World).next(), "sh\n"))
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	prompt, err := os.ReadFile(filepath.Join(folder, "prompt.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sid := s.e.NewSession(folder)
	ask[any](t, s.e, "_strata/session/rename", sid, map[string]any{"title": "A default for greet.sh"})
	choose := func(option, value string) {
		ask[any](t, s.e, "session/set_config_option", sid, map[string]any{"configId": option, "value": value})
	}
	choose("model", "offline/actor")
	choose("approval", "edits")
	if _, err := s.e.Start(sid, string(prompt)).Wait(); err != nil {
		t.Fatal(err)
	}
	listed := ask[struct{ Changes []struct{ ID string } }](t, s.e, "_strata/turn/changes", sid, nil)
	ask[any](t, s.e, "_strata/changes/revert", sid, map[string]any{"changeIds": []string{listed.Changes[1].ID}})
	p.Session(sid)
	p.shoot(s, "review", func() {
		p.Tab(sid, "changes")
		p.WaitText(".changes-line", "2 files changed")
		p.Wait(`document.querySelector("dialog") || (document.querySelector(".changes-line").click(), false)`)
		p.WaitText("dialog .review-file", "Put forward")
	})
	p.Click("dialog button[aria-label='Close']")
	choose("approval", "ask")
	turn := s.e.Start(sid, greetEverybody)
	p.WaitText(".question .diff", "everybody")
	p.shoot(s, "question", func() { p.WaitText(".question .diff", "everybody") })
	p.Click(".question button[data-kind=reject_once]")
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	choose("approval", "auto")
	s.command(t, p, folder, sid)
}

// command shows a session whose command runs, in the folder of the tour.
func (s *story) command(t *testing.T, p *Page, folder, sid string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "test.sh"), []byte(testGreetings), 0o600); err != nil {
		t.Fatal(err)
	}
	turn := s.e.Start(sid, "say I run the tests of the greetings.\n"+runs(map[string]any{"command": "sh test.sh"})+"say All greetings are right.")
	p.toggleCall("sh test.sh")
	p.shoot(s, "command", func() { p.Wait(outputText + `.endsWith("no name ...") && (document.activeElement.blur(), true)`) })
	if err := os.WriteFile(filepath.Join(folder, "done"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
}

const testGreetings = `for name in Ada Grace Linus Margaret "Ada Lovelace" "Grace Hopper" Ångström "Zoë B." "D'Arcy"; do
	echo "=== RUN   greet/$name"
	echo "    greet.sh: Hello, $name!"
	echo "--- PASS: greet/$name"
done
printf '=== RUN   greet/no name ...'
until [ -e done ]; do sleep 0.02; done
`

// servers shows MCP servers on the page of the server.
func (s *story) servers(t *testing.T) {
	t.Helper()
	p := openServerPage(t, s.World, withMCPServers(pictured))
	p.Click(".mcp-server[data-state=ready] .disclosure")
	p.shoot(s, "mcp", func() {
		p.Wait(`document.querySelector(".mcp-tools") && (document.querySelector("#mcp").scrollIntoView(), true)`)
	})
}

const pictured = `[
	{"name": "filesystem", "transport": "stdio", "source": "config", "state": "ready", "sessions": 2, "tools": [
		{"name": "directory_tree", "title": "Directory tree", "description": "Returns the folders and files below a folder as JSON."},
		{"name": "get_file_info", "title": "File facts", "description": "Returns the size, the times and the permissions of a file."},
		{"name": "read_media_file", "title": "Read a picture or a sound", "description": "Returns a picture or a sound with its type."}]},
	{"name": "issues", "transport": "http", "source": "client", "state": "starting", "sessions": 1, "tools": []},
	{"name": "notes", "transport": "stdio", "source": "config", "state": "failed", "sessions": 1, "tools": [],
		"error": "the program has ended: exit code 1\nError: the folder /home/me/notes does not exist"},
	{"name": "tickets", "transport": "http", "source": "config", "state": "unused", "sessions": 0, "tools": []}]`

const greetEverybody = `say A greeting without a name can be for everybody.
call edit_file {"path": "greet.sh", "edits": [{"old_text": "name=${1:-world}\n", "new_text": "# Without a name, everybody is greeted.\nname=${1:-everybody}\n"}]}

---

say The greeting stays as it was.`

// shoot writes pictures of the page after show, in light and dark.
func (p *Page) shoot(s *story, name string, show func()) {
	p.t.Helper()
	p.Run(chromedp.EmulateViewport(shotWidth, shotHeight, chromedp.EmulateScale(shotScale)))
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		show()
		p.settle()
		Eval[int](p, fmt.Sprintf("%s(%s, %s)", retouch, quote(filepath.Dir(s.Home.Project)), quote(portOf(p.t, s.HTTP("/")))))
		picture := p.Picture()
		if len(picture) > maxShot {
			p.t.Errorf("the picture of %s, %s, has %d bytes", name, scheme, len(picture))
		}
		if err := os.WriteFile(filepath.Join(*screenshots, name+"-"+scheme+".webp"), picture, 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// settle waits until the page has not changed for a while.
func (p *Page) settle() { p.t.Helper(); p.settleFor(20) }

// settleFor waits until the text of the page has been the same for more than a number of frames.
func (p *Page) settleFor(frames int) {
	p.t.Helper()
	Eval[int](p, fmt.Sprintf(`new Promise((done) => {
		let quiet = 0, last = "";
		const look = () => {
			const now = document.body.innerText;
			quiet = now === last ? quiet + 1 : 0;
			last = now;
			if (quiet > %d) done(1);
			else requestAnimationFrame(look);
		};
		look();
	})`, frames))
}

// search replaces the text in the search field.
func (p *Page) search(keys string) {
	p.t.Helper()
	p.Click("#search")
	Eval[bool](p, `(document.querySelector("#search").select(), true)`)
	p.Type(keys)
}

// scheme sets the user's preferred color scheme, "light" or "dark", and turns animations off.
func (p *Page) scheme(scheme string) {
	p.t.Helper()
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	}))
}

func portOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}
