package rpc

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// meteredConn is the network connection below a server's WebSocket. It counts the reads that brought bytes, as any
// byte is a sign of life, and fails a write once the peer has taken nothing for the timeout, however large the frame.
type meteredConn struct {
	net.Conn
	timeout  time.Duration
	received atomic.Uint64
}

// writeStride is how many bytes the peer has to take within the timeout.
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

// hijackWriter puts a meteredConn below the connection that is hijacked through it.
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
