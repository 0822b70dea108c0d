// Package web is what a browser sees of the server: the status page, the page that says how to get in, and their files.
//
// All of it is embedded and served as it is; a page loads nothing from elsewhere, so that it works offline and under
// the strictest content policy: no script, style or handler stands inside a page. The package must never hold or show a
// secret, decide who may see a page, or know what a session is.
package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"time"
)

//go:embed pages
var pageFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"pieces": pieces,
	"moment": moment,
}).ParseFS(pageFiles, "pages/*.html"))

// Status is what the status page tells. Fields that are empty are left out of it.
type Status struct {
	Version      string
	Started      time.Time
	WebSocketURL string // where editors connect
	ServerFile   string // path of server.json, where editors of this machine find the server by themselves
	TokenFile    string // path of the file with the token; never the token
	Database     string // path
	Sessions     int    // in memory
	Connections  int
}

// Handler serves the status page at "/", with what status returns at that moment. It serves GET and HEAD and leaves it
// to the caller to keep other methods, and people who may not see it, away.
func Handler(status func() Status) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		writePage(w, http.StatusOK, "status.html", status())
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
	if err := pages.ExecuteTemplate(&page, name, data); err != nil {
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

// moment is a time for people to read; the page cannot know their time zone, so it is the server's.
func moment(t time.Time) string { return t.Format("2 January 2006, 15:04 MST") }
