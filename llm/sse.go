package llm

import (
	"bufio"
	"bytes"
	"io"
)

// Limits of a stream, in bytes.
const (
	maxEvent  = 32 << 20 // data of one event
	maxAnswer = 64 << 20 // all text, thinking and arguments of one answer
)

// sseReader reads the events of a text/event-stream.
//
// A last event that no blank line follows is taken, and the end of the stream is told apart from a broken connection.
type sseReader struct {
	in    *bufio.Reader
	name  string
	data  []byte
	end   bool
	stray string // the first line that is no field of an event stream, cut to maxStray bytes
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

// line reads one line, however long, and takes its field. io.EOF may come with a last, unended line, which is taken too.
func (s *sseReader) line() (blank bool, err error) {
	start := len(s.data)
	for {
		piece, err := s.in.ReadSlice('\n')
		if len(s.data)+len(piece) > maxEvent {
			return false, errTooLarge
		}
		s.data = append(s.data, piece...)
		if err == bufio.ErrBufferFull {
			continue
		}
		return s.field(start), err
	}
}

// field replaces the raw line at the end of s.data by its value if it is a data line, else by nothing.
func (s *sseReader) field(start int) (blank bool) {
	line := bytes.TrimRight(s.data[start:], "\r\n")
	line = bytes.TrimPrefix(line, []byte("\uFEFF")) // a byte order mark at the stream's start
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	s.data = s.data[:start]
	switch string(name) {
	case "data":
		s.data = append(append(s.data, value...), '\n')
	case "event":
		s.name = string(value)
	case "id", "retry", "":
	default:
		if s.stray == "" {
			s.stray = string(line[:min(len(line), maxStray)])
		}
	}
	return len(line) == 0
}
