package tokens

import (
	"hash/maphash"
	"sync"
)

// The texts whose counts are remembered. Shorter texts are counted in less time than it takes to find them.
const (
	recentTexts = 4096
	recentBytes = 512 // the length of a text from which it is remembered
)

// recent remembers the counts of the last long texts: each request counts the same documents, summaries and prompts again.
// The texts themselves are not kept. The zero value is empty. It is safe for concurrent use.
type recent struct {
	mu     sync.Mutex
	counts map[fingerprint]int
	order  []fingerprint // of counts; a ring once it is full
	oldest int           // index in order
}

// A fingerprint names a text. Two texts of the same length have the same one with a probability of 2^-64.
type fingerprint struct {
	hash   uint64
	length int
}

var fingerprintSeed = maphash.MakeSeed()

// count returns the count of a text, by calling measure if it is short or not remembered. Only an exact count is
// remembered.
func (r *recent) count(text string, measure func(string) (n int, exact bool)) int {
	if len(text) < recentBytes {
		n, _ := measure(text)
		return n
	}
	key := fingerprint{maphash.String(fingerprintSeed, text), len(text)}
	if n, known := r.find(key); known {
		return n
	}
	n, exact := measure(text)
	if exact {
		r.add(key, n)
	}
	return n
}

func (r *recent) find(key fingerprint) (n int, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, known = r.counts[key]
	return n, known
}

func (r *recent) add(key fingerprint, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.counts[key]; known { // counted twice at once
		return
	}
	if r.counts == nil {
		r.counts = make(map[fingerprint]int)
	}
	r.counts[key] = n
	if len(r.order) < recentTexts {
		r.order = append(r.order, key)
		return
	}
	delete(r.counts, r.order[r.oldest])
	r.order[r.oldest] = key
	r.oldest = (r.oldest + 1) % recentTexts
}
