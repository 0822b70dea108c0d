package stability

import "cmp"

// log is the layout in which the prompt is a log: sent entries neither move nor change, an edited file appends a diff,
// entries that are no longer needed remain as unused ones, and tiers are only labels. Before each request it chooses a
// cut: a length that the provider still has cached, mostly the whole log. It rebuilds everything after the cut.
type log struct {
	strict  bool
	further int // expected further requests; 0: depends on the request

	entries []Entry      // of the last committed request
	talk    sent         // the conversation in them
	saved   []savedEntry // the entries as they were at the last save
}

// Plan lays out the request at now.
func (l *log) Plan(req *Request, now moment, long bool, first map[string]Tier) *Plan {
	d := l.draft(req, now, long)
	d.backdate(first)
	limit, why := d.limit(l.strict)
	keep, why := d.choose(limit, why)
	p := &Plan{Kept: keep, Cut: why, Entries: d.layOut(keep)}
	p.Dead = d.label(p.Entries, keep)
	p.next = p.Entries
	if now.request > 0 {
		from := l.entries
		p.changes = func() []TierChange { return changes(changedLabels(from, p.Entries, keep)) }
	}
	return p
}

// Commit makes the layout of p the base of the next request.
func (l *log) Commit(p *Plan) {
	l.entries = p.next.([]Entry)
	l.talk.follow(l.entries, p.Kept)
}

func (l *log) conversation() *sent { return &l.talk }

func (l *log) draft(req *Request, now moment, long bool) *draft {
	d := &draft{Request: req, now: now, long: long, further: cmp.Or(l.further, req.further()), old: l.entries, sums: sums(l.entries), sent: &l.talk}
	d.sort()
	d.index()
	return d
}

// labels returns the label of each item with a used entry.
func labels(entries []Entry) map[string]label {
	out := make(map[string]label)
	for i := range entries {
		entries[i].putLabel(out)
	}
	return out
}

func (e *Entry) putLabel(out map[string]label) {
	if !e.Dead {
		out[e.Key] = label{tier: e.Tier, changed: e.fresh}
	}
}

// changedLabels returns the labels in two layouts with the same first kept entries, without items of the conversation that
// have the same label in both.
func changedLabels(old, now []Entry, kept int) (from, to map[string]label) {
	from, to = make(map[string]label), make(map[string]label)
	for i := range kept {
		if was, is := &old[i], &now[i]; !is.inStream() || was.Tier != is.Tier || is.fresh {
			was.putLabel(from)
			is.putLabel(to)
		}
	}
	for i := kept; i < len(old); i++ {
		old[i].putLabel(from)
	}
	for i := kept; i < len(now); i++ {
		now[i].putLabel(to)
	}
	return from, to
}
