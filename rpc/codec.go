package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"
)

// codec connects jsonrpc2 to the frames of a Conn, as its ObjectStream and handler. It replaces the peer's ids by
// numbers of its own towards the library. The library receives only an envelope of id and method, and only for frames
// that can be dispatched. Parameters bypass the library, which would decode and encode them several times.
type codec struct {
	conn   *Conn
	closed chan struct{} // closed when the library has stopped reading

	// Owned by the reader.
	request  *Request // of the last frame; nil if it must not be dispatched
	envelope []byte   // of request

	// Owned by the writer.
	response *jsonrpc2.Response // about to be written, see sending
	buf      []byte
	held     bool // there may be held notifications
}

// ReadObject implements jsonrpc2.ObjectStream: it decodes the envelope of the next frame to dispatch into v,
// which is always a json.Unmarshaler.
func (s *codec) ReadObject(v any) error {
	for {
		s.conn.out.waitRoom(s.conn.ctx)
		s.request = nil
		if err := s.conn.stream.ReadFrame(s.take); err != nil {
			s.conn.stop(endingOf(err))
			return io.EOF
		}
		if s.request != nil {
			return v.(json.Unmarshaler).UnmarshalJSON(s.envelope)
		}
	}
}

// take makes a frame the request to dispatch, refuses it, or drops it. An error ends the connection.
func (s *codec) take(frame []byte) error {
	if !utf8.Valid(frame) {
		return &CloseError{closeInvalidText, "the frame is not UTF-8"}
	}
	if s.conn.isStopped() || s.conn.out.isClosing() {
		return nil // keep reading so that the peer's close frame is seen
	}
	m, fault := parseMessage(frame, s.conn.opt.MaxDepth)
	if s.admit(m, fault) {
		s.envelope = appendRequest(reusable(s.envelope), s.request.number, m.method)
	}
	return nil
}

// admit makes m the request to dispatch and reports whether it could. A request that cannot be dispatched is refused;
// responses settle the calls of this end; faulty notifications are dropped.
func (s *codec) admit(m message, fault *Error) bool {
	switch {
	case m.kind == kindResponse:
		s.conn.responded(m)
		return false
	case m.method == nil && m.id != nil && s.conn.calls.settle(m): // a response without a result
		return false
	case m.kind == kindNotification && fault != nil:
		return false
	case m.kind == kindNotification:
		s.request = s.conn.newRequest(0, m.params)
		return true
	}
	number, free := s.conn.ids.claim(m.id)
	if !free {
		fault = invalid("a request with this id is still in flight")
		fault.Data = map[string]json.RawMessage{"id": m.id}
	}
	if fault == nil {
		s.request = s.conn.newRequest(number, m.params)
		if s.conn.ids.admit(number, s.request, s.conn.opt.Inflight) {
			return true
		}
		s.request.cancel()
		s.request = nil
		fault = s.conn.tooMany()
	}
	s.conn.refuse(number, fault)
	return false
}

// appendRequest appends a request without its parameters, with number as its id; 0 makes it a notification.
func appendRequest(b []byte, number uint64, method json.RawMessage) []byte {
	b = append(append(b, `{"method":`...), method...)
	if number != 0 {
		b = strconv.AppendUint(append(b, `,"id":`...), number, 10)
	}
	return append(b, '}')
}

// Handle implements jsonrpc2.Handler. It handles the request last read by ReadObject, on the same goroutine.
func (s *codec) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	r := s.request
	defer r.rescue()
	r.method = req.Method
	s.conn.handler.Handle(s.conn, r)
}

// sending is the library's hook that runs right before WriteObject. It keeps the response, because the argument of
// WriteObject has an opaque type.
func (s *codec) sending(_ *jsonrpc2.Request, resp *jsonrpc2.Response) { s.response = resp }

// WriteObject implements jsonrpc2.ObjectStream for the responses of a Conn.
func (s *codec) WriteObject(any) error {
	resp := s.response
	b := append(reusable(s.buf), `{"jsonrpc":"2.0","id":`...)
	// Release the id before the write: the peer may reuse it as soon as it has the response.
	b = append(b, s.conn.ids.release(resp.ID.Num)...)
	if resp.Error != nil {
		failure, err := encode(resp.Error)
		if err != nil {
			return fmt.Errorf("encode error: %w", err)
		}
		b = append(append(b, `,"error":`...), failure...)
	} else {
		b = append(append(b, `,"result":`...), *resp.Result...)
	}
	s.buf, s.held = append(b, '}'), false
	return s.conn.stream.WriteFrame(s.buf)
}

// writeNotification writes a notification after those that are held. With hold it may hold it too, until flush or the next
// frame. It bypasses the library, which would encode the parameters again.
func (s *codec) writeNotification(n Notification, hold bool) error {
	s.buf = append(appendCall(reusable(s.buf), n.Method, n.Params), '}')
	h, ok := s.conn.stream.(holder)
	if s.held = ok && hold; s.held {
		return h.HoldFrame(s.buf)
	}
	return s.conn.stream.WriteFrame(s.buf)
}

// writeFrame writes a frame of this end after the notifications that are held.
func (s *codec) writeFrame(frame []byte) error {
	s.held = false
	return s.conn.stream.WriteFrame(frame)
}

// flush writes the notifications that are held.
func (s *codec) flush() error {
	if !s.held {
		return nil
	}
	s.held = false
	return s.conn.stream.(holder).Flush()
}

// Close implements jsonrpc2.ObjectStream. The library calls it when it stops reading; the Conn closes the stream.
func (s *codec) Close() error {
	s.conn.stop(ending{})
	close(s.closed)
	return nil
}
