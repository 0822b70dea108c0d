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
// The error is a *RefusedError if data is not text.
func decode(path string, data []byte) (string, error) {
	if bytes.HasPrefix(data, utf16leBOM) || bytes.HasPrefix(data, utf16beBOM) {
		return decodeUTF16(path, data)
	}
	if kind := mimetype.Detect(data); !isText(kind) || bytes.IndexByte(data, 0) >= 0 {
		return "", refuse(path, ReasonBinary, fmt.Sprintf("%s, %d bytes", kind, len(data)))
	}
	if !utf8.Valid(data) {
		return "", refuse(path, ReasonEncoding, "")
	}
	return string(bytes.TrimPrefix(data, utf8BOM)), nil
}

// decodeUTF16 refuses data that cannot be decoded without loss: incomplete characters, and the NULs of UTF-32 and of
// binary data.
func decodeUTF16(path string, data []byte) (string, error) {
	text, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(data)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return "", refuse(path, ReasonBinary, fmt.Sprintf("%d bytes", len(data)))
	}
	if strings.ContainsRune(string(text), utf8.RuneError) {
		return "", refuse(path, ReasonEncoding, "broken UTF-16")
	}
	return string(text), nil
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
