package stability

import (
	"slices"
	"strings"
)

// layOut returns the entries of the request that keeps old[:keep].
func (d *draft) layOut(keep int) []Entry {
	out := make([]Entry, keep, keep+d.room(keep))
	copy(out, d.old)
	for i := range out {
		out[i].Mark = false
	}
	if keep > 0 {
		out[keep-1].BlockEnd = true // so it is already, unless the provider takes no marks
	}
	if keep > 0 && keep == len(d.old) {
		out = d.follow(out)
	} else {
		out = d.anew(out)
	}
	closeBlocks(out, keep)
	seal(out, max(keep-1, 0))
	if !d.Cache.Automatic {
		setMarks(out, [maxMarks]int{leadEnd(out), firstOfStream(out), keep, len(out)}, d.Cache.Minimum)
	}
	return out
}

// room returns how many entries can follow old[:keep].
func (d *draft) room(keep int) int {
	n := len(d.files) + len(d.stream) - d.said[keep] + 16
	if keep == 0 {
		n += len(d.lead) + len(d.notes)
	}
	return n
}

// follow appends what is new to a log that is kept whole: what was answered, the updates, and the user's new message.
func (d *draft) follow(out []Entry) []Entry {
	keep := len(out)
	answered, asked := d.unsaid(keep)
	out = d.say(out, answered)
	out = d.addMissing(out, d.lead, keep)
	bases, diffs := d.texts(keep)
	out = append(append(out, bases...), diffs...)
	out = d.addMissing(out, d.notes, keep)
	return d.say(out, asked)
}

// anew lays out everything that a cut has left to be laid out. What changed longest ago comes first, so that
// the next cut finds a long prefix that still holds.
func (d *draft) anew(out []Entry) []Entry {
	keep := len(out)
	answered, asked := d.unsaid(keep)
	out = d.addMissing(out, d.lead, keep)
	aside, diffs := d.texts(keep)
	aside = d.addMissing(aside, d.notes, keep)
	slices.SortStableFunc(aside, func(a, b Entry) int { return a.chg - b.chg })
	for _, e := range d.say(nil, answered) {
		for len(aside) > 0 && aside[0].chg <= e.chg {
			out, aside = append(out, aside[0]), aside[1:]
		}
		out = append(out, e)
	}
	out = append(append(out, aside...), diffs...)
	return d.say(out, asked)
}

// unsaid splits what old[:keep] does not show of the conversation: the user's newest words go behind all updates.
func (d *draft) unsaid(keep int) (answered, asked []*Item) {
	rest := d.stream[d.said[keep]:]
	n := len(rest)
	for n > 0 && rest[n-1].User {
		n--
	}
	return rest[:n], rest[n:]
}

// say appends entries for items of the conversation.
func (d *draft) say(out []Entry, items []*Item) []Entry {
	for _, it := range items {
		out = append(out, newEntry(it, d.now, d.saidSince(it)))
	}
	return out
}

// saidSince returns the request since which it is part of the conversation.
func (d *draft) saidSince(it *Item) int {
	if d.spoken == nil {
		d.spoken = make(map[string]*Entry)
		for i := range d.old {
			if e := &d.old[i]; e.Kind.streams() {
				d.spoken[e.Key] = e
			}
		}
	}
	if e, ok := d.spoken[it.Key]; ok && e.Blob == it.Hash {
		return e.chg
	}
	return d.now
}

// addMissing appends the needs that old[:keep] does not show as they are, outlines by path.
func (d *draft) addMissing(out []Entry, needs []need, keep int) []Entry {
	outlines := -1
	for i := range needs {
		n := &needs[i]
		if d.stands(n, keep) {
			continue
		}
		if n.Kind == Outline && outlines < 0 {
			outlines = len(out)
		}
		out = append(out, newEntry(n.Item, d.now, n.chg))
	}
	if outlines >= 0 {
		slices.SortFunc(out[outlines:], byKey)
	}
	return out
}

func byKey(a, b Entry) int { return strings.Compare(a.Key, b.Key) }

// texts returns what old[:keep] lacks of the files, by path: new bases, and diffs for the bases in it.
func (d *draft) texts(keep int) (bases, diffs []Entry) {
	for i := range d.files {
		switch e, missing := d.file(&d.files[i], keep); {
		case !missing:
		case e.Kind == Base:
			bases = append(bases, e)
		default:
			diffs = append(diffs, e)
		}
	}
	slices.SortFunc(bases, byKey)
	slices.SortFunc(diffs, byKey)
	return bases, diffs
}
