package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/session/servers"
)

// served returns a definition of a handler as a server over HTTP.
func served(t testing.TB, handler http.Handler) servers.Definition {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return servers.Definition{Name: "web", URL: s.URL + "/mcp"}
}

// echoServer returns a server of the SDK with a tool that returns its input, and sends progress before. The end of the test ends
// its sessions.
func echoServer(t testing.TB) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "1"}, nil)
	t.Cleanup(func() {
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	type input struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "does echo"}, func(ctx context.Context, req *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "half"})
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	})
	return s
}

func TestAServerOverHTTPCanBeUsed(t *testing.T) {
	for name, options := range map[string]*sdk.StreamableHTTPOptions{
		"with streams": nil, "with JSON": {JSONResponse: true}, "without sessions": {Stateless: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := echoServer(t)
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, options)
			u := take(t, hostOf(t, brisk), served(t, handler), servers.Place{})
			equal(t, "tools", names(u.ready().Tools), []string{"echo"})
			for i := range 20 {
				text, err := u.call("echo", members{"text": fmt.Sprint("hello ", i)})
				must(t, err)
				equal(t, "result", text, fmt.Sprint("hello ", i))
			}
		})
	}
}

func TestChangesOfAListArriveOverHTTP(t *testing.T) {
	s := echoServer(t)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	u := take(t, hostOf(t, brisk), served(t, handler), servers.Place{})
	u.ready()
	for len(u.State().Tools) != 2 {
		s.RemoveTools("more")
		s.AddTool(&sdk.Tool{Name: "more", InputSchema: members{"type": "object"}}, nil)
		select { // the stream may have been opened later than that
		case <-u.changes:
		case <-time.After(50 * time.Millisecond):
		}
	}
	equal(t, "tools", names(u.State().Tools), []string{"echo", "more"})
}

func TestHeadersGoToTheSameOriginOnly(t *testing.T) {
	s := echoServer(t)
	var elsewhere sync.Map
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	other := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "" || r.Header.Get(sessionHeader) != "" {
			elsewhere.Store("secret", r.Header.Clone())
		}
		elsewhere.Store("asked", true)
		w.WriteHeader(http.StatusTeapot)
	}))
	var missing atomic.Int32
	d := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "k" {
			missing.Add(1)
		}
		body, err := io.ReadAll(r.Body)
		if err == nil && strings.Contains(string(body), `"tools/call"`) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler.ServeHTTP(w, r)
	}))
	d.Headers = []servers.Header{{Name: "X-Api-Key", Value: "k"}}
	u := take(t, hostOf(t, nil), d, servers.Place{})
	u.ready()
	_, err := u.call("echo", members{"text": "x"})
	if err == nil {
		t.Error("the call has a result")
	}
	if asked, _ := elsewhere.Load("asked"); asked != true {
		t.Error("the redirect was not followed")
	}
	if secret, ok := elsewhere.Load("secret"); ok {
		t.Errorf("another origin got %v", secret)
	}
	equal(t, "requests without the header", missing.Load(), int32(0))
}

func TestAServerOverHTTPThatRefusesFailsWithTheStatus(t *testing.T) {
	for status, reason := range map[int]string{
		401: "HTTP 401 Unauthorized: the server needs an authorization header",
		404: "the older HTTP with SSE is not supported",
		405: "the older HTTP with SSE is not supported",
		500: "HTTP 500 Internal Server Error",
	} {
		d := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("x", 1<<20), status) }))
		u := take(t, hostOf(t, nil), d, servers.Place{})
		hasAll(t, u.failed().Error, reason)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	u := take(t, hostOf(t, nil), servers.Definition{Name: "gone", URL: gone.URL + "/?key=secret"}, servers.Place{})
	text := u.failed().Error
	hasAll(t, text, "connection refused")
	if strings.Contains(text, "secret") {
		t.Errorf("the error is %s", text)
	}
	u = take(t, hostOf(t, nil), servers.Definition{Name: "file", URL: "file:///etc/passwd"}, servers.Place{})
	hasAll(t, u.failed().Error, "not an HTTP URL")
}

// script is a server over HTTP that responds in order to everything but the calls of tools, for which it has a function.
func script(call func(w http.ResponseWriter, r *http.Request, m message), listen http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			listen(w, r)
			return
		}
		var m message
		if json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		respond := func(result any) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(members{"jsonrpc": "2.0", "id": m.ID, "result": result})
		}
		switch m.Method {
		case "initialize":
			w.Header().Set(sessionHeader, "s1")
			respond(members{"protocolVersion": "2025-06-18", "capabilities": members{"tools": members{}}, "serverInfo": members{"name": "script", "version": "1"}})
		case "tools/list":
			respond(members{"tools": []members{tool("x")}})
		case "tools/call":
			call(w, r, m)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
}

func notAllowed(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }

