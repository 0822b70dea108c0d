package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// WebSocketStream carries a frame a WebSocket text message. Binary messages are read and ignored.
type WebSocketStream struct {
	conn     *websocket.Conn
	frame    frameBuffer    // reader's
	received *atomic.Uint64 // see meteredConn; nil on the client's side
	timeout  time.Duration  // of a whole write; 0 where the connection below times its writes itself
}

// WebSocketOptions are the options of AcceptWebSocket.
type WebSocketOptions struct {
	Limits
	Subprotocols []string // that the server speaks; the first that the client offers too is chosen
}

// AcceptWebSocket upgrades a request. It checks no Origin, Host or credentials: the caller has done so.
// Where it fails it has answered the request. The request's context means nothing afterwards.
func AcceptWebSocket(w http.ResponseWriter, r *http.Request, opt WebSocketOptions) (*WebSocketStream, error) {
	limits := opt.Limits.withDefaults()
	hijack := &hijackWriter{ResponseWriter: w, timeout: limits.WriteTimeout}
	conn, err := websocket.Accept(hijack, r, &websocket.AcceptOptions{
		Subprotocols:       opt.Subprotocols,
		InsecureSkipVerify: true, // only the caller knows which origins are its own
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, fmt.Errorf("accept WebSocket: %w", err)
	}
	conn.SetReadLimit(limits.FrameBytes)
	return &WebSocketStream{conn: conn, frame: frameBuffer{limits: limits}, received: &hijack.conn.received}, nil
}

// DialOptions are the options of Dial and DialWebSocket.
type DialOptions struct {
	Limits
	Header         http.Header
	Subprotocols   []string
	HTTPClient     *http.Client                                // nil for http.DefaultClient
	OnNotification func(method string, params json.RawMessage) // for Dial only, see NewClient
}

// DialWebSocket opens a stream to a server. ctx bounds the handshake only.
// Where the server refuses, the error names its status and the start of its answer.
func DialWebSocket(ctx context.Context, url string, opt DialOptions) (*WebSocketStream, error) {
	limits := opt.Limits.withDefaults()
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient:      opt.HTTPClient,
		HTTPHeader:      opt.Header,
		Subprotocols:    opt.Subprotocols,
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, dialError(url, resp, err)
	}
	conn.SetReadLimit(limits.FrameBytes)
	return &WebSocketStream{conn: conn, frame: frameBuffer{limits: limits}, timeout: limits.WriteTimeout}, nil
}

// dialError names what a server answered in place of an upgrade.
func dialError(url string, resp *http.Response, err error) error {
	if resp == nil {
		return fmt.Errorf("dial %s: %w", url, err)
	}
	answer, readErr := io.ReadAll(resp.Body) // the library keeps 1 KiB of it
	if readErr != nil || len(answer) == 0 {
		return fmt.Errorf("dial %s: the server answered %s", url, resp.Status)
	}
	return fmt.Errorf("dial %s: the server answered %s: %s", url, resp.Status, strings.TrimSpace(string(validText(answer))))
}

// Subprotocol returns the subprotocol that was agreed on; empty for none.
func (s *WebSocketStream) Subprotocol() string { return s.conn.Subprotocol() }

// ReadFrame implements Stream. It also answers pings, so somebody must always be reading.
func (s *WebSocketStream) ReadFrame(use func(frame []byte) error) error {
	defer s.frame.reset()
	for {
		kind, r, err := s.conn.Reader(context.Background())
		if err != nil {
			return s.readError(err)
		}
		if kind == websocket.MessageText {
			if err := s.frame.readFrom(r); err != nil {
				return s.readError(err)
			}
			return use(s.frame.bytes)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			return s.readError(err)
		}
	}
}

// readError puts the library's errors in this package's words.
func (s *WebSocketStream) readError(err error) error {
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return errTooBig(s.frame.limits)
	}
	if own, ok := errors.AsType[*CloseError](err); ok {
		return own
	}
	if peer, ok := errors.AsType[websocket.CloseError](err); ok {
		return &CloseError{int(peer.Code), peer.Reason}
	}
	return fmt.Errorf("read frame: %w", err)
}

// WriteFrame implements Stream.
func (s *WebSocketStream) WriteFrame(frame []byte) error {
	if s.timeout > 0 {
		stalled := time.AfterFunc(s.timeout, func() { s.conn.CloseNow() })
		defer stalled.Stop()
	}
	if err := s.conn.Write(context.Background(), websocket.MessageText, validText(frame)); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// Close implements Stream. It waits up to 5 s for a write in progress and 5 s for the peer to say goodbye too.
func (s *WebSocketStream) Close(code int, reason string) error {
	var err error
	if code == closeAtOnce {
		err = s.conn.CloseNow()
	} else {
		err = s.conn.Close(websocket.StatusCode(code), shortReason(reason))
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// shortReason cuts a close reason to the 123 bytes that a close frame has for it.
func shortReason(reason string) string {
	const most = 123
	if len(reason) <= most {
		return reason
	}
	cut := most
	for !utf8.RuneStart(reason[cut]) {
		cut--
	}
	return reason[:cut]
}

// ping sends a ping and waits for its pong, or for ctx.
func (s *WebSocketStream) ping(ctx context.Context) error { return s.conn.Ping(ctx) }

// signs counts the signs of life from the peer so far: reads that brought bytes.
func (s *WebSocketStream) signs() uint64 { return s.received.Load() }
