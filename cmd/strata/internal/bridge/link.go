package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"strata/cmd/strata/internal/connect"
	"strata/rpc"
)

const (
	handshakeTime = 30 * time.Second       // for a server to respond to all that continues the editor's sessions
	giveUpTime    = 2 * time.Minute        // without a server while the editor waits for one
	firstPause    = 100 * time.Millisecond // between two attempts; doubles each time
	longestPause  = 5 * time.Second
	stableTime    = 5 * time.Second // duration of a connection after which the pauses begin anew
)

// codeLost is the error code of a request whose connection was lost: an internal error, with a message.
const codeLost = rpc.CodeInternal

// serve passes the server's messages on. If the connection is lost, it connects to the next server. It returns the reason
// why there is none, or why the editor cannot be written to; nil if ctx ends.
func (b *bridge) serve(ctx context.Context, server *connect.Stream) error {
	for attempt := 0; ; {
		since := time.Now()
		cause := b.read(ctx, server)
		if time.Since(since) >= stableTime {
			attempt = 0
		}
		failed := b.lose()
		if ctx.Err() != nil {
			return nil
		}
		if _, ended := errors.AsType[editorError](cause); ended {
			return cause
		}
		if err := b.fail(failed, cause); err != nil {
			return err
		}
		b.note("the connection to the server was lost: %v", cause)
		var err error
		if server, attempt, err = b.reconnect(ctx, server.PID, attempt, isShutdown(cause)); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			b.mu.Lock()
			left := b.requests.remove(func(*request) bool { return true })
			b.mu.Unlock()
			return errors.Join(err, b.fail(left, err))
		}
	}
}

// isShutdown reports whether a server ended a connection because it shuts down.
func isShutdown(cause error) bool {
	closed, ok := errors.AsType[*rpc.CloseError](cause)
	return ok && closed.Code == closeGoingAway
}

// read passes the server's messages on until the connection ends, and returns why.
func (b *bridge) read(ctx context.Context, server *connect.Stream) error {
	stop := context.AfterFunc(ctx, func() { server.Close(closeNormal, "the editor disconnected") })
	defer stop()
	for {
		if err := b.next(server, b.take); err != nil {
			server.Close(closeNow, "")
			return err
		}
	}
}

// next reads one frame. take may return a function to call when the frame is not used any longer.
func (b *bridge) next(server *connect.Stream, take func(*connect.Stream, []byte) (func() error, error)) error {
	var later func() error
	err := server.ReadFrame(func(frame []byte) (err error) {
		later, err = take(server, frame)
		return err
	})
	if err == nil && later != nil {
		err = later()
	}
	return err
}

// take passes a frame of the server on.
func (b *bridge) take(server *connect.Stream, frame []byte) (later func() error, err error) {
	e, ok := rpc.ParseServerFrame(frame)
	if !ok {
		return nil, b.tell(frame)
	}
	b.mu.Lock()
	switch {
	case e.IsResponse():
		r := b.requests.find(e.ID)
		if r != nil && r.Method == methodInitialize && e.Result != nil {
			b.mu.Unlock()
			e.Result = bytes.Clone(e.Result)
			return func() error { return b.greeted(server, r, e) }, nil
		}
		b.answered(r, e)
		b.mu.Unlock()
		return nil, b.tell(frame)
	case e.ID != nil:
		own := b.asked.add(server, e.ID)
		b.mu.Unlock()
		if frame, err = rpc.CallFrame(own, e.Method, e.Params); err != nil {
			return nil, err
		}
		return nil, b.tell(frame)
	}
	if e.Method == rpc.MethodCancel {
		own, known := b.asked.cancelled(server, requestID(e.Params))
		b.mu.Unlock()
		if !known {
			return nil, nil // the editor has responded
		}
		return nil, b.cancel(own)
	}
	forEditor := b.sessions.received(e)
	b.mu.Unlock()
	if !forEditor {
		return nil, nil
	}
	return nil, b.tell(frame)
}

// requestID returns the id in the parameters of a cancellation; nil if there is none.
func requestID(params json.RawMessage) json.RawMessage {
	var cancelled struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &cancelled) != nil {
		return nil
	}
	return cancelled.RequestID
}

