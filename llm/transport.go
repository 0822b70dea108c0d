package llm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"strata/llm/reply"
)

// endpoint is where the requests of one provider go, and the headers that each of them carries.
type endpoint struct {
	base   string // without a slash at the end
	header http.Header
}

// newHeader returns the headers of every request.
func newHeader() http.Header {
	return http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream, application/json"},
		"User-Agent":   {"strata"},
	}
}

// transport sends the requests of a client. It is safe for concurrent use.
type transport struct {
	http   *http.Client
	now    func() time.Time
	drains sync.WaitGroup // bodies that are read to their end
}

// newTransport returns a transport on top of one that makes connections; nil stands for one that uses the proxies of the
// usual variables and keeps connections for all sessions that use a provider at the same time. It follows no redirects:
// they would carry a key to another host.
func newTransport(connections http.RoundTripper, now func() time.Time) *transport {
	if connections == nil {
		kept := http.DefaultTransport.(*http.Transport).Clone()
		kept.MaxIdleConnsPerHost = 64
		connections = kept
	}
	return &transport{now: now, http: &http.Client{
		Transport:     connections,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// close waits for the bodies that are read to their end, and closes idle connections.
func (t *transport) close() {
	t.drains.Wait()
	t.http.CloseIdleConnections()
}

// send makes a request and returns its response if the status is 200, else an *Error.
func (t *transport) send(ctx context.Context, to endpoint, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, to.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = to.header.Clone()
	res, err := t.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		out := errorOf(reply.ReadFailure(res.Body, res.StatusCode))
		out.RetryAfter = retryAfter(res.Header, t.now())
		return nil, out
	}
	return res, nil
}

// ping asks for the list of models, which costs nothing. A server that has no such list can be reached, too.
func (t *transport) ping(ctx context.Context, to endpoint, path string) error {
	res, err := t.send(ctx, to, http.MethodGet, path, nil)
	var out *Error
	if errors.As(err, &out) && (out.Status == http.StatusNotFound || out.Status == http.StatusMethodNotAllowed) {
		return nil
	}
	if err == nil {
		res.Body.Close()
	}
	return err
}

// onLoopback reports whether a provider runs on this machine.
func onLoopback(base string) bool {
	address, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(address.Hostname())
	return address.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Limits of the rest of a body behind the end of a reply. A body that was read to its end gives its connection back.
const (
	maxDrain     = 64 << 10
	maxDrainTime = time.Second
)

// drain reads what follows the end of a reply, in a goroutine that close waits for, and then calls done.
func (t *transport) drain(body io.ReadCloser, done func()) {
	t.drains.Add(1)
	go func() {
		defer t.drains.Done()
		defer done()
		late := time.AfterFunc(maxDrainTime, done)
		defer late.Stop()
		io.Copy(io.Discard, io.LimitReader(body, maxDrain)) // an error costs the connection only
		body.Close()
	}()
}
