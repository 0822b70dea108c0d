// Package exact decodes JSON that others have written into Go values. Unlike encoding/json it matches names exactly, and
// its errors name the place in the JSON and what is expected there, never a Go type. It must never log or keep its input.
package exact

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Error describes a wrong value to the author of the JSON.
type Error struct {
	Path string // of the value, "params.prompt[2].text"
	Want string // predicate: "must be a string", "is missing"
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.Path == "":
		return e.Want
	case e.Want == missing:
		return e.Path + " " + e.Want
	}
	return e.Path + ": " + e.Want
}

const missing = "is missing"

// maxWhole is the largest whole number: larger ones are not exact in JSON (RFC 8259, section 6), and sums of them overflow.
const maxWhole = 1<<53 - 1

// Want returns the error of an UnmarshalJSON for a value that must be something else: "must be ...".
func Want(predicate string) *Error { return &Error{Want: predicate} }

// Missing returns the error for a member that is not there: path is ".name".
func Missing(path string) *Error { return &Error{Path: path, Want: missing} }

// Decode decodes JSON into the value that into points to. path is the name of the JSON in errors; it may be empty. The
// error is an *Error.
//
// Names in objects match exactly. Whole numbers are at most 2^53-1. Unknown names are ignored; of a repeated name the last
// value counts. null is the same as a missing name. A field with the tag `need:"value"` must have a value, one with
// `need:"content"` a value that is not empty.
func Decode(raw []byte, path string, into any) error {
	if !json.Valid(raw) {
		return &Error{Path: path, Want: "must be valid JSON"}
	}
	d := &decoder{raw: raw}
	if fault := d.value(reflect.ValueOf(into).Elem()); fault != nil {
		fault.Path = strings.TrimPrefix(path+fault.Path, ".")
		return fault
	}
	return nil
}

// decoder is a position in valid JSON.
type decoder struct {
	raw []byte
	at  int
}

// value decodes the value at the position into v, and moves behind it.
func (d *decoder) value(v reflect.Value) *Error {
	switch d.space(); {
	case d.raw[d.at] == 'n':
		d.at += len("null")
		v.SetZero()
		return nil
	case v.Kind() == reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		v.Set(target)
		return d.value(target.Elem())
	}
	switch into := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*into = bytes.Clone(d.skip())
		return nil
	case *[]byte:
		return d.bytes(into)
	case json.Unmarshaler:
		return own(into, into.UnmarshalJSON(d.skip()))
	case encoding.TextUnmarshaler:
		text, fault := d.text()
		if fault != nil {
			return fault
		}
		return own(into, into.UnmarshalText([]byte(text)))
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.object(v)
	case reflect.Map:
		return d.table(v)
	case reflect.Slice, reflect.Array:
		return d.list(v)
	default:
		return d.scalar(v)
	}
}

// own returns the error of a type that decodes itself.
func own(into any, err error) *Error {
	if err == nil {
		return nil
	}
	if fault, ok := err.(*Error); ok {
		return fault
	}
	if _, ok := into.(*time.Time); ok {
		return Want("must be a time as of RFC 3339")
	}
	return Want("has an unexpected value")
}

// object decodes an object into a struct.
func (d *decoder) object(v reflect.Value) *Error {
	if d.raw[d.at] != '{' {
		return Want("must be an object")
	}
	fields := fieldsOf(v.Type())
	given := make([]bool, len(fields.all))
	fault := d.members(func(name string) *Error {
		i, known := fields.byName[name]
		if !known {
			d.skip()
			return nil
		}
		given[i] = d.raw[d.at] != 'n'
		return d.value(v.FieldByIndex(fields.all[i].index))
	})
	for i := 0; fault == nil && i < len(given); i++ {
		f := &fields.all[i]
		switch {
		case f.need == "" || given[i] && (f.need != needContent || v.FieldByIndex(f.index).Len() > 0):
		case given[i]:
			fault = &Error{Path: "." + f.name, Want: "must not be empty"}
		default:
			fault = Missing("." + f.name)
		}
	}
	return fault
}

// table decodes an object into a map.
func (d *decoder) table(v reflect.Value) *Error {
	if d.raw[d.at] != '{' {
		return Want("must be an object")
	}
	all := reflect.MakeMap(v.Type())
	fault := d.members(func(name string) *Error {
		element := reflect.New(v.Type().Elem()).Elem()
		fault := d.value(element)
		all.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
		return fault
	})
	v.Set(all)
	return fault
}

// members calls use for each member of the object at the position. use must move behind the value.
func (d *decoder) members(use func(name string) *Error) *Error {
	d.at++
	for d.space(); d.raw[d.at] != '}'; d.space() {
		if d.raw[d.at] == ',' {
			d.at++
			continue
		}
		name, _ := d.text()
		d.space()
		d.at++ // the colon
		d.space()
		if fault := use(name); fault != nil {
			fault.Path = "." + shortened(name) + fault.Path
			return fault
		}
	}
	d.at++
	return nil
}

