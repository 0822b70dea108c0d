package llm

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"strata/llm/reply"
)

// A result says how many requests were sent, and whether the provider may charge for the newest one.
func TestResultsTellWhatWasSent(t *testing.T) {
	const (
		begun = `data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
		ended = `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\n"
		fails = `data: {"error":{"message":"overloaded","code":503}}` + "\n\n"
	)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
	}
	for name, tt := range map[string]struct {
		answers  []http.HandlerFunc // to the requests, in order; after them the last one
		attempts int
		received bool
	}{
		"complete":             {[]http.HandlerFunc{says(ended)}, 1, true},
		"complete at last":     {[]http.HandlerFunc{status(503), status(429), says(ended)}, 3, true},
		"refused":              {[]http.HandlerFunc{status(401)}, 1, false},
		"overloaded":           {[]http.HandlerFunc{status(503)}, 5, false},
		"overloaded in stream": {[]http.HandlerFunc{says(fails)}, 5, false},
		"broken off":           {[]http.HandlerFunc{says(begun)}, 1, true},
		"failed later":         {[]http.HandlerFunc{says(begun + fails)}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				answer := tt.answers[min(requests, len(tt.answers)-1)]
				requests++
				answer(w, r)
			}))
			defer server.Close()
			c := clientOf(t, server.URL)
			res, err := c.Stream(t.Context(), Request{Model: "p/m"}, func(reply.Event) {})
			if res.Attempts != tt.attempts || res.Attempts != requests || res.Received != tt.received {
				t.Errorf("%d attempts for %d requests, received %v: %v", res.Attempts, requests, res.Received, err)
			}
		})
	}
}

func clientOf(t *testing.T, url string) *Client {
	c, err := New(Options{
		Providers: map[string]ProviderConfig{"p": {Kind: OpenAI, BaseURL: url}},
		Sleep:     func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A provider may charge for a request that was stopped before the reply began, but not for one that never reached it, or
// for which no provider is there.
func TestWhatAStoppedRequestHasSent(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		stop()
		<-r.Context().Done()
	}))
	defer server.Close()
	c := clientOf(t, server.URL)
	if res, err := c.Stream(ctx, Request{Model: "p/m"}, func(reply.Event) {}); res.Attempts != 1 || !res.Received {
		t.Errorf("stopped: %+v, %v", res, err)
	}
	if res, err := c.Stream(ctx, Request{Model: "p/m"}, func(reply.Event) {}); res.Received {
		t.Errorf("stopped before: %+v, %v", res, err)
	}
	if res, err := clientOf(t, "http://127.0.0.1:1").Stream(t.Context(), Request{Model: "p/m"}, func(reply.Event) {}); res.Received || res.Attempts != 5 {
		t.Errorf("unreachable: %+v, %v", res, err)
	}
	if res, err := c.Stream(t.Context(), Request{Model: "other/m"}, func(reply.Event) {}); res.Received || res.Attempts != 0 {
		t.Errorf("unknown: %+v, %v", res, err)
	}
}
