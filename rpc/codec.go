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

// codec stands between jsonrpc2 and the frames of a Conn, as its ObjectStream and handler. On the library's side ids
// are numbers that we chose, on the peer's side the bytes that the peer chose. Of a frame the library gets to see an
// envelope of id and method, and that only if the frame is fit to be dispatched; parameters bypass it, as it would
// decode and encode them several times over.
type codec struct {
	conn   *Conn
	closed chan struct{} // the library has ended

	request  *Request           // reader's: read last, nil where that is not to be dispatched
	envelope []byte             // reader's: of request
	response *jsonrpc2.Response // writer's: to be written, see sending
	buf      []byte             // writer's
}

// ReadObject implements jsonrpc2.ObjectStream: it returns with the next frame that is to be dispatched.
// The v of the library decodes itself.
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

// take makes a frame the request to dispatch, or answers it, or drops it. An error ends the connection.
func (s *codec) take(frame []byte) error {
	if !utf8.Valid(frame) {
		return &CloseError{closeInvalidText, "the frame is not UTF-8"}
	}
	if s.conn.ctx.Err() != nil || s.conn.out.isClosing() {
		return nil // read on for the goodbye's sake
	}
	m, fault := probe(frame, s.conn.opt.MaxDepth)
	if s.admit(m, fault) {
		s.envelope = appendRequest(reusable(s.envelope), s.request.number, m.method)
	}
	return nil
}

// admit makes a message the request to dispatch. One that cannot be is answered, unless it gets no answers.
func (s *codec) admit(m message, fault *Error) bool {
	switch {
	case m.kind == kindResponse, m.kind == kindNotification && fault != nil:
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

// appendRequest appends a request without its parameters, under our number.
func appendRequest(b []byte, number uint64, method json.RawMessage) []byte {
	b = append(append(b, `{"method":`...), method...)
	if number != 0 {
		b = strconv.AppendUint(append(b, `,"id":`...), number, 10)
	}
	return append(b, '}')
}

// Handle implements jsonrpc2.Handler for the request that ReadObject returned last, on the same goroutine.
func (s *codec) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	r := s.request
	defer r.rescue()
	r.method = req.Method
	s.conn.handler.Handle(s.conn, r)
}

// sending is the library's hook that runs right before WriteObject, to which it gives the message in a type that
// cannot be looked into.
func (s *codec) sending(_ *jsonrpc2.Request, resp *jsonrpc2.Response) { s.response = resp }

// WriteObject implements jsonrpc2.ObjectStream for the replies of a Conn.
func (s *codec) WriteObject(any) error {
	resp := s.response
	b := append(reusable(s.buf), `{"jsonrpc":"2.0","id":`...)
	// The id is free before its reply is out: the peer may use it again as soon as it has seen the reply.
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
	return s.flush(append(b, '}'))
}

// writeNotification writes a notification. It bypasses the library, which would encode the parameters anew.
func (s *codec) writeNotification(n Notification) error {
	b, err := appendCall(reusable(s.buf), n.Method, n.Params)
	if err != nil {
		return err
	}
	return s.flush(append(b, '}'))
}

// appendCall appends a request or notification up to where an id may stand.
func appendCall(b []byte, method string, params json.RawMessage) ([]byte, error) {
	name, err := json.Marshal(method)
	if err != nil {
		return nil, fmt.Errorf("encode method: %w", err)
	}
	b = append(append(b, `{"jsonrpc":"2.0","method":`...), name...)
	if len(params) > 0 {
		b = append(append(b, `,"params":`...), params...)
	}
	return b, nil
}

func (s *codec) flush(frame []byte) error {
	s.buf = frame
	return s.conn.stream.WriteFrame(frame)
}

// Close implements jsonrpc2.ObjectStream. The library calls it when it reads no more; the Conn closes its stream.
func (s *codec) Close() error {
	s.conn.stop(ending{})
	close(s.closed)
	return nil
}
