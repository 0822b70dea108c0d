package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// swift is a provider whose own work hardly depends on the size of a request: it reads the body without decoding it, and
// always replies with swiftReply. Next to it, the growth of a turn with its history is that of its client.
type swift struct {
	url string // the base URL of OpenAI-compatible clients

	mu   sync.Mutex
	last []byte // the newest body
}

var swiftReply = reply{deltas: 3}

func startSwift(b testing.TB) *swift {
	s := &swift{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	server := httptest.NewServer(mux)
	b.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL + "/v1"
	return s
}

// newest returns the body of the newest request.
func (s *swift) newest() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *swift) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client sees that there is no reply
	}
	s.mu.Lock()
	s.last = body
	s.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	const head = `{"id":"c1","object":"chat.completion.chunk","model":"test","choices":`
	choice := func(delta, end string) string {
		return fmt.Sprintf(`%s[{"index":0,"delta":%s,"finish_reason":%s}]}`, head, delta, end)
	}
	events := []string{choice(`{"role":"assistant","content":""}`, "null")}
	for range swiftReply.deltas {
		events = append(events, choice(fmt.Sprintf(`{"content":%q}`, delta), "null"))
	}
	events = append(events, choice("{}", `"stop"`), head+`[],"usage":{"prompt_tokens":100,"completion_tokens":12}}`, "[DONE]")
	for _, event := range events {
		fmt.Fprintf(w, "data: %s\n\n", event)
		w.(http.Flusher).Flush()
	}
}
