package reply

import (
	"bufio"
	"bytes"
	"io"
)

// maxEvent bounds the data of one event, in bytes.
const maxEvent = 32 << 20

// sseReader reads the events of a text/event-stream.
//
// A last event that no blank line follows is taken, and the end of the stream is told apart from a broken connection.
type sseReader struct {
	in      *bufio.Reader
	name    string
	newest  string // name of an event that had one: most have the name of the one before
	data    []byte
	end     bool
	afterCR bool   // the last line ended with CR: LF behind it is part of its end
	stray   string // the first line that is no field of an event stream, cut to maxStray bytes
}

// maxStray bounds the stray line that is kept, in bytes: it can be an error in plain words.
const maxStray = 1000

func newSSEReader(in *bufio.Reader) *sseReader { return &sseReader{in: in} }

// next returns the next event that has data. The data is valid until the next call.
// The error is io.EOF at the end of the stream, whether or not a blank line closed the last event.
func (s *sseReader) next() (name string, data []byte, err error) {
	s.name, s.data = "", s.data[:0]
	for !s.end {
		blank, err := s.line()
		if err == io.EOF {
			s.end = true
			blank = true
		} else if err != nil {
			return "", nil, err
		}
		if !blank {
			continue
		}
		if len(s.data) > 0 {
			return s.name, bytes.TrimSuffix(s.data, []byte("\n")), nil
		}
		s.name = ""
	}
	return "", nil, io.EOF
}

// line reads one line, however long, and takes its field. A line ends with LF, CR or both. io.EOF may come with a last,
// unended line, which is taken too.
func (s *sseReader) line() (blank bool, err error) {
	start := len(s.data)
	for {
		if _, err := s.in.Peek(1); err != nil {
			return s.field(start), err
		}
		chunk, _ := s.in.Peek(s.in.Buffered()) // is there
		if s.afterCR {
			s.afterCR = false
			if chunk[0] == '\n' {
				s.in.Discard(1)
				continue
			}
		}
		n := lineEnd(chunk)
		if len(s.data)+max(n, 0) > maxEvent || n < 0 && len(s.data)+len(chunk) > maxEvent {
			return false, ErrTooLarge
		}
		if n < 0 {
			s.data = append(s.data, chunk...)
			s.in.Discard(len(chunk))
			continue
		}
		s.data = append(s.data, chunk[:n]...)
		s.afterCR = chunk[n] == '\r'
		s.in.Discard(n + 1)
		return s.field(start), nil
	}
}

// lineEnd returns the index of the first LF or CR, -1 for none.
func lineEnd(chunk []byte) int {
	end := bytes.IndexByte(chunk, '\n')
	if end < 0 {
		return bytes.IndexByte(chunk, '\r')
	}
	if cr := bytes.IndexByte(chunk[:end], '\r'); cr >= 0 {
		return cr
	}
	return end
}

// field replaces the raw line at the end of s.data by its value if it is a data line, else by nothing.
func (s *sseReader) field(start int) (blank bool) {
	line := s.data[start:]
	line = bytes.TrimPrefix(line, []byte("\uFEFF")) // a byte order mark at the stream's start
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	s.data = s.data[:start]
	switch string(name) {
	case "data":
		s.data = append(append(s.data, value...), '\n')
	case "event":
		if s.newest != string(value) {
			s.newest = string(value)
		}
		s.name = s.newest
	case "error": // no field of the standard: llama.cpp before 2025
		s.name = "error"
		s.data = append(append(s.data, value...), '\n')
	case "id", "retry", "":
	default:
		if s.stray == "" {
			s.stray = string(line[:min(len(line), maxStray)])
		}
	}
	return len(line) == 0
}
