package llm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// endpoint is where the requests of one provider go, and the headers that each of them carries.
type endpoint struct {
	base   string // without a slash at the end
	header http.Header
}

// newTransport returns a transport that keeps connections for all sessions that use a provider at the same time.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

// newHTTPClient returns a client that follows no redirects: they would carry a key to another host.
func newHTTPClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send makes a request and returns its response if the status is 200, else an *Error.
func (c *Client) send(ctx context.Context, to endpoint, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, to.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = to.header.Clone()
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, readFailure(res, c.now())
	}
	return res, nil
}

// ping asks for the list of models, which costs nothing. A server that has no such list can be reached, too.
func (c *Client) ping(ctx context.Context, to endpoint, path string) error {
	res, err := c.send(ctx, to, http.MethodGet, path, nil)
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

// drain reads what follows the end of a reply, in a goroutine that Close waits for, and then calls done.
func (c *Client) drain(body io.ReadCloser, done func()) {
	c.drains.Add(1)
	go func() {
		defer c.drains.Done()
		defer done()
		late := time.AfterFunc(maxDrainTime, done)
		defer late.Stop()
		io.Copy(io.Discard, io.LimitReader(body, maxDrain)) // an error costs the connection only
		body.Close()
	}()
}

// watch ends a call when its provider sends nothing for too long.
type watch struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // nil where nothing limits the wait
	limit time.Duration
}

// newWatch waits for the first byte. first is 0 where it may take any time; between limits each later wait.
func newWatch(cancel context.CancelCauseFunc, first, between time.Duration) *watch {
	w := &watch{cancel: cancel, limit: between}
	if first > 0 {
		w.timer = time.AfterFunc(first, w.expire)
	}
	return w
}

func (w *watch) expire() { w.cancel(errSilent) }

// arrived starts the wait for the next byte.
func (w *watch) arrived() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.limit, w.expire)
	} else {
		w.timer.Reset(w.limit)
	}
}

// shorten limits the waits from now on.
func (w *watch) shorten(limit time.Duration) {
	w.mu.Lock()
	w.limit = cmp.Or(min(w.limit, limit), limit)
	w.mu.Unlock()
	w.arrived()
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// watchedBody tells the watch of every byte that arrives, be it of a comment.
type watchedBody struct {
	io.Reader
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.watch.arrived()
	}
	return n, err
}
