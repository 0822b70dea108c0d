package historystore

import (
	"container/list"
	"sync"

	"strata/history"
)

// messageCache keeps decoded messages up to a bound in bytes; the ones that were not asked for the longest leave first.
// Messages never change, so an entry is right for as long as it is there.
type messageCache struct {
	mu      sync.Mutex
	limit   int
	bytes   int
	entries map[messageKey]*list.Element
	recent  list.List // of *cached, newest use first
}

type messageKey struct {
	session string
	seq     int64
}

type cached struct {
	key     messageKey
	message history.Message
	bytes   int
}

// cacheOverhead is about what an entry costs beside its content.
const cacheOverhead = 512

func newMessageCache(limit int) *messageCache {
	return &messageCache{limit: limit, entries: map[messageKey]*list.Element{}}
}

func (c *messageCache) get(key messageKey) (history.Message, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		return history.Message{}, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).message, true
}

// put keeps m, whose stored content has bodyBytes.
func (c *messageCache) put(key messageKey, m history.Message, bodyBytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != nil {
		return
	}
	entry := &cached{key, m, bodyBytes + cacheOverhead}
	c.entries[key] = c.recent.PushFront(entry)
	c.bytes += entry.bytes
	for c.bytes > c.limit {
		c.remove(c.recent.Back())
	}
}

// drop forgets a session.
func (c *messageCache) drop(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if key.session == session {
			c.remove(e)
		}
	}
}

func (c *messageCache) remove(e *list.Element) {
	entry := c.recent.Remove(e).(*cached)
	delete(c.entries, entry.key)
	c.bytes -= entry.bytes
}
