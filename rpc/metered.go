package rpc

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// meteredConn is the network connection below a server's WebSocket. It counts non-empty reads, as any byte shows that
// the peer is alive. A write fails if the peer does not read writeStride bytes within the timeout, so the time allowed
// grows with the frame.
type meteredConn struct {
	net.Conn
	timeout  time.Duration
	received atomic.Uint64 // non-empty reads
}

// writeStride is the number of bytes that the peer must read within the timeout.
const writeStride = 64 << 10

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.received.Add(1)
	}
	return n, err
}

func (c *meteredConn) Write(p []byte) (written int, err error) {
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
	w.conn = &meteredConn{Conn: conn, timeout: w.timeout}
	return w.conn, bufio.NewReadWriter(buffers.Reader, bufio.NewWriter(w.conn)), nil
}
