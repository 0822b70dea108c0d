package fit

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"strata/filecontext"
	"strata/history"
	"strata/internal/clip"
	"strata/stability"
	"strata/tokens"
)

// leastShown is how many tokens of a text are worth showing; a text of which less would remain is evicted.
const leastShown = 32

// truncate makes what cannot be evicted fit, the largest item first. Files and documents are truncated, down to the goal
// if enough of them remains; messages and notes are evicted whole. The user's first message and its answer are truncated as
// the last resort.
func (f *fitter) truncate(ctx context.Context) error {
	for f.size() > f.Limit {
		i := largest(f.items)
		if i < 0 {
			return f.lastResort(ctx)
		}
		it := &f.items[i]
		switch want := wanted(it, f.size(), f.Goal, f.Limit); {
		case it.File != nil && f.shortenFile(it, want):
		case it.Document != nil && f.shortenDocument(it, want):
		default:
			f.without(map[int]bool{i: true})
			continue
		}
		f.settle(f.items)
	}
	return nil
}

// largest returns the index of the largest item that can be truncated or evicted, -1 for none.
func largest(items []Item) int {
	first, answer := firstExchange(items)
	stays, largest := pinned(items), -1
	for i := range items {
		it := &items[i]
		movable := it.File != nil || it.Kind == stability.Document || it.Kind == stability.Note ||
			it.Kind == stability.Message && i != first && i != answer && !stays[i]
		if movable && (largest < 0 || before(it, &items[largest])) {
			largest = i
		}
	}
	return largest
}

// before reports whether p is truncated before q: an item that has to stay whole last, a required one before these,
// otherwise the larger one.
func before(p, q *Item) bool {
	if p.Whole != q.Whole {
		return q.Whole
	}
	if p.Required != q.Required {
		return q.Required
	}
	return p.Size() > q.Size()
}

// wanted returns how many tokens an item should have for all to come to goal; to limit if hardly anything of the item
// would remain otherwise.
func wanted(it *Item, all, goal, limit int) int {
	most := it.Tokens - (all - limit)
	if want := it.Tokens - (all - goal); want >= most/4 {
		return want
	}
	return most
}

// shortenFile shows only the first of the lines that a file shows: as many as have at most want tokens. It reports false
// if nothing worth showing would remain.
func (f *fitter) shortenFile(it *Item, want int) bool {
	e := *it.File
	if e.Range = e.Visible(); e.Range.IsWhole() {
		e.Range = filecontext.Range{Start: 1, End: e.Lines}
	}
	e.State, e.Reason = filecontext.Partial, ReasonTruncated
	shows := Rendering{Tokens: it.Tokens}
	for want >= leastShown {
		shown := e.Range.End - e.Range.Start + 1
		lines := min(shown-1, shown*want/max(shows.Tokens, 1))
		if lines < 1 {
			return false
		}
		e.Range.End = e.Range.Start + lines - 1
		if shows = f.Cache.Of(e, f.Counter); shows.Tokens <= want {
			f.omitted = append(f.omitted, Omitted{Key: it.Key, Tokens: it.Tokens - shows.Tokens, Reason: ReasonTruncated, Score: it.Priority})
			f.changeFile(FileChange{Path: e.Path, Lines: e.Range})
			it.File, it.Hash, it.Tokens, it.Rev, it.Version, it.Partial = &e, shows.Hash, shows.Tokens, shows.Rev, "", true
			return true
		}
	}
	return false
}

// shortenDocument shows only the beginning of a document: as much as has at most want tokens. It reports false if nothing
// worth showing would remain.
func (f *fitter) shortenDocument(it *Item, want int) bool {
	d := it.Document
	body := f.Documents.Body(d)
	keep := len(body)
	shown := it.Tokens
	for want >= leastShown && keep > 0 {
		keep = len(clip.Bytes(body, min(keep-1, keep*want/max(shown, 1))))
		now := f.Documents.Item(*d, keep)
		if shown = now.Tokens; shown > want {
			continue
		}
		f.omitted = append(f.omitted, Omitted{Key: it.Key, Tokens: it.Tokens - shown, Reason: ReasonTruncated, Score: it.Priority})
		f.changes.Documents = append(f.changes.Documents, history.DocumentCut{Name: d.Name, Version: DocumentVersion(d), Keep: keep})
		*it = now
		return true
	}
	return false
}

// DocumentVersion names the text of a document and when it was set: a document that is set again has another version.
func DocumentVersion(d *history.Document) string {
	if d.At.IsZero() {
		return Hash(d.Text)
	}
	return fmt.Sprintf("%s@%d", Hash(d.Text), d.At.UnixMicro())
}

