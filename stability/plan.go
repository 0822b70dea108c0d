package stability

import (
	"crypto/sha256"
	"time"
)

// Plan is the layout of one request. Its slices belong to the tracker: read, do not write.
type Plan struct {
	Entries []Entry // in order

	Kept   int // leading entries taken over from the last request, byte for byte
	Tokens int // of all entries
	Dead   int // of entries that nothing needs any more
	Expect int // expected to be read from the provider's cache

	ExpectBlocks int // content blocks that these are sent as, tools as one; 0 where the provider takes no marks

	Cut  Cut  // why the entries behind Kept were laid out anew
	Long bool // the marks ask for the lifetime of an hour

	at        time.Time
	automatic bool
	hit       prefix // what Expect counts up to
	of        *Tracker
	number    int // requests that were answered before it
	next      any // the layout's state once it is answered
	changes   func() []TierChange
}

// Changes returns what has moved since the last request that was answered, by key; nothing for the first request.
func (p *Plan) Changes() []TierChange {
	if p.changes == nil {
		return nil
	}
	return p.changes()
}

// Entry is a piece of a request.
type Entry struct {
	Kind   Kind   // never File
	Key    string // the item's key
	Blob   string // hash of the rendered bytes
	Rev    string // bases and diffs: hash of the file's text that they lead to
	Tokens int
	Blocks int // content blocks that it is sent as, where it is sent by itself

	// BlockEnd closes a content block; entries up to the next BlockEnd are sent as one.
	BlockEnd bool
	Mark     bool // a cache mark stands at its end

	Dead bool // kept because leaving it out would cost more; see Plan.Dead
	Tier Tier
	N    int // replies that its item has stayed unchanged
	Born int // request in which it was laid out, counted from 0; `log` only

	partial    bool
	unmarkable bool
	chg        int // request since which its content is what it is
	marked     bool
	prefix     prefix // of all entries up to and with this one
}

// NextThreshold returns the N at which the entry's item goes up a tier, 0 for the most stable.
func (e *Entry) NextThreshold() int { return e.Tier.Threshold() }

// itemKind returns the kind of the item that e shows.
func (e *Entry) itemKind() Kind {
	if e.Kind.shows() {
		return File
	}
	return e.Kind
}

// Cut is the reason why a request does not simply continue the last one.
type Cut string

// The reasons. NoCut is a pure append; the layout `ripple` gives none.
const (
	NoCut     Cut = ""
	CutFirst  Cut = "first request"
	CutCold   Cut = "nothing of it is cached any more"
	CutEdit   Cut = "something sent has left the view"
	CutStrict Cut = "a file was taken out"
	CutCheap  Cut = "laying out anew is cheaper"
	CutWindow Cut = "the window is nearly full"
)

// newEntry returns the entry that shows it as it is, laid out in request now, with content that is as old as request chg.
func newEntry(it *Item, now, chg int) Entry {
	kind := it.Kind
	if kind == File {
		kind = Base
	}
	return Entry{
		Kind: kind, Key: it.Key, Blob: it.Hash, Rev: it.Rev, Tokens: it.Tokens, Blocks: it.blocks(),
		partial: it.Partial, unmarkable: it.Unmarkable, Born: now, chg: chg,
	}
}

// prefix identifies the bytes of a request up to some point, block boundaries included.
type prefix [sha256.Size]byte

// seal computes the prefixes of entries[from:].
func seal(entries []Entry, from int) {
	var before prefix
	if from > 0 {
		before = entries[from-1].prefix
	}
	buf := make([]byte, 0, 256)
	for i := from; i < len(entries); i++ {
		e := &entries[i]
		buf = append(buf[:0], before[:]...)
		buf = append(buf, e.Kind...)
		if e.BlockEnd {
			buf = append(buf, '.')
		}
		buf = append(buf, 0)
		buf = append(buf, e.Blob...)
		e.prefix = sha256.Sum256(buf)
		before = e.prefix
	}
}

// closeBlocks sets the block boundaries of entries[from:]: a message ends its block, and so do a kind of
// the leading system part and a run of anything else.
func closeBlocks(entries []Entry, from int) {
	leading := leadEnd(entries)
	for i := from; i < len(entries); i++ {
		e := &entries[i]
		e.BlockEnd = e.BlockEnd || i+1 == len(entries) || e.Kind.streams() || entries[i+1].Kind.streams() ||
			i+1 == leading || i < leading && e.Kind != entries[i+1].Kind
	}
}

// leadEnd returns how many entries form the leading system part.
func leadEnd(entries []Entry) int {
	i := 0
	for i < len(entries) && entries[i].Kind.leads() {
		i++
	}
	return i
}

// firstOfStream returns the index of the first entry of the conversation.
func firstOfStream(entries []Entry) int {
	i := 0
	for i < len(entries) && !entries[i].Kind.streams() {
		i++
	}
	return i
}

// maxMarks is how many marks Anthropic takes in a request.
const maxMarks = 4

// setMarks marks the ends of the prefixes of the given lengths, each on the last block at or before it
// that can bear a mark, unless the prefix is too short to be cached.
func setMarks(entries []Entry, lengths [maxMarks]int, minimum int) {
	// The provider counts otherwise than we do: a prefix that is long enough by a hair may not be.
	least := minimum + minimum/10
	sums := sums(entries)
	for _, n := range lengths {
		for n > 0 && !entries[n-1].bearsMark() {
			n--
		}
		if n > 0 && sums[n] >= least && sums[n] > 0 {
			entries[n-1].Mark, entries[n-1].marked = true, true
		}
	}
}

func (e *Entry) bearsMark() bool { return e.BlockEnd && !e.unmarkable && e.Tokens > 0 }

// sums returns the tokens of each prefix of entries: sums[n] of the first n.
func sums(entries []Entry) []int {
	out := make([]int, len(entries)+1)
	for i := range entries {
		out[i+1] = out[i] + entries[i].Tokens
	}
	return out
}

// lookBack is how many blocks, the marked one included, Anthropic searches for a cached prefix.
const lookBack = 20

// expect fills in what will be read from the cache if it is as the mirror shows it. Of a provider that caches by itself
// nothing is known: what was kept is expected to be there if it was sent there, and not long ago.
func (p *Plan) expect(c *Cache, pause time.Duration) {
	p.automatic = c.Automatic
	sums := sums(p.Entries)
	if c.Automatic {
		if !c.Cold && pause <= longLife {
			p.Expect = sums[p.Kept]
		}
		return
	}
	for i := len(p.Entries) - 1; i >= 0; i-- {
		if !p.Entries[i].Mark {
			continue
		}
		if n := c.Mirror.longest(p.Entries[:i+1], p.at); n > 0 && sums[n] > p.Expect {
			p.Expect, p.hit = sums[n], p.Entries[n-1].prefix
			p.ExpectBlocks = blocks(p.Entries[:n])
		}
	}
}

// blocks returns how many content blocks entries are sent as.
func blocks(entries []Entry) int {
	n := 0
	for i := range entries {
		if entries[i].BlockEnd {
			n += entries[i].Blocks
		}
	}
	return n
}
