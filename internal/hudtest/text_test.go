package hudtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/upstream"
)

// direction is an expression for the direction of the text of the last matching element that contains a text.
func direction(selector, text string) string {
	return fmt.Sprintf(`((e) => e && (getComputedStyle(e).unicodeBidi === "plaintext" ? /^[^\p{L}]*\p{Script=Arabic}/u.test(e.value ?? e.textContent) ? "rtl" : "ltr" : getComputedStyle(e).direction))(
		[...document.querySelectorAll(%s)].filter((e) => (e.value ?? e.textContent).includes(%s)).at(-1))`, quote(selector), quote(text))
}

// side is an expression for the side of its box at which the text of an element starts.
func side(selector, text string) string {
	return fmt.Sprintf(`((e) => {
		if (!e) return "";
		const text = document.createRange();
		text.selectNodeContents(e);
		const [line] = text.getClientRects(), box = e.getBoundingClientRect();
		return line.left - box.left > box.right - line.right ? "right" : "left";
	})([...document.querySelectorAll(%s)].filter((e) => e.textContent.includes(%s)).at(-1))`, quote(selector), quote(text))
}

const arabic = "هذه فقرة قصيرة"

// A text has the direction of its first letter, paragraph by paragraph, while it streams and when it is stored.
func TestH24ATextHasTheDirectionOfItsLanguage(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	ask[any](t, e, "_strata/session/rename", sid, map[string]any{"title": arabic + " title"})
	reply := strings.Join([]string{
		arabic + " with English.", "An English paragraph.", "- " + arabic + " item\n- second", "> " + arabic + " quote",
		"## " + arabic + " heading", "Mixed:\n\n1. English item\n2. " + arabic + " item in an English list", "| " + arabic + " | b |\n|---|---|\n| " + arabic + " cell | " + "English cell |",
		"```\n" + arabic + " code()\n```", arabic + " `inline()`", arabic + " last",
	}, "\n\n")
	gate := make(chan struct{})
	w.Model.Push(upstream.Script{Steps: []upstream.Step{upstream.Text(reply), upstream.Hold(gate), upstream.Text(".")}})
	p := Open(t, w.Server)
	p.Session(sid)
	p.input("#prompt", arabic+" prompt")
	p.Wait(direction("#prompt", "prompt") + ` === "rtl"`)
	p.Prompt("")
	p.WaitText(".transcript", "last")
	check := func() {
		t.Helper()
		for what, want := range map[string]string{
			"p with English.": "right", "p An English paragraph.": "left", "li item": "right", "blockquote p quote": "right", "h2 heading": "right",
			"li English item": "left", "li item in an English list": "right", "p last": "right", "p prompt": "right",
		} {
			selector, text, _ := strings.Cut(what, " ")
			if selector == "blockquote" {
				selector, text = "blockquote p", "quote"
			}
			if text == "item" {
				text = arabic + " item"
				selector = "li:has(+ li)"
			}
			p.Wait(side(".prose "+selector, text) + ` === ` + quote(want))
		}
		for what, want := range map[string]string{".prose table": "rtl", ".code code": "ltr", ".prose p > code": "ltr", ".prose ul": "rtl"} {
			p.Wait(direction(what, "") + " === " + quote(want))
		}
	}
	check()
	close(gate)
	p.WaitText(".transcript", "last.")
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
	check()
	p.Wait(direction(".title h1", "title") + ` === "rtl"`)
	p.Wait(direction(".line-title", "title") + ` === "rtl"`)
}

// brokenWords is an expression for the words of table cells that are not on one line.
const brokenWords = `[...document.querySelectorAll(".prose :is(td, th)")].flatMap((cell) => {
	const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
	while (walker.nextNode()) {
		for (const word of walker.currentNode.data.matchAll(/\S+/g)) {
			const range = document.createRange();
			range.setStart(walker.currentNode, word.index);
			range.setEnd(walker.currentNode, word.index + word[0].length);
			if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) broken.push(word[0]);
		}
	}
	return broken;
})`

