package assembly

import (
	"container/list"
	"sync"
	"time"

	"strata/history"
	"strata/llm"
	"strata/session/content"
	"strata/session/fit"
	"strata/tokens"
)

// The limits of what is kept of requests.
const (
	maxKept  = 32 << 20        // bytes, of all sessions
	keptIdle = 3 * time.Minute // what was not used for so long is dropped, at most twice as long
)

// Beginnings bounds what the sessions of a server keep of their requests: the least recently used is dropped. It is safe for
// concurrent use; its lock is held before that of a Beginning, not after.
type Beginnings struct {
	limit int

	mu    sync.Mutex
	bytes int
	used  list.List   // of *Beginning with a size, the newest use first
	sweep *time.Timer // runs while used has any
}

// NewBeginnings returns the bounds of a server.
func NewBeginnings() *Beginnings { return &Beginnings{limit: maxKept} }

// New returns what a session keeps, which is nothing yet. Without bounds (nil) it is not limited.
func (all *Beginnings) New() *Beginning {
	b := &Beginning{all: all}
	b.encoded = llm.NewEncoded(b.account)
	return b
}

// account notes the size of b, which was just used.
func (all *Beginnings) account(b *Beginning) {
	if all == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	size := b.Size()
	all.bytes += size - b.size
	b.size, b.idle = size, false
	switch {
	case b.place == nil && size > 0:
		b.place = all.used.PushFront(b)
	case b.place != nil:
		all.used.MoveToFront(b.place)
	}
	for all.bytes > all.limit {
		all.drop(all.used.Back())
	}
	if all.sweep == nil && all.used.Len() > 0 {
		all.sweep = time.AfterFunc(keptIdle, all.dropIdle)
	}
}

// drop makes a session keep nothing.
func (all *Beginnings) drop(place *list.Element) {
	b := all.used.Remove(place).(*Beginning)
	all.bytes -= b.size
	b.size, b.place = 0, nil
	b.drop()
}

// dropIdle drops what was not used since the last sweep.
func (all *Beginnings) dropIdle() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for place := all.used.Front(); place != nil; {
		next := place.Next()
		if b := place.Value.(*Beginning); b.idle {
			all.drop(place)
		} else {
			b.idle = true
		}
		place = next
	}
	if all.sweep = nil; all.used.Len() > 0 {
		all.sweep = time.AfterFunc(keptIdle, all.dropIdle)
	}
}

// Beginning is what a session keeps of its newest request, so that the next one costs what is new: messages as the request
// contains them, and the encoded request. Whatever changed since then is made anew, and the request is the same in any case.
// It is safe for concurrent use; its lock is a leaf.
type Beginning struct {
	all     *Beginnings // nil: no limit
	encoded *llm.Encoded
	items   fit.Talk // counted with the renderings

	// Of Beginnings, under its lock.
	size  int
	place *list.Element
	idle  bool // not used since the last sweep

	mu      sync.Mutex
	counter *tokens.Counter
	talk    []rendering       // by item of the conversation
	blocks  [][]history.Block // of the other entries, in their order
}

// rendering is an item of the conversation as a request contains it. It never changes.
type rendering struct {
	view       []history.Viewed // the messages; nil for an item that must not be kept
	entries    []llm.Entry      // without marks
	sizes      []int            // tokens of each
	added      int              // tokens that the messages do not have
	unanswered int              // calls
	bytes      int              // approximate size of this one and those before it
}

// shows reports whether r is the rendering of messages. moved: they are in other memory.
func (r *rendering) shows(view []history.Viewed) (same, moved bool) {
	switch {
	case len(r.view) != len(view) || len(view) == 0:
		return false, false
	case &r.view[0] == &view[0]:
		return true, false
	}
	for i := range view {
		if !history.SameViewed(&r.view[i], &view[i]) {
			return false, false
		}
	}
	return true, true
}

// renderings returns the kept ones of the conversation for a counter, and the blocks of other entries. Neither must be
// changed.
func (b *Beginning) renderings(counter *tokens.Counter) ([]rendering, [][]history.Block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counter != counter {
		return nil, nil
	}
	return b.talk, b.blocks
}

// keep keeps the renderings of a request: the first same ones of before, which it began with, and those that it added.
func (b *Beginning) keep(counter *tokens.Counter, before []rendering, same int, added []rendering, blocks [][]history.Block) {
	b.mu.Lock()
	b.blocks = blocks
	kept := b.counter == counter && len(b.talk) == len(before) && (len(before) == 0 || &b.talk[0] == &before[0])
	switch {
	case kept && len(added) == 0: // also if the request has less of the conversation
	case kept && same == len(before):
		b.talk = append(b.talk, added...) // after what other requests have of it
	default:
		b.talk = append(before[:same:same], added...)
	}
	b.counter = counter
	b.mu.Unlock()
	b.all.account(b)
}

func (b *Beginning) account() { b.all.account(b) }

// drop makes b keep nothing.
func (b *Beginning) drop() {
	b.encoded.Drop()
	b.items.Drop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.talk, b.blocks, b.counter = nil, nil, nil
}

// Size returns the approximate number of bytes that are kept.
func (b *Beginning) Size() int {
	size := b.encoded.Size()
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.talk); n > 0 {
		size += b.talk[n-1].bytes
	}
	for _, blocks := range b.blocks {
		size += content.Bytes(blocks)
	}
	return size
}
