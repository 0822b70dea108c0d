// Package cache keeps immutable values that were read from the store, up to a size in bytes.
//
// It must never return a value that was deleted from the store before it was added.
package cache

import (
	"container/list"
	"sync"
)

// Cache evicts the least recently used values when it is full. Values deleted from the store are dropped when the deletion
// is committed. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	mu      sync.Mutex
	limit   int
	bytes   int
	drops   int // number of calls of Drop and DropIf
	entries map[K]*list.Element
	recent  list.List // of *cached[K, V], newest use first
}

type cached[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

// overhead is the approximate size of an entry without its content, in bytes.
const overhead = 512

// New returns an empty cache of up to limit bytes.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: map[K]*list.Element{}}
}

// Lookup sets the values of the cached keys. It returns the indexes of the missing keys, and a drop count to pass to Put
// with values read for them.
func (c *Cache[K, V]) Lookup(keys []K, values []V) (missing []int, since int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, key := range keys {
		if e := c.entries[key]; e != nil {
			c.recent.MoveToFront(e)
			values[i] = e.Value.(*cached[K, V]).value
		} else {
			missing = append(missing, i)
		}
	}
	return missing, c.drops
}

// Put adds a value with its size in bytes, unless there was a drop since the lookup: the value may be from a snapshot
// taken before a deletion.
func (c *Cache[K, V]) Put(key K, value V, bytes, since int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != nil || c.drops != since {
		return
	}
	entry := &cached[K, V]{key, value, bytes + overhead}
	c.entries[key] = c.recent.PushFront(entry)
	c.bytes += entry.bytes
	for c.bytes > c.limit {
		c.remove(c.recent.Back())
	}
}

// Len returns the number of values.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// Bytes returns the size of all values, which includes an estimate for the memory around each.
func (c *Cache[K, V]) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// Drop removes the given keys. Unknown keys are ignored.
func (c *Cache[K, V]) Drop(keys []K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	for _, key := range keys {
		if e := c.entries[key]; e != nil {
			c.remove(e)
		}
	}
}

// DropIf removes the keys for which gone returns true.
func (c *Cache[K, V]) DropIf(gone func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	for key, e := range c.entries {
		if gone(key) {
			c.remove(e)
		}
	}
}

func (c *Cache[K, V]) remove(e *list.Element) {
	entry := c.recent.Remove(e).(*cached[K, V])
	delete(c.entries, entry.key)
	c.bytes -= entry.bytes
}
