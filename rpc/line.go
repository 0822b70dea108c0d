package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// LineStream carries one frame per line, as subprocesses do on their standard streams. Blank lines are ignored.
type LineStream struct {
	r     *bufio.Reader
	frame frameBuffer // reader's

	w       io.Writer
	line    []byte // writer's
	timeout time.Duration

	closer    io.Closer
	closeOnce sync.Once
	closeErr  error
}

// NewLineStream returns a stream that reads from r and writes to w.
// Closing closer must unblock pending reads and writes.
func NewLineStream(r io.Reader, w io.Writer, closer io.Closer, limits Limits) *LineStream {
	limits = limits.withDefaults()
	return &LineStream{
		r:       bufio.NewReader(r),
		frame:   frameBuffer{limits: limits},
		w:       w,
		timeout: limits.WriteTimeout,
		closer:  closer,
	}
}

// ReadFrame implements Stream.
func (s *LineStream) ReadFrame(use func(frame []byte) error) error {
	defer s.frame.reset()
	for {
		err := s.readLine()
		frame := bytes.TrimSpace(s.frame.bytes)
		if len(frame) > 0 && (err == nil || err == io.EOF) {
			return use(frame)
		}
		if err != nil {
			return err
		}
		s.frame.reset()
	}
}

// readLine appends the next line to the frame, one buffer at a time.
func (s *LineStream) readLine() error {
	for {
		part, err := s.r.ReadSlice('\n')
		if err := s.frame.add(bytes.TrimSuffix(part, []byte("\n"))); err != nil {
			return err
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// WriteFrame implements Stream. The write timeout applies to the whole line.
func (s *LineStream) WriteFrame(frame []byte) error {
	s.line = append(reusable(s.line), validText(frame)...)
	for i := bytes.IndexByte(s.line, '\n'); i >= 0; i = bytes.IndexByte(s.line, '\n') {
		s.line[i] = ' ' // a newline can only be between tokens: inside a JSON string it is escaped
	}
	s.line = append(s.line, '\n')

	stalled := time.AfterFunc(s.timeout, func() { s.Close(closeNow, "") })
	_, err := s.w.Write(s.line)
	if !stalled.Stop() {
		return fmt.Errorf("write line: the peer did not read the line within %v", s.timeout)
	}
	if err != nil {
		return fmt.Errorf("write line: %w", err)
	}
	return nil
}

// Close implements Stream. It ignores code and reason: lines have no close frame.
func (s *LineStream) Close(int, string) error {
	s.closeOnce.Do(func() { s.closeErr = s.closer.Close() })
	return s.closeErr
}
