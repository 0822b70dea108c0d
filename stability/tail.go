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
	d.leadOn(out)
	if keep > 0 {
		out[keep-1].BlockEnd = true // already set unless the provider accepts no marks
	}
	if keep > 0 && keep == len(d.old) {
		out = d.extend(out)
	} else {
		out = d.rebuild(out)
	}
	first := d.firstMark(out)
	if first > keep {
		out[first-1].BlockEnd = true
	}
	closeBlocks(out, keep)
	seal(out, max(keep-1, 0))
	if !d.Cache.Automatic {
		setMarks(out, [maxMarks]int{first, conversationStart(out), keep, len(out)}, d.Cache.Minimum)
	}
	return out
}

// firstMark returns the length of the prefix that gets the first mark: the leading system part, or in a request with a run
// the part of the run that is the same as in the last request, which is likely to stay.
func (d *draft) firstMark(entries []Entry) int {
	n := conversationStart(entries)
	if n == len(entries) || !entries[n].Run {
		return leadEnd(entries)
	}
	for n < len(entries) && entries[n].Run && entries[n].chg.request < d.now.request {
		n++
	}
	return n
}

// room returns the maximum number of entries after old[:keep].
func (d *draft) room(keep int) int {
	n := len(d.files) + len(d.stream) - d.sentMessages[keep] + 2
	if keep == 0 {
		n += len(d.lead) + len(d.notes)
	}
	return n
}

// extend appends to a log that is kept whole: messages up to the last reply, context updates, and the user's new
// message.
func (d *draft) extend(out []Entry) []Entry {
	keep := len(out)
	answered, asked := d.unsent(keep)
	out = d.addMessages(out, answered)
	out = d.addMissing(out, d.lead, keep)
	bases, diffs := d.texts(keep)
	out = append(append(out, bases...), diffs...)
	out = d.addMissing(out, d.notes, keep)
	return d.addMessages(out, asked)
}

// rebuild lays out everything after a cut. Content that changed longest ago comes first, so that the next cut can keep
// a long prefix. Nothing comes between the items of a run: after a cut inside of it its rest comes first, otherwise it
// directly precedes the messages. A file follows the messages that tell changes which it contains: whoever reads on from it
// must not meet them again.
func (d *draft) rebuild(out []Entry) []Entry {
	keep := len(out)
	answered, asked := d.unsent(keep)
	run := answered[:runLength(answered)]
	inside := keep > 0 && d.old[keep-1].Run
	if inside {
		out = d.addMessages(out, run)
	}
	out = d.addMissing(out, d.lead, keep)
	aside, diffs := d.texts(keep)
	aside = d.addMissing(aside, d.notes, keep)
	slices.SortStableFunc(aside, func(a, b Entry) int { return a.chg.request - b.chg.request })
	if len(run) > 0 && !inside {
		moved := func(e Entry) bool { return d.lastMove(e.Key) >= d.sentMessages[keep] }
		files := slices.Concat(aside, diffs)
		out = append(out, slices.DeleteFunc(slices.Clone(files), moved)...)
		out = d.addMessages(out, answered)
		out = append(out, slices.DeleteFunc(files, func(e Entry) bool { return !moved(e) })...)
		return d.addMessages(out, asked)
	}
	at := len(d.stream) - len(asked) - len(answered) + len(run) // index of the next message
	for _, e := range d.addMessages(nil, answered[len(run):]) {
		out, aside = d.due(out, aside, e.chg.request, at)
		out = append(out, e)
		at++
	}
	out = append(append(out, aside...), diffs...)
	return d.addMessages(out, asked)
}

// due appends those of the leading entries of aside that precede the message with index at, of a given request: those that
// changed before, or then. It returns the others, too.
func (d *draft) due(out, aside []Entry, request, at int) (_, rest []Entry) {
	for len(aside) > 0 && aside[0].chg.request <= request {
		if d.lastMove(aside[0].Key) >= at {
			rest = append(rest, aside[0])
		} else {
			out = append(out, aside[0])
		}
		aside = aside[1:]
	}
	if len(rest) > 0 {
		aside = append(rest, aside...)
	}
	return out, aside
}

// runLength returns how many of the leading items are a run.
func runLength(items []*Item) int {
	n := 0
	for n < len(items) && items[n].Run {
		n++
	}
	return n
}

// unsent returns the messages that old[:keep] does not show, split into those up to the last reply and the user's new
// messages, which follow the context updates.
func (d *draft) unsent(keep int) (answered, asked []*Item) {
	rest := d.stream[d.sentMessages[keep]:]
	n := len(rest)
	for n > 0 && rest[n-1].User {
		n--
	}
	return rest[:n], rest[n:]
}

// addMessages appends entries for items of the conversation.
func (d *draft) addMessages(out []Entry, items []*Item) []Entry {
	for _, it := range items {
		out = append(out, newEntry(it, d.now, d.messageChg(it)))
	}
	return out
}

// messageChg returns the moment at which the current content of it was first sent, or the current one.
func (d *draft) messageChg(it *Item) moment {
	if e := d.sent.newest(it.Key); e != nil && e.Blob == it.Hash {
		return e.chg
	}
	return d.now
}

// addMissing appends entries for the needs that old[:keep] does not show in their current form, outlines by path.
func (d *draft) addMissing(out []Entry, needs []need, keep int) []Entry {
	outlines := -1
	for i := range needs {
		n := &needs[i]
		if d.shows(n, keep) {
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

// texts returns the missing entries for files after old[:keep], by path: new bases, and diffs of kept bases.
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
