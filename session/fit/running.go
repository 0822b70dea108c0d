package fit

import (
	"context"

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
// newest message, and the newest steps of a running turn.
func pinned(items []Item) map[int]bool {
	newest, prompt := newestMessage(items), runningPrompt(items)
	pinned := map[int]bool{newest: true, newestOfUser(items): true}
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

// shrinkTurn makes a running turn smaller, of which everything else is omitted already: it truncates its steps, the oldest
// first, evicts all but the newest, and truncates the prompt.
func (f *fitter) shrinkTurn(ctx context.Context) error {
	prompt := runningPrompt(f.items)
	if prompt < 0 {
		return nil
	}
	for i := prompt + 1; i < len(f.items); i++ {
		if err := f.save(ctx, i); err != nil {
			return err
		}
	}
	gone := make(map[int]bool)
	left, newest := f.size(), newestMessage(f.items)
	for i := prompt + 1; i < newest && left > f.Limit; i++ {
		if f.items[i].Kind == stability.Message {
			gone[i] = true
			left -= f.items[i].Size()
		}
	}
	if len(gone) > 0 {
		f.without(gone)
	}
	return f.save(ctx, runningPrompt(f.items))
}

// save truncates the texts in an item of the conversation as far as the request does not fit.
func (f *fitter) save(ctx context.Context, i int) error {
	it := &f.items[i]
	over := min(f.size()-f.Limit, it.Tokens-leastShown)
	if it.Kind != stability.Message || over <= 0 {
		return nil
	}
	_, err := f.saveInMessages(ctx, it, over, 1)
	return err
}
