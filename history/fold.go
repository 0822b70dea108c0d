package history

import "slices"

// fold builds a view from scratch. The view is not shared yet, so removed messages are only marked until the end. The
// time is proportional to the messages plus the entries of the edits, not to their product.
type fold struct {
	view
	index map[string]int // index in view.messages by id
	gone  []bool         // whether each of view.messages was removed
}

func foldOf(events []event, unanswered map[string]string) view {
	f := fold{index: make(map[string]int, len(events))}
	f.unanswered = unanswered
	f.messages, f.gone = make([]Viewed, 0, len(events)), make([]bool, 0, len(events))
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
	newest := len(f.messages) - 1
	for newest >= 0 && f.gone[newest] {
		newest--
	}
	if newest >= 0 && f.givesWay(&f.messages[newest], &h) {
		f.gone[newest] = true
	}
	f.index[h.ID] = len(f.messages)
	f.view.add(h)
	f.gone = append(f.gone, false)
}

func (f *fold) apply(e *Edit) {
	f.view.apply(e, f.rewrite)
	if len(f.messages) == 0 {
		clear(f.index)
		f.gone = f.gone[:0]
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
	slices.Sort(leaving)
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

func (f *fold) finish() view {
	kept := f.messages[:0]
	for i := range f.messages {
		if !f.gone[i] {
			kept = append(kept, f.messages[i])
		}
	}
	f.messages = kept
	return f.view
}
