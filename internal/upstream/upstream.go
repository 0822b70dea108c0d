// Package upstream is a scripted provider on loopback for tests. It speaks the streaming wire formats of Anthropic
// Messages (/v1/messages) and OpenAI chat completions (/v1/chat/completions), replies by script, in strict mode refuses
// requests that the real providers refuse, and records all requests.
//
// It must never be linked into the server, or listen on any address but 127.0.0.1.
package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// maxRecorded is the maximum number of recorded requests; the oldest are dropped first.
const maxRecorded = 1000

// maxBody is the maximum size of a request body, in bytes.
const maxBody = 64 << 20

// Options are the settings of a server.
type Options struct {
	Strict   bool // refuse requests that the real providers refuse, see Refusal
	Pictures bool // in strict mode: refuse damaged images, and images of another type than declared
	Mistral  bool // in strict mode: refuse chat completions that Mistral refuses
	Window   int  // tokens; in strict mode input + max_tokens above it is refused; 0 means no limit
	Key      string

	Count    func(text string) int // tokens of a text; default: one per four bytes
	Factor   float64               // ratio of the provider's tokens to counted tokens; default 1
	Context  int                   // tokens; a longer request is refused with an error in the form of Dialect; 0 means no limit
	Dialect  Dialect               // default Numbers
	MaxBytes int                   // a larger body is refused with 413; 0 means no limit
}

// Server is a running upstream. Methods may be called concurrently, also during responses.
type Server struct {
	URL  string // http://127.0.0.1:port, the base URL for Anthropic clients
	opt  Options
	http *httptest.Server

	mu       sync.Mutex
	sealed   map[string]bool // signatures and encrypted thinking that the server has issued
	queue    []Script
	choose   func(*Request) Script
	seen     int
	recorded []*Request
}

// Start starts a server. Without scripts it replies with Default.
func Start(opt Options) *Server {
	s := &Server{opt: opt, choose: Default, sealed: make(map[string]bool)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.answer(Anthropic))
	mux.HandleFunc("POST /v1/chat/completions", s.answer(OpenAI))
	mux.HandleFunc("GET /v1/models", s.models)
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL
	return s
}

// OpenAIURL returns the base URL for OpenAI-compatible clients.
func (s *Server) OpenAIURL() string { return s.URL + "/v1" }

// Close stops the server and waits for running responses. Gates of running scripts must be open.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Push queues scripts, one for each of the next requests; queued scripts precede the function of Choose.
func (s *Server) Push(scripts ...Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, scripts...)
}

// Choose sets the function that returns the script for each request without a queued script. It is called on the
// request's goroutine and must be safe for concurrent use.
func (s *Server) Choose(choose func(*Request) Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choose = choose
}

// Requests returns the recorded requests, oldest first.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.recorded...)
}

// Last returns the newest request, or nil.
func (s *Server) Last() *Request {
	all := s.Requests()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

func (s *Server) answer(wire Wire) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			refuse(w, wire, http.StatusBadRequest, err.Error())
			return
		}
		req, err := parse(wire, body)
		if err != nil {
			refuse(w, wire, http.StatusBadRequest, err.Error())
			return
		}
		req.Header, req.count, req.factor = r.Header, s.opt.Count, s.opt.Factor
		s.record(req)
		if status, reason := s.check(req); status != 0 {
			refuse(w, wire, status, reason)
			return
		}
		if refusal := s.opt.tooLong(req); refusal != "" {
			Script{Status: http.StatusBadRequest, Body: refusal}.play(w, r, req)
			return
		}
		script := s.next(req)
		s.seal(script)
		script.play(w, r, req)
	}
}

func (s *Server) check(req *Request) (status int, reason string) {
	if s.opt.Key != "" && req.key() != s.opt.Key {
		return http.StatusUnauthorized, "invalid key"
	}
	if s.opt.MaxBytes > 0 && len(req.Body) > s.opt.MaxBytes {
		return http.StatusRequestEntityTooLarge, "Request exceeds the maximum size"
	}
	if !s.opt.Strict {
		return 0, ""
	}
	if reason := Refusal(req, s.opt.Window); reason != "" {
		return http.StatusBadRequest, reason
	}
	if reason := refusedPicture(req); s.opt.Pictures && reason != "" {
		return http.StatusBadRequest, reason
	}
	if reason := refusalByMistral(req); s.opt.Mistral && reason != "" {
		return http.StatusBadRequest, reason
	}
	if reason := s.foreignSeal(req); reason != "" {
		return http.StatusBadRequest, reason
	}
	return 0, ""
}

// seal records the signatures that a script issues.
func (s *Server) seal(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range script.Steps {
		if step.signature != "" {
			s.sealed[step.signature] = true
		}
		if step.kind == stepRedacted {
			s.sealed[step.text] = true
		}
	}
}

// foreignSeal returns thinking in a request with a signature that this provider has not issued.
func (s *Server) foreignSeal(req *Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range req.Messages {
		for j, b := range m.Blocks {
			if b.Type == "thinking" && !s.sealed[b.Signature] || b.Type == "redacted_thinking" && !s.sealed[b.Data] {
				return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `%s` block", i, j, b.Type)
			}
		}
	}
	return ""
}

func (s *Server) record(req *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	req.N = s.seen
	s.recorded = append(s.recorded, req)
	if len(s.recorded) > maxRecorded {
		s.recorded = append([]*Request(nil), s.recorded[len(s.recorded)-maxRecorded:]...)
	}
}

func (s *Server) next(req *Request) Script {
	s.mu.Lock()
	if len(s.queue) > 0 {
		script := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return script
	}
	choose := s.choose
	s.mu.Unlock()
	return choose(req)
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if s.opt.Key != "" && keyOf(r.Header) != s.opt.Key {
		refuse(w, OpenAI, http.StatusUnauthorized, "invalid key")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"object":"list","data":[]}`)
}

// refuse responds with an error in the provider's own form.
func refuse(w http.ResponseWriter, wire Wire, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(errorBody(wire, errorType(status), reason))
}

func errorBody(wire Wire, kind, message string) []byte {
	body := map[string]any{"error": map[string]any{"type": kind, "message": message}}
	if wire == Anthropic {
		body["type"] = "error"
	}
	out, _ := json.Marshal(body)
	return out
}

func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

func keyOf(h http.Header) string {
	if key := h.Get("X-Api-Key"); key != "" {
		return key
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}
