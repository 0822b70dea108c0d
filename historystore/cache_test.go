package historystore

import (
	"fmt"
	"slices"
	"testing"

	"strata/history"
)

// in returns those of keys that are in c.
func in(c *cache[int, string], keys ...int) []int {
	missing, _ := c.lookup(keys, make([]string, len(keys)))
	for _, i := range slices.Backward(missing) {
		keys = slices.Delete(keys, i, i+1)
	}
	return keys
}

func TestCacheIsBounded(t *testing.T) {
	const bytes = 1000
	c := newCache[int, string](3 * (bytes + cacheOverhead))
	for key := range 3 {
		c.put(key, "", bytes, 0)
	}
	c.lookup([]int{0}, make([]string, 1))
	c.put(3, "", bytes, 0)
	c.put(3, "", bytes, 0)
	equal(t, "kept", in(c, 0, 1, 2, 3), []int{0, 2, 3})
	c.put(4, "", 1<<20, 0)
	if c.bytes != 0 || len(c.entries) != 0 || c.recent.Len() != 0 {
		t.Fatalf("%d bytes in %d entries after a value larger than the cache", c.bytes, len(c.entries))
	}
}

func TestCacheLookup(t *testing.T) {
	c := newCache[int, string](1 << 20)
	c.put(1, "one", 3, 0)
	values := make([]string, 4)
	missing, _ := c.lookup([]int{2, 1, 3, 1}, values)
	equal(t, "found", values, []string{"", "one", "", "one"})
	equal(t, "missing", missing, []int{0, 2})
}

// A read that started before a drop does not add the dropped value again.
func TestCacheDrops(t *testing.T) {
	c := newCache[int, string](1 << 20)
	for key := range 6 {
		c.put(key, "", 100, 0)
	}
	_, before := c.lookup(nil, nil)
	c.drop([]int{1, 2, 77})
	c.put(1, "", 100, before)
	equal(t, "kept", in(c, 0, 1, 2, 3, 4, 5), []int{0, 3, 4, 5})
	_, before = c.lookup(nil, nil)
	c.dropIf(func(key int) bool { return key > 3 })
	c.put(4, "", 100, before)
	equal(t, "kept", in(c, 0, 1, 2, 3, 4, 5), []int{0, 3})
	_, now := c.lookup(nil, nil)
	c.put(4, "", 100, now)
	equal(t, "kept", in(c, 0, 3, 4), []int{0, 3, 4})
	equal(t, "bytes", c.bytes, 3*(100+cacheOverhead))
}

func TestMessagesComeFromTheCache(t *testing.T) {
	s := openTest(t, "", Options{CacheBytes: 10_000})
	commit(t, s, createSession("sess_a"))
	for seq := int64(1); seq <= 50; seq++ {
		commit(t, s, appendText("sess_a", seq, fmt.Sprint("text ", seq)))
	}
	for range 2 {
		for seq := int64(1); seq <= 50; seq++ {
			got, err := s.Messages(ctx, "sess_a", []int64{seq, max(1, seq-1)})
			if err != nil || got[0].Seq != seq {
				t.Fatal(got, err)
			}
		}
	}
	if s.messages.bytes > 10_000 || s.messages.bytes == 0 {
		t.Fatalf("cache of %d bytes", s.messages.bytes)
	}
}

// The messages stored by a turn are in the next request. Those of an import may never be read.
func TestFreshMessagesNeedNoQuery(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	for _, tt := range []struct {
		messages int
		cached   int
	}{{1, 1}, {freshMessages, 1 + freshMessages}, {freshMessages + 1, 1 + freshMessages}} {
		ch := history.Change{Session: "sess_a"}
		for range tt.messages {
			seq := int64(len(load(t, s, "sess_a").Heads) + len(ch.Messages) + 1)
			ch.Messages = append(ch.Messages, textMessage(seq, history.RoleUser, fmt.Sprint("text ", seq)))
		}
		commit(t, s, ch)
		equal(t, "cached", len(s.messages.entries), tt.cached)
	}
	fresh, err := s.Messages(ctx, "sess_a", []int64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	s.messages.drop([]messageKey{{"sess_a", 1}, {"sess_a", 2}})
	read, err := s.Messages(ctx, "sess_a", []int64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "fresh messages", fresh, read)
}
