package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"strata/filecontext"
	"strata/internal/clip"
)

// The bounds of a schema.
const (
	MaxSchema      = 64 << 10 // bytes
	maxSchemaDepth = 32
	maxListed      = 12 // values or names in a message
)

// Schema checks inputs by a JSON schema. It knows type, required, properties, items, enum, additionalProperties, minimum and
// maximum; other keywords are ignored. It is immutable.
type Schema struct {
	raw json.RawMessage // without blanks

	never      bool     // the schema false
	types      []string // any of them; empty: all
	enum       []any
	minimum    *float64
	maximum    *float64
	required   []string
	properties map[string]*Schema
	additional *Schema // nil: any
	items      *Schema // nil: any
}

// ParseSchema returns the schema of a tool's input, which must be an object. The error begins with the path of the keyword.
func ParseSchema(raw json.RawMessage) (*Schema, error) {
	if len(raw) > MaxSchema {
		return nil, fmt.Errorf(": %d bytes exceeds the limit of %d", len(raw), MaxSchema)
	}
	var keywords map[string]json.RawMessage
	if json.Unmarshal(raw, &keywords) != nil || keywords == nil {
		return nil, errors.New(": must be an object")
	}
	s, err := parseSchema(raw, 0)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(s.types, []string{"object"}) {
		return nil, errors.New(`.type: must be "object"`)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, errors.New(": must be valid JSON")
	}
	s.raw = compact.Bytes()
	return s, nil
}

// SortedSchema returns the schema of a tool's input with the members of objects sorted by name: not all programs write equal
// schemas as equal bytes. The error is that of ParseSchema.
func SortedSchema(raw json.RawMessage) (json.RawMessage, error) {
	if _, err := ParseSchema(raw); err != nil {
		return nil, err
	}
	v, err := decodeValue(string(raw))
	if err != nil {
		return nil, errors.New(": must be valid JSON")
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, errors.New(": must be valid JSON")
	}
	sorted := bytes.TrimSpace(out.Bytes())
	_, err = ParseSchema(sorted) // characters that JSON escapes make it longer
	return sorted, err
}

var jsonTypes = []string{"object", "array", "string", "integer", "number", "boolean", "null"}

func parseSchema(raw json.RawMessage, depth int) (*Schema, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf(": is nested more than %d levels deep", maxSchemaDepth)
	}
	var allowed bool
	if json.Unmarshal(raw, &allowed) == nil && !isNull(raw) {
		return &Schema{never: !allowed}, nil
	}
	var keywords map[string]json.RawMessage
	if json.Unmarshal(raw, &keywords) != nil || keywords == nil {
		return nil, errors.New(": must be a schema")
	}
	s := &Schema{}
	read := map[string]func(json.RawMessage) error{
		"type":                 s.readTypes,
		"enum":                 func(raw json.RawMessage) (err error) { s.enum, err = values(raw); return err },
		"minimum":              func(raw json.RawMessage) error { return into(raw, &s.minimum, "a number") },
		"maximum":              func(raw json.RawMessage) error { return into(raw, &s.maximum, "a number") },
		"required":             func(raw json.RawMessage) error { return into(raw, &s.required, "a list of names") },
		"properties":           func(raw json.RawMessage) error { return s.readProperties(raw, depth) },
		"additionalProperties": func(raw json.RawMessage) (err error) { s.additional, err = parseSchema(raw, depth+1); return err },
		"items":                func(raw json.RawMessage) error { return s.readItems(raw, depth) },
	}
	for _, name := range slices.Sorted(maps.Keys(keywords)) {
		if read[name] == nil {
			continue
		}
		if err := read[name](keywords[name]); err != nil {
			return nil, fmt.Errorf(".%s%w", name, err)
		}
	}
	slices.Sort(s.required)
	return s, nil
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

func into(raw json.RawMessage, v any, want string) error {
	if json.Unmarshal(raw, v) != nil {
		return errors.New(": must be " + want)
	}
	return nil
}

func values(raw json.RawMessage) ([]any, error) {
	v, err := decodeValue(string(raw))
	list, ok := v.([]any)
	if err != nil || !ok || len(list) == 0 {
		return nil, errors.New(": must be a list of values")
	}
	return list, nil
}

func (s *Schema) readTypes(raw json.RawMessage) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		s.types = []string{one}
	} else if json.Unmarshal(raw, &s.types) != nil {
		return errors.New(": must be a type or a list of types")
	}
	for _, name := range s.types {
		if !slices.Contains(jsonTypes, name) {
			return fmt.Errorf(": %q is not a type", clip.Name(name))
		}
	}
	return nil
}

func (s *Schema) readProperties(raw json.RawMessage, depth int) error {
	var all map[string]json.RawMessage
	if err := into(raw, &all, "an object"); err != nil {
		return err
	}
	s.properties = make(map[string]*Schema, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		child, err := parseSchema(all[name], depth+1)
		if err != nil {
			return fmt.Errorf(".%s%w", clip.Name(name), err)
		}
		s.properties[name] = child
	}
	return nil
}

// readItems reads the schema of all items. A list, which has one schema for each item in old schemas, is ignored.
func (s *Schema) readItems(raw json.RawMessage, depth int) (err error) {
	if strings.HasPrefix(string(bytes.TrimSpace(raw)), "[") {
		return nil
	}
	s.items, err = parseSchema(raw, depth+1)
	return err
}

