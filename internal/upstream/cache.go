package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// The rules of Anthropic's prompt cache, by its documentation.
const (
	lookBack  = 20 // maximum number of blocks searched from each breakpoint, including the marked block
	shortLife = 5 * time.Minute
	longLife  = time.Hour
)

// The rules of OpenAI's prompt cache, which has no breakpoints.
const (
	autoMinimum = 1024 // tokens of the shortest prefix that is cached
	autoStep    = 128  // tokens by which cached prefixes grow
	autoLife    = time.Hour
	autoKept    = 256 // requests that are remembered; the oldest are forgotten first
)

// CacheOptions are the rules of a cache. Zero fields mean the defaults.
type CacheOptions struct {
	Now     func() time.Time       // default time.Now
	Minimum func(model string) int // tokens of the shortest prefix that Anthropic caches; default 1,024 for all
	Count   func(text string) int  // tokens of a text; default: one per four bytes
}

// Cache is a provider that caches prompts: the tokens read and written depend on the bytes of earlier requests. It
// shares no code with the code that it tests. Methods may be called concurrently.
type Cache struct {
	opt CacheOptions

	mu     sync.Mutex
	marked map[digest]*written // prefixes that end at a breakpoint, by their bytes
	texts  []sentText          // OpenAI: whole requests, oldest first
	reads  []Read
	counts map[digest]int // tokens of blocks, because a session sends the same blocks repeatedly
}

// countsBound is the maximum number of blocks whose tokens are remembered.
const countsBound = 1 << 16

type digest = [sha256.Size]byte

// written is a prefix in the cache.
type written struct {
	until time.Time
	life  time.Duration // with which it was written; each use restarts it
}

// sentText is a request to a provider that caches automatically.
type sentText struct {
	model, text string
	used        time.Time
}

// Read is the use of the cache by one request.
type Read struct {
	N      int // of the request
	Blocks int // blocks that were read; all tools count as one; Anthropic only
	All    int // in the request
	Usage  Usage
	Marks  []Mark
}

// Mark is a cache breakpoint of a request.
type Mark struct {
	Block  int    // from 0, all tools as one
	Tokens int    // up to and with it
	Prefix string // digest of the bytes up to and with it
	TTL    string
}

// NewCache returns an empty cache.
func NewCache(opt CacheOptions) *Cache {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Minimum == nil {
		opt.Minimum = func(string) int { return 1024 }
	}
	if opt.Count == nil {
		opt.Count = func(text string) int { return (len(text) + 3) / 4 }
	}
	return &Cache{opt: opt, marked: make(map[digest]*written), counts: make(map[digest]int)}
}

// Answer is a function for Choose: it replies like Default, with the cache's usage of the request.
func (c *Cache) Answer(req *Request) Script {
	script := Default(req)
	script.Usage = c.Serve(req).Usage
	script.Usage.Output = 10
	return script
}

// Reads returns the use of the cache by all requests, oldest first.
func (c *Cache) Reads() []Read {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Read(nil), c.reads...)
}

// Last returns the use of the cache by the newest request.
func (c *Cache) Last() Read {
	all := c.Reads()
	if len(all) == 0 {
		return Read{}
	}
	return all[len(all)-1]
}

// Serve looks up a request and adds it to the cache.
func (c *Cache) Serve(req *Request) Read {
	c.mu.Lock()
	defer c.mu.Unlock()
	var read Read
	if req.Wire == Anthropic {
		read = c.serveMarked(req)
	} else {
		read = c.serveAutomatic(req)
	}
	read.N = req.N
	if c.reads = append(c.reads, read); len(c.reads) > maxRecorded {
		c.reads = append([]Read(nil), c.reads[len(c.reads)-maxRecorded:]...)
	}
	return read
}

