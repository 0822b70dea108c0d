package plainjson

import (
	"bytes"
	"unicode/utf8"
)

// Reader reads JSON of an expected form. Its methods skip blanks before what they read, and return false, having read any
// part of it, for what they do not expect. Texts read from a string are parts of it if they have no escapes; those read
// from bytes are copies.
type Reader[T string | []byte] struct {
	Rest T

	buf []byte // of a text with escapes
}

func (r *Reader[T]) skipBlanks() {
	for len(r.Rest) > 0 && (r.Rest[0] == ' ' || r.Rest[0] == '\n' || r.Rest[0] == '\t' || r.Rest[0] == '\r') {
		r.Rest = r.Rest[1:]
	}
}

// Ended reports whether nothing follows.
func (r *Reader[T]) Ended() bool {
	r.skipBlanks()
	return len(r.Rest) == 0
}

// Next reads a character. It reads nothing if that is not c.
func (r *Reader[T]) Next(c byte) bool {
	r.skipBlanks()
	if len(r.Rest) == 0 || r.Rest[0] != c {
		return false
	}
	r.Rest = r.Rest[1:]
	return true
}

// Object reads an object that is not empty. Its names are among names, of which there are at most 64, each at most once;
// value reads the value of one.
func (r *Reader[T]) Object(names []string, value func(name string) bool) bool {
	if !r.Next('{') {
		return false
	}
	var seen uint64
	for {
		name, ok := r.Bare()
		i := indexOf(names, name)
		if !ok || i < 0 || seen&(1<<i) != 0 || !r.Next(':') || !value(names[i]) {
			return false
		}
		seen |= 1 << i
		if r.Next('}') {
			return true
		}
		if !r.Next(',') {
			return false
		}
	}
}

// Array reads an array that is not empty; element reads one of its elements.
func (r *Reader[T]) Array(element func() bool) bool {
	if !r.Next('[') {
		return false
	}
	for {
		if !element() {
			return false
		}
		if r.Next(']') {
			return true
		}
		if !r.Next(',') {
			return false
		}
	}
}

// indexOf returns the index of name, -1 for none.
func indexOf[T string | []byte](names []string, name T) int {
	for i := range names {
		if names[i] == string(name) {
			return i
		}
	}
	return -1
}

// Bare reads a string without escapes and returns the bytes between its quotes, which may not be UTF-8.
func (r *Reader[T]) Bare() (inner T, ok bool) {
	if !r.Next('"') {
		return inner, false
	}
	n := plainBytes(r.Rest)
	if n == len(r.Rest) || r.Rest[n] != '"' {
		return inner, false
	}
	inner, r.Rest = r.Rest[:n], r.Rest[n+1:]
	return inner, true
}

// Word reads a certain string.
func (r *Reader[T]) Word(want string) bool {
	inner, ok := r.Bare()
	return ok && string(inner) == want
}

// Null reads null. It reads nothing if that is not there.
func (r *Reader[T]) Null() bool { return r.literal("null") }

// True reads true. It reads nothing if that is not there.
func (r *Reader[T]) True() bool { return r.literal("true") }

func (r *Reader[T]) literal(want string) bool {
	r.skipBlanks()
	if len(r.Rest) < len(want) || string(r.Rest[:len(want)]) != want {
		return false
	}
	r.Rest = r.Rest[len(want):]
	return true
}

// Number reads a number of at most 18 digits, without a sign or a fraction.
func (r *Reader[T]) Number() (n int, ok bool) {
	r.skipBlanks()
	digits := 0
	for digits < len(r.Rest) && r.Rest[digits] >= '0' && r.Rest[digits] <= '9' {
		n = n*10 + int(r.Rest[digits]-'0')
		if digits++; digits > 18 {
			return 0, false
		}
	}
	leadingZero := digits > 1 && r.Rest[0] == '0'
	r.Rest = r.Rest[digits:]
	return n, digits > 0 && !leadingZero
}

// Scalar reads a value that says nothing: null, a number, or a string without escapes.
func (r *Reader[T]) Scalar() bool {
	if r.Null() {
		return true
	}
	if len(r.Rest) > 0 && r.Rest[0] == '"' {
		_, ok := r.Bare()
		return ok
	}
	_, ok := r.Number()
	return ok
}

// Text reads a string of valid UTF-8. It does not accept an escape that is half of a surrogate pair.
func (r *Reader[T]) Text() (text string, ok bool) {
	if !r.Next('"') {
		return "", false
	}
	n := plainBytes(r.Rest)
	if n < len(r.Rest) && r.Rest[n] == '"' {
		text, r.Rest = string(r.Rest[:n]), r.Rest[n+1:]
		return text, utf8.ValidString(text)
	}
	out := r.buf[:0]
	for n < len(r.Rest) && r.Rest[n] == '\\' {
		out = append(out, r.Rest[:n]...)
		r.Rest = r.Rest[n+1:]
		if out, ok = r.escape(out); !ok {
			return "", false
		}
		n = plainBytes(r.Rest)
	}
	if n == len(r.Rest) || r.Rest[n] != '"' {
		return "", false
	}
	out = append(out, r.Rest[:n]...)
	r.Rest, r.buf = r.Rest[n+1:], out
	return string(out), utf8.Valid(out)
}

// escape appends the character of an escape, whose backslash was read, to out.
func (r *Reader[T]) escape(out []byte) ([]byte, bool) {
	if len(r.Rest) == 0 {
		return out, false
	}
	kind := r.Rest[0]
	if kind == 'u' {
		return r.unicode(out)
	}
	i := bytes.IndexByte([]byte(`"\/bfnrt`), kind)
	if i < 0 {
		return out, false
	}
	r.Rest = r.Rest[1:]
	return append(out, "\"\\/\b\f\n\r\t"[i]), true
}

// unicode appends the character of an escape of the form uXXXX to out.
func (r *Reader[T]) unicode(out []byte) ([]byte, bool) {
	if len(r.Rest) < 5 {
		return out, false
	}
	var char rune
	for i := 1; i < 5; i++ {
		switch c := r.Rest[i]; {
		case c >= '0' && c <= '9':
			char = char<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			char = char<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			char = char<<4 | rune(c-'A'+10)
		default:
			return out, false
		}
	}
	r.Rest = r.Rest[5:]
	return utf8.AppendRune(out, char), utf8.ValidRune(char)
}
