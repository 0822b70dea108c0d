package stability

import "math"

// maxEntries bounds the log, whatever its entries weigh.
const maxEntries = maxItems

// limit returns how much of the log may stay, and why no more: everything from the first entry that must leave is laid out anew.
func (d *draft) limit(strict bool) (int, Cut) {
	if len(d.old) == 0 {
		return 0, CutFirst
	}
	if len(d.old)+len(d.Items) > maxEntries {
		return 0, CutWindow
	}
	if !d.headStands() {
		return 0, CutEdit // it cannot be sent again further down
	}
	for i := range d.old {
		switch e := &d.old[i]; {
		case e.Kind.streams() && !d.says(d.said[i], e):
			return i, CutEdit
		case strict && e.Kind.shows() && d.of[i] == nil:
			return i, CutStrict
		}
	}
	return len(d.old), NoCut
}

// headStands reports whether the log begins with the tools and the system prompt as they are now.
func (d *draft) headStands() bool {
	heads := 0
	for i := 0; i < len(d.old) && d.old[i].Kind.heads(); i++ {
		heads++
	}
	for i := range d.lead {
		if n := &d.lead[i]; n.Kind.heads() {
			if !d.stands(n, len(d.old)) {
				return false
			}
			heads--
		}
	}
	return heads == 0
}

// says reports whether e shows the i-th item of the conversation.
func (d *draft) says(i int, e *Entry) bool {
	return i < len(d.stream) && d.stream[i].Key == e.Key && d.stream[i].Hash == e.Blob
}

// maxCandidates bounds the places at which a cut is weighed, 0 and the limit not counted.
const maxCandidates = 16

// candidates returns how much of the log might be kept, longest first: marked prefixes that are cached, and nothing.
// Where the provider takes no marks: the whole, and what stands in front of dead entries.
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

// beforeDead returns limit and the places right before dead entries in front of it.
func (d *draft) beforeDead(limit int) []int {
	if limit == 0 {
		return nil
	}
	old := append([]Entry(nil), d.old[:limit]...)
	d.label(old, limit)
	out := []int{limit}
	for i := limit - 1; i > 0 && len(out) <= maxCandidates; i-- {
		if old[i].Dead && !old[i-1].Dead {
			out = append(out, i)
		}
	}
	return out
}

// candidate is a place to cut: what is kept, and what that costs.
type candidate struct {
	keep  int
	size  int // tokens of the request
	dead  int // tokens of it that nothing needs
	price int64
}

// The bounds of the window: a cut is forced above fullShare of it, if at least deadShare of it is dead. In percent.
const (
	fullShare = 80
	deadShare = 10
)

// choose returns how much of old is kept, at most limit, and why no more than that. why is the reason for limit.
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

// tooFull reports whether c may not stand although it is the cheapest.
func (d *draft) tooFull(c candidate) bool {
	if d.Room > 0 && c.size > d.Room {
		return true
	}
	return d.Window > 0 && c.size > d.Window*fullShare/100 && (c.dead >= d.Window*deadShare/100 || c.size > d.Window)
}

// freeing returns the cheapest candidate that frees enough, or the one that frees most.
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

// cheapest returns the candidate with the lowest price of those with at most size tokens; on ties the one that keeps most.
func cheapest(all []candidate, size int) candidate {
	best := candidate{price: math.MaxInt64}
	for _, c := range all {
		if c.size <= size && c.price < best.price {
			best = c
		}
	}
	return best
}

// weigh returns what it costs to keep old[:keep] and to write the rest: r·K + w·T now, and H·r·(K+T) over the
// further turns that are expected.
func (d *draft) weigh(keep int) candidate {
	kept := d.sums[keep]
	tail, needed := d.tail(keep)
	prices := d.Cache.prices()
	write := prices.Write
	if d.long {
		write = prices.WriteLong
	}
	price := milli(prices.Read)*int64(kept) + milli(write)*int64(tail) +
		int64(d.turns)*milli(prices.Read)*int64(kept+tail)
	return candidate{keep: keep, size: kept + tail, dead: kept + tail - needed, price: price}
}

// milli makes prices integers, so that ties are ties on every machine.
func milli(price float64) int64 { return int64(math.Round(price * 1000)) }

// tail returns the tokens that must follow old[:keep], and the tokens of the whole that are not dead.
func (d *draft) tail(keep int) (tail, needed int) {
	for _, needs := range [][]need{d.lead, d.notes} {
		for i := range needs {
			needed += needs[i].Tokens
			if !d.stands(&needs[i], keep) {
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
	tail += d.sizes[len(d.stream)] - d.sizes[d.said[keep]]
	return tail, needed
}

// live returns the tokens that show n if next, which may be nothing, follows old[:keep].
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
