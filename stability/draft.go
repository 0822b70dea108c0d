package stability

import "slices"

// draft relates the items of a request to the entries of the log, to find the cheapest cut.
type draft struct {
	*Request
	now     moment
	long    bool
	further int // expected further requests

	old    []Entry
	sums   []int   // tokens of each prefix of old
	of     []*need // of[i]: the need of which old[i] shows the current or an earlier content; nil for messages and for items no longer in the request
	before []int   // before[i]: the previous entry of the same need, or -1

	lead  []need // tools, system, documents, outlines
	files []need
	notes []need
	needs map[string]*need // all of these by key

	stream       []*Item // the run and the conversation
	sizes        []int   // tokens of each prefix of stream
	sentMessages []int   // sentMessages[i]: entries of the conversation in old[:i]
	sent         *sent   // the conversation in old

	moves map[string][]placedMove // that stream tells, by the file's key, in order
}

// need is an item outside the conversation that the request must show.
type need struct {
	*Item
	at  int    // index of its newest entry in the log, or -1
	chg moment // of the last change of its content

	// Used by walk, which goes through a layout from the end.
	newest *Entry
	whole  bool // an entry other than a diff was seen: all earlier ones are unused
}

// sort splits the items into conversation, lead, files and notes.
func (d *draft) sort() {
	d.stream = make([]*Item, 0, len(d.Items))
	var aside []*Item
	for i := range d.Items {
		if it := &d.Items[i]; it.inStream() {
			d.stream = append(d.stream, it)
		} else {
			aside = append(aside, it)
		}
	}
	d.lead = ofKinds(aside, Tools, System, Document, Outline)
	d.files, d.notes = ofKinds(aside, File), ofKinds(aside, Note)
	d.sizes = make([]int, len(d.stream)+1)
	for i, it := range d.stream {
		d.sizes[i+1] = d.sizes[i] + it.Tokens
		d.noteMoves(i, it.Moves)
	}
}

// ofKinds returns those of the items that have the given kinds, in the order of kinds.
func ofKinds(items []*Item, kinds ...Kind) []need {
	count := 0
	for _, it := range items {
		if slices.Contains(kinds, it.Kind) {
			count++
		}
	}
	needs := make([]need, 0, count)
	for _, kind := range kinds {
		for _, it := range items {
			if it.Kind == kind {
				needs = append(needs, need{Item: it, at: -1})
			}
		}
	}
	return needs
}

// index finds the entries of each need and sets its chg.
func (d *draft) index() {
	d.needs = make(map[string]*need, len(d.Items)-len(d.stream))
	for _, needs := range [][]need{d.lead, d.files, d.notes} {
		for i := range needs {
			d.needs[needs[i].Key] = &needs[i]
		}
	}
	d.of = make([]*need, len(d.old))
	d.before = make([]int, len(d.old))
	d.sentMessages = make([]int, len(d.old)+1)
	for i := range d.old {
		d.sentMessages[i+1] = d.sentMessages[i]
		if d.old[i].inStream() {
			d.sentMessages[i+1]++
		} else if n := d.needs[d.old[i].Key]; n != nil && n.Kind == d.old[i].itemKind() {
			d.of[i], d.before[i], n.at = n, n.at, i
		}
	}
	for _, n := range d.needs {
		n.chg = d.since(n)
	}
}

// since returns the moment of the last change of the content of n.
func (d *draft) since(n *need) moment {
	switch {
	case n.Kind.atStart():
		return moment{}.back(entryN[L0])
	case n.at >= 0 && d.old[n.at].led.shows(n.Item), n.at >= 0 && d.old[n.at].led == (led{}) && shown(&d.old[n.at], n.Item):
		return d.old[n.at].changed()
	}
	return d.now
}

// shown reports whether e, the newest entry of it, results in the current content of it.
func shown(e *Entry, it *Item) bool {
	whole := it.Kind == File && !it.Partial && !e.partial
	return e.Blob == it.Hash || whole && e.Rev == it.Rev
}

// backdate sets chg of the outlines in first so that they start with the entry N of their tier.
func (d *draft) backdate(first map[string]Tier) {
	for i := range d.lead {
		if t, ok := first[d.lead[i].Key]; ok {
			d.lead[i].chg = d.now.back(entryN[t])
		}
	}
}

// newest returns the newest entry of n's key in old[:keep], or -1.
func (d *draft) newest(n *need, keep int) int {
	i := n.at
	for i >= keep {
		i = d.before[i]
	}
	return i
}

// shows reports whether the newest entry of n in old[:keep] has its current content. An older entry does not count.
func (d *draft) shows(n *need, keep int) bool {
	i := d.newest(n, keep)
	return i >= 0 && d.old[i].Blob == n.Hash
}

// maxDiffs is the maximum number of diffs after a base.
const maxDiffs = 4

// file returns the entry that must follow old[:keep] to show the current content of the file n. ok is false if none is
// needed.
func (d *draft) file(n *need, keep int) (e Entry, ok bool) {
	base := n.at // the file's newest base
	for base >= 0 && d.old[base].Kind == Diff {
		base = d.before[base]
	}
	whole := newEntry(n.Item, d.now, n.chg)
	if base < 0 || base >= keep {
		return whole, true
	}
	last := d.newest(n, keep)
	rev, current := d.known(n, last)
	if current {
		return Entry{}, false
	}
	if n.Partial || d.old[base].partial || rev == "" {
		return whole, true
	}
	count, tokens := 1, 0
	for i := last; i > base; i = d.before[i] {
		count, tokens = count+1, tokens+d.old[i].Tokens
	}
	if d.Diff == nil || count > maxDiffs || 2*tokens > n.Tokens {
		return whole, true
	}
	hash, size, ok := d.Diff(n.Key, rev, n.Rev)
	if !ok || 2*(tokens+size) > n.Tokens {
		return whole, true
	}
	return Entry{Kind: Diff, Key: n.Key, Blob: hash, Rev: n.Rev, Tokens: size, Blocks: 1, Born: d.now.request, version: n.Version, chg: n.chg}, true
}

// label sets Dead, N and Tier of entries, which start with old[:keep], and returns the tokens of the unused ones.
func (d *draft) label(entries []Entry, keep int) int {
	dead := 0
	d.walk(entries, keep, func(e *Entry, chg moment, unused bool) {
		if e.Dead = unused; unused {
			dead += e.Tokens
		}
		e.N, e.fresh = d.now.turn-chg.turn, chg.request == d.now.request
		e.Tier = tierOf(e.N)
	})
	return dead
}

// unused reports which of old[:keep] are unused.
func (d *draft) unused(keep int) []bool {
	all := make([]bool, keep)
	i := keep
	d.walk(d.old[:keep], keep, func(_ *Entry, _ moment, unused bool) {
		i--
		all[i] = unused
	})
	return all
}

// walk calls visit for each of entries, which start with old[:keep], from the end: with the moment of the last change of
// its item, and whether it is unused.
func (d *draft) walk(entries []Entry, keep int, visit func(e *Entry, chg moment, unused bool)) {
	for _, n := range d.needs {
		n.newest, n.whole = nil, false
	}
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		var n *need
		switch {
		case i < keep:
			n = d.of[i]
		case !e.inStream():
			n = d.needs[e.Key]
		}
		if n != nil {
			if n.newest == nil {
				n.newest = e
			}
			visit(e, n.newest.changed(), n.whole)
			n.whole = n.whole || e.Kind != Diff
		} else {
			visit(e, e.chg, !e.inStream())
		}
	}
}
