package reply

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"strata/history"
)

// The types below decode members of a provider's JSON. "OpenAI-compatible" is a family of dialects, so each of them
// accepts any JSON value: an unexpected form decodes as absent instead of failing the whole event.

// maybe is an optional member. It is absent where the value is null or does not decode into a T.
type maybe[T any] struct {
	value   T
	present bool
}

// UnmarshalJSON accepts any JSON value.
func (m *maybe[T]) UnmarshalJSON(raw []byte) error {
	*m = maybe[T]{}
	if string(raw) == "null" {
		return nil
	}
	var value T
	if json.Unmarshal(raw, &value) == nil {
		m.value, m.present = value, true
	}
	return nil
}

// list is a list. Elements that do not decode into a T are dropped; a single T stands for a list of one.
type list[T any] []T

// UnmarshalJSON accepts any JSON value.
func (l *list[T]) UnmarshalJSON(raw []byte) error {
	*l = nil
	var all []T
	if json.Unmarshal(raw, &all) == nil {
		*l = all
		return nil
	}
	elements := []json.RawMessage{raw}
	if raw[0] == '[' && json.Unmarshal(raw, &elements) != nil {
		return nil
	}
	for _, element := range elements {
		var value T
		if json.Unmarshal(element, &value) == nil {
			*l = append(*l, value)
		}
	}
	return nil
}

// label is a short string: an id, a name, a reason. A number stands for its digits.
type label string

// UnmarshalJSON accepts any JSON value.
func (l *label) UnmarshalJSON(raw []byte) error {
	*l = ""
	switch {
	case raw[0] == '"':
		var text string
		if json.Unmarshal(raw, &text) == nil {
			*l = label(text)
		}
	case isNumber(raw):
		*l = label(raw)
	}
	return nil
}

// isNumber reports whether raw, a valid JSON value, is a number.
func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// count is a number of tokens. A string stands for the number in it; fractions are cut; a negative number, or
// anything else, is 0.
type count int

// UnmarshalJSON accepts any JSON value.
func (c *count) UnmarshalJSON(raw []byte) error {
	*c = 0
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.Trim(string(raw), `"`)), 64)
	if (err == nil || math.IsInf(n, 1)) && !math.IsNaN(n) {
		*c = count(max(0, min(n, history.MaxTokens)))
	}
	return nil
}

// prose is a text of a reply: a string, a list of parts, or one part.
type prose []span

// span is a part of a prose, either text or thinking.
type span struct {
	thinking bool
	fragment
}

// UnmarshalJSON accepts any JSON value. Parts of unknown types hold no text.
func (p *prose) UnmarshalJSON(raw []byte) error {
	*p = (*p)[:0]
	p.add(raw, false)
	return nil
}

func (p *prose) add(raw json.RawMessage, thinking bool) {
	if len(raw) == 0 {
		return
	}
	switch {
	case raw[0] == '"':
		var f fragment
		if f.UnmarshalJSON(raw) == nil && f != (fragment{}) {
			*p = append(*p, span{thinking, f})
		}
	case isNumber(raw):
		*p = append(*p, span{thinking, fragment{text: string(raw)}})
	case raw[0] == '[':
		var parts []json.RawMessage
		if json.Unmarshal(raw, &parts) == nil {
			for _, part := range parts {
				p.add(part, thinking)
			}
		}
	case raw[0] == '{':
		p.addPart(raw, thinking)
	}
}

func (p *prose) addPart(raw json.RawMessage, thinking bool) {
	var part struct {
		Type                               label
		Text, Thinking, Reasoning, Refusal json.RawMessage
	}
	if json.Unmarshal(raw, &part) != nil {
		return
	}
	switch part.Type {
	case "", "text", "output_text", "text_delta", "summary_text", "refusal":
		p.add(part.Text, thinking)
		p.add(part.Refusal, thinking)
	case "thinking", "reasoning", "reasoning_text", "thinking_delta":
		p.add(part.Thinking, true)
		p.add(part.Reasoning, true)
		p.add(part.Text, true)
	}
}

// thinkingOnly returns p as thinking, for a member that holds nothing else.
func (p prose) thinkingOnly() prose {
	for i := range p {
		p[i].thinking = true
	}
	return p
}

// arguments are those of a call: a string that may be one fragment of many, or a whole JSON value.
type argsDelta struct{ fragment }

// UnmarshalJSON accepts any JSON value.
func (a *argsDelta) UnmarshalJSON(raw []byte) error {
	a.fragment = fragment{}
	switch {
	case raw[0] == '"':
		return a.fragment.UnmarshalJSON(raw)
	case raw[0] == '{' || raw[0] == '[':
		var compact bytes.Buffer
		if json.Compact(&compact, raw) == nil {
			a.text = compact.String()
		}
	}
	return nil
}
