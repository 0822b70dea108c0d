// Package plainjson reads and writes the common forms of JSON at a fraction of the cost of encoding/json, with the same
// result: a Reader refuses every form that it does not expect, which the caller then decodes in full, and AppendString
// writes the bytes that json.Marshal writes. Tests compare both with encoding/json.
//
// It must never accept what encoding/json would refuse or understand in another way.
package plainjson

import (
	"math/bits"
	"unicode/utf8"
)

// A word is eight bytes of a text. The functions on words set the highest bit of some bytes: of the first byte that they
// look for, and of none before it.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func equal(word uint64, c byte) uint64 {
	diff := word ^ ones*uint64(c)
	return (diff - ones) &^ diff & highs
}

// control finds bytes below the space, which JSON does not allow in a string.
func control(word uint64) uint64 { return (word - ones*' ') &^ word & highs }

// load returns the eight bytes of text from i on.
func load[T string | []byte](text T, i int) uint64 {
	_ = text[i+7]
	return uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
		uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
}

// plainBytes returns the length of the text up to a quote, an escape or a control character.
func plainBytes[T string | []byte](text T) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		w := load(text, i)
		if found := equal(w, '"') | equal(w, '\\') | control(w); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	return i
}

// AppendString appends text as a JSON string, byte for byte as json.Marshal encodes it: <, > and & are escaped, and bytes
// that are not UTF-8 become U+FFFD.
func AppendString(b []byte, text string) []byte {
	b = append(b, '"')
	begin := 0 // of the text that is not appended yet
	for i := asIs(text); i < len(text); {
		size, written := 1, ""
		if c := text[i]; c < utf8.RuneSelf {
			written = escapes[c]
		} else {
			size, written = character(text[i:])
		}
		if written != "" {
			b = append(append(b, text[begin:i]...), written...)
			begin = i + size
		}
		if i += size; i < len(text) && text[i] < utf8.RuneSelf {
			i += asIs(text[i:])
		}
	}
	return append(append(b, text[begin:]...), '"')
}

// asIs returns the length of the text up to a character that needs an escape, or is not ASCII.
func asIs(text string) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		w := load(text, i)
		found := equal(w, '"') | equal(w, '\\') | equal(w, '<') | equal(w, '>') | equal(w, '&') | control(w) | w&highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] < utf8.RuneSelf && escapes[text[i]] == "" {
		i++
	}
	return i
}

// controls are the escapes of the control characters.
const controls = `\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\u0009\u000a\u000b\u000c\u000d\u000e\u000f` +
	`\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f`

// escapes are the escapes of ASCII characters, empty for those that need none.
var escapes = func() (all [utf8.RuneSelf]string) {
	const size = len(`\u0000`)
	for c := range len(controls) / size {
		all[c] = controls[c*size : (c+1)*size]
	}
	all['<'], all['>'], all['&'] = `\u003c`, `\u003e`, `\u0026`
	all['"'], all['\\'] = `\"`, `\\`
	all['\b'], all['\f'], all['\n'], all['\r'], all['\t'] = `\b`, `\f`, `\n`, `\r`, `\t`
	return all
}()

// character returns the size of the first character of text, which is not ASCII, and what is written in its place: empty
// for itself. U+2028 and U+2029 are escaped as they end a line in JavaScript.
func character(text string) (size int, written string) {
	switch r, size := utf8.DecodeRuneInString(text); {
	case r == utf8.RuneError && size == 1:
		return size, `\ufffd`
	case r == '\u2028':
		return size, `\u2028`
	case r == '\u2029':
		return size, `\u2029`
	default:
		return size, ""
	}
}
