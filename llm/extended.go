package llm

import (
	"bytes"
	"encoding/json"

	"strata/llm/reply"
)

// extended returns value, a struct, with the members of an object added behind its own. An object that is none is ignored.
func extended(value any, object json.RawMessage) any {
	if len(reply.Members(object)) == 0 {
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
