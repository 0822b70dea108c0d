package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// message holds the members of a frame as slices of it: raw JSON, nil if absent.
type message struct {
	kind     messageKind
	version  json.RawMessage // the member "jsonrpc"
	id       json.RawMessage
	method   json.RawMessage
	params   json.RawMessage
	result   json.RawMessage
	failure  json.RawMessage // the member "error"
	repeated string          // name of a duplicate member
	tooDeep  bool            // it was not checked to be JSON; a fault, unless it is a response
}

type messageKind int

const (
	kindRequest      messageKind = iota // also any malformed message whose kind is unclear; gets a response
	kindNotification                    // never gets a response, not even if it is faulty
	kindResponse                        // never gets a response
)

const (
	defaultDepth = 200   // maximum nesting of frames from a client by default
	clientDepth  = 10000 // maximum nesting of a server's frames: the limit of encoding/json
)

// maxIDBytes is the maximum length of an id, in bytes as sent: the connection keeps each id until its response.
const maxIDBytes = 1024

// parseMessage finds the members of a frame and checks them. On error, message holds the id for the response.
// It neither decodes values nor recurses.
//
// An id must be a string or an integer in digits: 1e3 and 1.0 are refused. A duplicate member of the envelope is
// refused because parsers disagree on which of the two is used.
func parseMessage(frame []byte, maxDepth int) (message, *Error) {
	var m message
	m.tooDeep = m.scan(frame) > maxDepth
	if !m.tooDeep && !json.Valid(frame) {
		return message{}, &Error{Code: CodeParse, Message: "the frame is not JSON"}
	}
	switch bytes.TrimLeft(frame, " \t\r\n")[0] {
	case '{':
	case '[':
		return message{}, invalid("batches are not supported; send one message per frame")
	default:
		return message{}, invalid("the frame must be an object")
	}
	m.classify()
	fault := m.fault()
	if m.tooDeep && m.kind != kindResponse {
		fault = tooDeep(maxDepth)
	}
	if fault != nil && (m.repeated == "id" || !validID(m.id)) {
		m.id = nil
	}
	return m, fault
}

func invalid(message string) *Error { return &Error{Code: CodeInvalidRequest, Message: message} }

func tooDeep(limit int) *Error {
	return invalid(fmt.Sprintf("the frame is nested deeper than %d levels", limit))
}

// classify sets the kind of m according to its members.
func (m *message) classify() {
	switch {
	case m.method == nil && (m.result != nil || m.failure != nil):
		m.kind = kindResponse
	case m.id == nil && isString(m.method):
		m.kind = kindNotification
	default:
		m.kind = kindRequest
	}
}

// fault checks the shape of a request or notification. It returns nil if m is valid, and for responses.
func (m *message) fault() *Error {
	switch {
	case m.kind == kindResponse:
		return nil
	case m.repeated != "":
		return invalid(fmt.Sprintf("duplicate member %q", m.repeated))
	case m.id != nil && !validID(m.id):
		return invalid(fmt.Sprintf("id must be a string or an integer without exponent, of at most %d bytes", maxIDBytes))
	case !isString(m.method):
		return invalid("method must be a string")
	case string(unquoted(m.version)) != "2.0":
		return invalid(`jsonrpc must be "2.0"`)
	case m.params == nil || m.params[0] == '{' || string(m.params) == "null":
		return nil
	case m.params[0] == '[':
		return &Error{Code: CodeInvalidParams, Message: "params must be an object; positional parameters are not supported"}
	default:
		return invalid("params must be an object")
	}
}

// scan finds the members of the outermost object and returns the maximum nesting of the frame.
// It accepts any bytes; its results are meaningful only if they are JSON.
func (m *message) scan(frame []byte) (deepest int) {
	var key []byte
	depth, value := 0, -1 // value is the start of the current member's value, -1 outside a value
	member := func(end int) {
		if depth == 1 && value >= 0 {
			m.set(key, bytes.TrimSpace(frame[value:end]))
			value = -1
		}
	}
	for i := 0; i < len(frame); i++ {
		switch frame[i] {
		case '"':
			end := stringEnd(frame, i)
			if depth == 1 && value < 0 {
				key = frame[i:end]
			}
			i = end - 1
		case ':':
			if depth == 1 && value < 0 {
				value = i + 1
			}
		case ',':
			member(i)
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			member(i)
			depth--
		}
	}
	return deepest
}

// set stores a member of the envelope. Other members are ignored.
func (m *message) set(key, value []byte) {
	field := m.field(string(unquoted(key)))
	if field == nil {
		return
	}
	if *field != nil {
		m.repeated = string(unquoted(key))
	}
	*field = value
}

func (m *message) field(name string) *json.RawMessage {
	switch name {
	case "jsonrpc":
		return &m.version
	case "id":
		return &m.id
	case "method":
		return &m.method
	case "params":
		return &m.params
	case "result":
		return &m.result
	case "error":
		return &m.failure
	}
	return nil
}

// stringEnd returns the index after the JSON string that starts at start, or len(frame) if it is unterminated.
func stringEnd(frame []byte, start int) int {
	for i := start + 1; i < len(frame); i++ {
		n := bytes.IndexByte(frame[i:], '"')
		if n < 0 {
			break
		}
		i += n
		escapes := 0
		for frame[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return len(frame)
}

// isString reports whether a JSON value without surrounding white space is a string.
func isString(raw []byte) bool { return len(raw) > 1 && raw[0] == '"' && raw[len(raw)-1] == '"' }

// unquoted decodes a JSON string. It returns nil if raw is not a string.
func unquoted(raw []byte) []byte {
	if !isString(raw) {
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil
	}
	return []byte(s)
}

// validID reports whether raw is an id that can be echoed.
func validID(raw []byte) bool {
	if len(raw) == 0 || len(raw) > maxIDBytes || !json.Valid(raw) {
		return false
	}
	return isString(raw) || isInteger(raw)
}

// isInteger reports whether a JSON value is a number without fraction or exponent.
func isInteger(raw []byte) bool {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	for _, d := range digits {
		if d < '0' || d > '9' {
			return false
		}
	}
	return len(digits) > 0
}

// cleanSurrogates replaces, in place, escapes of lone surrogates in valid JSON with the escape of U+FFFD.
// Lone surrogates are not text, and decoders disagree on how to handle them.
func cleanSurrogates(raw []byte) {
	for i := 0; i < len(raw); i++ {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			return
		}
		i += n
		switch surrogate(raw[i:]) {
		case 0: // another escape: skip its letter, which may be a backslash
			i++
		case highSurrogate:
			if surrogate(raw[i+6:]) == lowSurrogate {
				i += 11
				continue
			}
			fallthrough
		case lowSurrogate:
			copy(raw[i:], `\ufffd`)
			i += 5
		}
	}
}

type surrogateHalf int

const (
	highSurrogate surrogateHalf = iota + 1 // D800 to DBFF
	lowSurrogate                           // DC00 to DFFF
)

// surrogate returns which half of a surrogate pair raw starts with, or 0.
func surrogate(raw []byte) surrogateHalf {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' || raw[2]|0x20 != 'd' {
		return 0
	}
	switch c := raw[3] | 0x20; {
	case c == '8' || c == '9' || c == 'a' || c == 'b':
		return highSurrogate
	case c >= 'c' && c <= 'f':
		return lowSurrogate
	}
	return 0
}
