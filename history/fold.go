package history

import (
	"cmp"
	"slices"
)

// fold builds a view from scratch. The view is not shared yet, so removed messages are only marked until the end. The
// time is proportional to the messages plus the entries of the edits, not to their product.
type fold struct {
	view
	index map[string]int // index in view.messages by id
	gone  []bool         // whether each of view.messages was removed

	// The others as a list in the order of the view: the indexes of the neighbors, -1 at the ends.
	next, prev  []int
	first, last int
	moved       bool // the order is not that of the indexes

	whole      []int        // tokens of each of view.messages without patches
	late       map[int]int  // by a late result that was moved: its calls
	summarised map[int]bool // that a summary replaces
}

func foldOf(events []event, unanswered map[string]string) view {
	f := fold{index: make(map[string]int, len(events)), first: -1, last: -1, late: make(map[int]int), summarised: make(map[int]bool)}
	f.unanswered = unanswered
	f.messages, f.gone = make([]Viewed, 0, len(events)), make([]bool, 0, len(events))
	f.next, f.prev = make([]int, 0, len(events)), make([]int, 0, len(events))
	for _, e := range events {
		if e.head != nil {
			f.add(*e.head)
		} else {
			f.apply(e.edit)
		}
	}
	return f.finish()
}

func (f *fold) add(h Head) {
	if f.last >= 0 && f.givesWay(&f.messages[f.last], &h) {
		f.remove(f.last)
	}
	i := len(f.messages)
	f.index[h.ID] = i
	f.view.add(h)
	f.gone, f.next, f.prev, f.whole = append(f.gone, false), append(f.next, -1), append(f.prev, -1), append(f.whole, h.Tokens)
	f.link(i, f.last)
}

// link adds message i to the list after another one, at the start if that is -1.
func (f *fold) link(i, after int) {
	next := f.first
	if after >= 0 {
		next = f.next[after]
		f.next[after] = i
	} else {
		f.first = i
	}
	f.prev[i], f.next[i] = after, next
	if next >= 0 {
		f.prev[next] = i
	} else {
		f.last = i
	}
}

// unlink removes message i from the list.
func (f *fold) unlink(i int) {
	prev, next := f.prev[i], f.next[i]
	if prev >= 0 {
		f.next[prev] = next
	} else {
		f.first = next
	}
	if next >= 0 {
		f.prev[next] = prev
	} else {
		f.last = prev
	}
}

func (f *fold) remove(i int) {
	f.gone[i] = true
	f.unlink(i)
}

func (f *fold) apply(e *Edit) {
	if e.Kind == EditResult {
		f.takeResult(e)
		return
	}
	if e.Kind.Arranges() {
		f.arrange(e)
		return
	}
	f.view.apply(e, f.rewrite)
	f.summarises(e)
	if len(f.messages) == 0 {
		clear(f.index)
		clear(f.late)
		clear(f.summarised)
		f.gone, f.next, f.prev, f.whole = f.gone[:0], f.next[:0], f.prev[:0], f.whole[:0]
		f.first, f.last, f.moved = -1, -1, false
	}
}

// rewrite marks messages as gone, patches others, and returns the removed ones in the order of the view.
func (f *fold) rewrite(e *Edit) (left []Viewed) {
	leaving := make([]int, 0, len(e.Messages))
	for _, id := range e.Messages {
		if i, in := f.index[id]; in && !f.gone[i] {
			f.gone[i] = true
			leaving = append(leaving, i)
		}
	}
	f.sort(leaving)
	for _, i := range leaving {
		f.unlink(i)
	}
	left = make([]Viewed, len(leaving))
	for n, i := range leaving {
		left[n] = f.messages[i]
	}
	for _, p := range e.Patches {
		if i, in := f.index[p.Message]; in && !f.gone[i] {
			f.messages[i].patch(p)
		}
	}
	return left
}

// sort sorts indexes of messages in the list by the order of the view.
func (f *fold) sort(indexes []int) {
	slices.Sort(indexes)
	if !f.moved || len(indexes) < 2 {
		return
	}
	place := make(map[int]int, len(f.messages))
	for i := f.first; i >= 0; i = f.next[i] {
		place[i] = len(place)
	}
	slices.SortFunc(indexes, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
}

func (f *fold) finish() view {
	kept := make([]Viewed, 0, len(f.messages))
	for i := f.first; i >= 0; i = f.next[i] {
		kept = append(kept, f.messages[i])
	}
	f.messages = kept
	return f.view
}
