package fit

import (
	"slices"

	"strata/stability"
)

// recentSteps is the number of newest steps of a running turn that stay in a request.
const recentSteps = 2

// runningPrompt returns the index of the prompt of a turn that is still running, in which the model goes on with results of
// tools; -1 if there is none.
func runningPrompt(items []Item) int {
	prompt, newest := newestOfUser(items), newestMessage(items)
	if prompt < 0 || prompt == newest || isAnswer(&items[newest]) {
		return -1
	}
	return prompt
}

// pinned returns the items of the conversation that no request omits while others can be: the newest message, the user's
// newest message, the newest steps of a running turn, and what a user keeps.
func pinned(items []Item) map[int]bool {
	newest, prompt := newestMessage(items), runningPrompt(items)
	pinned := kept(items)
	pinned[newest], pinned[newestOfUser(items)] = true, true
	if prompt < 0 {
		return pinned
	}
	for i, steps := newest, 0; i > prompt && steps < recentSteps; i-- {
		if items[i].Kind == stability.Message {
			pinned[i] = true
			steps++
		}
	}
	return pinned
}

// kept returns the messages that a user keeps, with the answers of kept prompts: a prompt without its answer would be answered
// again.
func kept(items []Item) map[int]bool {
	kept := make(map[int]bool)
	for i := range items {
		if items[i].Kind == stability.Message && items[i].Pinned {
			kept[i] = true
		}
	}
	if len(kept) == 0 {
		return kept
	}
	for prompt, answer := range answersOf(items) {
		if items[prompt].Pinned {
			kept[answer] = true
		}
	}
	return kept
}

// withoutKept returns the items as if a user kept none of their messages.
func withoutKept(items []Item) []Item {
	items = slices.Clone(items)
	for i := range items {
		items[i].Pinned = items[i].Pinned && items[i].Kind != stability.Message
	}
	return items
}

// finished returns a function that reports whether an item is of the conversation, the running turn or else the newest
// message apart: limits of the history are limits of that.
func finished(items []Item) func(*Item) bool {
	newest, prompt := newestMessage(items), runningPrompt(items)
	if newest < 0 {
		return isHistory
	}
	last, running := items[newest].Key, -1
	if prompt >= 0 {
		running = items[prompt].Messages[0].Exchange
	}
	return func(it *Item) bool {
		ofTurn := it.Kind == stability.Message && it.Messages[0].Exchange == running
		return isHistory(it) && it.Key != last && !ofTurn
	}
}

// firstOfUser returns the index of the user's first message, -1 for none.
func firstOfUser(items []Item) int {
	return slices.IndexFunc(items, func(it Item) bool { return it.Kind == stability.Message && it.User })
}

// newestOfUser returns the index of the user's newest message, -1 for none.
func newestOfUser(items []Item) int {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Kind == stability.Message && items[i].User {
			return i
		}
	}
	return -1
}

// firstExchange returns the indices of the user's first message and of its answer, -1 for what there is not.
func firstExchange(items []Item) (prompt, answer int) {
	prompt = firstOfUser(items)
	if answer, ok := answersOf(items)[prompt]; ok {
		return prompt, answer
	}
	return prompt, -1
}

// newestMessage returns the index of the newest message, -1 for none.
func newestMessage(items []Item) int {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Kind == stability.Message {
			return i
		}
	}
	return -1
}
