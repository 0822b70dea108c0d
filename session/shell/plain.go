package shell

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// plain makes text of the output of a command, which arrives in parts: it removes the escape sequences of terminals (ECMA-48) and
// control characters but for line ends, tabs, carriage returns and backspaces. Bytes that are not UTF-8 become U+FFFD.
type plain struct {
	state   sequence
	length  int    // of the string in an escape sequence
	partial []byte // the start of a character
}

// sequence is a part of an escape sequence.
type sequence int

const (
	text       sequence = iota // none
	escape                     // after ESC
	control                    // after ESC [
	controlled                 // a string: after ESC ] and the like
	terminated                 // after an ESC in a string
)

// maxString is the maximum size of the string in an escape sequence, in bytes: what follows is text.
const maxString = 4 << 10

// append appends the text of the next part to to.
func (p *plain) append(to, part []byte) []byte {
	if len(p.partial) > 0 {
		part = append(p.partial, part...)
		p.partial = nil
	}
	for len(part) > 0 {
		if p.state == text {
			n := printable(part)
			to, part = append(to, part[:n]...), part[n:]
			if len(part) == 0 {
				break
			}
		}
		if !utf8.FullRune(part) {
			p.partial = bytes.Clone(part)
			break
		}
		r, size := utf8.DecodeRune(part)
		part = part[size:]
		if p.isText(r) {
			to = utf8.AppendRune(to, r)
		}
	}
	return to
}

// rest returns the text of an output that ends within a character.
func (p *plain) rest() []byte {
	if len(p.partial) == 0 || p.state != text {
		return nil
	}
	p.partial = nil
	return utf8.AppendRune(nil, utf8.RuneError)
}

// printable returns the number of bytes at the start of part that are text as they are.
func printable(part []byte) int {
	for i, b := range part {
		if (b < ' ' || b > '~') && b != '\n' {
			return i
		}
	}
	return len(part)
}

// isText reports whether a character is text, and not of an escape sequence or a control character.
func (p *plain) isText(r rune) bool {
	switch {
	case p.state == text:
		return p.begins(r)
	case r == '\n':
		p.state = text // a sequence that does not end
		return true
	case p.state == escape:
		p.escaped(r)
	case p.state == control:
		if r >= '@' {
			p.state = text
		}
	default:
		p.string(r)
	}
	return false
}

func (p *plain) begins(r rune) bool {
	switch r {
	case 0x1b:
		p.state = escape
	case 0x9b: // ESC [ as one character
		p.state = control
	case '\t', '\n', '\r', '\b':
		return true
	default:
		return !unicode.IsControl(r)
	}
	return false
}

// escaped takes the character after ESC.
func (p *plain) escaped(r rune) {
	switch {
	case r == '[':
		p.state = control
	case r == ']', r == 'P', r == 'X', r == '^', r == '_':
		p.state, p.length = controlled, 0
	case r < '0' && r >= ' ', r == 0x1b: // further ones follow
	default:
		p.state = text
	}
}

// string takes a character of a string, which BEL or ESC \ ends.
func (p *plain) string(r rune) {
	p.length += utf8.RuneLen(r)
	switch {
	case r == '\a', r == '\\' && p.state == terminated, p.length > maxString:
		p.state = text
	case r == 0x1b:
		p.state = terminated
	default:
		p.state = controlled
	}
}
