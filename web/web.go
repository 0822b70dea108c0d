// Package web is what a browser sees of the server: the HUD, the page that says how to get in, and their files.
//
// All of it is embedded and served as it is; a page loads nothing from elsewhere, so that it works offline and under
// the strictest content policy: no script, style or handler stands inside a page. The HUD's own source is in hud, its
// build in assets; it is a client of the WebSocket like any other. The package must never hold or show a secret, decide
// who may see a page, or know what a session is.
package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"sync"
)

//go:embed pages
var pageFiles embed.FS

// pages is what pageFiles holds, parsed when a page is first asked for.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"pieces": pieces}).ParseFS(pageFiles, "pages/*.html"))
})

// Handler serves the HUD at "/". The page is the same for everybody: what it shows it asks for over the WebSocket. It
// serves GET and HEAD and leaves it to the caller to keep other methods, and people who may not see it, away.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		writePage(w, http.StatusOK, "hud.html", nil)
	})
	return mux
}

// WriteEntry answers with the page that says how to get in. status is the HTTP status and reason says in a sentence
// (without its full stop) why the browser is not let in; text between backquotes in it is shown as code.
func WriteEntry(w http.ResponseWriter, status int, reason string) {
	writePage(w, status, "entry.html", reason)
}

// writePage makes the whole page before it sends any of it, so that an error cannot leave half a page behind.
func writePage(w http.ResponseWriter, status int, name string, data any) {
	var page bytes.Buffer
	if err := pages().ExecuteTemplate(&page, name, data); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	page.WriteTo(w)
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
