package stability

import (
	"slices"
	"sync"
	"time"
)

// The lifetimes of a cached prefix, counted from its last use.
const (
	shortLife = 5 * time.Minute
	longLife  = time.Hour
)

// mirrorBound is how many prefixes a mirror remembers; the ones unused for longest are forgotten first.
const mirrorBound = 8192

// Mirror is what is known about a provider's cache: which marked prefixes it holds. It is shared by the sessions
// of one account, base URL, model, thinking mode and tool set, is safe for concurrent use, and reads no clock.
type Mirror struct {
	mu   sync.Mutex
	used map[prefix]use
}

type use struct {
	at   time.Time
	life time.Duration
}

func (u use) alive(now time.Time) bool { return now.Sub(u.at) <= u.life }

// NewMirror returns a mirror of an empty cache.
func NewMirror() *Mirror { return &Mirror{used: make(map[prefix]use)} }

// Usage is what the provider reports of a request's input, in its own tokens.
type Usage struct {
	Read  int // read from the cache
	Write int // written to it
	Input int // all of the input, read and written included
}

// Answered tells m that the request of p is being answered: its first usage event has come. From now on its marked
// prefixes are cached. Where less was read than expected, the longer prefixes that were expected are forgotten.
func (m *Mirror) Answered(p *Plan, u Usage) {
	if p.automatic {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(p, u)
	if u.Read+u.Write == 0 {
		return // the provider takes marks but did not cache
	}
	m.refresh(p.hit, p.at)
	for i := range p.Entries {
		if e := &p.Entries[i]; e.Mark && !m.refresh(e.prefix, p.at) {
			m.put(e.prefix, use{p.at, lifetime(p.Long)}, p.at)
		}
	}
}

func lifetime(long bool) time.Duration {
	if long {
		return longLife
	}
	return shortLife
}

// forget drops the prefixes of p that were expected to be cached and were not read.
// The provider counts otherwise than we do, so the shares of the whole are compared, with a margin of a tenth.
func (m *Mirror) forget(p *Plan, u Usage) {
	read := int64(0)
	if u.Input > 0 {
		read = int64(u.Read) * int64(p.Tokens) / int64(u.Input)
	}
	read += read / 10
	if read >= int64(p.Expect) {
		return
	}
	sum := int64(0)
	for i := range p.Entries {
		if sum += int64(p.Entries[i].Tokens); sum > read {
			delete(m.used, p.Entries[i].prefix)
		}
	}
}

// refresh notes a use of a prefix that is alive, and reports whether it is. Its lifetime is the one it was written with.
func (m *Mirror) refresh(p prefix, now time.Time) bool {
	u, ok := m.used[p]
	if !ok || !u.alive(now) {
		return false
	}
	if now.After(u.at) {
		u.at = now
		m.used[p] = u
	}
	return true
}

func (m *Mirror) put(p prefix, u use, now time.Time) {
	m.used[p] = u
	if len(m.used) > mirrorBound {
		m.shrink(now)
	}
}

// shrink drops what is dead, and then what was not used for longest, down to three quarters of the bound.
func (m *Mirror) shrink(now time.Time) {
	type known struct {
		prefix
		use
	}
	all := make([]known, 0, len(m.used))
	for p, u := range m.used {
		if u.alive(now) {
			all = append(all, known{p, u})
		} else {
			delete(m.used, p)
		}
	}
	slices.SortFunc(all, func(a, b known) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return slices.Compare(a.prefix[:], b.prefix[:])
	})
	for i := 0; i < len(all)-mirrorBound*3/4; i++ {
		delete(m.used, all[i].prefix)
	}
}

// holds reports whether p is cached. A nil mirror holds nothing.
func (m *Mirror) holds(p prefix, now time.Time) bool {
	_, ok := m.lastUse(p, now)
	return ok
}

// lastUse returns the last use of p if it is cached.
func (m *Mirror) lastUse(p prefix, now time.Time) (use, bool) {
	if m == nil {
		return use{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u, ok := m.used[p]
	return u, ok && u.alive(now)
}

// longest returns the length of the longest cached prefix of entries that ends within the look-back from their end; 0 for none.
func (m *Mirror) longest(entries []Entry, now time.Time) int {
	blocks := 0
	for n := len(entries); n > 0; n-- {
		e := &entries[n-1]
		if !e.BlockEnd {
			continue
		}
		if blocks >= lookBack {
			break
		}
		if m.holds(e.prefix, now) {
			return n
		}
		blocks += e.Blocks
	}
	return 0
}

// learn takes over a use that was stored, unless a later one is known.
func (m *Mirror) learn(p prefix, u use) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.used[p]; !ok || u.at.After(known.at) {
		m.put(p, u, u.at)
	}
}