// cancel tells the editor that nobody waits for its response to a request of a server.
func (b *bridge) cancel(own json.RawMessage) error {
	return b.announce(rpc.MethodCancel, map[string]json.RawMessage{"requestId": own})
}

// answered records the response to a request, which is nil if the editor has none with this id.
func (b *bridge) answered(r *request, e rpc.Envelope) {
	if r == nil {
		return
	}
	b.requests.answered(r)
	switch {
	case e.Result == nil:
	case r.Method == methodInitialize:
		b.greeting = r.Params
	case r.Method == methodPrompt:
		b.sessions.use(r.session)
	case r.Method == "_strata/server/subscribe":
		b.monitors = true
	default:
		b.sessions.changed(r.Method, r.Params, e.Result)
	}
}

// greeted passes the response to initialize on, after the server has got the keys that it lacks and the environment.
// Until then the request has no response.
func (b *bridge) greeted(server *connect.Stream, r *request, e rpc.Envelope) error {
	b.limit.Store(connect.FrameLimit(e.Result))
	limit := time.AfterFunc(handshakeTime, func() { server.Close(closeNow, "") })
	defer limit.Stop()
	auth, err := b.handOver(server, e.Result)
	if err != nil {
		return err
	}
	var result map[string]json.RawMessage
	if auth != nil && json.Unmarshal(e.Result, &result) == nil {
		result["authMethods"] = auth
		if e.Result, err = json.Marshal(result); err != nil {
			return err
		}
	}
	err = b.tell(rpc.ResponseFrame(r.ID, e))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answered(r, e)
	return err
}

// handOver gives the server the keys of the editor's environment that it lacks, and the environment for programs that run
// on the editor's behalf. agent is the server's result of initialize. handOver returns the authentication methods that
// remain; nil if they have not changed. The error is one of the connection.
func (b *bridge) handOver(server *connect.Stream, agent json.RawMessage) (auth json.RawMessage, err error) {
	call := func(method string, params, result any) error { return b.call(server, method, params, result) }
	handed, err := connect.OfferKeys(call, b.Getenv)
	if len(handed.Variables) > 0 {
		b.note("process %d, the server, has %s from this environment, in memory until it stops", server.PID, strings.Join(handed.Variables, ", "))
	}
	if b.isOver(err) {
		return nil, err
	}
	if err != nil {
		b.note("keys: %v", err)
	}
	err = connect.OfferEnvironment(call, b.Process, agent, handed.KeyEnv)
	if b.isOver(err) {
		return nil, err
	}
	if err != nil {
		b.note("environment: %v", err)
	}
	return handed.AuthMethods, nil
}

// callError is an error of a connection during a call.
type callError struct{ error }

func (e callError) Unwrap() error { return e.error }

// isOver reports whether an error of call means that the connection or the editor is gone.
func (b *bridge) isOver(err error) bool {
	_, over := errors.AsType[callError](err)
	return over
}

// call calls a method of the server on behalf of the bridge, and passes on what arrives before the response. The error is
// the server's *rpc.Error or a callError.
func (b *bridge) call(server *connect.Stream, method string, params, result any) error {
	id := json.RawMessage(`"strata-stdio-` + rand.Text() + `"`)
	frame, err := rpc.CallFrame(id, method, params)
	if err != nil {
		return err
	}
	b.sending.Lock()
	err = server.WriteFrame(frame)
	b.sending.Unlock()
	if err != nil {
		return callError{err}
	}
	for {
		var response *rpc.Envelope
		err := b.next(server, func(server *connect.Stream, frame []byte) (func() error, error) {
			if e, ok := rpc.ParseServerFrame(frame); ok && e.IsResponse() && bytes.Equal(e.ID, id) {
				response = &rpc.Envelope{Result: bytes.Clone(e.Result), Failed: bytes.Clone(e.Failed)}
				return nil, nil
			}
			return b.take(server, frame)
		})
		switch {
		case err != nil:
			return callError{err}
		case response == nil:
			continue
		case response.Failed != nil:
			fault := &rpc.Error{Code: rpc.CodeInternal}
			if err := json.Unmarshal(response.Failed, fault); err != nil {
				return fmt.Errorf("%s: %w", method, err)
			}
			return fmt.Errorf("%s: %w", method, fault)
		case result == nil:
			return nil
		}
		return json.Unmarshal(response.Result, result)
	}
}

