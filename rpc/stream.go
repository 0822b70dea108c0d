package rpc

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// The close codes that this package uses, from RFC 6455 and its registry.
const (
	closeNormal      = 1000
	closeGoingAway   = 1001
	closeNoStatus    = 1005
	closeInvalidText = 1007
	closeTooBig      = 1009
	closeTryLater    = 1013

	closeNow = 0 // not a close code: end without a close frame
)

// Stream carries whole frames, each one JSON text. One goroutine reads and one writes.
type Stream interface {
	// ReadFrame waits for the next frame, passes it to use and returns the error of use. frame is valid only during
	// the call. The error is a *CloseError if the peer sent a close code or broke a limit, and io.EOF if the stream
	// ended without one.
	ReadFrame(use func(frame []byte) error) error

	// WriteFrame writes one frame and does not keep it. It fails if the peer does not read within the write timeout.
	WriteFrame(frame []byte) error

	// Close ends the stream and unblocks pending calls. The closing handshake may take some seconds; code 0 skips it.
	// Only the first call has an effect.
	Close(code int, reason string) error
}

// holder is a Stream that can write several frames with one call.
type holder interface {
	// HoldFrame is WriteFrame for a frame that may be held until Flush, the next WriteFrame, or enough held bytes.
	HoldFrame(frame []byte) error

	// Flush writes the held frames. It may be called only by the goroutine that writes.
	Flush() error
}

// Limits bound a stream. Zero fields mean the defaults.
type Limits struct {
	FrameBytes   int64         // maximum size of a frame that is read, in bytes; DefaultFrameBytes
	WriteTimeout time.Duration // maximum time that a write may be stalled by the peer; 30 s
	Budget       *Budget       // shared with other streams; nil for none
}

// DefaultFrameBytes is the default of Limits.FrameBytes.
const DefaultFrameBytes = 16 << 20

func (l Limits) withDefaults() Limits {
	l.FrameBytes = cmp.Or(l.FrameBytes, DefaultFrameBytes)
	l.WriteTimeout = cmp.Or(l.WriteTimeout, 30*time.Second)
	return l
}

// CloseError is the reason why a stream ended: the code and reason sent by the peer, or, if the peer broke a limit,
// those to send to it.
type CloseError struct {
	Code   int
	Reason string
}

// Error implements error.
func (e *CloseError) Error() string { return fmt.Sprintf("closed with %d: %s", e.Code, e.Reason) }

// Budget limits the total size, in bytes, of the frames being read by the streams that share it.
// A stream that exceeds the budget is closed with 1013. It is safe for concurrent use.
type Budget struct {
	left atomic.Int64
}

// DefaultBudget is the size of a server's Budget, in bytes.
const DefaultBudget = 64 << 20

// NewBudget returns a budget of size bytes.
func NewBudget(size int64) *Budget {
	b := new(Budget)
	b.left.Store(size)
	return b
}

func (b *Budget) take(n int64) bool {
	if b == nil {
		return true
	}
	for {
		left := b.left.Load()
		if left < n {
			return false
		}
		if b.left.CompareAndSwap(left, left-n) {
			return true
		}
	}
}

func (b *Budget) give(n int64) {
	if b != nil {
		b.left.Add(n)
	}
}

// keptBuffer is the maximum size, in bytes, of a buffer that an idle connection keeps for the next frame.
const keptBuffer = 64 << 10

// frameBuffer collects one frame at a time within its limits. It reuses its memory for the next frame.
type frameBuffer struct {
	limits Limits
	bytes  []byte
	held   int64 // taken from the budget
}

// reset drops the frame and returns its bytes to the budget.
func (b *frameBuffer) reset() {
	b.limits.Budget.give(b.held)
	b.held = 0
	b.bytes = reusable(b.bytes)
}

// readFrom appends all of r.
func (b *frameBuffer) readFrom(r io.Reader) error {
	for {
		if len(b.bytes) == cap(b.bytes) {
			b.grow()
		}
		n, err := r.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if err := b.hold(n); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add appends part of a frame.
func (b *frameBuffer) add(part []byte) error {
	if err := b.hold(len(part)); err != nil {
		return err
	}
	b.bytes = append(b.bytes, part...)
	return nil
}

// grow doubles the capacity: a frame that outgrew its buffer is likely to be much larger.
func (b *frameBuffer) grow() {
	grown := make([]byte, len(b.bytes), max(4<<10, 2*cap(b.bytes)))
	copy(grown, b.bytes)
	b.bytes = grown
}

// hold takes n bytes from the budget. It returns a *CloseError if the frame or the budget is exceeded.
func (b *frameBuffer) hold(n int) error {
	if b.held+int64(n) > b.limits.FrameBytes {
		return errTooBig(b.limits)
	}
	if !b.limits.Budget.take(int64(n)) {
		return &CloseError{closeTryLater, "too many bytes are being received; try again later"}
	}
	b.held += int64(n)
	return nil
}

func errTooBig(l Limits) error {
	return &CloseError{closeTooBig, fmt.Sprintf("the frame exceeds the limit of %d bytes", l.FrameBytes)}
}

// reusable returns b emptied, or nil if b is too large to keep.
func reusable(b []byte) []byte {
	if cap(b) > keptBuffer {
		return nil
	}
	return b[:0]
}

// validText returns frame with invalid UTF-8 replaced by U+FFFD: a peer must drop the connection at the first invalid
// byte.
func validText(frame []byte) []byte {
	if utf8.Valid(frame) {
		return frame
	}
	return bytes.ToValidUTF8(frame, []byte("\uFFFD"))
}
