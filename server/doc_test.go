package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// updateDocs makes the tests of documents write outdated parts.
var updateDocs = flag.Bool("update", false, "write what is out of date in the documents")

// writeDoc writes text to a document if -update is set; otherwise it fails if the old text is outdated.
func writeDoc(t *testing.T, path, old, text string) {
	t.Helper()
	switch {
	case old == text:
	case *updateDocs:
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date, run with -update (-document +server):\n%s", path, cmp.Diff(old, text))
	}
}

func readDoc(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// object is a JSON object whose members keep their order.
type object []field

type field struct {
	key   string
	value any
}

// get returns the value of a member, or nil.
func (o object) get(key string) any {
	i := slices.IndexFunc(o, func(f field) bool { return f.key == key })
	if i < 0 {
		return nil
	}
	return o[i].value
}

// at returns the text of the member at a path, or an empty text.
func (o object) at(path ...string) string {
	var value any = o
	for _, key := range path {
		inner, ok := value.(object)
		if !ok {
			return ""
		}
		value = inner.get(key)
	}
	if value == nil {
		return ""
	}
	return strings.Trim(printLine(value), `"`)
}

// parseJSON reads one JSON value: an object, a []any, a string, a json.Number, a bool or nil.
func parseJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := readValue(decoder)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the value")
	}
	return value, nil
}

func readValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return readObject(decoder)
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := readValue(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := decoder.Token()
		return list, err
	}
	return token, nil
}

func readObject(decoder *json.Decoder) (any, error) {
	o := object{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		value, err := readValue(decoder)
		if err != nil {
			return nil, err
		}
		o = append(o, field{key.(string), value})
	}
	_, err := decoder.Token()
	return o, err
}

// exampleWidth is the maximum length of an example's lines, in characters.
const exampleWidth = 118

// printJSON formats a value: on one line if it fits, otherwise with its parts on separate lines, several per line if
// they fit. used is the used part of the first line, in characters.
func printJSON(value any, width, used int) string {
	if line := printLine(value); len([]rune(line)) <= width-used {
		return line
	}
	var parts []string
	switch v := value.(type) {
	case object:
		for _, f := range v {
			key := printLine(f.key) + ": "
			parts = append(parts, key+printJSON(f.value, width-2, len(key)+1))
		}
		return "{\n  " + indent(fill(parts, width-2)) + "\n}"
	case []any:
		for _, element := range v {
			parts = append(parts, printJSON(element, width-2, 1))
		}
		return "[\n  " + indent(fill(parts, width-2)) + "\n]"
	}
	return printLine(value)
}

// fill puts parts on lines, as many per line as fit.
func fill(parts []string, width int) string {
	var lines []string
	open := false // the last line has room for more
	for i, part := range parts {
		if i+1 < len(parts) {
			part += ","
		}
		single := !strings.Contains(part, "\n")
		if last := len(lines) - 1; open && single && len([]rune(lines[last]))+1+len([]rune(part)) <= width {
			lines[last] += " " + part
			continue
		}
		lines = append(lines, part)
		open = single
	}
	return strings.Join(lines, "\n")
}

func printLine(value any) string {
	var parts []string
	switch v := value.(type) {
	case object:
		for _, f := range v {
			parts = append(parts, printLine(f.key)+": "+printLine(f.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, element := range v {
			parts = append(parts, printLine(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // v was decoded from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// shape returns the keys of a value at all levels with the JSON type of each; of a list, the shapes of its elements.
func shape(value any) string {
	var parts []string
	switch v := value.(type) {
	case object:
		for _, f := range v {
			parts = append(parts, f.key+": "+indent(shape(f.value)))
		}
		slices.Sort(parts)
		return "{\n  " + strings.Join(parts, "\n  ") + "\n}"
	case []any:
		for _, element := range v {
			parts = append(parts, indent(shape(element)))
		}
		slices.Sort(parts)
		return "[\n  " + strings.Join(slices.Compact(parts), "\n  ") + "\n]"
	case nil:
		return "null"
	case json.Number:
		return "number"
	default:
		return fmt.Sprintf("%T", v)
	}
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

func TestShapes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, a, b string
		same       bool
	}{
		{"other values", `{"a":1,"b":"x"}`, `{"b":"y","a":2.5}`, true},
		{"another type", `{"a":1}`, `{"a":"1"}`, false},
		{"a key more", `{"a":1}`, `{"a":1,"b":null}`, false},
		{"deeper", `{"a":{"b":[{"c":1}]}}`, `{"a":{"b":[{"c":true}]}}`, false},
		{"longer lists", `[1]`, `[1,2,3]`, true},
		{"an empty list", `[1]`, `[]`, false},
		{"kinds of elements", `[{"a":1},{"b":1}]`, `[{"b":2},{"a":1},{"a":3}]`, true},
		{"a kind of element more", `[{"a":1}]`, `[{"a":1},{"b":1}]`, false},
	}
	for _, tt := range tests {
		a, errA := parseJSON([]byte(tt.a))
		b, errB := parseJSON([]byte(tt.b))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if got := shape(a) == shape(b); got != tt.same {
			t.Errorf("%s: the same shape: %v, want %v", tt.name, got, tt.same)
		}
	}
}

func TestPrintJSON(t *testing.T) {
	t.Parallel()
	value, err := parseJSON([]byte(`{"b":1,"list":[{"a":"<x>"},{"long":"0123456789012345678901234567890123456789"}],"n":null}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "b": 1,
  "list": [
    {"a": "<x>"},
    {
      "long": "0123456789012345678901234567890123456789"
    }
  ],
  "n": null
}`
	if got := printJSON(value, 40, 0); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
