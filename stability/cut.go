package stability

import "math"

// maxEntries is the maximum number of entries in the log.
const maxEntries = maxItems

// limit returns the number of leading log entries that can be kept, and the reason for the limit: the log must be
// rebuilt from the first entry that has to be removed.
func (d *draft) limit(strict bool) (int, Cut) {
	if len(d.old) == 0 {
		return 0, CutFirst
	}
	if len(d.old)+len(d.Items) > maxEntries {
		return 0, CutWindow
	}
	if !d.headUnchanged() {
		return 0, CutEdit // tools and system prompt cannot be sent later in the request
	}
	for i := range d.old {
		switch e := &d.old[i]; {
		case e.inStream() && !d.showsMessage(d.sentMessages[i], e):
			return i, CutEdit
		case strict && e.Kind.isFileText() && d.of[i] == nil:
			return i, CutStrict
		}
	}
	return len(d.old), NoCut
}

// headUnchanged reports whether the log starts with the current tools and system prompt.
func (d *draft) headUnchanged() bool {
	heads := 0
	for i := 0; i < len(d.old) && d.old[i].Kind.atStart(); i++ {
		heads++
	}
	for i := range d.lead {
		if n := &d.lead[i]; n.Kind.atStart() {
			if !d.shows(n, len(d.old)) {
				return false
			}
			heads--
		}
	}
	return heads == 0
}

// showsMessage reports whether e shows the i-th item of the conversation.
func (d *draft) showsMessage(i int, e *Entry) bool {
	return i < len(d.stream) && d.stream[i].Key == e.Key && d.stream[i].Hash == e.Blob
}

// maxCandidates is the maximum number of candidates, not counting 0 and the limit.
const maxCandidates = 16

// candidates returns the lengths of the log that might be kept, longest first and 0 last: those of the cached marked
// prefixes. If the provider accepts no marks: limit and the lengths before unused entries.
func (d *draft) candidates(limit int) []int {
	var out []int
	switch {
	case d.Cache.Automatic && d.Cache.Cold:
	case d.Cache.Automatic:
		out = d.beforeDead(limit)
	default:
		for i := limit; i > 0 && len(out) < maxCandidates; i-- {
			if e := &d.old[i-1]; e.marked && d.Cache.Mirror.holds(e.prefix, d.Now) {
				out = append(out, i)
			}
		}
	}
	return append(out, 0)
}

// beforeDead returns limit and the indexes below it where unused entries start.
func (d *draft) beforeDead(limit int) []int {
	if limit == 0 {
		return nil
	}
	unused := d.unused(limit)
	out := []int{limit}
	for i := limit - 1; i > 0 && len(out) <= maxCandidates; i-- {
		if unused[i] && !unused[i-1] {
			out = append(out, i)
		}
	}
	return out
}

// candidate is a possible cut: the number of kept entries and the cost.
type candidate struct {
	keep  int
	size  int // tokens of the request
	dead  int // unused tokens of the request
	price int64
}

// Shares of the window, in percent: a cut is forced above fullShare if at least deadShare is unused.
const (
	fullShare = 80
	deadShare = 10
)

// choose returns the number of entries of old to keep, at most limit, and the reason for the cut. why is the reason for
// limit.
func (d *draft) choose(limit int, why Cut) (int, Cut) {
	var all []candidate
	for _, keep := range d.candidates(limit) {
		all = append(all, d.weigh(keep))
	}
	best := cheapest(all, math.MaxInt)
	if d.tooFull(best) {
		if freed := d.freeing(all); freed.keep < best.keep {
			return freed.keep, CutWindow
		}
	}
	switch {
	case best.keep == limit || why != NoCut:
		return best.keep, why
	case all[0].keep < limit:
		return best.keep, CutCold
	default:
		return best.keep, CutCheap
	}
}

// tooFull reports whether c exceeds the room, or fills the window too much while it has enough unused tokens.
func (d *draft) tooFull(c candidate) bool {
	if d.Room > 0 && c.size > d.Room {
		return true
	}
	return d.Window > 0 && c.size > d.Window*fullShare/100 && (c.dead >= d.Window*deadShare/100 || c.size > d.Window)
}

// freeing returns the cheapest candidate that is small enough, or the smallest one.
func (d *draft) freeing(all []candidate) candidate {
	most := math.MaxInt
	if d.Window > 0 {
		most = d.Window * fullShare / 100
	}
	if d.Room > 0 {
		most = min(most, d.Room)
	}
	least := all[0]
	for _, c := range all {
		if c.size < least.size {
			least = c
		}
	}
	return cheapest(all, max(most, least.size))
}

// cheapest returns the candidate with the lowest price among those of at most size tokens. On a tie it returns the one
// that keeps most.
func cheapest(all []candidate, size int) candidate {
	best := candidate{price: math.MaxInt64}
	for _, c := range all {
		if c.size <= size && c.price < best.price {
			best = c
		}
	}
	return best
}

// weigh returns the candidate that keeps old[:keep] and writes the rest. Its price is r·K + w·T for the next request
// plus H·r·(K+T) for the expected further requests.
func (d *draft) weigh(keep int) candidate {
	kept := d.sums[keep]
	tail, needed := d.tail(keep)
	prices := d.Cache.prices()
	write := prices.Write
	if d.long {
		write = prices.WriteLong
	}
	price := milli(prices.Read)*int64(kept) + milli(write)*int64(tail) +
		int64(d.further)*milli(prices.Read)*int64(kept+tail)
	return candidate{keep: keep, size: kept + tail, dead: kept + tail - needed, price: price}
}

// milli returns price in thousandths. With integers, ties are the same on every machine.
func milli(price float64) int64 { return int64(math.Round(price * 1000)) }

// tail returns the tokens that must follow old[:keep], and the used tokens of the whole request.
func (d *draft) tail(keep int) (tail, needed int) {
	for _, needs := range [][]need{d.lead, d.notes} {
		for i := range needs {
			needed += needs[i].Tokens
			if !d.shows(&needs[i], keep) {
				tail += needs[i].Tokens
			}
		}
	}
	for i := range d.files {
		e, missing := d.file(&d.files[i], keep)
		if missing {
			tail += e.Tokens
		}
		needed += d.live(&d.files[i], keep, e)
	}
	needed += d.sizes[len(d.stream)]
	tail += d.sizes[len(d.stream)] - d.sizes[d.sentMessages[keep]]
	return tail, needed
}

// live returns the tokens of the entries for n that are used if next follows old[:keep]. next may be the zero Entry.
func (d *draft) live(n *need, keep int, next Entry) int {
	tokens := next.Tokens
	if next.Kind == Base {
		return tokens
	}
	for i := d.newest(n, keep); i >= 0; i = d.before[i] {
		tokens += d.old[i].Tokens
		if d.old[i].Kind == Base {
			break
		}
	}
	return tokens
}
