package vscodetest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/hudtest"
	"strata/internal/upstream"
)

// screenshots is the output folder of `make screenshots`.
var screenshots = flag.String("screenshots", "", "folder that TestScreenshots writes the pictures of the extension to")

// The size of the pictures, and their maximum content.
const (
	shotWidth, shotHeight = 1280, 900
	shotScale             = 2
	maxShot               = 200_000 // bytes
)

// pictured is the configuration of the server of the pictures.
const pictured = `model: anthropic/claude-sonnet-4-5
summary_model: anthropic/claude-sonnet-4-5
providers: {anthropic: {kind: anthropic, base_url: %q, api_key_env: ""}}
`

const (
	greeting = `package greet

import "strings"

// Hello returns a greeting for a name.
func Hello(name string) string {
	if name == "" {
		name = "world"
	}
	return "Hello, " + strings.TrimSpace(name) + "!"
}
`
	greetingTest = `package greet

import "testing"

func TestHello(t *testing.T) {
	for name, want := range map[string]string{"": "Hello, world!", " Ada ": "Hello, Ada!"} {
		if got := Hello(name); got != want {
			t.Errorf("Hello(%q) = %q, want %q", name, got, want)
		}
	}
}
`
	trimmedFirst = `{"path":"greet.go","edits":[{"old_text":"\tif name == \"\" {\n\t\tname = \"world\"\n\t}\n\treturn \"Hello, \" + strings.TrimSpace(name) + \"!\"","new_text":"\tname = strings.TrimSpace(name)\n\tif name == \"\" {\n\t\tname = \"world\"\n\t}\n\treturn \"Hello, \" + name + \"!\""}]}`
)

// replies are those of the model in the pictures, in their order.
func replies() []upstream.Script {
	usage := func(s upstream.Script, read, written int) upstream.Script {
		s.Usage = upstream.Usage{Input: 12, CacheRead: read, CacheWrite: written, Output: 160}
		return s
	}
	said := func(text string) upstream.Step { return upstream.Text(text) }
	return []upstream.Script{
		usage(upstream.Script{Steps: append([]upstream.Step{said("I'll read the function and its test.")},
			append(upstream.Call("toolu_1", "read_file", `{"path":"greet.go"}`), upstream.Call("toolu_2", "read_file", `{"path":"greet_test.go"}`)...)...)}, 0, 3300),
		usage(upstream.Script{Steps: append([]upstream.Step{said("`Hello` checks for an empty name before it trims the name, so `\"  \"` gives `Hello, !`. I'll trim it first.")},
			upstream.Call("toolu_3", "edit_file", trimmedFirst)...)}, 3300, 620),
		usage(upstream.Script{Steps: []upstream.Step{said("A blank name now gives `Hello, world!`.")}}, 3920, 240),
	}
}

// TestScreenshots writes the pictures of the extension's documentation.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("`make screenshots` runs it")
	}
	model := upstream.Start(upstream.Options{})
	t.Cleanup(model.Close)
	for _, script := range replies() {
		model.Push(script)
	}
	e := openWith(t, newWindow(t), fmt.Sprintf(pictured, model.URL))
	e.site.folder = "/greet"
	e.settings["chat.disableAIFeatures"] = true
	folder := filepath.Join(e.disk, "greet")
	for name, content := range map[string]string{"greet.go": greeting, "greet_test.go": greetingTest, "go.mod": "module example.org/greet\n"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.start(t)
	e.Run(chromedp.EmulateViewport(shotWidth, shotHeight, chromedp.EmulateScale(shotScale)))
	e.newSession()
	client, sid := e.session(t)
	if err := client.Call("_strata/session/rename", map[string]any{"sessionId": sid, "title": "Greeting for blank names"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"greet.go", "greet_test.go"} {
		if err := client.Call("_strata/files/add", map[string]any{"sessionId": sid, "path": name}, nil); err != nil {
			t.Fatal(err)
		}
	}
	e.sideBar(420)
	e.openFile("greet.go")
	c := e.chat("#prompt")
	c.prompt("Why does a blank name give \"Hello, !\"? Fix it.")
	c.waitText(".question", "greet.go")
	e.Wait(`!document.querySelector(".statusbar").innerText.includes("Activating")`)
	e.shoot(t, "chat", c.Frame)

	c.click(".question button.primary")
	c.waitText(".transcript", "A blank name now gives")
	e.run("workbench.action.closeAllEditors")
	e.command("Strata: Open HUD")
	h := e.hud()
	h.Wait(`document.querySelector(".transcript")`)
	e.run("workbench.action.toggleSidebarVisibility")
	hudtest.EvalIn[string](h, fmt.Sprintf(`location.hash = "#/session/%s/tiers"`, sid))
	h.Wait(`document.querySelector(".inspector .panel")?.innerText.includes("greet_test.go")`)
	e.shoot(t, "hud", h)
}

// shoot writes pictures of the window in light and dark. The frame is the one whose content changes with the theme.
func (e *editor) shoot(t *testing.T, name string, shown *hudtest.Frame) {
	t.Helper()
	for scheme, theme := range map[string]string{"light": "Light Modern", "dark": "Dark Modern"} {
		e.theme(theme, shown)
		picture := e.still(shown)
		if len(picture) > maxShot {
			t.Errorf("the picture of %s, %s, has %d bytes", name, scheme, len(picture))
		}
		if err := os.WriteFile(filepath.Join(*screenshots, name+"-"+scheme+".webp"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// still returns a picture of the window when it no longer changes: the colors of a theme arrive gradually.
func (e *editor) still(shown *hudtest.Frame) []byte {
	var last []byte
	for equal, tries := 0, 0; equal < 2 && tries < 20; tries++ { // the cursor of an editor blinks
		hudtest.EvalIn[int](shown, retouch)
		picture := e.Picture()
		if bytes.Equal(picture, last) {
			equal++
		} else {
			equal = 0
		}
		last = picture
	}
	return last
}

// retouch replaces times and folders, which differ between runs, with typical ones.
const retouch = `(() => {
	for (const cut of document.querySelectorAll(".cut")) { // in two parts
		const [start, end] = cut.childNodes;
		const text = cut.textContent;
		if (end && text.startsWith("/tmp/")) [start.firstChild.nodeValue, end.nodeValue] = ["", text];
	}
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = walker.nextNode()); ) {
		const text = node.nodeValue.replace(/\/tmp\/\S*\/greet/, "/home/me/greet").replace(/\b\d{1,2}:\d\d[\s\u202f][AP]M\b/g, "9:41 AM").replace(/^\d+ s$/, "8 s");
		if (text !== node.nodeValue) node.nodeValue = text;
	}
	return document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1)))));
})()`
