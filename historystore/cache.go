package historystore

import (
	"container/list"
	"sync"
)

// A cache keeps values that never change, up to a bound in bytes; the ones that were not asked for the longest leave
// first. What is deleted from the store is dropped from here when the deletion is committed.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	limit   int
	bytes   int
	drops   int // how often something was dropped
	entries map[K]*list.Element
	recent  list.List // of *cached[K, V], newest use first
}

type cached[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

type messageKey struct {
	session string
	seq     int64
}

// cacheOverhead is about what an entry costs beside its content.
const cacheOverhead = 512

func newCache[K comparable, V any](limit int) *cache[K, V] {
	return &cache[K, V]{limit: limit, entries: map[K]*list.Element{}}
}

// lookup returns the values that are there, the keys of the others, and how often something was dropped until now,
// which put wants to know of a caller that reads the others.
func (c *cache[K, V]) lookup(keys []K) (found map[K]V, missing []K, since int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found = make(map[K]V, len(keys))
	for _, key := range keys {
		if e := c.entries[key]; e != nil {
			c.recent.MoveToFront(e)
			found[key] = e.Value.(*cached[K, V]).value
		} else {
			missing = append(missing, key)
		}
	}
	return found, missing, c.drops
}

// put keeps a value of so many bytes, unless something was dropped since the lookup: the value may come from a view of
// the store in which it was not deleted yet.
func (c *cache[K, V]) put(key K, value V, bytes, since int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != nil || c.drops != since {
		return
	}
	entry := &cached[K, V]{key, value, bytes + cacheOverhead}
	c.entries[key] = c.recent.PushFront(entry)
	c.bytes += entry.bytes
	for c.bytes > c.limit {
		c.remove(c.recent.Back())
	}
}

// drop forgets keys, some of which may not be there.
func (c *cache[K, V]) drop(keys []K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	for _, key := range keys {
		if e := c.entries[key]; e != nil {
			c.remove(e)
		}
	}
}

// dropIf forgets the keys of which gone is true.
func (c *cache[K, V]) dropIf(gone func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	for key, e := range c.entries {
		if gone(key) {
			c.remove(e)
		}
	}
}

func (c *cache[K, V]) remove(e *list.Element) {
	entry := c.recent.Remove(e).(*cached[K, V])
	delete(c.entries, entry.key)
	c.bytes -= entry.bytes
}