// shortened returns a name for an error. Only the names of a table can be long.
func shortened(name string) string {
	const limit = 100
	if len(name) > limit {
		return string([]rune(name[:limit])) + "…"
	}
	return name
}

// list decodes a list into a slice or an array.
func (d *decoder) list(v reflect.Value) *Error {
	if d.raw[d.at] != '[' {
		return Want("must be a list")
	}
	d.at++
	n := 0
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	for d.space(); d.raw[d.at] != ']'; d.space() {
		if d.raw[d.at] == ',' {
			d.at++
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if fault := d.value(element); fault != nil {
			fault.Path = fmt.Sprintf("[%d]%s", n, fault.Path)
			return fault
		}
		switch {
		case v.Kind() == reflect.Slice:
			v.Set(reflect.Append(v, element))
		case n < v.Len():
			v.Index(n).Set(element)
		}
		n++
	}
	d.at++
	if v.Kind() == reflect.Array && n != v.Len() {
		return Want(fmt.Sprintf("must be a list of %d elements", v.Len()))
	}
	return nil
}

// scalar decodes a string, a number or a truth value.
func (d *decoder) scalar(v reflect.Value) *Error {
	switch v.Kind() {
	case reflect.String:
		text, fault := d.text()
		v.SetString(text)
		return fault
	case reflect.Bool:
		switch string(d.skip()) {
		case "true":
			v.SetBool(true)
		case "false":
		default:
			return Want("must be true or false")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		largest := min(int64(math.MaxInt64)>>(64-v.Type().Bits()), maxWhole)
		n, err := strconv.ParseInt(string(d.skip()), 10, 64)
		switch {
		case isRange(err) || err == nil && (n > largest || n < -largest):
			return Want(fmt.Sprintf("must be a whole number from %d to %d", -largest, largest))
		case err != nil:
			return Want("must be a whole number")
		}
		v.SetInt(n)
	case reflect.Float64:
		raw := d.skip()
		n, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || raw[0] == '"' {
			return Want("must be a number")
		}
		v.SetFloat(n)
	case reflect.Interface:
		var any any
		if err := json.Unmarshal(d.skip(), &any); err != nil {
			return Want("has an unexpected value")
		}
		v.Set(reflect.ValueOf(any))
	default:
		panic("exact: unsupported type " + v.Type().String())
	}
	return nil
}

func isRange(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

// bytes decodes base64.
func (d *decoder) bytes(into *[]byte) *Error {
	const want = "must be base64 text"
	if d.raw[d.at] != '"' {
		return Want(want)
	}
	raw := d.skip()
	text := raw[1 : len(raw)-1]
	if bytes.HasPrefix(text, []byte("data:")) {
		return Want(want + ", not a data: URL")
	}
	if bytes.IndexByte(text, '\\') >= 0 { // "\/" is an escape of a character of base64
		var unescaped string
		if err := json.Unmarshal(raw, &unescaped); err != nil {
			return Want(want)
		}
		text = []byte(unescaped)
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(decoded, text)
	if err != nil {
		return Want(want)
	}
	*into = decoded[:n]
	return nil
}

// text decodes a string.
func (d *decoder) text() (string, *Error) {
	if d.raw[d.at] != '"' {
		return "", Want("must be a string")
	}
	var text string
	if err := json.Unmarshal(d.skip(), &text); err != nil {
		return "", Want("must be a string")
	}
	return text, nil
}

func (d *decoder) space() {
	for d.raw[d.at] <= ' ' {
		d.at++
	}
}

// skip moves behind the value at the position and returns it.
func (d *decoder) skip() []byte {
	d.space()
	start, depth := d.at, 0
	for ; d.at < len(d.raw); d.at++ {
		switch c := d.raw[d.at]; {
		case c == '"':
			d.at = stringEnd(d.raw, d.at)
		case c == '{' || c == '[':
			depth++
			continue
		case c == '}' || c == ']':
			depth--
		case c <= ' ' || c == ',' || c == ':':
			continue
		default:
			for d.at+1 < len(d.raw) && !bytes.ContainsRune([]byte(" \t\r\n,:]}"), rune(d.raw[d.at+1])) {
				d.at++
			}
		}
		if depth == 0 {
			d.at++
			break
		}
	}
	return d.raw[start:d.at]
}

// stringEnd returns the index of the quote that ends the string that starts at start.
func stringEnd(raw []byte, start int) int {
	for i := start + 1; ; i++ {
		i += bytes.IndexByte(raw[i:], '"')
		escapes := 0
		for raw[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
