package stability

import (
	"slices"
	"sync"
	"time"
)

// The lifetimes of a cached prefix, counted from its last use.
const (
	ShortLife = 5 * time.Minute
	LongLife  = time.Hour
)

// mirrorBound is the maximum number of prefixes in a mirror; those unused for longest are evicted first.
const mirrorBound = 8192

// Mirror records which marked prefixes a provider's cache contains. It is shared by all sessions with the same account,
// base URL, model, thinking mode and tool set. It is safe for concurrent use and reads no clock.
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

// Usage is the provider's report on the input of a request, in the provider's tokens.
type Usage struct {
	Read  int // read from the cache
	Write int // written to the cache
	Input int // the whole input, including Read and Write
}

// Answered updates m with the first usage event of the reply to p: the marked prefixes of p are now cached. If less was
// read than expected, m forgets the longer prefixes of p.
func (m *Mirror) Answered(p *Plan, u Usage) {
	if p.automatic {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(p, u)
	if u.Read+u.Write == 0 {
		return // the provider accepts marks but cached nothing
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
		return LongLife
	}
	return ShortLife
}

// forget removes the prefixes of p that are longer than the read, if less was read than expected.
// The provider's count differs from ours, so it compares shares of the whole input.
func (m *Mirror) forget(p *Plan, u Usage) {
	read := int64(0)
	if u.Input > 0 {
		read = int64(u.Read) * int64(p.Tokens) / int64(u.Input)
	}
	if read >= m.least(p) {
		return
	}
	read += read / 10
	sum := int64(0)
	for i := range p.Entries {
		if sum += int64(p.Entries[i].Tokens); sum > read {
			delete(m.used, p.Entries[i].prefix)
		}
	}
}

// least returns the minimum share of p's tokens that counts as the expected read. A provider counts calls and results in
// another ratio than text, so a read is the expected one if no shorter cached prefix is nearer, or if it is above ten
// elevenths.
func (m *Mirror) least(p *Plan) int64 {
	shorter, sum := int64(0), int64(0)
	for i := range p.Entries {
		if sum += int64(p.Entries[i].Tokens); sum >= int64(p.Expect) {
			break
		}
		if u, known := m.used[p.Entries[i].prefix]; known && u.alive(p.at) {
			shorter = sum
		}
	}
	expect := int64(p.Expect)
	return min((expect+shorter)/2, expect*10/11)
}

// refresh records a use of p and reports whether p is cached. The lifetime remains the one with which p was written.
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

// shrink removes expired prefixes, then those unused for longest, down to three quarters of mirrorBound.
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

// longest returns the number of entries in the longest cached prefix that ends within the last lookBack blocks; 0 if
// there is none.
func (m *Mirror) longest(entries []Entry, now time.Time) int {
	blocks := 0
	for n := len(entries); n > 0; n-- {
		e := &entries[n-1]
		if e.BlockEnd {
			if blocks >= lookBack {
				break
			}
			if m.holds(e.prefix, now) {
				return n
			}
			blocks += e.Blocks
		}
		if e.Before != NotSeparated {
			blocks++
		}
	}
	return 0
}

// learn adds a stored use of p unless m has a later one.
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

// lookBack is the number of blocks, including the marked one, in which Anthropic searches for a cached prefix.
const lookBack = 20
