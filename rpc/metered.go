package rpc

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/http"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// meteredConn is the network connection below a server's WebSocket. It counts non-empty reads, as any byte shows that
// the peer is alive. A write fails if the peer does not read writeStride bytes within the timeout, so the time allowed
// grows with the frame.
type meteredConn struct {
	net.Conn
	timeout  time.Duration
	received atomic.Uint64 // non-empty reads
	frames   frameTracker  // of the writes, which the library makes one at a time
	holding  atomic.Bool   // the frame that is being written may be held

	lock chan struct{} // capacity 1; full while a goroutine writes or uses held
	held []byte        // whole frames and the beginning of one, at most heldBytes; written before anything else
}

// heldBytes is the size of the held frames at which they are written.
const heldBytes = 32 << 10

// writeStride is the number of bytes that the peer must read within the timeout.
const writeStride = 64 << 10

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.received.Add(1)
	}
	return n, err
}

// Write writes p after the held frames, or holds p. Control frames are never held.
func (c *meteredConn) Write(p []byte) (int, error) {
	c.lock <- struct{}{}
	defer func() { <-c.lock }()
	frame, control := c.frames.next(p)
	hold := c.holding.Load() && !control
	if hold && len(c.held)+len(frame) <= heldBytes {
		c.held = append(c.held, frame...)
		return len(p), nil
	}
	if len(c.held) > 0 {
		c.held = append(c.held, frame...)
		return len(p), c.writeHeld()
	}
	written, err := c.write(frame)
	if err == nil {
		written = len(p)
	}
	return min(written, len(p)), err
}

// flush writes the held frames.
func (c *meteredConn) flush() error {
	c.lock <- struct{}{}
	defer func() { <-c.lock }()
	return c.writeHeld()
}

func (c *meteredConn) writeHeld() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.write(c.held)
	c.held = reusable(c.held)
	return err
}

func (c *meteredConn) write(p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return written, err
		}
		var n int
		n, err = c.Conn.Write(p[:min(len(p), writeStride)])
		written += n
		p = p[n:]
	}
	return written, err
}

// frameTracker follows the frames that the library writes: each starts with a write of its own and may take several. It
// exists for one frame: the library answers a close frame with the same code and reason, also if the reason is not UTF-8,
// which a peer must answer with 1007 (RFC 6455, sections 5.5.1 and 8.1).
type frameTracker struct {
	left int64 // bytes of the frame that are not written
}

// next returns the bytes to write in place of the next ones of the library, and whether they are a control frame.
func (t *frameTracker) next(p []byte) (frame []byte, control bool) {
	if t.left > 0 {
		t.left -= int64(len(p))
		return p, false
	}
	header, payload := frameSize(p)
	t.left = header + payload - int64(len(p))
	const opcode, closes, codeBytes = 0x0f, 0x8, 2
	if len(p) > 0 && p[0]&opcode == closes && t.left == 0 && payload > codeBytes && !utf8.Valid(p[header+codeBytes:]) {
		return invalidClose, true
	}
	return p, len(p) > 0 && p[0]&closes != 0
}

// invalidClose is the close frame for a peer whose close frame is not valid.
var invalidClose = func() []byte {
	const reason = "the reason is not UTF-8"
	return append([]byte{0x88, byte(2 + len(reason)), closeInvalidText >> 8, closeInvalidText & 0xff}, reason...)
}()

// frameSize returns the sizes of the header and the payload of the frame without a mask that p starts with; zeros if the
// header is not complete.
func frameSize(p []byte) (header, payload int64) {
	switch {
	case len(p) < 2:
		return 0, 0
	case p[1] < 126:
		return 2, int64(p[1])
	case p[1] == 126 && len(p) >= 4:
		return 4, int64(binary.BigEndian.Uint16(p[2:]))
	case p[1] == 127 && len(p) >= 10:
		return 10, int64(binary.BigEndian.Uint64(p[2:]))
	}
	return 0, 0
}

// hijackWriter is a ResponseWriter whose Hijack wraps the connection in a meteredConn.
type hijackWriter struct {
	http.ResponseWriter
	timeout time.Duration
	conn    *meteredConn
}

func (w *hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = &meteredConn{Conn: conn, timeout: w.timeout, lock: make(chan struct{}, 1)}
	return w.conn, bufio.NewReadWriter(buffers.Reader, bufio.NewWriter(w.conn)), nil
}
