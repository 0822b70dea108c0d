package requests

import (
	"container/list"
	"sync"

	"strata/history"
)

// The limits of Bases. A session without a base stores its next request whole.
const (
	maxBaseItems   = 50_000 // items of all whole requests
	maxDifferences = 250    // to one whole request
)

// Bases holds the newest whole request of each session, the base of the next differences. It is safe for concurrent use.
type Bases struct {
	mu       sync.Mutex
	sessions map[string]*list.Element
	used     list.List // of *base, the newest use first
	items    int
}

type base struct {
	session string
	row     int64
	request *history.Request
	size    int // bytes of the whole request and of all differences to it
	count   int // of these differences
}

// Encoded is the body of a request, and the row of the whole request to which it is a difference; 0 for a whole request.
type Encoded struct {
	Body []byte
	Base int64
	Of   string // id of the call of that row
}

// Encode encodes a request of a session. It encodes the request whole if the difference exceeds the average size of the requests
// since the newest whole one, including it. ok is false for a request that is too large to be kept.
func (b *Bases) Encode(session string, r *history.Request) (e Encoded, ok bool) {
	if len(r.Items) > maxItems || len(r.Omitted) > maxItems {
		return Encoded{}, false
	}
	row, to, size, count := b.of(session)
	if to != nil && count < maxDifferences {
		if body := Encode(r, to); len(body)*(count+1) <= size {
			return Encoded{Body: body, Base: row, Of: to.Call}, true
		}
	}
	return Encoded{Body: Encode(r, nil)}, true
}

func (b *Bases) of(session string) (row int64, to *history.Request, size, count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.sessions[session]
	if at == nil {
		return 0, nil, 0, 0
	}
	b.used.MoveToFront(at)
	is := at.Value.(*base)
	return is.row, is.request, is.size, is.count
}

// Stored notes that a request was stored in a row.
func (b *Bases) Stored(session string, r *history.Request, e *Encoded, row int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.sessions[session]
	if e.Base != 0 {
		if at != nil && at.Value.(*base).row == e.Base {
			is := at.Value.(*base)
			is.size, is.count = is.size+len(e.Body), is.count+1
		}
		return
	}
	if at != nil {
		b.drop(at)
	}
	if b.sessions == nil {
		b.sessions = make(map[string]*list.Element)
	}
	b.sessions[session] = b.used.PushFront(&base{session: session, row: row, request: r, size: len(e.Body)})
	for b.items += len(r.Items); b.items > maxBaseItems; {
		b.drop(b.used.Back())
	}
}

func (b *Bases) drop(at *list.Element) {
	is := b.used.Remove(at).(*base)
	b.items -= len(is.request.Items)
	delete(b.sessions, is.session)
}
