package assembly

import (
	"strings"
	"sync"
	"time"

	"strata/llm"
	"strata/stability"
)

// maxMirrors limits the caches that are mirrored; the least recently used one is evicted.
const maxMirrors = 64

// Mirrors are what is known of providers' prompt caches, shared by all sessions of a server.
// It is safe for concurrent use; its lock is a leaf.
type Mirrors struct {
	mu   sync.Mutex
	all  map[string]*stability.Mirror
	used map[string]time.Time
}

// NewMirrors returns mirrors of empty caches.
func NewMirrors() *Mirrors {
	return &Mirrors{all: make(map[string]*stability.Mirror), used: make(map[string]time.Time)}
}

// cacheName names the cache that calls of one model with one thought level and one set of tools share.
func cacheName(model llm.Model, thought llm.ThoughtLevel, tools string) string {
	return strings.Join([]string{model.Name, string(thought), tools}, " ")
}

// Of returns the mirror of the cache with a name.
func (m *Mirrors) Of(cache string, now time.Time) *stability.Mirror {
	m.mu.Lock()
	defer m.mu.Unlock()
	mirror := m.all[cache]
	if mirror == nil {
		m.makeRoom()
		mirror = stability.NewMirror()
		m.all[cache] = mirror
	}
	m.used[cache] = now
	return mirror
}

func (m *Mirrors) makeRoom() {
	if len(m.all) < maxMirrors {
		return
	}
	oldest := ""
	for key, at := range m.used {
		if oldest == "" || at.Before(m.used[oldest]) {
			oldest = key
		}
	}
	delete(m.all, oldest)
	delete(m.used, oldest)
}
