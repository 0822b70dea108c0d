package tokens

import (
	"hash/maphash"
	"sync"
)

// recentTexts limits the texts of a generation.
const recentTexts = 2048

// recent remembers the counts of texts: each request counts the same documents, summaries and prompts again. It has at least
// the last recentTexts texts that were counted or found, and at most twice as many. The texts themselves are not kept. The
// zero value is empty. It is safe for concurrent use.
type recent struct {
	mu         sync.Mutex
	young, old map[fingerprint]int // when young is full, it becomes old
}

// A fingerprint names a text. Two texts of the same length have the same one with a probability of 2^-64.
type fingerprint struct {
	hash   uint64
	length int
}

var fingerprintSeed = maphash.MakeSeed()

// count returns the count of a text, by calling measure if it is not remembered. Only an exact count is remembered.
func (r *recent) count(text string, measure func(string) (n int, exact bool)) int {
	key := fingerprint{maphash.String(fingerprintSeed, text), len(text)}
	if n, known := r.find(key); known {
		return n
	}
	n, exact := measure(text)
	if exact {
		r.remember(key, n)
	}
	return n
}

func (r *recent) find(key fingerprint) (n int, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, known = r.young[key]; known {
		return n, true
	}
	if n, known = r.old[key]; known {
		r.add(key, n)
	}
	return n, known
}

func (r *recent) remember(key fingerprint, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(key, n)
}

// add makes a count the youngest. The caller holds the lock.
func (r *recent) add(key fingerprint, n int) {
	if r.young == nil || len(r.young) == recentTexts {
		r.young, r.old = make(map[fingerprint]int), r.young
	}
	r.young[key] = n
}
