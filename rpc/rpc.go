// Package rpc serves JSON-RPC 2.0 over a stream of whole frames, a WebSocket or lines of text.
//
// It keeps the rules that hold for every method: the shape of a frame, ids that come back as the bytes they were,
// requests in flight and their cancellation, the order of what is written, limits, heartbeat, and errors that leak
// nothing. Reading and replying go through sourcegraph/jsonrpc2; what that library cannot bear (frames that are not
// JSON, ids that are not small numbers) never reaches it.
//
// It must never know a method, block a sender on a slow peer, or let a peer's bytes end the process.
package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"
)

// The error codes that this package itself answers with.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601 // for handlers: this package knows no method
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800 // a cancel request hit it
)

// Error is an error as it goes over the wire. A handler that fails with one, wrapped or not, has it sent as it is.
type Error struct {
	Code    int
	Message string
	Data    any // encoded as JSON; nil for none. A Client's errors have a json.RawMessage here.
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// wire returns e with its data encoded.
func (e *Error) wire() (*jsonrpc2.Error, error) {
	w := &jsonrpc2.Error{Code: int64(e.Code), Message: e.Message}
	if e.Data == nil {
		return w, nil
	}
	data, err := encode(e.Data)
	if err != nil {
		return w, fmt.Errorf("encode data of error %d: %w", e.Code, err)
	}
	w.Data = &data
	return w, nil
}

// encode returns v as JSON on one line, without the escapes that are needed only inside HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