// lastResort truncates the user's first message or its answer, the larger one, or evicts both if truncation does not suffice,
// evicts what a user keeps, and then makes a running turn smaller. If the first message is also the newest one it stays.
func (f *fitter) lastResort(ctx context.Context) error {
	for {
		first, answer := firstExchange(f.items)
		newest := newestMessage(f.items)
		if first < 0 || first == newest || first == runningPrompt(f.items) || f.size() <= f.Limit {
			break
		}
		if answer == newest {
			answer = -1 // stays as it is
		}
		i := first
		if answer >= 0 && f.items[answer].Size() > f.items[first].Size() {
			i = answer
		}
		over := f.size() - f.Goal
		if f.items[i].Tokens-over < leastShown {
			over = f.size() - f.Limit
		}
		shorter, err := f.shortenMessages(ctx, &f.items[i], over)
		if err != nil {
			return err
		}
		if !shorter {
			gone := map[int]bool{first: true}
			if answer >= 0 {
				gone[answer] = true
			}
			f.without(gone)
		}
	}
	f.evictKept()
	if err := f.shrinkTurn(ctx); err != nil {
		return err
	}
	if f.size() > f.Limit { // not even the marker of omitted messages fits
		f.items = slices.DeleteFunc(f.items, func(it Item) bool { return it.Key == OmittedKey })
	}
	return nil
}

// evictKept evicts what a user keeps, the oldest first, until the request fits: it has more than the window. The messages
// that every request needs stay.
func (f *fitter) evictKept() {
	stays := pinned(withoutKept(f.items))
	first, answer := firstExchange(f.items)
	gone, left, keeps := make(map[int]bool), f.size(), kept(f.items)
	for i := 0; i < len(f.items) && left > f.Limit; i++ {
		if keeps[i] && !stays[i] && i != first && i != answer {
			gone[i] = true
			left -= f.items[i].Size()
		}
	}
	if len(gone) > 0 {
		f.without(gone)
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

// truncateTexts returns the patches that truncate the largest texts of messages, and of the results of tools in them,
// until over tokens are saved, as far as there are texts, and the tokens that they save.
func truncateTexts(messages []history.Message, over int, counter *tokens.Counter) (patches []history.Patch, saves int) {
	texts := textsOf(messages, counter)
	slices.SortStableFunc(texts, func(a, b messageText) int { return b.tokens - a.tokens })
	for _, t := range texts {
		if saves >= over {
			break
		}
		shown := Truncate(t.text, t.tokens, t.tokens-(over-saves), counter)
		if save := t.tokens - counter.Count(shown); save > 0 {
			patches = append(patches, history.Patch{Message: t.message, Block: t.block, Part: t.part, Text: shown, Saved: save, Origin: ReasonTruncated})
			saves += save
		}
	}
	return patches, saves
}

// messageText is a text in a message that can be truncated.
type messageText struct {
	message     string // id
	block, part int
	text        string
	tokens      int
}

func textsOf(messages []history.Message, counter *tokens.Counter) (texts []messageText) {
	for i := range messages {
		m := &messages[i]
		for j := range m.Blocks {
			switch b := &m.Blocks[j]; b.Type {
			case history.BlockText:
				texts = append(texts, messageText{m.ID, j, 0, b.Text, counter.Count(b.Text)})
			case history.BlockToolResult:
				for k := range b.Content {
					if part := &b.Content[k]; part.Type == history.BlockText {
						texts = append(texts, messageText{m.ID, j, k, part.Text, counter.Count(part.Text)})
					}
				}
			}
		}
	}
	return texts
}

// Truncate returns the beginning of a text that has all tokens: as much as comes to at most want with the marker after it;
// only the marker if that is more.
func Truncate(text string, all, want int, counter *tokens.Counter) string {
	for keep := len(text); ; {
		keep = len(clip.Bytes(text, min(keep-1, keep*want/max(all, 1))))
		shown := WithMarker(text, keep)
		if all = counter.Count(shown); all <= want || keep == 0 {
			return shown
		}
	}
}

// WithMarker returns the first bytes of text and a marker with the number of omitted characters.
func WithMarker(text string, keep int) string {
	if keep >= len(text) {
		return text
	}
	marker := fmt.Sprintf("[%d characters omitted]", utf8.RuneCountInString(text[keep:]))
	if keep == 0 {
		return marker
	}
	return text[:keep] + "\n" + marker
}
