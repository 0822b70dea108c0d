package hudtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/upstream"
)

// colored is an expression for the colored parts of the elements that match a selector, each as its kind, a colon, and its text.
func colored(selector string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].flatMap((e) => [...e.querySelectorAll("span[class^=code-]")]).map((s) => s.className.slice(5) + ":" + s.textContent)`, quote(selector))
}

// runsInPage asks the worker of the page for the parts of a text, null for a language that it does not know.
const runsInPage = `(lang, text) => new Promise((done, failed) => {
	window.painter ??= new Worker("/assets/hud-code.js", { type: "module" });
	const id = window.asked = (window.asked ?? 0) + 1;
	window.painter.addEventListener("message", ({ data }) => { if (data.id === id) done(data.runs); });
	window.painter.onerror = failed;
	window.painter.postMessage({ id, lang, text });
})`

// Each language that outlines know, and the common ones, has keywords and comments, by its name and by the names of files.
func TestH04EachLanguageHasColors(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	for lang, text := range map[string]string{
		"go": "package a // x", "main.go": "func a() {}", "typescript": "const a: number = 1; // x", "a/b.tsx": "export const a = <b/>;", "js": "let a = 1", "x.mjs": "return 1",
		"python": "def a(): # x\n\treturn 1", "x.pyi": "import a", "{.python}": "import a", "java": "public class A {}", "c": "int main(void) { return 0; }", "x.h": "struct a;", "c++": "template <class A> class B {};",
		"csharp": "using System;", "x.cs": "namespace A;", "php": "<?php echo 1;", "ruby": "def a; end", "Gemfile": "source 'a'", "rust": "fn main() {}", "rs,ignore": "let a = 1;",
		"json": `{"a": 1}`, "yaml": "a: 1", "x.yml": "a: true", "toml": "a = 1", "sh": "if true; then echo a; fi", "console": "$ ls", "sql": "select 1 from a", "html": "<a href='b'>c</a>", "svg": "<g/>", "css": "a { color: red }",
		"scss": "$a: 1px;", "markdown": "# a", "diff": "+a\n-b", "Dockerfile": "FROM a", "Makefile": "a: b\n\tc $@", "kotlin": "fun a() {}", "swift": "func a() {}", "lua": "local a", "proto": "message A {}", "graphql": "type A { b: C }",
		"powershell": "function A {}", "perl": "my $a;", "r": "a <- function(b) 1", "scala": "object A", "dart": "class A {}", "elixir": "def a do end", "haskell": "module A where", "nginx": "server { listen 80; }", "objc": "@interface A", "cmake": "project(a)",
	} {
		runs := Eval[[]int](p, fmt.Sprintf("(%s)(%s, %s)", runsInPage, quote(lang), quote(text)))
		length, colors := 0, 0
		for i := 0; i+1 < len(runs); i += 2 {
			length += runs[i]
			if runs[i+1] > 0 {
				colors++
			}
		}
		if length != len(text) || colors == 0 {
			t.Errorf("%s: %d colored parts, with %d of %d characters: %v", lang, colors, length, len(text), runs)
		}
	}
	for _, lang := range []string{"", "text", "plain.txt", "unheard", "__proto__", "constructor", "x.toString", strings.Repeat("x", 5000)} {
		if runs := Eval[[]int](p, fmt.Sprintf("(%s)(%s, 'a = 1')", runsInPage, quote(lang))); runs != nil {
			t.Errorf("%.20s: %v", lang, runs)
		}
	}
}

// Code is colored when it is complete: that of replies, nested code, and code of several segments, in which a comment goes on.
func TestH04CodeIsColored(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	gate := make(chan struct{})
	long := "func first() {}\n/*\n" + strings.Repeat("return\n", 200) + "*/\nvar last = \"<img src=x>\"\n"
	w.Model.Push(upstream.Script{Steps: []upstream.Step{
		upstream.Text("```go\npackage open\n"), upstream.Hold(gate),
		upstream.Text("```\n\n- a list\n\n  ```python\n  import nested\n  ```\n\nAnd\n\n```unheard\nplain = 1\n```\n\nLast\n\n```go\n" + long + "```\n"),
	}})
	p := Open(t, w.Server)
	p.Session(sid)
	p.Prompt("Write code.")
	p.WaitText(".transcript pre", "package open")
	Eval[int](p, "new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(1)), 0))")
	if parts := Eval[[]string](p, colored(".transcript pre")); len(parts) > 0 {
		t.Errorf("code that grows has colors: %q", parts)
	}
	close(gate)
	p.Wait(canSend)
	p.Wait(colored(".transcript pre") + `.includes('string:"<img src=x>"')`)
	p.Equals(colored(".transcript pre")+`.filter((part) => part === "keyword:return").length`, 0)
	p.Wait(`(() => { document.querySelector(".transcript").scrollTop = 0; return document.querySelector(".transcript").innerText.includes("package open"); })()`)
	p.Wait(colored(".transcript pre") + `.includes("keyword:package")`)
	p.Wait(colored(".transcript li pre") + `.includes("keyword:import")`)
	p.Equals(`[...document.querySelectorAll(".transcript pre")].find((e) => e.textContent.startsWith("plain")).querySelectorAll("span").length`, 0)
	p.Equals(`document.querySelectorAll(".transcript img").length`, 0)
	p.Equals(`[...document.querySelectorAll(".transcript .code pre")].find((e) => e.textContent.startsWith("func first")).textContent.split("\n").slice(0, 4)`,
		[]string{"func first() {}", "/*", "return", "return"})
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		p.Wait(`((span) => getComputedStyle(span).color !== getComputedStyle(span.parentElement).color)(document.querySelector(".code-keyword"))`)
	}
}

