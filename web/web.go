// Package web is what a browser sees of the server: the HUD, the page that says how to get in, and their files.
//
// All of it is embedded and served as it is; a page loads nothing from elsewhere, so that it works offline and under
// the strictest content policy: no script, style or handler stands inside a page. The HUD's own source is in hud, its
// build in assets; it is a client of the WebSocket like any other. The package must never hold or show a secret, decide
// who may see a page, or know what a session is.
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

// entryPage has reasonMark in place of the reason.
//
//go:embed pages/entry.html
var entryPage string

const reasonMark = "<!-- reason -->"

// Handler serves the HUD at "/". The page is the same for everybody: what it shows it asks for over the WebSocket. It
// serves GET and HEAD and leaves it to the caller to keep other methods, and people who may not see it, away.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		writePage(w, http.StatusOK, hudPage)
	})
	return mux
}

// WriteEntry answers with the page that says how to get in. status is the HTTP status and reason says in a sentence
// (without its full stop) why the browser is not let in; text between backquotes in it is shown as code.
func WriteEntry(w http.ResponseWriter, status int, reason string) {
	writePage(w, status, strings.Replace(entryPage, reasonMark, paragraph(reason), 1))
}

func writePage(w http.ResponseWriter, status int, page string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, page)
}

// paragraph returns a reason in HTML; empty for none. The one text in all pages is written by hand: a package for
// templates would keep every exported method of the program in the binary, since a template may name any of them.
func paragraph(reason string) string {
	if reason == "" {
		return ""
	}
	var out strings.Builder
	out.WriteString(`<p class="reason">`)
	for _, p := range pieces(reason) {
		text := html.EscapeString(p.Text)
		if p.Code {
			text = "<code>" + text + "</code>"
		}
		out.WriteString(text)
	}
	out.WriteString(".</p>")
	return out.String()
}

// piece is a part of a sentence that is code or not.
type piece struct {
	Text string
	Code bool
}

// pieces takes a sentence apart at its backquotes.
func pieces(sentence string) []piece {
	var all []piece
	code := false
	for text := range strings.SplitSeq(sentence, "`") {
		if text != "" {
			all = append(all, piece{text, code})
		}
		code = !code
	}
	return all
}
