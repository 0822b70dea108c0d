package assembly

import (
	"fmt"
	"testing"
	"time"

	"strata/llm"
	"strata/stability"
)

// The cache that was used longest ago is evicted, but only if there is no room for another one.
func TestTheOldestMirrorIsEvicted(t *testing.T) {
	m := NewMirrors()
	start := time.Unix(1_700_000_000, 0)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Second) }
	name := func(i int) string { return fmt.Sprint("cache ", i) }
	known := make(map[int]*stability.Mirror)
	for i := range maxMirrors {
		known[i] = m.Of(name(i), at(i))
	}
	for i := range maxMirrors {
		if m.Of(name(i), at(i)) != known[i] {
			t.Fatalf("mirror %d was evicted although there was room", i)
		}
	}
	m.Of(name(0), at(maxMirrors)) // 1 is now the oldest
	for i := range 3 {
		m.Of(name(maxMirrors+i), at(maxMirrors+1+i))
		if len(m.all) != maxMirrors || len(m.used) != maxMirrors {
			t.Fatalf("%d mirrors, %d times of use; the limit is %d", len(m.all), len(m.used), maxMirrors)
		}
	}
	for i := range maxMirrors {
		if evicted := m.all[name(i)] != known[i]; evicted != (i >= 1 && i <= 3) {
			t.Errorf("mirror %d: evicted %t", i, evicted)
		}
	}
}

func TestEachCacheHasItsName(t *testing.T) {
	names := make(map[string]bool)
	for _, model := range []string{"local/a", "local/b"} {
		for _, thought := range []llm.ThoughtLevel{llm.ThoughtOff, llm.ThoughtHigh} {
			for _, tools := range []string{"", "set 1", "set 2"} {
				names[cacheName(llm.Model{Name: model}, thought, tools)] = true
			}
		}
	}
	if len(names) != 12 {
		t.Errorf("12 caches have %d names", len(names))
	}
}