func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestACallOverHTTPIsBounded(t *testing.T) {
	write := func(w io.Writer, n int) {
		part := []byte(strings.Repeat("x", 1<<16))
		for range n / len(part) {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}
	stream := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }
	for name, c := range map[string]struct {
		call     func(w http.ResponseWriter, r *http.Request, m message)
		sentence string
	}{
		"hangs": {func(_ http.ResponseWriter, r *http.Request, _ message) { <-r.Context().Done() }, "no progress for 1s"},
		"large JSON": {func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Content-Type", "application/json")
			write(w, 20<<20)
		}, "16 MiB"},
		"large event": {func(w http.ResponseWriter, _ *http.Request, _ message) {
			stream(w)
			fmt.Fprint(w, "data: ")
			write(w, 20<<20)
			fmt.Fprint(w, "\n\n")
		}, "16 MiB"},
		"many lines": {func(w http.ResponseWriter, _ *http.Request, _ message) {
			stream(w)
			for range 20 {
				fmt.Fprint(w, "data: ")
				write(w, 1<<20)
				fmt.Fprint(w, "\n")
			}
			fmt.Fprint(w, "\n")
		}, "16 MiB"},
		"endless header": {func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		}, "the MCP server"},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "<html>")
		}, "the MCP server"},
		"a list": {func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "[1,2]")
		}, "the MCP server"},
		"no type":      {func(w http.ResponseWriter, _ *http.Request, _ message) { w.Header()["Content-Type"] = nil }, "the MCP server"},
		"status":       {func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(http.StatusServiceUnavailable) }, "HTTP 503"},
		"empty stream": {func(w http.ResponseWriter, _ *http.Request, _ message) { stream(w) }, "the MCP server"},
		"noisy stream": {func(w http.ResponseWriter, _ *http.Request, _ message) {
			stream(w)
			fmt.Fprint(w, "noise\n\ndata: {}\n\ndata: noise\n\nretry: 1\nid: \x01\n\n")
		}, "the MCP server"},
		"hanging stream": {func(w http.ResponseWriter, r *http.Request, _ message) {
			stream(w)
			fmt.Fprint(w, ": hello\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "no progress for 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wrong atomic.Bool
			wrong.Store(true)
			d := served(t, script(func(w http.ResponseWriter, r *http.Request, m message) {
				if wrong.Load() {
					c.call(w, r, m)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":{\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}}\n\n", m.ID)
			}, notAllowed))
			var change func(*limits)
			if strings.Contains(c.sentence, "1s") {
				change = hasty
			}
			u := take(t, hostOf(t, change), d, servers.Place{})
			u.ready()
			text, err := u.call("x", nil)
			if err == nil {
				t.Fatalf("the result is %.100s", text)
			}
			hasAll(t, err.Error(), c.sentence)
			wrong.Store(false)
			u.calm()
			text, err = u.call("x", nil)
			must(t, err)
			equal(t, "result of the next call", text, "fine")
		})
	}
}

func TestAStreamOfNotificationsThatHangsOrEndsDoesNotMatter(t *testing.T) {
	fine := func(w http.ResponseWriter, _ *http.Request, m message) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(members{"jsonrpc": "2.0", "id": m.ID, "result": members{"content": []members{{"type": "text", "text": "fine"}}}})
	}
	for name, listen := range map[string]http.HandlerFunc{
		"hangs": hangs, "is not there": notAllowed,
		"ends":  func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
		"fails": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := take(t, hostOf(t, brisk), served(t, script(fine, listen)), servers.Place{})
			u.ready()
			text, err := u.call("x", nil)
			must(t, err)
			equal(t, "result", text, "fine")
		})
	}
}

func TestAStreamOfNotificationsIsResumedAfterItsLastEvent(t *testing.T) {
	asked := make(chan string, 10)
	d := served(t, script(nil, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get(resumeHeader)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
	}))
	take(t, hostOf(t, brisk), d, servers.Place{}).ready()
	equal(t, "first", <-asked, "")
	equal(t, "second", <-asked, "7")
}

func TestAServerThatForgetsItsSessionStartsAgain(t *testing.T) {
	s := echoServer(t)
	var handler atomic.Pointer[sdk.StreamableHTTPHandler]
	restart := func() {
		handler.Store(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	}
	restart()
	d := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }))
	u := take(t, hostOf(t, nil), d, servers.Place{})
	u.ready()
	restart()
	_, err := u.call("echo", members{"text": "x"})
	if err == nil {
		t.Error("the call has a result")
	}
	hasAll(t, u.failed().Error, "the server has ended the session")
	u.untilReady()
	text, err := u.call("echo", members{"text": "again"})
	must(t, err)
	equal(t, "result", text, "again")
}

func TestAServerOfTheNewestProtocolOnlyCanBeUsed(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "new", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: []string{"2026-07-28"}})
	s.AddTool(&sdk.Tool{Name: "x", InputSchema: members{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "new"}}}, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
	u := take(t, hostOf(t, brisk), served(t, handler), servers.Place{})
	equal(t, "tools", names(u.ready().Tools), []string{"x"})
	text, err := u.call("x", members{})
	must(t, err)
	equal(t, "result", text, "new")
}
