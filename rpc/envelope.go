package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"strata/internal/plainjson"
)

// Envelope holds the members of a frame, for a proxy between a client and a server, as slices of it: raw JSON, nil if
// absent.
type Envelope struct {
	ID     json.RawMessage // nil in a notification
	Method string          // empty in a response
	Params json.RawMessage
	Result json.RawMessage // nil in an error response
	Failed json.RawMessage // the error of an error response

	Silent bool // no response must be sent: it is a notification, even if an invalid one, or a response
}

// IsResponse reports whether the message is a response.
func (e Envelope) IsResponse() bool { return e.Method == "" }

// ParseClientFrame returns the members of a frame that a client sent. The error is the one that a server would respond
// with, and ID then the id for that response, nil for null. Frames of servers can be nested deeper: ParseServerFrame.
func ParseClientFrame(frame []byte) (Envelope, *Error) {
	if !utf8.Valid(frame) {
		return Envelope{}, &Error{Code: CodeParse, Message: "the frame is not UTF-8"}
	}
	e, m, fault := parseEnvelope(frame, defaultDepth)
	if m.tooDeep && fault == nil {
		fault = tooDeep(defaultDepth)
	}
	return e, fault
}

// ParseServerFrame returns the members of a frame that a server sent; ok is false if it is not a message.
func ParseServerFrame(frame []byte) (e Envelope, ok bool) {
	e, _, fault := parseEnvelope(frame, clientDepth)
	return e, fault == nil
}

func parseEnvelope(frame []byte, depth int) (Envelope, message, *Error) {
	if len(bytes.TrimSpace(frame)) == 0 {
		return Envelope{}, message{}, &Error{Code: CodeParse, Message: "the frame is empty"}
	}
	m, fault := parseMessage(frame, depth)
	return Envelope{
		ID: m.id, Method: string(unquoted(m.method)), Params: m.params, Result: m.result, Failed: m.failure,
		Silent: m.kind != kindRequest,
	}, m, fault
}

// ErrorFrame returns an error response. A nil id is sent as null.
func ErrorFrame(id json.RawMessage, e *Error) ([]byte, error) {
	w, err := e.wire()
	if err != nil {
		return nil, err
	}
	failure, err := encode(w)
	if err != nil {
		return nil, err
	}
	return ResponseFrame(id, Envelope{Failed: failure}), nil
}

// CallFrame returns a request, or a notification if id is nil. params must be encodable as JSON.
func CallFrame(id json.RawMessage, method string, params any) ([]byte, error) {
	raw, err := encode(params)
	if err != nil {
		return nil, err
	}
	frame := appendCall(nil, method, raw)
	if id != nil {
		frame = append(append(frame, `,"id":`...), id...)
	}
	return append(frame, '}'), nil
}

// appendCall appends a request or notification without its id and closing brace.
func appendCall(b []byte, method string, params json.RawMessage) []byte {
	b = plainjson.AppendString(append(b, `{"jsonrpc":"2.0","method":`...), method)
	if len(params) > 0 {
		b = append(append(b, `,"params":`...), params...)
	}
	return b
}

// ResponseFrame returns a response with the result or the error of another one. A nil id is sent as null.
func ResponseFrame(id json.RawMessage, e Envelope) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	name, value := "result", e.Result
	if e.Failed != nil {
		name, value = "error", e.Failed
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":%s}`, id, name, value)
}
