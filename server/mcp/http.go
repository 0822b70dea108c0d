package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/session/servers"
)

// The bounds of requests over HTTP.
const (
	connecting   = 10 * time.Second // to connect, and for the handshake of TLS
	answering    = 5 * time.Second  // added to the time of a call without progress: until the headers of a response
	maxRedirects = 5
	maxHeaders   = 64 << 10 // bytes of a response's headers
	maxRefusal   = 64 << 10 // bytes of a response with an error
	maxResumes   = 3        // of a stream, without an event in between
)

// sessionHeader has the id of a session, which is a secret.
const sessionHeader = "Mcp-Session-Id"

// web is the link to a server over streamable HTTP. It is the http.RoundTripper of the SDK's transport, and screens responses.
type web struct {
	sdk.StreamableClientTransport

	in      *inbox
	limits  limits
	server  *url.URL
	headers []servers.Header
	base    *http.Transport

	open context.Context // requests end with it
	shut context.CancelFunc

	mu      sync.Mutex
	refusal refusal // status of the newest request, if it is one of an error
	closing *time.Timer
}

func newHTTP(d servers.Definition, in *inbox, l limits) (*web, error) {
	server, err := url.Parse(d.URL)
	if err != nil || server.Host == "" || server.Scheme != "http" && server.Scheme != "https" {
		return nil, errors.New("the URL of the server is not an HTTP URL")
	}
	w := &web{in: in, limits: l, server: server, headers: d.Headers, base: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment, // not for this machine
		DialContext:            (&net.Dialer{Timeout: connecting}).DialContext,
		TLSHandshakeTimeout:    connecting,
		ResponseHeaderTimeout:  l.idle + answering,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: maxHeaders,
		ForceAttemptHTTP2:      true,
	}}
	w.open, w.shut = context.WithCancel(context.Background())
	w.StreamableClientTransport = sdk.StreamableClientTransport{
		Endpoint:     d.URL,
		HTTPClient:   &http.Client{Transport: w, CheckRedirect: redirected},
		MaxRetries:   maxResumes,
		MaxEventSize: 2 * maxMessage, // smaller ones are dropped before
	}
	return w, nil
}

func redirected(_ *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}

// close ends the requests after the time in which a server should answer the end of its session.
func (w *web) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing == nil {
		w.closing = time.AfterFunc(w.limits.stop, w.shut)
	}
}

func (w *web) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing != nil {
		w.closing.Stop()
	}
	w.shut()
	w.base.CloseIdleConnections()
}

// explain names the HTTP status, or the reason for which there is none. URLs are left out: they can have secrets.
func (w *web) explain(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(err, sdk.ErrSessionMissing) {
		return errors.New("the server has ended the session")
	}
	var answer *jsonrpc.Error
	if errors.As(err, &answer) && answer.Code != codeRejected {
		return fmt.Errorf("the server refused a request: %s", answer.Message)
	}
	if w.refusal != 0 {
		return w.refusal
	}
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet && req.Header.Get(resumeHeader) == "" {
		return w.listen(req), nil
	}
	return w.send(req)
}

// send sends a request and returns the screened response.
func (w *web) send(req *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancel(req.Context())
	stop := context.AfterFunc(w.open, end)
	release := func() { stop(); end() }
	resp, err := w.base.RoundTrip(w.prepared(req.Clone(ctx)))
	if err != nil {
		release()
		w.note(0)
		return nil, err
	}
	resp.Body = &releasing{resp.Body, release}
	w.note(resp.StatusCode)
	if err := w.screen(ctx, req, resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// prepared adds the headers of the definition to a request, unless it goes elsewhere after a redirect.
func (w *web) prepared(req *http.Request) *http.Request {
	if req.URL.Scheme != w.server.Scheme || !strings.EqualFold(req.URL.Host, w.server.Host) {
		req.Header.Del(sessionHeader)
		return req
	}
	for _, h := range w.headers {
		req.Header.Set(h.Name, h.Value)
	}
	return req
}

// note keeps the status of a response with an error, for the user.
func (w *web) note(status int) {
	if status < http.StatusBadRequest {
		status = 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusal = refusal(status)
}

// screen replaces the body of a response by a bounded one with those messages that the SDK has to process.
func (w *web) screen(ctx context.Context, req *http.Request, resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices:
		resp.Body = &replaced{io.LimitReader(resp.Body, maxRefusal), resp.Body}
	case kind == "text/event-stream":
		resp.Body = newSieve(ctx, resp.Body, w.in)
	case kind == "application/json" && isCall(req):
		message, err := w.message(ctx, resp.Body)
		if err != nil {
			return err
		}
		resp.Body = &replaced{bytes.NewReader(message), resp.Body}
	case isCall(req):
		return fmt.Errorf("the MCP server's response has the type %.100q, which is not a type of JSON-RPC", kind)
	default:
		resp.Body = &replaced{http.NoBody, resp.Body}
	}
	return nil
}

// message reads the body of a response with one message.
func (w *web) message(ctx context.Context, body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxMessage+1))
	if err != nil {
		return nil, fmt.Errorf("read the response of an MCP server: %w", err)
	}
	if len(data) > maxMessage {
		return nil, errTooLarge
	}
	m, ok, err := w.in.accept(ctx, data)
	if err != nil {
		return nil, err
	}
	if _, isResponse := m.(*jsonrpc.Response); !ok || !isResponse {
		return nil, errors.New("the body of the MCP server's response is not a JSON-RPC response")
	}
	return jsonrpc.EncodeMessage(m)
}

// isCall reports whether the body of a request is a request of JSON-RPC, which has a response.
func isCall(req *http.Request) bool {
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	return json.NewDecoder(body).Decode(&m) == nil && m.ID != nil && m.Method != ""
}

// releasing is a body that releases the context of its request when it is closed.
type releasing struct {
	io.ReadCloser
	release func()
}

func (r *releasing) Close() error {
	defer r.release()
	return r.ReadCloser.Close()
}

// replaced is a body with another content.
type replaced struct {
	io.Reader
	io.Closer
}
