package tokens

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"unicode/utf8"
)

// Running counts a text while it arrives. Each finished chunk is counted by a goroutine that ends when no chunk waits, so
// Add never counts. The result is the one of Counter.Count, however the text is divided.
//
// It holds the text that is not counted yet. Its methods must not be called concurrently; they may be called from any
// goroutine.
type Running struct {
	counter *Counter
	ctx     context.Context
	hash    maphash.Hash    // of the text
	length  int             // bytes of the text
	open    strings.Builder // the text after the last finished chunk
	scan    scan            // of open
	cut     int             // bytes of open before a forced split whose seam has not arrived; 0 for none
	closed  bool

	mu      sync.Mutex // guards the fields below; a leaf
	waiting []part
	busy    bool // the goroutine runs
	counted tally
	done    sync.WaitGroup // of the goroutine
}

// part is a finished chunk: the first end bytes of text. The bytes after them are for the seam of a forced split.
type part struct {
	text   string
	end    int
	forced bool
}

// tally is the count of a text's first chunks.
type tally struct {
	tokens, bytes int
	characters    int // of chunks for which there was no tokenizer
}

// addBytes is the largest addition that is scanned at a time: it bounds the memory of a large Add.
const addBytes = hardChunk

// Running returns a count of an empty text, to which parts are added. Once ctx has ended, no chunk beyond the first
// sampleBytes is begun; the rest is estimated as CountContext does.
func (c *Counter) Running(ctx context.Context) *Running {
	r := &Running{counter: c, ctx: ctx}
	r.hash.SetSeed(fingerprintSeed)
	return r
}

// Add appends to the text. The end of added can be within a rune. After Close or Finish it has no effect.
func (r *Running) Add(added string) {
	if r.closed {
		return
	}
	r.hash.WriteString(added)
	r.length += len(added)
	for ; len(added) > addBytes; added = added[addBytes:] {
		r.add(added[:addBytes])
	}
	r.add(added)
}

func (r *Running) add(added string) {
	r.open.WriteString(added)
	text := r.open.String()
	rest := r.split(text)
	if len(rest) == len(text) {
		return
	}
	r.open.Reset()
	r.open.WriteString(rest)
}

// split passes the finished chunks of text on and returns the text after them.
func (r *Running) split(text string) (rest string) {
	for {
		forced := r.cut > 0
		end := r.cut
		if !forced {
			end, forced = r.scan.split(text[:wholeRunes(text)])
		}
		switch {
		case end == 0:
			return text
		case forced && len(text) <= end+seamSize:
			r.cut = end
			return text
		}
		r.pass(text, end, forced)
		text, r.scan, r.cut = text[end:], scan{}, 0
	}
}

// pass adds a chunk to those that wait, and starts the goroutine that counts them unless it runs.
func (r *Running) pass(text string, end int, forced bool) {
	p := part{text[:end], end, forced}
	if forced {
		p.text = text[:min(end+seamSize+1, len(text))]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, p)
	if !r.busy {
		r.busy = true
		r.done.Go(r.countWaiting)
	}
}

// countWaiting counts chunks until none waits.
func (r *Running) countWaiting() {
	for {
		p, ok := r.next()
		if !ok {
			return
		}
		r.count(p)
	}
}

// next takes the oldest waiting chunk. If ok is false, none waits, and the goroutine that asked has to end.
func (r *Running) next() (p part, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		r.drop()
	}
	if len(r.waiting) == 0 {
		r.busy, r.waiting = false, nil
		return part{}, false
	}
	p = r.waiting[0]
	r.waiting[0] = part{} // the memory of counted chunks is freed
	r.waiting = r.waiting[1:]
	return p, true
}

// count counts a chunk, outside the lock.
func (r *Running) count(p part) {
	n, characters := 0, 0
	if tok, err := r.counter.tokenizer(); err == nil {
		n = r.counter.countChunk(tok, p.text, p.end, p.forced)
	} else {
		characters = utf8.RuneCountInString(p.text[:p.end])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted.tokens += n
	r.counted.characters += characters
	r.counted.bytes += p.end
}

// Close ends the text: the goroutine counts its last chunks, too.
func (r *Running) Close() {
	if r.closed {
		return
	}
	r.closed = true
	for text := r.open.String(); text != ""; {
		end, forced := nextChunk(text)
		r.pass(text, end, forced)
		text = text[end:]
	}
	r.open.Reset()
}

// Finish ends the text, waits until it is counted and returns the number of its tokens, which the Counter remembers unless it
// is an estimate. The goroutine has then ended.
func (r *Running) Finish() int {
	r.Close()
	r.countWaiting() // beside the goroutine
	r.done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.counted.tokens + estimate(r.counted.characters)
	if missing := r.length - r.counted.bytes; missing > 0 {
		return n + n*missing/r.counted.bytes
	}
	r.counter.recent.remember(fingerprint{r.hash.Sum64(), r.length}, n)
	return n
}

// drop gives up the waiting chunks that are not needed for an estimate. The caller holds the lock.
func (r *Running) drop() {
	counted := r.counted.bytes
	for i, p := range r.waiting {
		if counted >= sampleBytes {
			r.waiting = r.waiting[:i]
			return
		}
		counted += p.end
	}
}
