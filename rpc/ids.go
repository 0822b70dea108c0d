package rpc

import (
	"encoding/json"
	"sync"
)

// idTable is all that a connection knows about ids in use: it gives each id that a peer chose a number for the time
// until its answer is written, and has the requests in flight. It is safe for concurrent use.
//
// Number 0 stands for the id null, which answers have that belong to no readable id.
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
	request  *Request // nil for a frame that is refused and has its answer queued
}

func newIDTable() *idTable {
	return &idTable{byNumber: make(map[uint64]*claim), byKey: make(map[string]*claim)}
}

// claim takes an id that is not in use. For one that is, it returns false. A nil id is always free and has number 0.
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

// admit puts a request in flight under its number unless limit are already.
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

// release ends the use of a number and returns its id as it came.
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

// idKey returns the same key for two ids that a peer could take for one: "a" and "\u0061", 0 and -0.
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
