package reply

import (
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// fragment is a JSON string that may begin or end with half of a surrogate pair:
// a provider that cuts its text between two UTF-16 units sends the halves as escapes in two deltas.
// encoding/json, and with it the SDKs, makes a replacement mark of each half.
type fragment struct {
	text string
	low  rune // half at the start, not part of text; 0 where there is none
	high rune // half at the end, likewise
}

// UnmarshalJSON takes a string or null.
func (f *fragment) UnmarshalJSON(raw []byte) error {
	*f = fragment{}
	if n := len(raw); n >= 8 && raw[0] == '"' {
		if f.low = unit(raw[1:7]); !isLow(f.low) {
			f.low = 0
		}
		if f.high = unit(raw[n-7 : n-1]); !isHigh(f.high) || escaped(raw[:n-7]) {
			f.high = 0
		}
	}
	if err := json.Unmarshal(raw, &f.text); err != nil {
		return err
	}
	if f.low != 0 {
		f.text = f.text[utf8.RuneLen(utf8.RuneError):]
	}
	if f.high != 0 {
		f.text = f.text[:len(f.text)-utf8.RuneLen(utf8.RuneError)]
	}
	return nil
}

// unit is the UTF-16 unit of an escape like \ud83d, or 0.
func unit(escape []byte) rune {
	if escape[0] != '\\' || escape[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(escape[2:]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

func isHigh(r rune) bool { return r >= 0xD800 && r < 0xDC00 }
func isLow(r rune) bool  { return r >= 0xDC00 && r < 0xE000 }

// escaped reports whether an odd number of backslashes ends b, so that a backslash behind it is an ordinary character.
func escaped(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// joiner puts the fragments of one block together.
type joiner struct{ high rune }

// add returns the text that is known after f. A half that waits for the next fragment is not part of it.
func (j *joiner) add(f fragment) string {
	if f.text == "" && f.low == 0 && f.high == 0 {
		return ""
	}
	head := ""
	if j.high != 0 || f.low != 0 {
		head = string(utf16.DecodeRune(j.high, f.low)) // U+FFFD where one of them is missing
	}
	j.high = f.high
	return head + f.text
}

// rest is what is left when no more follows.
func (j *joiner) rest() string {
	if j.high == 0 {
		return ""
	}
	j.high = 0
	return string(utf8.RuneError)
}
