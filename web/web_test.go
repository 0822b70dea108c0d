package web

import (
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func entry(status int, reason string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	WriteEntry(w, status, reason)
	return w
}

func TestPageIsTheSameForEverybody(t *testing.T) {
	w := get(Handler(), "GET", "/")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("status %d, %v", w.Code, w.Header())
	}
	if again := get(Handler(), "GET", "/?session=<script>", "Cookie", "strata_7717=x"); again.Body.String() != w.Body.String() {
		t.Errorf("the page is %s", again.Body)
	}
}

func TestOnlyTheRootIsAPage(t *testing.T) {
	h := Handler()
	for target, want := range map[string]int{"/": 200, "/?x=y": 200, "/other": 404, "/index.html": 404, "/pages/hud.html": 404} {
		if got := get(h, "GET", target).Code; got != want {
			t.Errorf("%s: status %d, want %d", target, got, want)
		}
	}
	if got := get(h, "POST", "/").Code; got != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", got)
	}
}

func TestEntryPage(t *testing.T) {
	w := entry(http.StatusUnauthorized, "no <cookie>: run `strata hud --open`, then `a<b`")
	if w.Code != http.StatusUnauthorized || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("status %d, %v", w.Code, w.Header())
	}
	for _, part := range []string{
		"no &lt;cookie&gt;: run <code>strata hud --open</code>, then <code>a&lt;b</code>.</p>", "<pre><code>strata hud --open</code></pre>",
	} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("the page does not say %q: %s", part, w.Body)
		}
	}
	if page := entry(http.StatusUnauthorized, "").Body.String(); strings.Contains(page, `class="reason"`) || strings.Contains(page, "<!--") {
		t.Errorf("an empty reason is shown: %s", page)
	}
	if strings.Count(entryPage, reasonMark) != 1 {
		t.Errorf("%q is not once in the page", reasonMark)
	}
}

func TestSplitCode(t *testing.T) {
	for sentence, want := range map[string][]span{
		"":       nil,
		"a":      {{"a", false}},
		"`a`":    {{"a", true}},
		"a `b`c": {{"a ", false}, {"b", true}, {"c", false}},
		"a `b":   {{"a ", false}, {"b", true}},
		"``":     nil,
	} {
		got := splitCode(sentence)
		if len(got) != len(want) {
			t.Errorf("%q: %v", sentence, got)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %v", sentence, got)
			}
		}
	}
}

var (
	inlineParts   = regexp.MustCompile(`(?i)<script[^>]*>[^<]|<script>|<style|<form|<iframe|<base|\son\w+=|\sstyle=|javascript:`)
	staticImports = regexp.MustCompile(`(?:from|import)\s*"\./([^"]+)"`)
	links         = regexp.MustCompile(`(?:src|href|action|srcset)="([^"]*)"`)
)

func TestPagesObeyTheStrictestPolicy(t *testing.T) {
	files := Assets()
	for name, page := range map[string]string{
		"hud": get(Handler(), "GET", "/").Body.String(), "entry": entry(401, "reason").Body.String(),
	} {
		if found := inlineParts.FindString(page); found != "" {
			t.Errorf("%s page has %q", name, found)
		}
		found := links.FindAllStringSubmatch(page, -1)
		if len(found) == 0 {
			t.Errorf("%s page has no style", name)
		}
		for _, link := range found {
			if got := get(files, "GET", link[1]).Code; got != http.StatusOK {
				t.Errorf("%s page needs %s: status %d", name, link[1], got)
			}
		}
		for _, once := range []string{"<!doctype html>", `<html lang="en">`, "<title>", "<body>", "</html>"} {
			if strings.Count(page, once) != 1 {
				t.Errorf("%s page has %q %d times", name, once, strings.Count(page, once))
			}
		}
	}
}

func TestAssets(t *testing.T) {
	h := Assets()
	for target, contentType := range map[string]string{
		"/assets/strata.css": "text/css; charset=utf-8", "/assets/strata.svg": "image/svg+xml",
		"/assets/hud.css": "text/css; charset=utf-8", "/assets/hud.js": "text/javascript; charset=utf-8",
	} {
		w := get(h, "GET", target)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != contentType || w.Body.Len() == 0 {
			t.Errorf("%s: status %d, type %q", target, w.Code, w.Header().Get("Content-Type"))
		}
		again := get(h, "GET", target, "If-None-Match", w.Header().Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s again: status %d", target, again.Code)
		}
		if head := get(h, "HEAD", target); head.Code != http.StatusOK || head.Body.Len() != 0 {
			t.Errorf("HEAD %s: status %d", target, head.Code)
		}
		if strings.HasSuffix(target, ".css") && (strings.Contains(w.Body.String(), "url(") || strings.Contains(w.Body.String(), "@import")) {
			t.Errorf("%s loads something", target)
		}
	}
	for _, target := range []string{"/assets/", "/assets", "/assets/none.css", "/assets/../web.go", "/assets//strata.css", "/strata.css"} {
		if got := get(h, "GET", target).Code; got != http.StatusNotFound {
			t.Errorf("%s: status %d", target, got)
		}
	}
	for name, a := range assets() {
		if a.contentType == "" {
			t.Errorf("%s has no content type", name)
		}
	}
}

func TestIconIsWellFormed(t *testing.T) {
	var svg struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	}
	if err := xml.Unmarshal(assets()["/assets/strata.svg"].content, &svg); err != nil {
		t.Error(err)
	}
}
