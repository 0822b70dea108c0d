package reply

import (
	"bytes"
	"encoding/json"
)

// Members splits a JSON object. It returns nil where raw is none.
func Members(raw json.RawMessage) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// Without returns the members of an object that are not among known, as an object; nil where none remain.
// Members that are null say nothing and are dropped.
func Without(object map[string]json.RawMessage, known ...string) json.RawMessage {
	rest := map[string]json.RawMessage{}
	for name, value := range object {
		rest[name] = value
	}
	for _, name := range known {
		delete(rest, name)
	}
	for name, value := range rest {
		if string(value) == "null" {
			delete(rest, name)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	out, err := json.Marshal(rest)
	if err != nil {
		return nil
	}
	return out
}

// merged returns the members of both objects, also of the objects within them; other values of b take precedence.
func merged(a, b json.RawMessage) json.RawMessage {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	all := Members(a)
	for name, value := range Members(b) {
		if Members(all[name]) != nil && Members(value) != nil {
			value = merged(all[name], value)
		}
		all[name] = value
	}
	out, err := json.Marshal(all)
	if err != nil {
		return a
	}
	return out
}

// Extended returns value, a struct, with the members of an object added behind its own. An object that is none is ignored.
func Extended(value any, object json.RawMessage) any {
	if len(Members(object)) == 0 {
		return value
	}
	return extendedObject{value, object}
}

type extendedObject struct {
	value any
	extra json.RawMessage
}

// MarshalJSON writes both as one object.
func (e extendedObject) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e.value); err != nil {
		return nil, err
	}
	own := bytes.TrimSuffix(bytes.TrimSpace(out.Bytes()), []byte("}"))
	return append(append(own, ','), bytes.TrimPrefix(bytes.TrimSpace(e.extra), []byte("{"))...), nil
}