// serveMarked bills a request by Anthropic's rules. It reads the longest live prefix within the look-back of a
// breakpoint, and writes the tokens between that prefix and the last breakpoint. Each use renews a prefix.
func (c *Cache) serveMarked(req *Request) Read {
	units := c.units(req)
	now, minimum := c.opt.Now(), c.opt.Minimum(req.Model)
	hit, last := -1, -1
	for m := range units {
		if units[m].ttl == "" || units[m].sum < minimum {
			continue
		}
		last = m
		for i := m; i > max(hit, m-lookBack, -1); i-- {
			if c.alive(units[i].prefix, now) {
				hit = i
				break
			}
		}
	}
	read := Read{Marks: marksOf(units)}
	if len(units) > 0 {
		read.All = units[len(units)-1].block + 1
		read.Usage.Input = units[len(units)-1].sum
	}
	if hit >= 0 {
		read.Blocks, read.Usage.CacheRead = units[hit].block+1, units[hit].sum
		c.use(units[hit].prefix, 0, now)
	}
	from := read.Usage.CacheRead
	for m := hit + 1; m <= last; m++ {
		if units[m].ttl == "" || units[m].sum < minimum {
			continue
		}
		read.Usage.CacheWrite += units[m].sum - from
		if units[m].ttl == "1h" {
			read.Usage.CacheWrite1h += units[m].sum - from
		}
		from = units[m].sum
	}
	for m := 0; m <= last; m++ {
		if units[m].ttl != "" && units[m].sum >= minimum {
			c.use(units[m].prefix, lifeOf(units[m].ttl), now)
		}
	}
	read.Usage.Input -= read.Usage.CacheRead + read.Usage.CacheWrite
	return read
}

func lifeOf(ttl string) time.Duration {
	if ttl == "1h" {
		return longLife
	}
	return shortLife
}

func (c *Cache) alive(p digest, now time.Time) bool {
	w := c.marked[p]
	return w != nil && !now.After(w.until)
}

// use renews a live prefix, and writes any other.
func (c *Cache) use(p digest, life time.Duration, now time.Time) {
	w := c.marked[p]
	if !c.alive(p, now) {
		w = &written{life: life}
		c.marked[p] = w
	}
	w.until = now.Add(w.life)
}

func marksOf(units []unit) (marks []Mark) {
	for i := range units {
		if u := &units[i]; u.ttl != "" {
			marks = append(marks, Mark{Block: u.block, Tokens: u.sum, Prefix: hex.EncodeToString(u.prefix[:]), TTL: u.ttl})
		}
	}
	return marks
}

// serveAutomatic bills a request by OpenAI's rules: it reads the longest prefix shared with an earlier request of the
// last hour, in steps of 128 tokens from 1,024 on. Writing is free.
func (c *Cache) serveAutomatic(req *Request) Read {
	now, text := c.opt.Now(), automaticText(req)
	shared := 0
	best := -1
	for i, sent := range c.texts {
		if n := sharedPrefix(sent.text, text); sent.model == req.Model && now.Sub(sent.used) <= autoLife && n > shared {
			shared, best = n, i
		}
	}
	read := Read{Usage: Usage{Input: c.opt.Count(text)}}
	if tokens := c.opt.Count(text[:shared]); tokens >= autoMinimum {
		read.Usage.CacheRead = tokens - tokens%autoStep
		read.Usage.Input -= read.Usage.CacheRead
		c.texts[best].used = now
	}
	if c.texts = append(c.texts, sentText{req.Model, text, now}); len(c.texts) > autoKept {
		c.texts = append([]sentText(nil), c.texts[len(c.texts)-autoKept:]...)
	}
	return read
}

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// automaticText returns everything in a request that the model reads, in order.
func automaticText(req *Request) string {
	var b strings.Builder
	for _, tool := range req.rawTools {
		b.Write(tool)
		b.WriteByte('\n')
	}
	for _, m := range req.rawMessages {
		b.Write(m)
		b.WriteByte('\n')
	}
	return b.String()
}
