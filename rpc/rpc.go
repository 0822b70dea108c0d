// Package rpc serves JSON-RPC 2.0 over a stream of whole frames: a WebSocket or lines of text.
//
// It enforces the rules common to all methods: the shape of a frame, ids echoed byte for byte, requests in flight and
// their cancellation, the order of writes, limits, heartbeats, and errors that disclose no internals. Reads and
// responses go through sourcegraph/jsonrpc2; input that this library cannot handle (frames that are not JSON, ids that
// are not small numbers) never reaches it.
//
// It must never depend on a particular method, block a sender on a slow peer, or let a peer's bytes crash the process.
package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"

	"strata/internal/clip"
)

// The error codes of responses that this package sends itself.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601 // for handlers; this package defines no methods
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800 // the peer cancelled the request
)

// Error is a JSON-RPC error. If a handler fails with an *Error, wrapped or not, it is sent unchanged.
type Error struct {
	Code    int
	Message string
	Data    any // encoded as JSON; nil for none. In errors from a Client it is a json.RawMessage.
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

var (
	errInternal  = &Error{Code: CodeInternal, Message: "internal error"}
	errCancelled = &Error{Code: CodeCancelled, Message: "request cancelled"}
)

// maxMessageBytes is the maximum length of an error's message, in bytes. Errors shorten names that they repeat; this bounds
// those that do not.
const maxMessageBytes = 4 << 10

// wire returns e with its data encoded.
func (e *Error) wire() (*jsonrpc2.Error, error) {
	w := &jsonrpc2.Error{Code: int64(e.Code), Message: clip.Bytes(e.Message, maxMessageBytes)}
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

// encode returns v as JSON on one line, without HTML escapes.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
