package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"strata/internal/clip"
)

// MethodCancel is the notification by which either end cancels a request of its own; requestId is the request's id.
const MethodCancel = "$/cancel_request"

// The errors of Conn.Call, wrapped. A response with an error is a *PeerError.
var (
	ErrCallEnded   = errors.New("the connection ended before the response")
	ErrCallLate    = errors.New("the peer did not respond in time")
	ErrCallsFull   = errors.New("too many requests to the peer are in flight")
	ErrBadResponse = errors.New("the response is invalid")
)

// PeerError is an error with which the peer responded. It is not an *Error, which would be sent on to the peer of a request
// that fails with it.
type PeerError struct {
	Code    int
	Message string // at most 4 KiB
}

// Error implements error.
func (e *PeerError) Error() string {
	return fmt.Sprintf("the peer responded: %s (code %d)", e.Message, e.Code)
}

// Position is a place among the notifications of a source. The zero value is no place.
type Position struct {
	Source Source
	Seq    uint64
}

// calls are the requests of this end in flight. Its lock is taken before the outbox's. It is safe for concurrent use.
//
// Ids are strings of its own. They cannot be confused with those of the peer's requests: a frame with a method is a
// request of the peer, and one without is a response to a request of this end, whatever their ids are.
type calls struct {
	out   *outbox
	limit int

	mu       sync.Mutex
	last     uint64               // number in the last id
	open     map[string]*openCall // without a response, by id
	inFlight int                  // the open ones, and those whose cancellation is not written yet
	ended    bool
}

// openCall is a request of this end.
type openCall struct {
	id      string
	request *outgoing
	settled chan settlement // capacity 1; receives once, unless the call is given up
}

type settlement struct {
	result json.RawMessage
	err    error
}

func newCalls(out *outbox, limit int) *calls {
	return &calls{out: out, limit: limit, open: make(map[string]*openCall)}
}

// begin queues a request.
func (q *calls) begin(method string, params json.RawMessage, after Position) (*openCall, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.ended:
		return nil, ErrCallEnded
	case q.inFlight >= q.limit || q.out.full():
		return nil, ErrCallsFull
	}
	q.last++
	q.inFlight++
	k := &openCall{id: "strata-" + strconv.FormatUint(q.last, 10), settled: make(chan settlement, 1)}
	frame := strconv.AppendQuote(append(appendCall(nil, method, params), `,"id":`...), k.id)
	k.request = &outgoing{frame: append(frame, '}')}
	q.open[k.id] = k
	q.out.put(k.request, after.Source, after.Seq)
	return k, nil
}

// giveUp ends a call without a response. It counts as in flight until its cancellation is written, so a peer that does
// not read costs no more memory than that of the calls in flight.
func (q *calls) giveUp(k *openCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open[k.id] != k {
		return
	}
	delete(q.open, k.id)
	if q.out.withdraw(k.request) {
		q.inFlight--
		return
	}
	frame := appendCall(nil, MethodCancel, fmt.Appendf(nil, `{"requestId":%q}`, k.id))
	q.out.put(&outgoing{frame: append(frame, '}'), written: q.cancelled}, nil, 0)
}

// cancelled records that a cancellation was written.
func (q *calls) cancelled() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight--
}

// settle ends the call to which m is the response. It returns false if there is none: the call was given up, has a
// response already, or is not written yet.
func (q *calls) settle(m message) bool {
	if !isString(m.id) || m.repeated == "id" {
		return false
	}
	id := string(unquoted(m.id))
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.open[id]
	if k == nil || q.out.holds(k.request) {
		return false
	}
	delete(q.open, id)
	q.inFlight--
	k.settled <- settlementOf(m)
	return true
}

// end ends all calls. No further one begins.
func (q *calls) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	for _, k := range q.open {
		q.out.withdraw(k.request)
		k.settled <- settlement{err: ErrCallEnded}
	}
	clear(q.open)
}

// settlementOf returns the outcome that a response reports. A member that is null in addition to the other one is ignored:
// some peers send both.
func settlementOf(m message) settlement {
	failed := m.failure != nil && string(m.failure) != "null"
	switch {
	case m.tooDeep:
		return settlement{err: fmt.Errorf("%w: it is nested too deeply", ErrBadResponse)}
	case m.repeated != "":
		return settlement{err: fmt.Errorf("%w: duplicate member %q", ErrBadResponse, m.repeated)}
	case failed && m.result != nil && string(m.result) != "null":
		return settlement{err: fmt.Errorf("%w: it has a result and an error", ErrBadResponse)}
	case failed:
		return settlement{err: peerError(m.failure)}
	case m.result == nil:
		return settlement{err: fmt.Errorf("%w: it has no result", ErrBadResponse)}
	}
	result := bytes.Clone(m.result)
	cleanSurrogates(result)
	return settlement{result: result}
}

// peerError returns the error for the member "error" of a response.
func peerError(raw json.RawMessage) error {
	var failure struct {
		Code    *int   `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &failure) != nil || failure.Code == nil {
		return fmt.Errorf("%w: its error has no code", ErrBadResponse)
	}
	return &PeerError{Code: *failure.Code, Message: clip.Bytes(failure.Message, maxMessageBytes)}
}
