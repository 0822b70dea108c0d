package llm

import (
	"bytes"
	"encoding/json"
	"sync"
)

// schemaOf is a tool's schema with its keys sorted, so that the order in which a frontend writes them changes no bytes.
// Where it has none that can be read, it is the schema of a tool without parameters. The result must not be changed.
func schemaOf(t Tool) json.RawMessage { return schemas.of(t.Schema) }

// schemas are the newest schemas that requests contained: each step of a turn sends the same ones.
var schemas sortedSchemas

// The limits of the schemas that are remembered.
const (
	maxSchemas     = 256
	maxSchemaBytes = 16 << 10 // of one; a larger one is sorted for each request
)

// sortedSchemas remembers the sorted form of schemas. It is safe for concurrent use; its lock is a leaf.
type sortedSchemas struct {
	mu     sync.Mutex
	sorted map[string]json.RawMessage // by the schema as it was declared
}

func (s *sortedSchemas) of(schema json.RawMessage) json.RawMessage {
	if len(schema) > maxSchemaBytes {
		return sortedSchema(schema)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sorted, known := s.sorted[string(schema)]
	if !known {
		if len(s.sorted) >= maxSchemas || s.sorted == nil {
			s.sorted = make(map[string]json.RawMessage)
		}
		sorted = sortedSchema(schema)
		s.sorted[string(schema)] = sorted
	}
	return sorted
}

func sortedSchema(declared json.RawMessage) json.RawMessage {
	in := json.NewDecoder(bytes.NewReader(declared))
	in.UseNumber()
	var schema map[string]any
	if in.Decode(&schema) != nil || schema == nil {
		schema = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	if _, typed := schema["type"]; !typed {
		schema["type"] = "object" // without it Anthropic refuses the request
	}
	out, _ := json.Marshal(schema) // what was decoded can be encoded
	return out
}
