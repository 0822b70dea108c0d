package mcp

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxCompared is the maximum number of values of a structured content that are looked for in texts.
const maxCompared = 200

// tells reports whether a text contains all strings and numbers of a structured content. Most servers send it twice: as text, in
// JSON or readable, and structured. Others send only a heading as text.
func tells(text string, structured any) bool {
	c := comparison{text: text, left: maxCompared}
	return c.tells(structured)
}

// comparison looks for values in a text.
type comparison struct {
	text string
	left int // number of values that it may still look for
}

func (c *comparison) tells(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			if !c.tells(member) {
				return false
			}
		}
		return true
	case []any:
		for _, element := range v {
			if !c.tells(element) {
				return false
			}
		}
		return true
	case string:
		return c.has(v)
	case float64:
		return c.has(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return true // true, false and null say little without the name of their member
}

// has reports whether the text contains a string, plain or as it is in JSON.
func (c *comparison) has(part string) bool {
	c.left--
	if c.left < 0 {
		return false
	}
	if strings.Contains(c.text, part) {
		return true
	}
	encoded, err := json.Marshal(part)
	return err == nil && strings.Contains(c.text, string(encoded))
}
