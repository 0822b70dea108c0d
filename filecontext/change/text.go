package change

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is the text of a file with its encoding and line ends. It is immutable. The zero Text is that of an empty file.
type Text struct {
	unix     string   // without byte order mark; each line end is LF
	ends     []ending // of the line ends in unix, in their order
	encoding encoding
	bom      bool
}

// ending is the form of a line end.
type ending uint8

const (
	lf ending = iota
	crlf
	cr
)

var endings = [...]string{lf: "\n", crlf: "\r\n", cr: "\r"}

type encoding uint8

const (
	utf8Text encoding = iota
	utf16LE
	utf16BE
)

// byteOrderMark is the first character of a file with a byte order mark.
const byteOrderMark = "\ufeff"

// ErrEncoding is the error for bytes that Text cannot write back exactly.
var ErrEncoding = errors.New("neither UTF-8 nor UTF-16 with a byte order mark")

// Decode returns the text of a file: UTF-8, or UTF-16 with a byte order mark, with any line ends. The error is ErrEncoding.
func Decode(data []byte) (Text, error) {
	var t Text
	decoded := ""
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		t.encoding = utf16LE
		decoded = decode16(data, binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		t.encoding = utf16BE
		decoded = decode16(data, binary.BigEndian)
	case !utf8.Valid(data):
		return Text{}, ErrEncoding
	default:
		decoded = string(data)
	}
	decoded, t.bom = strings.CutPrefix(decoded, byteOrderMark)
	t.unix, t.ends = splitEnds(decoded)
	if t.encoding != utf8Text && !bytes.Equal(t.Bytes(), data) {
		return Text{}, ErrEncoding
	}
	return t, nil
}

// decode16 decodes UTF-16. Broken characters become U+FFFD, and half of one at the end is lost.
func decode16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// splitEnds returns a text with LF as line ends, and the line ends that it had.
func splitEnds(text string) (unix string, ends []ending) {
	if !strings.Contains(text, "\r") {
		return text, make([]ending, strings.Count(text, "\n"))
	}
	var b strings.Builder
	b.Grow(len(text))
	for {
		at := strings.IndexAny(text, "\r\n")
		if at < 0 {
			b.WriteString(text)
			return b.String(), ends
		}
		end := lf
		switch {
		case strings.HasPrefix(text[at:], "\r\n"):
			end = crlf
		case text[at] == '\r':
			end = cr
		}
		b.WriteString(text[:at])
		b.WriteByte('\n')
		ends = append(ends, end)
		text = text[at+len(endings[end]):]
	}
}

// unixEnds returns a text with LF as line ends.
func unixEnds(text string) string {
	if !strings.Contains(text, "\r") {
		return text
	}
	unix, _ := splitEnds(text)
	return unix
}

// Unix returns the text with LF line ends and without a byte order mark.
func (t *Text) Unix() string { return t.unix }

// Bytes returns the encoded text, as in the file.
func (t *Text) Bytes() []byte {
	var b strings.Builder
	b.Grow(len(t.unix) + len(t.ends) + len(byteOrderMark))
	if t.bom {
		b.WriteString(byteOrderMark)
	}
	rest := t.unix
	for i, end := range t.ends {
		line, after, _ := strings.Cut(rest, "\n")
		if line == "" && end == lf && i > 0 && t.ends[i-1] == cr {
			end = crlf // an edit joined CR and LF, which would be one line end
		}
		b.WriteString(line)
		b.WriteString(endings[end])
		rest = after
	}
	b.WriteString(rest)
	switch t.encoding {
	case utf16LE:
		return encode16(b.String(), binary.LittleEndian)
	case utf16BE:
		return encode16(b.String(), binary.BigEndian)
	}
	return []byte(b.String())
}

// String returns the text in UTF-8, with the line ends of the file, and with its byte order mark if the file is in UTF-8.
func (t *Text) String() string {
	plain := *t
	plain.encoding, plain.bom = utf8Text, t.bom && t.encoding == utf8Text
	return string(plain.Bytes())
}

func encode16(text string, order binary.AppendByteOrder) []byte {
	data := make([]byte, 0, 2*len(text))
	var units []uint16
	for _, c := range text {
		units = utf16.AppendRune(units[:0], c)
		for _, unit := range units {
			data = order.AppendUint16(data, unit)
		}
	}
	return data
}

// span is a replacement of a range of bytes of a text.
type span struct {
	start, end int
	text       string // with LF as line ends
}

// trimmed returns the span without what the old and the new text have in common at their start and their end, so that the
// line ends there stay as they are.
func (s span) trimmed(unix string) span {
	old := unix[s.start:s.end]
	n := commonPrefix(old, s.text)
	old, s.text, s.start = old[n:], s.text[n:], s.start+n
	n = commonSuffix(old, s.text)
	s.text, s.end = s.text[:len(s.text)-n], s.end-n
	return s
}

func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// replaced returns the text with spans, which are sorted and do not overlap, replaced. Line ends outside of them stay as they
// are.
func (t *Text) replaced(spans []span) Text {
	after := Text{encoding: t.encoding, bom: t.bom, ends: make([]ending, 0, len(t.ends))}
	var b strings.Builder
	at, line := 0, 0
	keep := func(to int) {
		kept := t.unix[at:to]
		lines := strings.Count(kept, "\n")
		b.WriteString(kept)
		after.ends = append(after.ends, t.ends[line:line+lines]...)
		at, line = to, line+lines
	}
	for _, s := range spans {
		s = s.trimmed(t.unix)
		keep(s.start)
		old := strings.Count(t.unix[s.start:s.end], "\n")
		after.ends = t.appendEnds(after.ends, line, old, strings.Count(s.text, "\n"))
		b.WriteString(s.text)
		at, line = s.end, line+old
	}
	keep(len(t.unix))
	after.unix = b.String()
	return after
}

// appendEnds appends the line ends of a new text with so many lines, which replaces the old ones from the given line on: the
// old ones if there are as many, else that of the line where the text begins, or of the line before.
func (t *Text) appendEnds(ends []ending, line, old, lines int) []ending {
	if lines == old {
		return append(ends, t.ends[line:line+old]...)
	}
	near := lf
	switch {
	case line < len(t.ends):
		near = t.ends[line]
	case line > 0:
		near = t.ends[line-1]
	}
	for range lines {
		ends = append(ends, near)
	}
	return ends
}
