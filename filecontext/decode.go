package filecontext

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
	"golang.org/x/text/encoding/unicode"
)

var (
	utf8BOM    = []byte("\xef\xbb\xbf")
	utf16leBOM = []byte("\xff\xfe")
	utf16beBOM = []byte("\xfe\xff")
)

// decode returns the text of a file: UTF-8, or UTF-16 with a byte order mark. It removes the mark and keeps line ends.
// Bytes that are not text in that encoding become U+FFFD; lossy reports that there are some. The error is a *RefusedError
// if data is not text.
func decode(path string, data []byte) (text string, lossy bool, err error) {
	if bytes.HasPrefix(data, utf16leBOM) || bytes.HasPrefix(data, utf16beBOM) {
		return decodeUTF16(path, data)
	}
	if kind := mimetype.Detect(data); !isText(kind) || bytes.IndexByte(data, 0) >= 0 {
		return "", false, refuse(path, ReasonBinary, fmt.Sprintf("%s, %d bytes", kind, len(data)))
	}
	data = bytes.TrimPrefix(data, utf8BOM)
	if utf8.Valid(data) {
		return string(data), false, nil
	}
	text = string([]rune(string(data))) // one U+FFFD for each byte
	if broken := strings.Count(text, replacement); broken*minLegible >= utf8.RuneCountInString(text) {
		return "", false, refuse(path, ReasonEncoding, "")
	}
	return text, true, nil
}

// replacement is shown in place of bytes that cannot be decoded.
const replacement = string(utf8.RuneError)

// A text is shown only if less than one in minLegible characters cannot be decoded. In UTF-16 almost any binary data are
// characters, so more than one of them makes less than one in minUTF16 the limit.
const (
	minLegible = 2
	minUTF16   = 200
)

// decodeUTF16 is decode for UTF-16. It refuses the NULs of UTF-32 and of binary data.
func decodeUTF16(path string, data []byte) (text string, lossy bool, err error) {
	order := unicode.LittleEndian
	if bytes.HasPrefix(data, utf16beBOM) {
		order = unicode.BigEndian
	}
	decoded, err := unicode.UTF16(order, unicode.ExpectBOM).NewDecoder().Bytes(data)
	if err != nil || bytes.IndexByte(decoded, 0) >= 0 {
		return "", false, refuse(path, ReasonBinary, fmt.Sprintf("%d bytes", len(data)))
	}
	text = string(decoded)
	broken, all := strings.Count(text, replacement), utf8.RuneCountInString(text)
	if broken == 0 {
		return text, false, nil
	}
	encoded, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().Bytes(decoded)
	switch {
	case err == nil && bytes.Equal(encoded, data): // the file has U+FFFD itself
		return text, false, nil
	case broken*minLegible >= all, broken > 1 && broken*minUTF16 >= all:
		return "", false, refuse(path, ReasonEncoding, "broken UTF-16")
	}
	return text, true, nil
}

// isText reports whether kind is text or derived from text, such as JSON.
func isText(kind *mimetype.MIME) bool {
	for ; kind != nil; kind = kind.Parent() {
		if kind.Is("text/plain") {
			return true
		}
	}
	return false
}
