package reply

import (
	"bytes"
	"unicode/utf8"
)

// plainReader reads JSON of an expected form. Its methods skip blanks before what they read, and return false, having read
// any part of it, for what they do not expect.
type plainReader struct{ rest []byte }

func (p *plainReader) skipBlanks() {
	for len(p.rest) > 0 && (p.rest[0] == ' ' || p.rest[0] == '\n' || p.rest[0] == '\t' || p.rest[0] == '\r') {
		p.rest = p.rest[1:]
	}
}

// ended reports whether nothing follows.
func (p *plainReader) ended() bool {
	p.skipBlanks()
	return len(p.rest) == 0
}

// next reads a character. It reads nothing if that is not c.
func (p *plainReader) next(c byte) bool {
	p.skipBlanks()
	if len(p.rest) == 0 || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// object reads an object that is not empty. Its names are among names, each at most once; value reads the value of one.
func (p *plainReader) object(names []string, value func(name string) bool) bool {
	if !p.next('{') {
		return false
	}
	var seen uint
	for {
		name, ok := p.bare()
		i := indexOf(names, name)
		if !ok || i < 0 || seen&(1<<i) != 0 || !p.next(':') || !value(names[i]) {
			return false
		}
		seen |= 1 << i
		if p.next('}') {
			return true
		}
		if !p.next(',') {
			return false
		}
	}
}

// indexOf returns the index of name, -1 for none.
func indexOf(names []string, name []byte) int {
	for i := range names {
		if names[i] == string(name) {
			return i
		}
	}
	return -1
}

// bare reads a string without escapes and returns what is between its quotes.
func (p *plainReader) bare() (inner []byte, ok bool) {
	if !p.next('"') {
		return nil, false
	}
	n := plainBytes(p.rest)
	if n == len(p.rest) || p.rest[n] != '"' {
		return nil, false
	}
	inner, p.rest = p.rest[:n], p.rest[n+1:]
	return inner, true
}

// plainBytes returns the length of the text up to a quote, an escape or a control character, which JSON does not allow.
func plainBytes(in []byte) int {
	for i, c := range in {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(in)
}

// word reads a certain string.
func (p *plainReader) word(want string) bool {
	inner, ok := p.bare()
	return ok && string(inner) == want
}

// null reads null. It reads nothing if that is not there.
func (p *plainReader) null() bool { return p.literal("null") }

func (p *plainReader) literal(want string) bool {
	p.skipBlanks()
	rest, ok := bytes.CutPrefix(p.rest, []byte(want))
	if ok {
		p.rest = rest
	}
	return ok
}

// number reads a number of at most 18 digits, without a sign or a fraction.
func (p *plainReader) number() (n int, ok bool) {
	p.skipBlanks()
	digits := 0
	for digits < len(p.rest) && p.rest[digits] >= '0' && p.rest[digits] <= '9' {
		n = n*10 + int(p.rest[digits]-'0')
		if digits++; digits > 18 {
			return 0, false
		}
	}
	leadingZero := digits > 1 && p.rest[0] == '0'
	p.rest = p.rest[digits:]
	return n, digits > 0 && !leadingZero
}

// scalar reads a value that says nothing: null, a number, or a string without escapes.
func (p *plainReader) scalar() bool {
	if p.null() {
		return true
	}
	if len(p.rest) > 0 && p.rest[0] == '"' {
		_, ok := p.bare()
		return ok
	}
	_, ok := p.number()
	return ok
}

// text reads a string of valid UTF-8. It does not accept an escape that is half of a surrogate pair.
func (p *plainReader) text() (text string, ok bool) {
	if !p.next('"') {
		return "", false
	}
	n := plainBytes(p.rest)
	if n < len(p.rest) && p.rest[n] == '"' {
		text, p.rest = string(p.rest[:n]), p.rest[n+1:]
		return text, utf8.ValidString(text)
	}
	var out []byte
	for n < len(p.rest) && p.rest[n] == '\\' {
		out = append(out, p.rest[:n]...)
		p.rest = p.rest[n+1:]
		if out, ok = p.escape(out); !ok {
			return "", false
		}
		n = plainBytes(p.rest)
	}
	if n == len(p.rest) || p.rest[n] != '"' {
		return "", false
	}
	out = append(out, p.rest[:n]...)
	p.rest = p.rest[n+1:]
	return string(out), utf8.Valid(out)
}

// escape appends the character of an escape, whose backslash was read, to out.
func (p *plainReader) escape(out []byte) ([]byte, bool) {
	if len(p.rest) == 0 {
		return out, false
	}
	kind := p.rest[0]
	if kind == 'u' {
		return p.unicode(out)
	}
	i := bytes.IndexByte([]byte(`"\/bfnrt`), kind)
	if i < 0 {
		return out, false
	}
	p.rest = p.rest[1:]
	return append(out, "\"\\/\b\f\n\r\t"[i]), true
}

// unicode appends the character of an escape of the form uXXXX to out.
func (p *plainReader) unicode(out []byte) ([]byte, bool) {
	if len(p.rest) < 5 {
		return out, false
	}
	var r rune
	for _, c := range p.rest[1:5] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return out, false
		}
	}
	p.rest = p.rest[5:]
	return utf8.AppendRune(out, r), utf8.ValidRune(r)
}
