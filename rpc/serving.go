package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// Serve makes the client respond to requests of the server for a method. handle runs in a goroutine of its own; ctx ends
// if the server cancels the request, and with the connection. An *Error is sent unchanged, any other error as
// CodeInternal with its text. Requests for methods that are not served are responded to with CodeMethodNotFound.
func (c *Client) Serve(method string, handle func(ctx context.Context, params json.RawMessage) (any, error)) {
	s := &c.codec.serving
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[method] = handle
}

// maxServed is the maximum number of requests of a server that a Client handles concurrently, twice the number that a
// server has in flight: a handler may still run after its request was cancelled. Further requests are dropped.
const maxServed = 128

// serving handles the requests of a server.
type serving struct {
	ctx  context.Context // ends with the connection
	stop context.CancelFunc

	tasks sync.WaitGroup

	mu       sync.Mutex
	handlers map[string]func(context.Context, json.RawMessage) (any, error)
	running  map[string]context.CancelFunc // by key of the id
}

func (s *serving) init() {
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.handlers = make(map[string]func(context.Context, json.RawMessage) (any, error))
	s.running = make(map[string]context.CancelFunc)
}

// start handles a request in a goroutine and passes the response to send. A request with an id in flight is dropped.
func (s *serving) start(m message, send func(id json.RawMessage, result any, err error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := idKey(m.id)
	if len(s.running) >= maxServed || s.running[key] != nil || s.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.running[key] = cancel
	handle := s.handlers[string(unquoted(m.method))]
	id, params := bytes.Clone(m.id), bytes.Clone(m.params)
	s.tasks.Go(func() {
		result, err := answer(ctx, handle, params)
		send(id, result, err)
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, key)
	})
}

// answer returns the response of a handler, which is nil for a method that is not served.
func answer(ctx context.Context, handle func(context.Context, json.RawMessage) (any, error), params json.RawMessage) (result any, err error) {
	defer func() {
		if recover() != nil {
			result, err = nil, errInternal
		}
	}()
	if handle == nil {
		return nil, &Error{Code: CodeMethodNotFound, Message: "this client does not serve the method"}
	}
	result, err = handle(ctx, params)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errCancelled
	}
	return result, err
}

// cancel cancels the request that the parameters of MethodCancel name.
func (s *serving) cancel(params json.RawMessage) {
	var cancelled struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &cancelled) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[idKey(cancelled.RequestID)]; cancel != nil {
		cancel()
	}
}

// respond sends a response to a request of the server. A result that the server would not read becomes an error.
func (s *clientCodec) respond(id json.RawMessage, result any, err error) {
	raw, encodeErr := encode(result)
	if err == nil && encodeErr != nil {
		err = encodeErr
	}
	frame := ResponseFrame(id, Envelope{Result: raw})
	if limit := s.limit.Load(); err == nil && limit > 0 && int64(len(frame)) > limit {
		err = ErrTooLarge
	}
	if err != nil {
		fault, ok := errors.AsType[*Error](err)
		if !ok {
			fault = &Error{Code: CodeInternal, Message: err.Error()}
		}
		if frame, err = ErrorFrame(id, fault); err != nil {
			return // its data cannot be encoded
		}
	}
	_ = s.write(frame) // the end of the connection is reported by its reader
}

// write writes a frame. Requests and responses are written by several goroutines.
func (s *clientCodec) write(frame []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.stream.WriteFrame(frame)
}
