package historystore

import (
	"container/list"
	"sync"
)

// cache keeps immutable values up to a limit in bytes and evicts the least recently used ones. Values deleted from the
// store are dropped when the deletion is committed. It is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	limit   int
	bytes   int
	drops   int // number of calls of drop and dropIf
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

// cacheOverhead is the approximate size of an entry without its content, in bytes.
const cacheOverhead = 512

func newCache[K comparable, V any](limit int) *cache[K, V] {
	return &cache[K, V]{limit: limit, entries: map[K]*list.Element{}}
}

// lookup sets the values of the cached keys. It returns the indexes of the missing keys, and a drop count to pass to put
// with values read for them.
func (c *cache[K, V]) lookup(keys []K, values []V) (missing []int, since int) {
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

// put adds a value with its size in bytes, unless there was a drop since the lookup: the value may be from a snapshot
// taken before a deletion.
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

// drop removes the given keys. Unknown keys are ignored.
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

// dropIf removes the keys for which gone returns true.
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
