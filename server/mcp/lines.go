package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxMessage is the maximum size of a message of a server, in bytes.
const maxMessage = 16 << 20

// errTooLarge reports a message above maxMessage. The stream goes on after it.
var errTooLarge = errors.New("message too large: it exceeds the limit of 16 MiB")

// lines reads lines of a bounded size.
type lines struct {
	from *bufio.Reader
	max  int
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{from: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line without its end, in memory of its own. After errTooLarge the following call returns the line after
// the one that was too large. The last line needs no end; the error after it is that of the reader.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for tooLarge := false; ; {
		part, err := l.from.ReadSlice('\n')
		tooLarge = tooLarge || len(line)+len(part) > l.max+1
		if tooLarge {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLarge && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLarge
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
