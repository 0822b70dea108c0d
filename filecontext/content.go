package filecontext

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Content is one version of a file. It is immutable.
type Content struct {
	Path  string
	Text  string
	Hash  string // SHA-256 of the bytes on disk or of the client's unsaved text, in hex
	Size  int64  // of the hashed bytes
	Lines int    // including a last one without a newline

	Secret bool // the file looks like a secret; not stored
	Lossy  bool // Text has U+FFFD for bytes that are not text, so that the file cannot be written back; not stored

	stamp     stamp  // of the file on disk; zero if that was not read
	disk      string // of an unsaved text: the version on disk when the text came (a hash or NoFile); empty: not known
	foldsCase bool   // the file system ignores case in Path
}

// NoFile is the version on disk of a file that is missing or cannot be read.
const NoFile = "none"

// Disk returns the version on disk when the unsaved text of a client came: a hash, or NoFile. It is empty for a text that is
// from disk.
func (c *Content) Disk() string { return c.disk }

// sameText reports whether an editor shows the text of a file: with other line ends, or without the last newline, which some
// leave out.
func sameText(file, shown string) bool {
	file, shown = unixLines(file), unixLines(shown)
	return file == shown || file == shown+"\n"
}

func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// newContent returns the content for text, which was decoded from raw.
func newContent(path, text string, raw []byte) Content {
	sum := sha256.Sum256(raw)
	return Content{Path: path, Text: text, Hash: hex.EncodeToString(sum[:]), Size: int64(len(raw)), Lines: countLines(text)}
}

// Version identifies the text: the SHA-256 in hex of the text without byte order mark and with LF as line ends, so that
// neither an editor that shows the file nor a change of its line ends makes another version. It equals Hash for a file in
// UTF-8 with LF. A text that does not show all bytes of the file is identified by Hash.
func (c *Content) Version() string {
	if c.Lossy {
		return c.Hash
	}
	sum := sha256.Sum256([]byte(unixLines(c.Text)))
	return hex.EncodeToString(sum[:])
}

func countLines(text string) int {
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	return lines
}

// UnixText returns the text with LF as line ends.
func (c *Content) UnixText() string { return unixLines(c.Text) }

// CutLines returns those lines of text that are in r.
func CutLines(text string, r Range) string { return cutLines(text, r) }

// cutLines returns those lines of text that are in r.
func cutLines(text string, r Range) string {
	if r.IsWhole() {
		return text
	}
	for line := 1; line < r.Start; line++ {
		_, text, _ = strings.Cut(text, "\n")
	}
	rest := text
	for line := r.Start; line <= r.End && rest != ""; line++ {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return text[:len(text)-len(rest)]
}
