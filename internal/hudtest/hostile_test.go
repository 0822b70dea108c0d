package hudtest

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/upstream"
)

// hostile is a text with many kinds of script injection. Each would set window.hit.
const hostile = `<img src=x onerror="window.hit=1"></script><script>window.hit=2</script><svg onload="window.hit=3">` +
	`[link](javascript:window.hit=4) ![p](http://127.0.0.1:9/p.png "t") <a href="javascript:window.hit=5">x</a> {{7*7}} ` +
	"`<img src=x onerror=window.hit=6>`" + ` <iframe srcdoc="<script>parent.hit=7</script>"></iframe>`

func TestK9_06HostileTextStaysText(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	name := "a<img src=x onerror=window.hit=9>.go"
	if err := os.WriteFile(filepath.Join(w.Home.Project, name), []byte("package a\n"), 0o600); err != nil {
		t.Skipf("the file system does not allow such names: %v", err)
	}
	sid := e.NewSession(w.Home.Project)
	w.Model.Push(
		upstream.Script{Steps: []upstream.Step{upstream.Thinking(hostile, "sig"), upstream.Text(hostile + "\n\n```" + hostile + "\n" + hostile + "\n```\n\n| " + hostile + " |\n|---|\n| " + hostile + " |\n")}},
		upstream.Script{Status: http.StatusBadRequest, Body: `{"error":{"type":"invalid_request_error","message":"<img src=x onerror=window.hit=10>"}}`},
	)
	link := map[string]any{"type": "resource_link", "name": name, "uri": "file://" + (&url.URL{Path: filepath.ToSlash(filepath.Join(w.Home.Project, name))}).EscapedPath()}
	if _, err := e.StartWith(sid, []any{map[string]any{"type": "text", "text": hostile}, link}, "p1").Wait(); err != nil {
		t.Fatal(err)
	}
	for method, params := range map[string]map[string]any{
		"_strata/session/rename": {"title": hostile},
		"_strata/history/append": {"messages": []any{
			map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_call", "callId": "c1", "name": hostile, "args": hostile}}},
			map[string]any{"role": "tool", "content": []any{map[string]any{"type": "tool_result", "callId": "c1", "isError": true, "content": []any{map[string]any{"type": "text", "text": hostile}}}}},
		}},
		"session/set_config_option": {"configId": "model", "value": "local/<img src=x onerror=window.hit=8>"},
	} {
		params["sessionId"] = sid
		if err := e.Call(method, params, nil); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}

	p := Open(t, w.Server)
	for _, address := range []string{"#/session/" + sid, "#/session/" + sid + "/<img src=x onerror=window.hit=11>?at=2", "#/server", "#/<img src=x onerror=window.hit=12>", "#/session/" + sid} {
		Eval[string](p, "location.hash = "+quote(address))
		Eval[int](p, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
	}
	p.WaitText(".transcript", "<svg onload")
	p.Click(".disclosure")
	p.WaitText(".thought", "window.hit=3")
	p.WaitText("h1", "<img src=x")
	p.Prompt("And now fail.")
	p.WaitText(".failure", "<img src=x onerror=window.hit=10>")
	Eval[string](p, `document.querySelector("#search").focus()+""`)
	p.Type("onerror")
	p.Wait(`document.querySelector(".hit mark")`)
	p.Click("#prompt")
	p.Type("@")
	p.Wait(`document.querySelector(".picker-list li")`)
	p.WaitText(".picker-list", name)

	if Eval[bool](p, "'hit' in window") {
		t.Errorf("script %v ran", Eval[any](p, "window.hit"))
	}
	for selector, what := range map[string]string{
		".transcript img, .transcript iframe, .transcript svg[onload], .transcript script": "elements of the text",
		"a[href^='javascript:' i]": "a link that is a script",
		"[onerror], [onload]":      "a handler",
	} {
		if n := Eval[int](p, "document.querySelectorAll("+quote(selector)+").length"); n != 0 {
			t.Errorf("the page has %s: %d", what, n)
		}
	}
	for _, problem := range p.Problems() {
		if strings.Contains(problem, "Content Security Policy") {
			t.Errorf("stopped only by the content security policy: %s", problem)
		}
	}
}
