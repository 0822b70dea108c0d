package stability

import "slices"

// log is the layout in which the prompt is a log: what was sent neither moves nor changes, an edited file appends a diff,
// what is no longer needed is dead weight until the next cut, and tiers are labels. Before each request it is weighed
// at which point that the provider still has cached the log is best cut and laid out anew from there; mostly at its end.
type log struct {
	strict bool
	turns  int // expected further turns
	target int // tokens for which a first tier is filled

	entries []Entry // as last answered
}

// Plan lays out the request with number now, counted from 0.
func (l *log) Plan(req *Request, now int, long bool) *Plan {
	d := l.draft(req, now, long)
	limit, why := d.limit(l.strict)
	keep, why := d.choose(limit, why)
	p := &Plan{Kept: keep, Cut: why, Entries: d.layOut(keep)}
	p.Dead = d.label(p.Entries, keep)
	p.next = p.Entries
	if now > 0 {
		from := l.entries
		p.changes = func() []TierChange { return changes(labels(from), labels(p.Entries)) }
	}
	return p
}

// Commit makes the layout of p the one that the next request continues.
func (l *log) Commit(p *Plan) { l.entries = p.next.([]Entry) }

// draft is a request set against the log: where in the log its items stand, and what it costs to keep how much of it.
type draft struct {
	*Request
	now   int
	long  bool
	turns int

	old    []Entry
	sums   []int   // tokens of each prefix of old
	of     []*need // of[i]: what old[i] shows, or showed earlier; nil for the conversation and for what is needed no more
	before []int   // before[i]: the entry of the same need in front of old[i], or -1

	lead  []need // tools, system, documents, outlines
	files []need
	notes []need
	needs map[string]*need // all of these by key

	stream []*Item           // the conversation
	sizes  []int             // tokens of each prefix of stream
	said   []int             // said[i]: entries of the conversation in old[:i]
	spoken map[string]*Entry // entries of the conversation by key; made when asked for
}

// need is an item that is to be shown.
type need struct {
	*Item
	at  int // its newest entry in the log, or -1
	chg int // request since which its content is what it is

	// What label has come by, from the end of a layout.
	newest *Entry
	whole  bool // more than diffs: what stands in front of it is dead
}

func (l *log) draft(req *Request, now int, long bool) *draft {
	d := &draft{Request: req, now: now, long: long, turns: l.turns, old: l.entries, sums: sums(l.entries)}
	d.sort()
	d.index()
	if len(d.old) == 0 {
		d.backdate(l.target)
	}
	return d
}

// sort tells the items apart.
func (d *draft) sort() {
	d.stream = make([]*Item, 0, len(d.Items))
	for i := range d.Items {
		if it := &d.Items[i]; it.Kind.streams() {
			d.stream = append(d.stream, it)
		}
	}
	d.lead = d.ofKinds(Tools, System, Document, Outline)
	d.files, d.notes = d.ofKinds(File), d.ofKinds(Note)
	d.sizes = make([]int, len(d.stream)+1)
	for i, it := range d.stream {
		d.sizes[i+1] = d.sizes[i] + it.Tokens
	}
}

// ofKinds returns the items of some kinds, those of the first kind first.
func (d *draft) ofKinds(kinds ...Kind) []need {
	count := 0
	for i := range d.Items {
		if slices.Contains(kinds, d.Items[i].Kind) {
			count++
		}
	}
	needs := make([]need, 0, count)
	for _, kind := range kinds {
		for i := range d.Items {
			if d.Items[i].Kind == kind {
				needs = append(needs, need{Item: &d.Items[i], at: -1})
			}
		}
	}
	return needs
}

// index finds the entries of each need, and with them its age.
func (d *draft) index() {
	d.needs = make(map[string]*need, len(d.Items)-len(d.stream))
	for _, needs := range [][]need{d.lead, d.files, d.notes} {
		for i := range needs {
			d.needs[needs[i].Key] = &needs[i]
		}
	}
	d.of = make([]*need, len(d.old))
	d.before = make([]int, len(d.old))
	d.said = make([]int, len(d.old)+1)
	for i := range d.old {
		d.said[i+1] = d.said[i]
		if d.old[i].Kind.streams() {
			d.said[i+1]++
		} else if n := d.needs[d.old[i].Key]; n != nil && n.Kind == d.old[i].itemKind() {
			d.of[i], d.before[i], n.at = n, n.at, i
		}
	}
	for _, n := range d.needs {
		n.chg = d.since(n)
	}
}

