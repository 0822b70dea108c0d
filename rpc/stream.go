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

	closeAtOnce = 0 // no close code: end without a word
)

// Stream carries whole frames, each one JSON text. Reads come from one goroutine and writes from one other.
type Stream interface {
	// ReadFrame waits for the next frame and returns what use makes of it. The frame's bytes are gone afterwards.
	// The error is a *CloseError where the peer said why it left or broke a limit, io.EOF where it just ended.
	ReadFrame(use func(frame []byte) error) error

	// WriteFrame writes one frame and does not keep it. It fails when the peer takes no bytes for the write timeout.
	WriteFrame(frame []byte) error

	// Close ends the stream and whatever is blocked on it. It may take some seconds to say goodbye;
	// code 0 ends it at once. Only the first call counts.
	Close(code int, reason string) error
}

// Limits bound a stream. Zero fields stand for the defaults.
type Limits struct {
	FrameBytes   int64         // the largest frame that is read; 16 MiB
	WriteTimeout time.Duration // how long a peer may take no bytes while there are some for it; 30 s
	Budget       *Budget       // shared with other streams; nil for none
}

func (l Limits) withDefaults() Limits {
	l.FrameBytes = cmp.Or(l.FrameBytes, 16<<20)
	l.WriteTimeout = cmp.Or(l.WriteTimeout, 30*time.Second)
	return l
}

// CloseError says why a stream ended: with the code and reason that the peer sent,
// or with those that this side sends because the peer broke a limit.
type CloseError struct {
	Code   int
	Reason string
}

// Error implements error.
func (e *CloseError) Error() string { return fmt.Sprintf("closed with %d: %s", e.Code, e.Reason) }

// Budget is how many bytes of frames that are not dispatched yet all the streams that share it may hold.
// A stream that would need more is closed with 1013. It is safe for concurrent use.
type Budget struct {
	left atomic.Int64
}

// DefaultBudget is the size of a server's Budget, in bytes.
const DefaultBudget = 64 << 20

// NewBudget returns a budget of that many bytes.
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

// keptBuffer is how large a buffer, in bytes, an idle connection may keep for the next frame.
const keptBuffer = 64 << 10

// frameBuffer collects one frame at a time within its limits. Its memory is used again for the next frame.
type frameBuffer struct {
	limits Limits
	bytes  []byte
	held   int64 // taken from the budget
}

// reset drops the frame and gives back what it held of the budget.
func (b *frameBuffer) reset() {
	b.limits.Budget.give(b.held)
	b.held = 0
	b.bytes = reusable(b.bytes)
}

// readFrom adds all of r.
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

// add adds a piece.
func (b *frameBuffer) add(piece []byte) error {
	if err := b.hold(len(piece)); err != nil {
		return err
	}
	b.bytes = append(b.bytes, piece...)
	return nil
}

// grow makes room in large steps, as a frame that outgrew its buffer is likely to be much larger.
func (b *frameBuffer) grow() {
	grown := make([]byte, len(b.bytes), max(4<<10, 2*cap(b.bytes)))
	copy(grown, b.bytes)
	b.bytes = grown
}

// hold accounts for n more bytes.
func (b *frameBuffer) hold(n int) error {
	if b.held+int64(n) > b.limits.FrameBytes {
		return errTooBig(b.limits)
	}
	if !b.limits.Budget.take(int64(n)) {
		return &CloseError{closeTryLater, "too many bytes are waiting, try again later"}
	}
	b.held += int64(n)
	return nil
}

func errTooBig(l Limits) error {
	return &CloseError{closeTooBig, fmt.Sprintf("a frame may have %d bytes", l.FrameBytes)}
}

// reusable returns the memory of b for use from its start, unless it is too large to keep.
func reusable(b []byte) []byte {
	if cap(b) > keptBuffer {
		return nil
	}
	return b[:0]
}

// validText returns frame with invalid UTF-8 replaced: a peer has to drop the connection at the first such byte.
func validText(frame []byte) []byte {
	if utf8.Valid(frame) {
		return frame
	}
	return bytes.ToValidUTF8(frame, []byte("\uFFFD"))
}
