package compaction

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Limits of the search for JSON in a reply.
const (
	replyBytes   = 64 << 10 // examined bytes
	replyObjects = 64       // tried braces
)

// noneByModel means that the model found no boundary.
var noneByModel = Boundary{Index: -1, By: ByModel}

// parseBoundary parses the reply to a detection call for the given number of messages: a JSON object, alone, fenced, or
// within prose. If it does not identify one of the messages, there is no boundary.
func parseBoundary(reply string, messages int) Boundary {
	fields, ok := findObject(reply)
	if !ok {
		return noneByModel
	}
	index, ok := jsonNumber(boundaryField(fields))
	if !ok || index != math.Trunc(index) || index < 0 || index >= float64(messages) {
		return noneByModel
	}
	confidence, ok := jsonNumber(fields["confidence"])
	if !ok || confidence < 0 || confidence > 1 {
		confidence = 0
	}
	return Boundary{
		Index:      int(index),
		Confidence: confidence,
		Reason:     jsonText(fields["reason"]),
		Summary:    jsonText(fields["summary"]),
		By:         ByModel,
	}
}

// findObject returns the first JSON object in text that has a boundary field.
func findObject(text string) (map[string]json.RawMessage, bool) {
	text = text[:min(len(text), replyBytes)]
	for range replyObjects {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		text = text[at:]
		var fields map[string]json.RawMessage
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&fields); err == nil && boundaryField(fields) != nil {
			return fields, true
		}
		text = text[1:]
	}
	return nil, false
}

// boundaryField returns the field with the boundary, or nil. Models do not always use the requested name.
func boundaryField(fields map[string]json.RawMessage) json.RawMessage {
	for _, name := range []string{"boundary", "boundary_index", "boundaryIndex", "index"} {
		if value, ok := fields[name]; ok {
			return value
		}
	}
	return nil
}

// jsonNumber decodes a number, or a string that contains one.
func jsonNumber(value json.RawMessage) (float64, bool) {
	written := strings.TrimSpace(string(value))
	if quoted := jsonText(value); quoted != "" {
		written = strings.TrimSpace(quoted)
	}
	n, err := strconv.ParseFloat(written, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// jsonText decodes a string, and returns "" for any other value.
func jsonText(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}
