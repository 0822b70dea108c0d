package cache

import (
	"reflect"
	"slices"
	"testing"
)

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// in returns those of keys that are in c.
func in(c *Cache[int, string], keys ...int) []int {
	missing, _ := c.Lookup(keys, make([]string, len(keys)))
	for _, i := range slices.Backward(missing) {
		keys = slices.Delete(keys, i, i+1)
	}
	return keys
}

func TestCacheIsBounded(t *testing.T) {
	const bytes = 1000
	c := New[int, string](3 * (bytes + overhead))
	for key := range 3 {
		c.Put(key, "", bytes, 0)
	}
	c.Lookup([]int{0}, make([]string, 1))
	c.Put(3, "", bytes, 0)
	c.Put(3, "", bytes, 0)
	equal(t, "kept", in(c, 0, 1, 2, 3), []int{0, 2, 3})
	c.Put(4, "", 1<<20, 0)
	if c.bytes != 0 || len(c.entries) != 0 || c.recent.Len() != 0 {
		t.Fatalf("%d bytes in %d entries after a value larger than the cache", c.bytes, len(c.entries))
	}
}

func TestCacheLookup(t *testing.T) {
	c := New[int, string](1 << 20)
	c.Put(1, "one", 3, 0)
	values := make([]string, 4)
	missing, _ := c.Lookup([]int{2, 1, 3, 1}, values)
	equal(t, "found", values, []string{"", "one", "", "one"})
	equal(t, "missing", missing, []int{0, 2})
}

// A read that started before a drop does not add the dropped value again.
func TestCacheDrops(t *testing.T) {
	c := New[int, string](1 << 20)
	for key := range 6 {
		c.Put(key, "", 100, 0)
	}
	_, before := c.Lookup(nil, nil)
	c.Drop([]int{1, 2, 77})
	c.Put(1, "", 100, before)
	equal(t, "kept", in(c, 0, 1, 2, 3, 4, 5), []int{0, 3, 4, 5})
	_, before = c.Lookup(nil, nil)
	c.DropIf(func(key int) bool { return key > 3 })
	c.Put(4, "", 100, before)
	equal(t, "kept", in(c, 0, 1, 2, 3, 4, 5), []int{0, 3})
	_, now := c.Lookup(nil, nil)
	c.Put(4, "", 100, now)
	equal(t, "kept", in(c, 0, 3, 4), []int{0, 3, 4})
	equal(t, "bytes", c.bytes, 3*(100+overhead))
}
