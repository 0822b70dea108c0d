package access

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// Refusal is the reason why a request is refused. Its text contains nothing from the request.
type Refusal struct {
	Status int    // HTTP status: 400, 401, 403, 405 or 429
	Reason string // the problem and its remedy, for people

	retryAfter time.Duration // with 429
}

// Error returns the reason.
func (f *Refusal) Error() string { return f.Reason }

// Write sends the refusal as plain text.
func (f *Refusal) Write(w http.ResponseWriter) {
	f.setHeader(w.Header())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(f.Status)
	io.WriteString(w, f.Reason+"\n")
}

// setHeader sets the headers that go with the status.
func (f *Refusal) setHeader(h http.Header) {
	h.Set("Cache-Control", "no-store")
	switch f.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="strata"`)
	case http.StatusMethodNotAllowed:
		h.Set("Allow", "GET, HEAD")
	case http.StatusTooManyRequests:
		h.Set("Retry-After", strconv.Itoa(int(f.retryAfter.Seconds())))
	}
}
