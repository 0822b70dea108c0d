package stability

import "crypto/sha256"

// Entry is a part of a request that shows an item.
type Entry struct {
	Kind   Kind   // never File
	Key    string // the item's key
	Blob   string // hash of the rendered bytes
	Rev    string // bases and diffs: hash of the resulting text of the file
	Tokens int
	Blocks int // content blocks of the entry if it is not joined with others

	// BlockEnd closes a content block. All entries after the previous BlockEnd up to this one form one block.
	BlockEnd bool
	Mark     bool // has a cache mark at its end
	// Before is the reply that separates the entry from those before it. It is a block of its own.
	Before Separation

	Run  bool // see Item.Run
	Dead bool // unused, kept because removing it would cost more; see Plan.Dead
	Tier Tier
	N    int // turns for which its item has been unchanged
	Born int // request in which the entry was laid out, counted from 0; `log` only

	version    string // of bases and diffs: see Item.Version
	led        led    // of the newest base or diff of a file; of an older one, what it was then
	partial    bool
	unmarkable bool
	side       side
	chg        moment // of the last change of its content
	fresh      bool   // its item is new or has changed in this request
	marked     bool   // had a mark when it was sent
	prefix     prefix // of all entries up to and including this one
}

// inStream reports whether the order of the entry among others is fixed.
func (e *Entry) inStream() bool { return e.Run || e.Kind.inConversation() }

// NextThreshold returns the N at which the entry's item moves up a tier; 0 in the most stable tier.
func (e *Entry) NextThreshold() int { return e.Tier.Threshold() }

// itemKind returns the kind of the item that e shows.
func (e *Entry) itemKind() Kind {
	if e.Kind.isFileText() {
		return File
	}
	return e.Kind
}

// newEntry returns an entry for the current content of it, laid out at now and last changed at chg.
func newEntry(it *Item, now, chg moment) Entry {
	kind := it.Kind
	if kind == File {
		kind = Base
	}
	return Entry{
		Kind: kind, Key: it.Key, Blob: it.Hash, Rev: it.Rev, Tokens: it.Tokens, Blocks: it.blocks(),
		version: it.Version, partial: it.Partial, Run: it.Run, unmarkable: it.Unmarkable, side: sideOf(it), Born: now.request, chg: chg,
	}
}

// led is the text of a file to which messages lead from an entry before them. Later diffs begin with it. The zero led means none.
type led struct {
	rev, version string
	chg          moment // at which it was new
}

// shows reports whether l is the current content of it.
func (l *led) shows(it *Item) bool {
	return l.rev != "" && l.rev == it.Rev && !it.Partial || l.version != "" && l.version == it.Version
}

// Led returns the revision to which messages after the entry lead, "" for none. Of an older entry of the file
// it is the revision to which they led while it was the newest.
func (e *Entry) Led() string { return e.led.rev }

// changed returns the moment of the last change of what e shows, the newest entry of its item, with the messages after it.
func (e *Entry) changed() moment {
	if e.led != (led{}) {
		return e.led.chg
	}
	return e.chg
}

// prefix is a hash of the leading entries of a request, block boundaries included.
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
		for range e.Before {
			buf = append(buf, ':')
		}
		buf = append(buf, 0)
		buf = append(buf, e.Blob...)
		e.prefix = sha256.Sum256(buf)
		before = e.prefix
	}
}

// closeBlocks sets the block boundaries of entries[from:], and what separates them. These form one block each: a message,
// a summary, the entries of one kind in the leading system part, the items of a run unless a boundary is set among them, and
// any other entries between messages.
func closeBlocks(entries []Entry, from int) {
	leading := leadEnd(entries)
	for i := from; i < len(entries); i++ {
		e := &entries[i]
		e.BlockEnd = e.BlockEnd || i+1 == len(entries) || i+1 == leading || i < leading && e.Kind != entries[i+1].Kind ||
			i >= leading && parted(e, &entries[i+1])
	}
	separate(entries, from)
}

// parted reports whether e and the next entry, after the leading system part, are not in one block.
func parted(e, next *Entry) bool {
	if e.side == sideRun && next.side == sideRun {
		return false
	}
	return e.inStream() || next.inStream() || e.side == sideSummary || next.side == sideSummary
}

// leadEnd returns the number of entries in the leading system part.
func leadEnd(entries []Entry) int {
	i := 0
	for i < len(entries) && entries[i].Kind.inSystemPart() && !entries[i].Run {
		i++
	}
	return i
}

// conversationStart returns the index of the first entry of the run or the conversation, or len(entries).
func conversationStart(entries []Entry) int {
	i := 0
	for i < len(entries) && !entries[i].inStream() {
		i++
	}
	return i
}

// maxMarks is the maximum number of marks in a request to Anthropic.
const maxMarks = 4

// setMarks sets a mark for each of the given prefix lengths, on the last entry of the prefix that can have one.
// It skips prefixes that are too short to be cached.
func setMarks(entries []Entry, lengths [maxMarks]int, minimum int) {
	// The provider's count differs from ours: a prefix that is barely long enough by our count may be too short.
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

// sums returns the tokens of each prefix of entries; sums[n] is the total of the first n.
func sums(entries []Entry) []int {
	out := make([]int, len(entries)+1)
	for i := range entries {
		out[i+1] = out[i] + entries[i].Tokens
	}
	return out
}

// blocks returns the number of content blocks of entries.
func blocks(entries []Entry) int {
	n := 0
	for i := range entries {
		if entries[i].BlockEnd {
			n += entries[i].Blocks
		}
		if entries[i].Before != NotSeparated {
			n++
		}
	}
	return n
}
