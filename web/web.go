// Package web serves the pages for the browser: the HUD, the page for unauthorized browsers, and their files.
//
// All of it is embedded. A page loads nothing from other hosts, so it works offline and under the strictest content
// security policy, which forbids inline scripts, styles and handlers. The source of the HUD is in hud, its bundle in
// assets; the HUD is a client of the WebSocket like any other. The package must never hold a secret, show a secret other
// than that of the page for which it was passed, decide who may see a page, or know what a session is.
package web

import (
	_ "embed" // for the pages
	"html"
	"io"
	"net/http"
	"strings"
)

//go:embed pages/hud.html
var hudPage string

// entryPage is the page for unauthorized browsers, with reasonMark in place of the reason.
//
//go:embed pages/entry.html
var entryPage string

// pageMark is in hudPage where the secret of a page stands in the page that a browser gets for a code.
const pageMark = "<!-- page -->"

const reasonMark = "<!-- reason -->"

// Handler serves the HUD at "/". The page is the same for all users: it fetches its content over the WebSocket. The
// caller must refuse methods other than GET and HEAD, and unauthorized requests.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		writePage(w, http.StatusOK, strings.Replace(hudPage, pageMark+"\n", "", 1))
	})
	return mux
}

// WriteHome responds with the HUD and the secret that authorizes the page. The page stores the secret and removes it from
// its document.
func WriteHome(w http.ResponseWriter, secret string) {
	writePage(w, http.StatusOK, strings.Replace(hudPage, pageMark, `<meta name="strata-page" content="`+html.EscapeString(secret)+`">`, 1))
}

// WriteEntry responds with the page for unauthorized browsers, which explains how to open the HUD. status is the HTTP
// status. reason is a sentence without a full stop; text between backquotes is shown as code.
func WriteEntry(w http.ResponseWriter, status int, reason string) {
	writePage(w, status, strings.Replace(entryPage, reasonMark, paragraph(reason), 1))
}

func writePage(w http.ResponseWriter, status int, page string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, page)
}

// paragraph returns a reason as an HTML paragraph, or an empty text if there is none. It does not use a template package,
// which would keep every exported method of the program in the binary, because a template can call any of them.
func paragraph(reason string) string {
	if reason == "" {
		return ""
	}
	var out strings.Builder
	out.WriteString(`<p class="reason">`)
	for _, p := range splitCode(reason) {
		text := html.EscapeString(p.Text)
		if p.Code {
			text = "<code>" + text + "</code>"
		}
		out.WriteString(text)
	}
	out.WriteString(".</p>")
	return out.String()
}

// span is a part of a sentence that is either text or code.
type span struct {
	Text string
	Code bool
}

// splitCode splits a sentence at its backquotes.
func splitCode(sentence string) []span {
	var all []span
	code := false
	for text := range strings.SplitSeq(sentence, "`") {
		if text != "" {
			all = append(all, span{text, code})
		}
		code = !code
	}
	return all
}
