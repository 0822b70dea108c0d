package rpc

import (
	"encoding/json"
	"sync"
)

// idTable maps each id of the peer to a number until its response is written, and holds the requests in flight.
// It is safe for concurrent use.
//
// Number 0 means the id null, used in responses to frames without a readable id.
type idTable struct {
	mu       sync.Mutex
	last     uint64
	byNumber map[uint64]*claim
	byKey    map[string]*claim
	requests int // claims with a request
}

type claim struct {
	raw, key string
	number   uint64
	request  *Request // nil for a refused frame whose response is queued
}

func newIDTable() *idTable {
	return &idTable{byNumber: make(map[uint64]*claim), byKey: make(map[string]*claim)}
}

// claim assigns a number to an id and reports whether the id was free. A nil id is always free and has number 0.
func (t *idTable) claim(raw []byte) (number uint64, free bool) {
	if raw == nil {
		return 0, true
	}
	key := idKey(raw)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[key] != nil {
		return 0, false
	}
	t.last++
	c := &claim{raw: string(raw), key: key, number: t.last}
	t.byNumber[c.number], t.byKey[key] = c, c
	return c.number, true
}

// admit puts a request in flight under its number. It returns false if limit requests already are.
func (t *idTable) admit(number uint64, r *Request, limit int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.requests >= limit {
		return false
	}
	t.requests++
	t.byNumber[number].request = r
	return true
}

// find returns the request in flight with this id, or nil.
func (t *idTable) find(raw []byte) *Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.byKey[idKey(raw)]; c != nil {
		return c.request
	}
	return nil
}

// release removes a number and returns its id as the peer sent it, or null.
func (t *idTable) release(number uint64) (raw string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.byNumber[number]
	if c == nil {
		return "null"
	}
	delete(t.byNumber, number)
	delete(t.byKey, c.key)
	if c.request != nil {
		t.requests--
	}
	return c.raw
}

// idKey returns a canonical form of an id: the same for "a" and "\u0061", and for 0 and -0.
func idKey(raw json.RawMessage) string {
	switch {
	case isString(raw):
		return `"` + string(unquoted(raw))
	case string(raw) == "-0":
		return "0"
	default:
		return string(raw)
	}
}
