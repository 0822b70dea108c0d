package compaction

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Bounds of the search for JSON in an answer.
const (
	answerBytes   = 64 << 10 // of an answer that are looked at
	answerObjects = 64       // braces that are tried
)

// noneByModel is the answer that there is no boundary.
var noneByModel = Boundary{Index: -1, By: ByModel}

// parseBoundary reads the answer to a detection call for the given number of messages: a JSON object,
// alone, fenced, or somewhere in prose. Whatever does not name one of the messages is no boundary.
func parseBoundary(answer string, messages int) Boundary {
	fields, ok := findObject(answer)
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

// findObject returns the first JSON object in text that has a field of a boundary.
func findObject(text string) (map[string]json.RawMessage, bool) {
	text = text[:min(len(text), answerBytes)]
	for range answerObjects {
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

// boundaryField returns the field that names the boundary, nil for none. Models do not always keep to its name.
func boundaryField(fields map[string]json.RawMessage) json.RawMessage {
	for _, name := range []string{"boundary", "boundary_index", "boundaryIndex", "index"} {
		if value, ok := fields[name]; ok {
			return value
		}
	}
	return nil
}

// jsonNumber reads a number, or a string that holds one.
func jsonNumber(value json.RawMessage) (float64, bool) {
	written := strings.TrimSpace(string(value))
	if quoted := jsonText(value); quoted != "" {
		written = strings.TrimSpace(quoted)
	}
	n, err := strconv.ParseFloat(written, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// jsonText reads a string; anything else is empty.
func jsonText(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}