// A text for which a language needs too long stays plain, and so does one that is too long. Others have colors afterwards.
func TestH04ATextThatCostsTooMuchStaysPlain(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	ask[any](t, e, "_strata/history/append", sid, map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": "Write."},
		map[string]any{"role": "assistant", "content": "```go\nreturn " + strings.Repeat("x", 300_000) + "\n```\n\n```go\nreturn \"stuck\"\n```\n\n```go\nreturn \"well\"\n```"},
	}})
	p := Open(t, w.Server)
	p.beforeLoad(`{
		const { Worker, setTimeout } = window;
		window.workers = [];
		window.setTimeout = (run, ms, ...more) => (ms === 4000 ? setTimeout(() => window.workers.at(-1).stuck && run(), 100) : setTimeout(run, ms, ...more));
		window.Worker = class extends Worker {
			posted = [];
			constructor(...how) {
				super(...how);
				window.workers.push(this);
			}
			postMessage(message) {
				this.posted.push(message.text.length);
				if (message.text.includes("stuck")) this.stuck = true;
				else super.postMessage(message);
			}
			terminate() {
				this.ended = true;
				super.terminate();
			}
		};
	}`)
	p.Run(chromedp.Reload())
	p.Session(sid)
	p.Wait(colored(".transcript pre") + `.includes('string:"well"')`)
	p.Wait(`window.workers.some((w) => w.ended)`)
	p.Equals(colored(".transcript pre")+`.includes('string:"stuck"')`, false)
	p.Equals(`window.workers.flatMap((w) => w.posted).every((n) => n <= 200_000)`, true)
}

// The lines of a diff, a file that a tool has read, the input of a call and a command have the colors of their languages.
func TestH04ToolCallsAreColored(t *testing.T) {
	a := commanding(t, "auto")
	a.write(t, "a.go", "package a\n\n// before\nfunc Old() {}\n")
	p := a.open()
	if _, err := a.editor.Start(a.session, `call read_file {"path":"a.go"}
---
call edit_file {"path":"a.go","edits":[{"old_text":"func Old() {}","new_text":"func New() { return \"new\" }"}]}
---
call run_command {"command":"echo '{\"a\": true}'; # said"}
---
say Done.`).Wait(); err != nil {
		t.Fatal(err)
	}
	p.toggleCall("a.go")
	p.Wait(colored(".call-body .result pre") + `.includes("keyword:package")`)
	p.Wait(colored(".call-body .result pre") + `.some((part) => part.startsWith("attr:") && part.includes("path"))`)
	p.toggleCall("Edit")
	p.Wait(colored("del.diff-line") + `.includes("keyword:func")`)
	p.Wait(colored("ins.diff-line") + `.includes('string:"new"')`)
	p.Wait(colored("span.diff-line") + `.includes("comment:// before")`)
}

// The head of a code block is above its code, also after the transcript was scrolled: nothing but the upper edge moves it.
func TestTheHeadOfCodeIsAboveIt(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	fill(t, e, sid, 60)
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("Look:\n\n```go\nfunc one() {\n\treturn\n}\n```\n")}})
	prompt(t, e, sid, "Show me code.")
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript .code", "func one")
	p.Wait(`document.querySelector(".transcript").scrollTop > 500`)
	if labels := Eval[[]string](p, `[...document.querySelectorAll(".code-head button")].map((e) => e.ariaLabel)`); strings.Join(labels, ", ") != "Copy code" {
		t.Errorf("a page in a browser has the buttons %q, those of an editor too", labels)
	}
	p.Wait(`[...document.querySelectorAll(".code")].every((code) => code.querySelector(".code-head").getBoundingClientRect().bottom <= code.querySelector("pre").getBoundingClientRect().top + 1)`)
}
