package stability

import (
	"slices"
	"strings"
)

// ripple is the classic layout: L0 to L3 are consecutive blocks, each closed by a mark, and items move up one tier at a
// time, when the tier above is being rewritten anyway. Items that have not been stable for long follow the last mark.
type ripple struct {
	target int

	lead    []Item // tools and system prompt: they precede L0 and have no N
	members [tiers][]member
	entries []Entry // the layout of lead and members
}

// Plan lays out the request at now. The first request of each turn but the first counts the previous turn. Inside a turn
// no item moves: new and changed ones become active.
func (r *ripple) Plan(req *Request, now moment, _ bool, first map[string]Tier) *Plan {
	s := register(&r.members, r.target, req)
	inside := now.request > 0 && req.insideTurn()
	s.count(inside)
	s.place(first)
	if now.request > 0 && !inside {
		s.cascade()
		s.fold()
	}
	next := &ripple{target: r.target, lead: s.lead, members: s.members}
	ends := next.layOut()
	kept := inherit(next.entries, r.entries)
	seal(next.entries, kept)
	if !req.Cache.Automatic {
		setMarks(next.entries, ends, req.Cache.Minimum)
	}
	p := &Plan{Entries: next.entries, Kept: kept, next: next}
	if now.request > 0 {
		from := *r // Commit replaces r
		p.changes = func() []TierChange { return changes(from.labels(nil), next.labels(s)) }
	}
	return p
}

// Commit makes the layout of p the base of the next request.
func (r *ripple) Commit(p *Plan) { *r = *p.next.(*ripple) }

// layOut fills entries, except for their prefixes, and returns the number of entries up to the end of each of L0 to L3.
func (r *ripple) layOut() (ends [maxMarks]int) {
	size := len(r.lead)
	for _, members := range r.members {
		size += len(members)
	}
	out := make([]Entry, 0, size)
	for i := range r.lead {
		out = append(out, newMemberEntry(&member{r.lead[i], entryN[L0]}, L0))
	}
	for t := L0; t <= L3; t++ {
		for i := range r.members[t] {
			out = append(out, newMemberEntry(&r.members[t][i], t))
		}
		if len(out) > 0 {
			out[len(out)-1].BlockEnd = true
		}
		ends[t-L0] = len(out)
	}
	for _, m := range activeOrder(r.members[Active]) {
		out = append(out, newMemberEntry(&m, Active))
	}
	closeBlocks(out, 0)
	r.entries = out
	return ends
}

func newMemberEntry(m *member, t Tier) Entry {
	e := newEntry(&m.Item, moment{}, moment{})
	e.Tier, e.N = t, m.n
	return e
}

// activeOrder returns the uncached members in order: file tree, other documents, outlines and files by key, notes, and
// the conversation.
func activeOrder(members []member) []member {
	out := slices.Clone(members)
	slices.SortStableFunc(out, func(a, b member) int {
		c := activeRank(&a) - activeRank(&b)
		if c == 0 && (a.Kind == Outline || a.Kind == File) {
			c = strings.Compare(a.Key, b.Key)
		}
		return c
	})
	return out
}

func activeRank(m *member) int {
	if m.Key == structureKey {
		return -1
	}
	if m.inStream() {
		return int(^uint(0) >> 1)
	}
	return slices.Index([]Kind{Document, Outline, File, Note}, m.Kind)
}

// inherit copies the prefixes of the leading entries that are equal to the earlier ones, and returns their number.
func inherit(entries, earlier []Entry) int {
	n := 0
	for n < min(len(entries), len(earlier)) {
		a, b := &entries[n], &earlier[n]
		if a.Blob != b.Blob || a.Kind != b.Kind || a.BlockEnd != b.BlockEnd || a.Before != b.Before {
			break
		}
		a.prefix = b.prefix
		n++
	}
	return n
}

// labels returns the label of each item. s, which may be nil, supplies the reasons.
func (r *ripple) labels(s *step) map[string]label {
	out := make(map[string]label, len(r.entries))
	for i := range r.lead {
		out[r.lead[i].Key] = label{tier: L0}
	}
	for t := range r.members {
		for i := range r.members[t] {
			m := &r.members[t][i]
			l := label{tier: Tier(t)}
			if s != nil {
				l.changed, l.reason = s.changed[m.Key], s.reasons[m.Key]
			}
			out[m.Key] = l
		}
	}
	return out
}
