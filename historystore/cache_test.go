package historystore

import (
	"fmt"
	"slices"
	"testing"

	"strata/history"
)

func TestCacheIsBounded(t *testing.T) {
	const bytes = 1000
	c := newMessageCache(3 * (bytes + cacheOverhead))
	key := func(seq int64) messageKey { return messageKey{"sess_a", seq} }
	for seq := int64(1); seq <= 3; seq++ {
		c.put(key(seq), history.Message{Seq: seq}, bytes)
	}
	c.get(key(1))
	c.put(key(4), history.Message{Seq: 4}, bytes)
	c.put(key(4), history.Message{Seq: 4}, bytes)
	var kept []int64
	for seq := int64(1); seq <= 4; seq++ {
		if m, ok := c.get(key(seq)); ok {
			kept = append(kept, m.Seq)
		}
	}
	if !slices.Equal(kept, []int64{1, 3, 4}) {
		t.Fatalf("kept %v", kept)
	}
	c.put(key(5), history.Message{}, 1<<20)
	if c.bytes != 0 || len(c.entries) != 0 || c.recent.Len() != 0 {
		t.Fatalf("%d bytes in %d entries after one that is larger than the cache", c.bytes, len(c.entries))
	}
	c.put(key(6), history.Message{}, bytes)
	c.put(messageKey{"sess_b", 6}, history.Message{}, bytes)
	c.drop("sess_a")
	if _, ok := c.get(messageKey{"sess_b", 6}); !ok || len(c.entries) != 1 || c.bytes != bytes+cacheOverhead {
		t.Fatal("dropping a session")
	}
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
	if s.cache.bytes > 10_000 || s.cache.bytes == 0 {
		t.Fatalf("cache of %d bytes", s.cache.bytes)
	}
}