// since returns the request since which the content of n is what it is.
func (d *draft) since(n *need) int {
	switch {
	case n.Kind.heads():
		return -entryN[L0]
	case n.at >= 0 && shown(&d.old[n.at], n.Item):
		return d.old[n.at].chg
	}
	return d.now
}

// shown reports whether e, the newest entry of it, leads to its present content.
func shown(e *Entry, it *Item) bool {
	whole := it.Kind == File && !it.Partial && !e.partial
	return e.Blob == it.Hash || whole && e.Rev == it.Rev
}

// backdate counts a session's first outlines as unchanged for as long as the tier asks in which clusters place them.
func (d *draft) backdate(target int) {
	var outlines []Item
	for i := range d.lead {
		if d.lead[i].Kind == Outline {
			outlines = append(outlines, *d.lead[i].Item)
		}
	}
	placed := place(outlines, d.Clusters, target)
	for i := range d.lead {
		if n := &d.lead[i]; n.Kind == Outline {
			n.chg = d.now - entryN[placed[n.Key]]
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

// stands reports whether old[:keep] shows n as it is. An older entry with the right content does not,
// where a newer one contradicts it.
func (d *draft) stands(n *need, keep int) bool {
	i := d.newest(n, keep)
	return i >= 0 && d.old[i].Blob == n.Hash
}

// maxDiffs is how many diffs may follow a base.
const maxDiffs = 4

// file returns the entry that must follow old[:keep] for it to show the file n as it is; ok is false if it does already.
func (d *draft) file(n *need, keep int) (e Entry, ok bool) {
	base := n.at // the file's present base
	for base >= 0 && d.old[base].Kind == Diff {
		base = d.before[base]
	}
	whole := newEntry(n.Item, d.now, n.chg)
	if base < 0 || base >= keep {
		return whole, true
	}
	last := d.newest(n, keep)
	if shown(&d.old[last], n.Item) {
		return Entry{}, false
	}
	if n.Partial || d.old[base].partial {
		return whole, true
	}
	count, tokens := 1, 0
	for i := last; i > base; i = d.before[i] {
		count, tokens = count+1, tokens+d.old[i].Tokens
	}
	if d.Diff == nil || count > maxDiffs || 2*tokens > n.Tokens {
		return whole, true
	}
	hash, size, ok := d.Diff(n.Key, d.old[last].Rev, n.Rev)
	if !ok || 2*(tokens+size) > n.Tokens {
		return whole, true
	}
	return Entry{Kind: Diff, Key: n.Key, Blob: hash, Rev: n.Rev, Tokens: size, Blocks: 1, Born: d.now, chg: n.chg}, true
}

// label fills in what can be said of entries that begin with old[:keep]: which are dead, and the tiers.
// It returns the tokens of the dead ones.
func (d *draft) label(entries []Entry, keep int) int {
	for _, n := range d.needs {
		n.newest, n.whole = nil, false
	}
	dead := 0
	for i := len(entries) - 1; i >= 0; i-- {
		e, chg := &entries[i], entries[i].chg
		var n *need
		switch {
		case i < keep:
			n = d.of[i]
		case !e.Kind.streams():
			n = d.needs[e.Key]
		}
		if n != nil {
			if n.newest == nil {
				n.newest = e
			}
			chg = n.newest.chg
			e.Dead = n.whole
			n.whole = n.whole || e.Kind != Diff
		} else {
			e.Dead = !e.Kind.streams()
		}
		if e.Dead {
			dead += e.Tokens
		}
		e.N = d.now - chg
		e.Tier = tierOf(e.N)
	}
	return dead
}

// labels returns where each live item of a log stands.
func labels(entries []Entry) map[string]label {
	out := make(map[string]label, len(entries))
	for i := range entries {
		if e := &entries[i]; !e.Dead {
			out[e.Key] = label{tier: e.Tier, changed: e.N == 0}
		}
	}
	return out
}
