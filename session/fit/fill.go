package fit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/history"
	"strata/session/content"
	"strata/stability"
)

// fillsGreedily reports whether the profile fills a room that is too small with the items of the highest score, and
// truncates by shares.
func (f *fitter) fillsGreedily() bool { return f.Budget.CodeShare+f.Budget.HistoryShare > 0 }

// greedy picks items in order, skipping any that exceed the remaining room, and prompts whose answer was skipped.
func greedy(items []Item, order []int, room int) map[int]bool {
	in, skipped, answers := make(map[int]bool, len(order)), make(map[int]bool), answersOf(items)
	for _, i := range order {
		answer, ok := answers[i]
		if size := items[i].Size(); size <= room && (!ok || !skipped[answer]) {
			room -= size
			in[i] = true
		} else {
			skipped[i] = true
		}
	}
	return in
}

// fill fills a room greedily, first with the items that must stay, then with those in order, the last one first, and
// evicts the rest. Items larger than most are truncated afterwards, and half of most is kept for them.
func (f *fitter) fill(order []int, room, most int) {
	large := 0
	newest := newestMessage(f.items)
	for i := range f.items {
		if it := &f.items[i]; i != newest && (isCode(it) || isHistory(it)) && it.Size() > most {
			room += it.Size()
			large = most / 2
		}
	}
	order = slices.DeleteFunc(slices.Clone(order), func(i int) bool { return f.items[i].Size() > most })
	slices.Reverse(order)
	fixed := f.size()
	for _, i := range order {
		fixed -= f.items[i].Size()
	}
	in := greedy(f.items, order, room-fixed-large)
	gone := make(map[int]bool)
	for _, i := range order {
		if gone[i] = !in[i]; gone[i] {
			f.logEvicted(&f.items[i], 0)
		}
	}
	f.without(gone)
}

// fitHistory makes the conversation fit the limit that a greedy profile gives it, a running turn apart: without copies
// of files, and if that does not suffice down to a share of the limit. With other profiles that limit is one of
// compactions only.
func (f *fitter) fitHistory(ctx context.Context) error {
	if f.History == 0 || !f.fillsGreedily() || historySize(f.items) <= f.History {
		return nil
	}
	if err := f.dedupe(ctx); err != nil || historySize(f.items) <= f.History {
		return err
	}
	if err := f.findFailures(ctx); err != nil {
		return err
	}
	rank(f.items, f.Budget)
	goal := int(float64(f.History) * KeepShare)
	limited := finished(f.items)
	order := slices.DeleteFunc(evictable(f.items, goal), func(i int) bool { return !limited(&f.items[i]) })
	f.fill(order, goal+f.size()-historySize(f.items), goal)
	if over := historySize(f.items) - goal; over > 0 && historySize(f.items) > f.History {
		return f.truncateGroup(ctx, limited, over)
	}
	return nil
}

// historySize returns the size of the conversation, the summary included, and the running turn or else the newest message
// apart.
func historySize(items []Item) int {
	sum, limited := 0, finished(items)
	for i := range items {
		if limited(&items[i]) || items[i].Kind == stability.Summary {
			sum += items[i].Size()
		}
	}
	return sum
}

// isCode reports whether an item counts to the share of the code: files, outlines and documents other than rules.
func isCode(it *Item) bool {
	switch it.Kind {
	case stability.File, stability.Outline:
		return true
	case stability.Document:
		rules := it.Key == DocumentPrefix+DocumentRules || strings.HasPrefix(it.Key, DocumentPrefix+FolderRules)
		return !rules && len(it.Shows) == 0
	}
	return false
}

// truncateShares truncates code and history to their shares of the room that the rest leaves. One of them gets what the
// other does not need.
func (f *fitter) truncateShares(ctx context.Context) error {
	code, talk := groupSize(f.items, isCode), groupSize(f.items, isHistory)
	forCode, forTalk := shared(f.Goal-(f.size()-code-talk), code, talk, f.Budget.CodeShare, f.Budget.HistoryShare)
	if err := f.truncateGroup(ctx, isCode, code-forCode); err != nil {
		return err
	}
	return f.truncateGroup(ctx, isHistory, talk-forTalk)
}

