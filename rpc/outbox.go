package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"
)

// Notification is one message of a Source.
type Notification struct {
	Method string
	Params json.RawMessage // valid JSON; nil for none
	Seq    uint64          // sequence number; once it is sent, so are all lower ones. 0 for none
}

// Source supplies notifications to a connection's writer, which pulls the next one only when it can write it.
// A slow peer therefore costs no memory: its backlog remains in the source.
type Source interface {
	// Next returns the next notification, or false if there is none. In that case the source must call the function
	// returned by Attach as soon as there is one. Next may block briefly and returns when ctx ends. The notification is
	// valid until the next call. If Next returns an error, the error is logged and the source detached.
	Next(ctx context.Context) (n Notification, ok bool, err error)
}

// prompter is a Source that tells whether Next returns without waiting for anything, such as a disk. Notifications of
// other sources are written one by one.
type prompter interface{ Prompt() bool }

// isPrompt reports whether the source's next notification can be added to those that are held: it delays them no more than
// writing them would.
func (s *subscription) isPrompt() bool {
	p, ok := s.source.(prompter)
	return ok && p.Prompt()
}

// ErrSources is returned by Attach if the connection already has Options.Sources.
var ErrSources = errors.New("too many sources on this connection")

// outgoing is a queued response, or a queued frame of this end: a request or its cancellation.
type outgoing struct {
	number  uint64 // of a response, see idTable
	result  json.RawMessage
	err     *jsonrpc2.Error
	refusal bool // the frame was not dispatched

	frame   []byte // of this end; nil for a response
	written func() // called after the attempt to write the frame; nil for none

	after *subscription // nil for none
	seq   uint64
}

func (r *outgoing) size() int {
	n := len(r.result) + len(r.frame)
	if r.err != nil && r.err.Data != nil {
		n += len(*r.err.Data)
	}
	return n
}

// waits reports whether the source must send more before r. A source that has nothing to send has sent all that existed
// when r was queued, whatever its sequence numbers are.
func (r *outgoing) waits() bool {
	s := r.after
	return s != nil && !s.gone && s.ready && s.sent < r.seq
}

// subscription is an attached source. The outbox's lock guards it.
type subscription struct {
	source Source
	ready  bool   // the source may have a notification; cleared before Next is called
	gone   bool   // detached
	sent   uint64 // highest sequence number written
}

// maxRefusals is the number of queued responses to bad frames at which the connection pauses reading.
const maxRefusals = 64

// outbox holds a connection's queued responses and requests, and its subscriptions. The queue's length is bounded by the
// requests in flight in both directions and maxRefusals. While the queue exceeds maxBytes, the reader is paused.
// It is safe for concurrent use, but only the writer may call next and only the reader waitRoom.
type outbox struct {
	maxBytes   int
	maxSources int
	wake       chan struct{} // capacity 1; signals the writer that it may have work
	room       chan struct{} // capacity 1; signals the reader that there may be room
	paused     atomic.Bool   // the reader is waiting for room

	mu            sync.Mutex
	queue         []*outgoing     // in the order of put
	bytes         int             // size of the queue
	refusals      int             // refusals in the queue
	subscriptions []*subscription // the first one is next in turn
	closing       bool
}

func newOutbox(maxBytes, maxSources int) *outbox {
	return &outbox{maxBytes: maxBytes, maxSources: maxSources, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put queues r, to be written after the notifications of source up to seq. A source that is not attached
// delays nothing.
func (o *outbox) put(r *outgoing, source Source, seq uint64) {
	o.mu.Lock()
	if s := o.find(source); s != nil {
		r.after, r.seq = s, seq
		s.ready = true // pull once more, see waits
	}
	o.queue = append(o.queue, r)
	o.bytes += r.size()
	if r.refusal {
		o.refusals++
	}
	o.mu.Unlock()
	signal(o.wake)
}

// next returns the oldest response or request that does not wait for a source, else the next ready subscription, whose ready
// flag it clears. If there is neither, done reports that the outbox is closing and nothing more will follow.
func (o *outbox) next() (r *outgoing, s *subscription, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.take(); r != nil {
		return r, nil, false
	}
	for i, s := range o.subscriptions {
		if s.ready {
			s.ready = false
			o.subscriptions = append(slices.Delete(o.subscriptions, i, i+1), s)
			return nil, s, false
		}
	}
	return nil, nil, o.closing
}

// queued returns the oldest response or request that does not wait for a source, or nil.
func (o *outbox) queued() *outgoing {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.take()
}

// take is queued with o.mu held.
func (o *outbox) take() *outgoing {
	for i, r := range o.queue {
		if !r.waits() {
			o.remove(i)
			return r
		}
	}
	return nil
}

func (o *outbox) remove(i int) {
	r := o.queue[i]
	o.queue = slices.Delete(o.queue, i, i+1)
	o.bytes -= r.size()
	if r.refusal {
		o.refusals--
	}
	signal(o.room)
}

// holds reports whether r is still queued.
func (o *outbox) holds(r *outgoing) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.queue, r)
}

// withdraw removes r and reports whether it was still queued.
func (o *outbox) withdraw(r *outgoing) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.queue, r)
	if i >= 0 {
		o.remove(i)
	}
	return i >= 0
}

// pulled records that s returned a notification and reports whether s is still attached.
func (o *outbox) pulled(s *subscription) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.ready = true
	return !s.gone
}

// sent records that s has sent everything up to seq.
func (o *outbox) sent(s *subscription, seq uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.sent = max(s.sent, seq)
}

// attach adds a source. It returns the function to call when the source has notifications again.
func (o *outbox) attach(source Source) (wake func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.find(source) != nil {
		return nil, errors.New("the source is already attached")
	}
	if len(o.subscriptions) >= o.maxSources {
		return nil, ErrSources
	}
	s := &subscription{source: source, ready: true}
	o.subscriptions = append(o.subscriptions, s)
	signal(o.wake)
	return func() { o.rouse(s) }, nil
}

// rouse marks s as ready and signals the writer if it was not.
func (o *outbox) rouse(s *subscription) {
	o.mu.Lock()
	news := !s.ready && !s.gone
	s.ready = true
	o.mu.Unlock()
	if news {
		signal(o.wake)
	}
}

// detach removes a source. Nothing queued waits for it any longer.
func (o *outbox) detach(source Source) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.find(source); s != nil {
		o.drop(s)
	}
}

// end removes a subscription whose source has failed.
func (o *outbox) end(s *subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(s)
}

func (o *outbox) drop(s *subscription) {
	s.gone = true
	o.subscriptions = slices.DeleteFunc(o.subscriptions, func(g *subscription) bool { return g == s })
	signal(o.wake)
}

// find returns the subscription of a source, or nil.
func (o *outbox) find(source Source) *subscription {
	for _, s := range o.subscriptions {
		if s.source == source {
			return s
		}
	}
	return nil
}

// close makes next return done once the outbox is empty.
func (o *outbox) close() {
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	signal(o.wake)
}

func (o *outbox) length() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue)
}

func (o *outbox) isClosing() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closing
}

// waitRoom blocks until there is room for a response to the next frame, or until ctx ends.
func (o *outbox) waitRoom(ctx context.Context) {
	defer o.paused.Store(false)
	for o.full() {
		o.paused.Store(true)
		select {
		case <-o.room:
		case <-ctx.Done():
			return
		}
	}
}

func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refusals >= maxRefusals || o.bytes > o.maxBytes
}

// signal sends to c, which has capacity 1, unless a signal is already pending.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