// Check checks the arguments of a call as a model wrote them, and returns them as the tool gets them: empty arguments are an
// empty object, members that are null but neither may be nor are required are removed, and whole numbers have no fraction. The
// error is a sentence for the model: the path of the member, and what was expected there.
func (s *Schema) Check(args string) (json.RawMessage, error) {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	v, err := decodeValue(args)
	if err != nil {
		return nil, err
	}
	c := checker{}
	v, err = c.check(s, v, "")
	if err != nil {
		return nil, err
	}
	if !c.changed {
		return json.RawMessage(args), nil
	}
	return json.Marshal(v)
}

// decodeValue decodes one JSON value, with numbers as json.Number.
func decodeValue(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, errors.New("the input ends in the middle of the JSON")
		}
		return nil, fmt.Errorf("the input is not valid JSON (%v)", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("the input has text after the JSON object")
	}
	return v, nil
}

// checker checks one input.
type checker struct {
	changed bool // the value differs from the input
}

// check returns v as the tool gets it.
func (c *checker) check(s *Schema, v any, path string) (any, error) {
	if s.never {
		return nil, wrong(path, "must be left out")
	}
	if len(s.types) > 0 && !slices.ContainsFunc(s.types, func(name string) bool { return hasType(v, name) }) {
		return nil, wrong(path, "must be %s, not %s", typeNames(s.types), describe(v))
	}
	if s.enum != nil && !slices.ContainsFunc(s.enum, func(one any) bool { return equalValues(one, v) }) {
		return nil, wrong(path, "must be one of %s, not %s", listValues(s.enum), describe(v))
	}
	switch v := v.(type) {
	case json.Number:
		return c.number(s, v, path)
	case []any:
		return v, c.list(s, v, path)
	case map[string]any:
		return v, c.object(s, v, path)
	}
	return v, nil
}

func (c *checker) number(s *Schema, v json.Number, path string) (any, error) {
	n, _ := v.Float64()
	if s.minimum != nil && n < *s.minimum {
		return nil, wrong(path, "must be at least %v, not %s", *s.minimum, describe(v))
	}
	if s.maximum != nil && n > *s.maximum {
		return nil, wrong(path, "must be at most %v, not %s", *s.maximum, describe(v))
	}
	if slices.Contains(s.types, "integer") && strings.ContainsAny(v.String(), ".eE") && isWhole(v) && math.Abs(n) < 1<<53 {
		c.changed = true
		return json.Number(strconv.FormatInt(int64(n), 10)), nil
	}
	return v, nil
}

func (c *checker) list(s *Schema, list []any, path string) error {
	if s.items == nil {
		return nil
	}
	for i := range list {
		v, err := c.check(s.items, list[i], fmt.Sprintf("%s[%d]", path, i))
		if err != nil {
			return err
		}
		list[i] = v
	}
	return nil
}

func (c *checker) object(s *Schema, members map[string]any, path string) error {
	for _, name := range s.required {
		if _, ok := members[name]; !ok {
			return fmt.Errorf("%s is missing", member(path, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		child, known := s.properties[name]
		if !known {
			child = s.additional
		}
		switch {
		case child == nil:
		case !known && child.never:
			return fmt.Errorf("%s is unknown; %s", member(path, name), s.listProperties())
		case members[name] == nil && !slices.Contains(s.required, name) && !child.takesNull():
			delete(members, name)
			c.changed = true
		default:
			v, err := c.check(child, members[name], member(path, name))
			if err != nil {
				return err
			}
			members[name] = v
		}
	}
	return nil
}

// takesNull reports whether null is a valid value.
func (s *Schema) takesNull() bool {
	isNull := func(v any) bool { return v == nil }
	return (len(s.types) == 0 || slices.Contains(s.types, "null")) && (s.enum == nil || slices.ContainsFunc(s.enum, isNull))
}

// listProperties returns which members there are.
func (s *Schema) listProperties() string {
	if len(s.properties) == 0 {
		return "no members are expected"
	}
	return "the members are " + listed(slices.Sorted(maps.Keys(s.properties)))
}

// wrong returns the error for the value at a path, "" for the whole input.
func wrong(path, format string, args ...any) error {
	if path == "" {
		path = "the input"
	}
	return fmt.Errorf("%s %s", path, fmt.Sprintf(format, args...))
}

// member returns the path of a member of the object at path.
func member(path, name string) string {
	name = filecontext.Printable(clip.Name(name))
	if path == "" {
		return name
	}
	return path + "." + name
}

func hasType(v any, name string) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		return name == "number" || name == "integer" && isWhole(v)
	case []any:
		return name == "array"
	default:
		return name == "object"
	}
}

func isWhole(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f)
}

func equalValues(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		x, _ := a.Float64()
		y, _ := b.Float64()
		return ok && x == y
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalValues)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// typeNames returns types in words.
func typeNames(types []string) string {
	words := map[string]string{"object": "an object", "array": "a list", "string": "a string", "integer": "a whole number",
		"number": "a number", "boolean": "true or false", "null": "null"}
	var all []string
	for _, name := range types {
		all = append(all, words[name])
	}
	return strings.Join(all, " or ")
}

// describe returns a value in a few words.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return strconv.Quote(clip.Name(v))
	case json.Number:
		return clip.Name(v.String())
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

func listValues(all []any) string {
	var words []string
	for _, v := range all {
		words = append(words, describe(v))
	}
	return listed(words)
}

func listed(words []string) string {
	if more := len(words) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxListed], ", "), more)
	}
	return strings.Join(words, ", ")
}
