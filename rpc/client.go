package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"
)

// ErrClosed is returned, wrapped, by a Client's methods once its connection has ended.
var ErrClosed = errors.New("the connection is closed")

// ErrTooLarge is returned, wrapped, by a Client's methods for a frame above the limit of SetFrameLimit. Nothing was sent.
var ErrTooLarge = errors.New("the request exceeds the server's limit")

// Client is the client's end of a connection, for the command line and for tests. It is safe for concurrent use.
type Client struct {
	stream  Stream
	codec   *clientCodec
	library *jsonrpc2.Conn
}

// NewClient returns a client over stream. onNotification, which may be nil, is called for each notification in order,
// on the goroutine that reads: notifications received before a response are delivered before Call returns.
// Requests of the server are handled by the functions of Serve.
func NewClient(stream Stream, onNotification func(method string, params json.RawMessage)) *Client {
	if onNotification == nil {
		onNotification = func(string, json.RawMessage) {}
	}
	s := &clientCodec{stream: stream, notify: onNotification, closed: make(chan struct{})}
	s.serving.init()
	quiet := jsonrpc2.SetLogger(log.New(io.Discard, "", 0))
	return &Client{
		stream:  stream,
		codec:   s,
		library: jsonrpc2.NewConn(context.Background(), s, s, jsonrpc2.OnRecv(s.received), jsonrpc2.OnSend(s.sending), quiet),
	}
}

// Dial connects to a server by WebSocket. ctx bounds the handshake only.
func Dial(ctx context.Context, url string, opt DialOptions) (*Client, error) {
	stream, err := DialWebSocket(ctx, url, opt)
	if err != nil {
		return nil, err
	}
	return NewClient(stream, opt.OnNotification), nil
}

// SetFrameLimit sets the size of the largest frame that the server reads, in bytes. A larger one is not sent: the server
// would close the connection. Without a call there is no limit.
func (c *Client) SetFrameLimit(bytes int64) { c.codec.limit.Store(bytes) }

// Call sends a request, waits for the response and decodes its result into result unless that is nil.
// An error sent by the server is returned as an *Error.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.explain("call", method, c.library.Call(ctx, method, params, result))
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	return c.explain("notify", method, c.library.Notify(ctx, method, params))
}

// explain translates an error of the library into one of this package.
func (c *Client) explain(verb, method string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		fault := &Error{Code: int(e.Code), Message: e.Message}
		if e.Data != nil {
			fault.Data = *e.Data
		}
		return fault
	}
	if errors.Is(err, jsonrpc2.ErrClosed) {
		<-c.codec.closed
		err = errors.Join(ErrClosed, c.codec.err)
	}
	return fmt.Errorf("%s %s: %w", verb, method, err)
}

// Done returns a channel that is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.codec.closed }

// Err returns why the connection ended: a *CloseError if the server sent a close code. It returns nil before Done is
// closed.
func (c *Client) Err() error {
	select {
	case <-c.codec.closed:
		return c.codec.err
	default:
		return nil
	}
}

// Close ends the connection and returns when it has ended. It must not be called from onNotification or a function of
// Serve.
func (c *Client) Close() error {
	err := c.stream.Close(closeNormal, "")
	<-c.codec.closed
	c.codec.serving.tasks.Wait()
	return err
}

// clientCodec connects jsonrpc2 to the frames of a Client. As in codec, results and parameters bypass the library's
// decoder.
type clientCodec struct {
	stream Stream
	notify func(method string, params json.RawMessage)
	closed chan struct{}
	err    error        // set before closed is
	limit  atomic.Int64 // of frames to the server, in bytes; 0: none

	serving serving
	writing sync.Mutex // held while a frame is written

	// Owned by the reader.
	payload  json.RawMessage // result or parameters of the last frame
	envelope []byte          // the last frame without payload; empty if it is skipped

	// Guarded by the library's send lock.
	request *jsonrpc2.Request // about to be written, see sending
	buf     []byte
}

// ReadObject implements jsonrpc2.ObjectStream. The library receives notifications and the responses to this client only.
func (s *clientCodec) ReadObject(v any) error {
	for {
		s.envelope = reusable(s.envelope)
		if err := s.stream.ReadFrame(s.take); err != nil {
			s.err = err
			return io.EOF
		}
		if len(s.envelope) > 0 {
			return v.(json.Unmarshaler).UnmarshalJSON(s.envelope)
		}
	}
}

// take prepares a frame for the library.
func (s *clientCodec) take(frame []byte) error {
	m, fault := parseMessage(frame, clientDepth)
	switch {
	case fault != nil:
	case m.kind == kindRequest:
		s.serving.start(m, s.respond)
	case m.kind == kindNotification && string(unquoted(m.method)) == MethodCancel:
		s.serving.cancel(m.params)
	case m.kind == kindNotification:
		s.payload = bytes.Clone(m.params)
		s.envelope = appendRequest(s.envelope, 0, m.method)
	case m.kind == kindResponse && isOurs(m.id):
		s.payload = bytes.Clone(m.result)
		s.envelope = appendResponse(s.envelope, m)
	}
	return nil
}

// isOurs reports whether an id can be one of the library's: it would read null as 0, and stop at a negative number.
func isOurs(id json.RawMessage) bool {
	_, err := strconv.ParseUint(string(id), 10, 64)
	return err == nil
}

// appendResponse appends a response without its result.
func appendResponse(b []byte, m message) []byte {
	b = append(append(b, `{"id":`...), m.id...)
	if m.failure != nil {
		b = append(append(b, `,"error":`...), m.failure...)
	} else {
		b = append(b, `,"result":null`...)
	}
	return append(b, '}')
}

// received is the library's hook that runs before it completes a call or calls Handle. It adds the payload that
// ReadObject kept back.
func (s *clientCodec) received(req *jsonrpc2.Request, resp *jsonrpc2.Response) {
	switch {
	case resp == nil:
		req.Params = &s.payload
	case resp.Error == nil:
		result := s.payload
		resp.Result = &result
	}
}

// Handle implements jsonrpc2.Handler for notifications.
func (s *clientCodec) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	s.notify(req.Method, *req.Params)
}

// sending is the library's hook that runs right before WriteObject, under the library's send lock.
func (s *clientCodec) sending(req *jsonrpc2.Request, _ *jsonrpc2.Response) { s.request = req }

// WriteObject implements jsonrpc2.ObjectStream for the requests of a Client.
func (s *clientCodec) WriteObject(any) error {
	var params json.RawMessage
	if s.request.Params != nil {
		params = *s.request.Params
	}
	b := appendCall(reusable(s.buf), s.request.Method, params)
	if !s.request.Notif {
		b = strconv.AppendUint(append(b, `,"id":`...), s.request.ID.Num, 10)
	}
	s.buf = append(b, '}')
	if limit := s.limit.Load(); limit > 0 && int64(len(s.buf)) > limit {
		return fmt.Errorf("%w: %d bytes exceeds %d", ErrTooLarge, len(s.buf), limit)
	}
	return s.write(s.buf)
}

// Close implements jsonrpc2.ObjectStream. The library's reader calls it when it ends.
func (s *clientCodec) Close() error {
	s.serving.stop()
	close(s.closed)
	return nil
}
