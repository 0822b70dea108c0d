package bridge

import (
	"bytes"
	"encoding/json"

	"strata/rpc"
)

// maxMember is the maximum size of a member of a long message that is kept, in bytes: a valid id has at most 1,024.
const maxMember = 2 << 10

// skimmer finds the id and method of a message that is written to it in parts and is too long to be held in memory. It
// accepts any bytes; its result is meaningful only if they are a JSON object. The zero value is ready.
type skimmer struct {
	depth    int
	inString bool
	escaped  bool

	part    []byte // the current key or value outside of nested ones, at most maxMember bytes
	tooLong bool   // part lacks bytes
	nested  bool   // part is a nested value
	key     string // of the current value
	inValue bool

	id, method json.RawMessage
	repeated   bool // there are several ids
	isResponse bool
}

func (s *skimmer) write(p []byte) {
	for _, c := range p {
		switch {
		case s.inString:
			s.keep(c)
			s.inString = s.escaped || c != '"'
			s.escaped = !s.escaped && c == '\\'
		case c == '"':
			s.inString = true
			s.keep(c)
		case c == '{' || c == '[':
			s.nested = s.nested || s.depth > 0
			s.depth++
		case c == '}' || c == ']':
			if s.depth == 1 {
				s.member()
			}
			s.depth--
		case c == ':' && s.depth == 1 && !s.inValue:
			s.begin()
		case c == ',' && s.depth == 1:
			s.member()
		default:
			s.keep(c)
		}
	}
}

// keep keeps a byte outside of nested values.
func (s *skimmer) keep(c byte) {
	switch {
	case s.depth != 1:
	case len(s.part) < maxMember:
		s.part = append(s.part, c)
	default:
		s.tooLong = true
	}
}

// begin begins the value of a key.
func (s *skimmer) begin() {
	s.key = ""
	if json.Unmarshal(s.part, &s.key) != nil || s.tooLong {
		s.key = ""
	}
	s.part, s.tooLong, s.nested, s.inValue = s.part[:0], false, false, true
}

// member ends a value.
func (s *skimmer) member() {
	value := json.RawMessage(bytes.Clone(bytes.TrimSpace(s.part)))
	if s.tooLong || s.nested {
		value = json.RawMessage("false") // valid neither as id nor as method
	}
	switch s.key {
	case "id":
		s.repeated = s.repeated || s.id != nil
		s.id = value
	case "method":
		s.method = value
	case "result", "error":
		s.isResponse = true
	}
	s.key, s.part, s.tooLong, s.nested, s.inValue = "", s.part[:0], false, false, false
}

// envelope returns the id and method that were found. A message whose kind is unclear gets a response with the id null.
func (s *skimmer) envelope() rpc.Envelope {
	if s.repeated {
		s.id = json.RawMessage("false")
	}
	frame := []byte(`{"jsonrpc":"2.0"`)
	if s.id != nil {
		frame = append(append(frame, `,"id":`...), s.id...)
	}
	switch {
	case s.method != nil:
		frame = append(append(frame, `,"method":`...), s.method...)
	case s.isResponse:
		frame = append(frame, `,"result":null`...)
	}
	e, _ := rpc.ParseClientFrame(append(frame, '}'))
	return e
}
