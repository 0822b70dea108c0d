package fit

import (
	"sync"

	"strata/history"
)

// Talk remembers the items of a conversation: those of messages that were there before are not made again. The zero value
// remembers none. It is safe for concurrent use; its lock is a leaf.
type Talk struct {
	mu       sync.Mutex
	view     []history.Viewed // that the items are of
	items    []Item           // all but the last one, which results of calls can still join; of the least priority
	messages int              // in these items
}

// others is for how many other items of a request there is room in the memory of a conversation: mostly for all of them.
const others = 64

// Conversation returns the items of a view, in memory that belongs to the caller. They are the same as those of the function
// Conversation.
func (t *Talk) Conversation(view []history.Viewed) []Item {
	t.mu.Lock()
	defer t.mu.Unlock()
	items := make([]Item, 0, len(view)+others)
	same := len(t.view) > 0 && len(view) > t.messages && &t.view[0] == &view[0]
	if same {
		items = append(items, t.items...)
	} else {
		items = t.moved(items, view)
	}
	kept, at := len(items), 0
	for n := range items {
		at += len(items[n].Messages)
	}
	items = appendItems(items, view[at:])
	if n := len(items) - 1; n > 0 && (!same || n > kept) {
		t.keep(view, items[:n], same)
	}
	prioritize(items)
	return items
}

// moved appends the leading remembered items that have the same messages in a view that is in other memory.
func (t *Talk) moved(items []Item, view []history.Viewed) []Item {
	at := 0
	for i := range t.items {
		it := &t.items[i]
		end := at + len(it.Messages)
		if end >= len(view) || batch(view[at:]) != len(it.Messages) {
			break
		}
		for j := range it.Messages {
			if !history.SameViewed(&it.Messages[j], &view[at+j]) {
				return items
			}
		}
		items = append(items, *it)
		items[i].Messages = view[at:end]
		at = end
	}
	return items
}

// keep remembers items of a view. same: they begin with those that are remembered.
func (t *Talk) keep(view []history.Viewed, items []Item, same bool) {
	if !same {
		t.items, t.messages = nil, 0
	}
	for i := len(t.items); i < len(items); i++ {
		t.items = append(t.items, items[i])
		t.messages += len(items[i].Messages)
	}
	t.view = view
}

// Drop makes t remember nothing.
func (t *Talk) Drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.view, t.items, t.messages = nil, nil, 0
}