// lose records that there is no connection, and returns the requests that fail because of it.
func (b *bridge) lose() []*request {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server = nil
	return b.requests.lost()
}

// fail responds to requests whose connection was lost, and cancels those of the server.
func (b *bridge) fail(requests []*request, cause error) error {
	if err := b.withdraw(); err != nil {
		return err
	}
	for _, r := range requests {
		frame, err := rpc.ErrorFrame(r.ID, &rpc.Error{
			Code: codeLost, Message: fmt.Sprintf("the connection to the server was lost before its response; %s may have taken effect: %v", r.Method, cause),
			Data: map[string]string{"reason": "connection_lost"},
		})
		if err != nil {
			return err
		}
		if err := b.tell(frame); err != nil {
			return err
		}
	}
	return nil
}

// withdraw cancels the requests of servers whose connections were lost.
func (b *bridge) withdraw() error {
	b.mu.Lock()
	asked := b.asked.lost()
	b.mu.Unlock()
	for _, own := range asked {
		if err := b.cancel(json.RawMessage(own)); err != nil {
			return err
		}
	}
	return nil
}

// reconnect connects to the next server and continues the editor's sessions there. If the previous server was stopped, it
// starts one only when the editor waits for a response or sends a message: otherwise `strata stop` would have no effect
// while an editor runs. previous is the process of that server, attempt the number of attempts without a stable
// connection so far, of which it returns the new number. It gives up if the editor has been waiting for giveUpTime.
func (b *bridge) reconnect(ctx context.Context, previous, attempt int, stopped bool) (*connect.Stream, int, error) {
	waits := !stopped || b.editorWaits()
	for since := time.Now(); ; {
		wanted := b.wanted
		if waits {
			wanted = nil // an attempt is due anyway
		}
		if attempt > 0 {
			timer := time.NewTimer(pause(attempt))
			select {
			case <-wanted:
				waits, attempt, since = true, 0, time.Now()
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
		attempt++
		server, err := b.open(ctx, previous, waits)
		_, ended := errors.AsType[editorError](err)
		switch {
		case err == nil:
			return server, attempt, nil
		case ctx.Err() != nil || ended:
			return nil, attempt, err
		case waits && time.Since(since) >= giveUpTime:
			if b.editorWaits() {
				return nil, attempt, fmt.Errorf("no connection to a server for %v: %w", giveUpTime, err)
			}
			waits = false
		}
	}
}

// editorWaits reports whether the editor has a request without a response, or waits to send a message.
func (b *bridge) editorWaits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.requests.list) > 0 || b.held
}

// pause returns the pause before an attempt, counted from 1.
func pause(attempt int) time.Duration {
	return min(longestPause, firstPause<<min(attempt-1, 20))
}

// open opens a connection, on which it continues the editor's sessions. It starts a server if that is allowed.
func (b *bridge) open(ctx context.Context, previous int, start bool) (*connect.Stream, error) {
	server, err := b.dial(ctx, start)
	if err != nil {
		return nil, err
	}
	over := func() { server.Close(closeNow, "") }
	limit := time.AfterFunc(handshakeTime, over)
	defer limit.Stop()
	stop := context.AfterFunc(ctx, over)
	defer stop()
	if err := b.restore(server, server.PID == previous); err != nil {
		over()
		return nil, errors.Join(err, b.withdraw())
	}
	b.resume(server)
	b.note("connected to the server, process %d", server.PID)
	return server, nil
}

// resume makes a connection the present one and sends the requests without a response again, before any others.
func (b *bridge) resume(server *connect.Stream) {
	b.sending.Lock()
	b.mu.Lock()
	b.server = server
	close(b.changed)
	b.changed = make(chan struct{})
	frames := b.requests.frames()
	b.mu.Unlock()
	select {
	case <-b.wanted:
	default:
	}
	go func() { // the caller reads meanwhile; ends with the connection at the latest
		defer b.sending.Unlock()
		for _, frame := range frames {
			if server.WriteFrame(frame) != nil {
				return
			}
		}
	}()
}
