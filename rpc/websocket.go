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
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// WebSocketStream carries one frame per WebSocket text message. Binary messages are read and ignored.
type WebSocketStream struct {
	conn    *websocket.Conn
	frame   frameBuffer   // owned by the reader
	metered *meteredConn  // below conn; nil on the client's side
	timeout time.Duration // of a whole write; 0 if the connection below has its own write timeout
}

// WebSocketOptions are the options of AcceptWebSocket.
type WebSocketOptions struct {
	Limits
	Subprotocols []string // supported by the server, preferred first; the first one offered by the client is used
}

// AcceptWebSocket upgrades a request. The caller must have checked Origin, Host and credentials.
// On error it has already responded to the request. Do not use the request's context afterwards.
func AcceptWebSocket(w http.ResponseWriter, r *http.Request, opt WebSocketOptions) (*WebSocketStream, error) {
	limits := opt.Limits.withDefaults()
	hijack := &hijackWriter{ResponseWriter: w, timeout: limits.WriteTimeout}
	conn, err := websocket.Accept(hijack, r, &websocket.AcceptOptions{
		Subprotocols:       opt.Subprotocols,
		InsecureSkipVerify: true, // the caller checks the origin
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, fmt.Errorf("accept WebSocket: %w", err)
	}
	conn.SetReadLimit(limits.FrameBytes)
	return &WebSocketStream{conn: conn, frame: frameBuffer{limits: limits}, metered: hijack.conn}, nil
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
// If the server refuses, the error contains the HTTP status and the start of the body.
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

// dialError returns the error for a failed handshake. resp is the server's response, or nil.
func dialError(url string, resp *http.Response, err error) error {
	if resp == nil {
		return fmt.Errorf("dial %s: %w", url, err)
	}
	body, readErr := io.ReadAll(resp.Body) // the library keeps at most 1 KiB
	if readErr != nil || len(body) == 0 {
		return fmt.Errorf("dial %s: server returned %s", url, resp.Status)
	}
	return fmt.Errorf("dial %s: server returned %s: %s", url, resp.Status, strings.TrimSpace(string(validText(body))))
}

// Subprotocol returns the negotiated subprotocol; empty for none.
func (s *WebSocketStream) Subprotocol() string { return s.conn.Subprotocol() }

// ReadFrame implements Stream. It also answers pings, so a read must always be pending.
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

// readError translates an error of the library into one of this package.
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

// HoldFrame implements holder.
func (s *WebSocketStream) HoldFrame(frame []byte) error {
	if s.metered == nil {
		return s.WriteFrame(frame)
	}
	s.metered.holding.Store(true)
	defer s.metered.holding.Store(false)
	return s.WriteFrame(frame)
}

// Flush implements holder.
func (s *WebSocketStream) Flush() error {
	if s.metered == nil {
		return nil
	}
	if err := s.metered.flush(); err != nil {
		return fmt.Errorf("write frames: %w", err)
	}
	return nil
}

// Close implements Stream. It waits up to 5 s for a write in progress and up to 5 s for the peer's close frame.
func (s *WebSocketStream) Close(code int, reason string) error {
	var err error
	if code == closeNow {
		err = s.conn.CloseNow()
	} else {
		err = s.conn.Close(websocket.StatusCode(code), shortReason(reason))
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// shortReason truncates a close reason to 123 bytes, the maximum in a close frame.
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

// ping sends a ping and waits for its pong or the end of ctx.
func (s *WebSocketStream) ping(ctx context.Context) error { return s.conn.Ping(ctx) }

// reads returns the number of non-empty reads so far.
func (s *WebSocketStream) reads() uint64 { return s.metered.received.Load() }
