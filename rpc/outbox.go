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
	Seq    uint64          // all up to this number are sent once this is; 0 for none
}

// Source is where a connection's writer gets notifications from, when it has room for one. A slow peer therefore
// costs no memory: what it has not taken yet stays where the source reads it from.
type Source interface {
	// Next returns the next notification, or false when there is none now: the source then calls the function that
	// Attach returned as soon as there is one. It may block shortly, and returns when ctx ends.
	// An error ends the source: it is detached and the error logged.
	Next(ctx context.Context) (n Notification, ok bool, err error)
}

// MaxSources is how many sources a connection can have.
const MaxSources = 64

// ErrSources is what Attach returns for a source too many.
var ErrSources = errors.New("too many sources on this connection")

// reply is an answer that waits to be written.
type reply struct {
	number  uint64 // see idTable
	result  json.RawMessage
	err     *jsonrpc2.Error
	refusal bool // answers a frame that was not dispatched

	after *feed // nil for none
	seq   uint64
}

func (r *reply) size() int {
	n := len(r.result)
	if r.err != nil && r.err.Data != nil {
		n += len(*r.err.Data)
	}
	return n
}

// waits reports whether the reply's source still has something to send before it. A source that has nothing now
// has sent all there was when the reply was queued, whatever its numbers say.
func (r *reply) waits() bool {
	f := r.after
	return f != nil && !f.gone && f.ready && f.sent < r.seq
}

// feed is an attached source. The outbox's lock guards it.
type feed struct {
	source Source
	ready  bool // it may have something; cleared before Next is called
	gone   bool
	sent   uint64
}

// maxRefusals is how many answers to bad frames may wait before the connection reads no further.
const maxRefusals = 64

// outbox is what a connection has to write: replies, and sources to pull from. Its length is bounded by the requests
// in flight and by maxRefusals; while it holds more bytes than its bound, nothing more is read.
// It is safe for concurrent use, but next belongs to the writer and waitRoom to the reader.
type outbox struct {
	maxBytes int
	wake     chan struct{} // capacity 1: there may be something for the writer
	room     chan struct{} // capacity 1: there may be room for the reader
	paused   atomic.Bool   // the reader waits for room

	mu       sync.Mutex
	replies  []*reply // as they came
	bytes    int      // size of replies
	refusals int      // those among replies
	feeds    []*feed  // the next in turn stands first
	closing  bool
}

func newOutbox(maxBytes int) *outbox {
	return &outbox{maxBytes: maxBytes, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put queues a reply, to be written after what source has up to seq. A source that is not attached holds nothing up.
func (o *outbox) put(r *reply, source Source, seq uint64) {
	o.mu.Lock()
	if f := o.feed(source); f != nil {
		r.after, r.seq = f, seq
		f.ready = true // ask it once more: see waits
	}
	o.replies = append(o.replies, r)
	o.bytes += r.size()
	if r.refusal {
		o.refusals++
	}
	o.mu.Unlock()
	signal(o.wake)
}

// next returns what to write next: the oldest reply that waits for no source, else the feed whose turn it is,
// which is marked as asked. Neither is there when there is nothing to do; done then says that there never will be.
func (o *outbox) next() (r *reply, f *feed, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, r := range o.replies {
		if !r.waits() {
			o.remove(i)
			return r, nil, false
		}
	}
	for i, f := range o.feeds {
		if f.ready {
			f.ready = false
			o.feeds = append(slices.Delete(o.feeds, i, i+1), f)
			return nil, f, false
		}
	}
	return nil, nil, o.closing
}

func (o *outbox) remove(i int) {
	r := o.replies[i]
	o.replies = slices.Delete(o.replies, i, i+1)
	o.bytes -= r.size()
	if r.refusal {
		o.refusals--
	}
	signal(o.room)
}

// pulled notes that the writer got something from f and reports whether it is still wanted.
func (o *outbox) pulled(f *feed) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.ready = true
	return !f.gone
}

// sent notes that f has sent everything up to seq.
func (o *outbox) sent(f *feed, seq uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.sent = max(f.sent, seq)
}

// attach adds a source and returns the function that wakes it.
func (o *outbox) attach(source Source) (wake func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.feed(source) != nil {
		return nil, errors.New("the source is attached already")
	}
	if len(o.feeds) >= MaxSources {
		return nil, ErrSources
	}
	f := &feed{source: source, ready: true}
	o.feeds = append(o.feeds, f)
	signal(o.wake)
	return func() { o.rouse(f) }, nil
}

// rouse marks that f may have something.
func (o *outbox) rouse(f *feed) {
	o.mu.Lock()
	news := !f.ready && !f.gone
	f.ready = true
	o.mu.Unlock()
	if news {
		signal(o.wake)
	}
}

// detach removes a source. Replies no longer wait for it.
func (o *outbox) detach(source Source) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.feed(source); f != nil {
		o.drop(f)
	}
}

// end removes a feed whose source has failed.
func (o *outbox) end(f *feed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(f)
}

func (o *outbox) drop(f *feed) {
	f.gone = true
	o.feeds = slices.DeleteFunc(o.feeds, func(g *feed) bool { return g == f })
	signal(o.wake)
}

// feed returns the feed of a source, or nil.
func (o *outbox) feed(source Source) *feed {
	for _, f := range o.feeds {
		if f.source == source {
			return f
		}
	}
	return nil
}

// close lets next say done once nothing is left.
func (o *outbox) close() {
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	signal(o.wake)
}

func (o *outbox) queued() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.replies)
}

func (o *outbox) isClosing() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closing
}

// waitRoom returns when there is room for what the next frame may have to be answered, or when ctx ends.
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

// signal wakes whoever waits on c, now or next.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
