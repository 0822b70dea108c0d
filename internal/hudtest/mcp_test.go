package hudtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// withMCPServers makes a page get these MCP servers from the server. tellMCPServers changes them.
func withMCPServers(servers string) string {
	return fmt.Sprintf(`{
	let servers = %s, newest;
	const Native = window.WebSocket;
	window.WebSocket = class extends Native {
		set onmessage(run) {
			newest = run;
			super.onmessage = (event) => run({ data: JSON.stringify(JSON.parse(event.data, (key, value) => key === "mcpServers" ? servers : value)) });
		}
	};
	window.tellMCPServers = (now) => {
		servers = now;
		newest({ data: JSON.stringify({ jsonrpc: "2.0", method: "_strata/server/event", params: { type: "mcp_servers" } }) });
	};
}`, servers)
}

// openServerPage opens the server page with a script that runs before it.
func openServerPage(t *testing.T, w *World, script string) *Page {
	t.Helper()
	p := newPage(t)
	p.beforeLoad(script)
	p.Run(chromedp.Navigate(Address(t, w.Server)))
	p.Wait(`document.querySelector(".sidebar")`)
	Eval[string](p, "location.hash = '#/server'")
	p.Wait(`document.querySelector("#mcp")`)
	return p
}

// shownServers are the MCP servers of the page, each as its first line and its error.
const shownServers = `[...document.querySelectorAll(".mcp-server")].map((s) => [...s.querySelectorAll(".provider-what > *, .mcp-error")].map((e) => e.innerText).join("|"))`

func TestTheServerPageShowsMCPServersAndTheirChanges(t *testing.T) {
	w := NewWorld(t)
	p := openServerPage(t, w, withMCPServers(`[
		{name: "docs", transport: "http", source: "client", state: "ready", sessions: 2, tools: [
			{name: "find", title: "Find a page", description: "Finds pages.\nBy words."}, {name: "read"}]},
		{name: "files", transport: "stdio", source: "config", state: "starting", sessions: 1, tools: []},
		{name: "git", transport: "stdio", source: "config", state: "unused", sessions: 0, tools: []},
	]`))
	p.Equals(shownServers, []string{
		"docs|ready|http, from an editor, 2 sessions", "files|starting|stdio, from strata.yaml, 1 session", "git|unused|stdio, from strata.yaml",
	})
	p.Equals(`document.querySelectorAll(".sidebar-foot .mark").length`, 0)
	p.Click(".mcp-server .disclosure")
	p.Equals(`[...document.querySelectorAll(".mcp-tools li")].map((l) => [...l.children].map((e) => e.innerText).join("|"))`, []string{
		"find|Find a page|Finds pages. By words.", "read",
	})
	if nameless, _ := namelessOf(p); len(nameless) > 0 {
		t.Errorf("elements without a name: %q", nameless)
	}
	p.reachesAll("the server page")

	Eval[bool](p, `(tellMCPServers([{name: "files", transport: "stdio", source: "config", state: "failed", sessions: 1, tools: [], error: "exit code 1\ncannot find module"}]), true)`)
	p.WaitText(".sidebar-foot .mark.bad", "1 MCP failed")
	p.Equals(shownServers, []string{"files|failed|stdio, from strata.yaml, 1 session|exit code 1\ncannot find module"})
	Eval[string](p, "location.hash = '#/'")
	p.WaitText("main", "Create session")
	p.WaitText(".sidebar-foot .mark.bad", "1 MCP failed")
	Eval[bool](p, `(tellMCPServers([]), true)`)
	p.Wait(`!document.querySelector(".sidebar-foot .mark")`)
	Eval[string](p, "location.hash = '#/server'")
	p.WaitText("section[aria-labelledby=mcp]", "No MCP servers. Add one to mcp_servers in strata.yaml")
}

func TestHostileMCPServersStayTextOnASmallScreen(t *testing.T) {
	w := NewWorld(t)
	long := strings.Repeat("x", 3000)
	servers := []any{map[string]any{
		"name": hostile + "\u202e" + long, "transport": hostile, "source": long, "state": "failed", "sessions": 1, "error": hostile + "\x1b[31m" + strings.Repeat(long+"\n", 9),
		"tools": []any{map[string]any{"name": long, "title": hostile, "description": strings.Repeat(hostile, 99)}},
	}}
	p := openServerPage(t, w, withMCPServers(mustJSON(servers)))
	p.Run(chromedp.EmulateViewport(360, 700))
	p.Click(".mcp-server .disclosure")
	p.Wait(`document.querySelector(".mcp-tools li")`)
	for what, wrong := range map[string]string{
		"the page scrolls sideways":            `document.documentElement.scrollWidth > innerWidth || document.querySelector("main").scrollWidth > document.querySelector("main").clientWidth`,
		"the error is not bounded":             `document.querySelector(".mcp-error").clientHeight > 200`,
		"the name changes the direction":       `document.querySelector(".provider-name").innerText.includes("\u202e")`,
		"elements of the text are in the page": `document.querySelector(".mcp-server :is(img, iframe, script, svg [onload], [onerror])")`,
	} {
		if Eval[bool](p, "!!("+wrong+")") {
			t.Error(what)
		}
	}
	if Eval[bool](p, "'hit' in window") {
		t.Errorf("script %v ran", Eval[any](p, "window.hit"))
	}
}
