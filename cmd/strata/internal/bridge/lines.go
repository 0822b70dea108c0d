package bridge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"strata/rpc"
)

// lines reads an editor's messages, one per line. A line above the limit is skipped without being held in memory.
type lines struct {
	r    *bufio.Reader
	line []byte
}

// keptLine is the maximum size, in bytes, of a buffer that is kept for the next line.
const keptLine = 64 << 10

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReader(r)} }

// next returns the next line that is not blank, without white space around it. It is valid until the next call. The error
// is a *longLine for a line above the limit at the time when it arrives, after which reading continues, or else the end of the input.
func (l *lines) next(limit func() int64) ([]byte, error) {
	for {
		if cap(l.line) > keptLine {
			l.line = nil
		}
		l.line = l.line[:0]
		err := l.read(limit)
		if line := bytes.TrimSpace(l.line); len(line) > 0 && (err == nil || err == io.EOF) {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// read appends the next line to l.line, one buffer at a time.
func (l *lines) read(limit func() int64) error {
	for {
		part, err := l.r.ReadSlice('\n')
		l.line = append(l.line, part...)
		if most := limit(); int64(len(bytes.TrimRight(l.line, "\r\n"))) > most {
			return l.skip(most, err)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// skip reads the rest of a line. err is that of the read of l.line.
func (l *lines) skip(limit int64, err error) error {
	long := &longLine{limit: limit, bytes: int64(len(l.line))}
	var s skimmer
	s.write(l.line)
	l.line = nil
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.r.ReadSlice('\n')
		s.write(part)
		long.bytes += int64(len(part))
	}
	if err != nil && err != io.EOF {
		return err
	}
	long.envelope = s.envelope()
	return long
}

// longLine is the error for a line above the limit.
type longLine struct {
	limit, bytes int64
	envelope     rpc.Envelope // id, and method if there is one
}

func (e *longLine) Error() string {
	return fmt.Sprintf("the message has %d bytes, which exceeds the server's limit of %d", e.bytes, e.limit)
}