// shared divides a room by shares among code and history, which have the given sizes. The newest message, which is part
// of the history, may take more than that.
func shared(room, code, talk, codeShare, talkShare int) (forCode, forTalk int) {
	room = max(room, 0)
	forCode = room * codeShare / max(codeShare+talkShare, 1)
	forTalk = room - forCode
	switch {
	case code < forCode:
		return code, room - code
	case talk < forTalk:
		return room - talk, talk
	}
	return forCode, forTalk
}

func groupSize(items []Item, in func(*Item) bool) int {
	sum := 0
	for i := range items {
		if in(&items[i]) {
			sum += items[i].Size()
		}
	}
	return sum
}

// truncateGroup truncates the largest items of a group until over tokens are saved, never the newest message or what a user
// keeps. It evicts items of which nothing worth showing would remain.
func (f *fitter) truncateGroup(ctx context.Context, in func(*Item) bool, over int) error {
	goal := groupSize(f.items, in) - over
	for groupSize(f.items, in) > goal {
		i := largestOf(f.items, in)
		if i < 0 {
			break
		}
		shorter, err := f.shorten(ctx, &f.items[i], f.items[i].Tokens-(groupSize(f.items, in)-goal))
		if err != nil {
			return err
		}
		if !shorter {
			f.without(map[int]bool{i: true})
			continue
		}
		f.settle(f.items)
	}
	return nil
}

// largestOf returns the index of the largest item of a group but for the newest message and what a user keeps, -1 for none.
func largestOf(items []Item, in func(*Item) bool) int {
	stays, largest := kept(items), -1
	stays[newestMessage(items)] = true
	for i := range items {
		if !stays[i] && in(&items[i]) && (largest < 0 || items[i].Size() > items[largest].Size()) {
			largest = i
		}
	}
	return largest
}

// shorten truncates an item to at most want tokens, with a marker. It reports false if nothing worth showing would remain.
func (f *fitter) shorten(ctx context.Context, it *Item, want int) (bool, error) {
	switch {
	case want < leastShown:
		return false, nil
	case it.File != nil:
		return f.shortenFile(it, want), nil
	case it.Document != nil:
		return f.shortenDocument(it, want), nil
	case it.Kind == stability.Message:
		return f.shortenMessages(ctx, it, it.Tokens-want)
	}
	return false, nil
}

// shortenMessages truncates the texts of an item of the conversation, the largest first, until over tokens are saved. It
// reports false, and truncates nothing, if the texts have less.
func (f *fitter) shortenMessages(ctx context.Context, it *Item, over int) (bool, error) {
	return f.saveInMessages(ctx, it, over, over)
}

// saveInMessages is shortenMessages that truncates nothing only if fewer than least tokens would be saved.
func (f *fitter) saveInMessages(ctx context.Context, it *Item, over, least int) (bool, error) {
	messages, err := f.Read.View(ctx, it.Messages)
	if err != nil {
		return false, fmt.Errorf("truncate the history: %w", err)
	}
	patches, saves := truncateTexts(messages, over, f.Counter)
	if saves < least {
		return false, nil
	}
	view := slices.Clone(it.Messages)
	for _, patch := range patches {
		i := slices.IndexFunc(view, func(v history.Viewed) bool { return v.ID == patch.Message })
		view[i] = content.Patched(view[i], patch)
	}
	f.changes.Truncate = append(f.changes.Truncate, patches...)
	f.omitted = append(f.omitted, Omitted{Key: it.Key, Tokens: saves, Reason: ReasonTruncated, Score: it.Priority})
	*it = it.showing(view)
	return true, nil
}