// No word of a table breaks, at any width: the table scrolls, and the page does not.
func TestH15WordsOfATableStayWhole(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	head := []string{"model", "provider", "maximum", "`cache_write`", "cost", "documentation", "availability", "remarks"}
	cells := make([]string, len(head))
	for i := range cells {
		cells[i] = "considerable differences and `an_identifier_in_code`"
	}
	row := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }
	table := row(head) + "|" + strings.Repeat("---|", len(head)) + "\n" + strings.Repeat(row(cells), 3)
	w.Model.Push(upstream.Script{Steps: upstream.Texts("Compared:\n\n" + table + "\n- a list with\n\n  | a | b |\n  |---|---|\n  | short | cells |\n\nThat is all.")})
	prompt(t, e, sid, "Compare them")
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "That is all.")
	for _, width := range []int64{390, 900, 1440, 1920} {
		p.Run(chromedp.EmulateViewport(width, 900))
		p.Wait(fmt.Sprintf(`innerWidth === %d && document.querySelectorAll(".prose-table").length === 2`, width))
		p.Equals(brokenWords, []string{})
		p.Wait(`(([wide, narrow]) => wide.scrollWidth > wide.clientWidth && narrow.scrollWidth <= narrow.clientWidth)([...document.querySelectorAll(".prose-table")])`)
		p.Wait(`document.documentElement.scrollWidth <= innerWidth && document.querySelector(".transcript").scrollWidth <= document.querySelector(".transcript").clientWidth`)
	}
	p.Run(chromedp.Focus(".prose-table"))
	p.Type(kb.ArrowRight)
	p.Wait(`document.querySelector(".prose-table").scrollLeft > 0`)
}

// badlyCut is an expression for the cut texts that have more than one line, or whose last letters are not visible.
const badlyCut = `[...document.querySelectorAll(".cut")].filter((e) => e.getClientRects().length > 0).flatMap((e) => {
	const box = e.getBoundingClientRect(), walker = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), range = document.createRange();
	let last;
	while (walker.nextNode()) last = walker.currentNode;
	if (!last) return [];
	range.setStart(last, Math.max(last.length - 4, 0));
	range.setEnd(last, last.length);
	const end = range.getBoundingClientRect();
	const hidden = end.right > box.right + 1 || end.left < box.left - 1;
	return hidden || box.height > 30 ? [e.className + ": " + e.textContent + " " + [box.left, box.right, end.left, end.right, box.height].map(Math.round)] : [];
})`

// Long names are on one line, cut in their middle, wherever they are.
func TestH32LongNamesAreCutInTheMiddle(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	long := []string{
		"internal/a_package_with_a_long_name/another_folder_with_a_long_name/and_one_more_folder/scanner_test.go",
		strings.Repeat("a_name_without_any_folder_", 6) + "end.go",
		"文件夹/" + strings.Repeat("很长的文件名", 10) + "结束.md",
		"short.go",
	}
	folder := filepath.Join(w.Home.Project, strings.Repeat("a folder with a long name ", 5), "project")
	var links []any
	for _, name := range long {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("package x\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		links = append(links, map[string]any{"type": "resource_link", "name": name, "uri": (&url.URL{Scheme: "file", Path: path}).String()})
	}
	sid := e.NewSession(folder)
	turn := e.StartWith(sid, append([]any{map[string]any{"type": "text", "text": "Look"}}, links...), "")
	if _, err := turn.Wait(); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	p.Session(sid)
	p.Equals(`[...document.querySelectorAll(".transcript .chip .cut")].map((e) => e.textContent)`, long)
	for _, width := range []int64{390, 900, 1440, 1920} {
		p.Run(chromedp.EmulateViewport(width, 1000))
		p.Session(sid)
		p.Wait(fmt.Sprintf(`innerWidth === %d && document.querySelector(".title-path .cut")?.textContent.endsWith("/project")`, width))
		for tab, shown := range map[string]string{"files": "[data-file]", "tiers": "[data-item]", "workspace": "[data-known]"} {
			p.Tab(sid, tab)
			for _, name := range long {
				p.Wait(fmt.Sprintf(`[...document.querySelectorAll(%s)].some((e) => e.textContent.includes(%s))`, quote(shown), quote(name)))
			}
			p.Equals(badlyCut, []string{})
		}
	}
	p.Tab(sid, "workspace")
	p.Wait(`[...document.querySelectorAll(".known .cut-start")].some((e) => e.scrollWidth > e.clientWidth)`) // else nothing is tested

	// A filter marks its letters at both ends.
	p.Tab(sid, "files")
	p.Type("f")
	p.Type("onescannergo")
	p.Wait(`document.querySelectorAll("[data-file]").length === 1 && document.querySelector("[data-file] .cut-start mark") && document.querySelector("[data-file] .cut > mark")`)
}
