package session

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

// leastShown is how many tokens of a text are worth showing; where less would remain it is left out.
const leastShown = 32

// truncate makes what pruning could not take out fit: the largest first. Files and documents are cut,
// down to goal where that leaves enough of them; messages and notes are left out whole. The user's first
// message is cut as the last resort.
func (s *snapshot) truncate(ctx context.Context, b *built, pieces []piece, goal, limit int) ([]piece, error) {
	for size(pieces) > limit {
		i := largest(pieces)
		if i < 0 {
			return s.lastResort(ctx, b, pieces, goal, limit)
		}
		p := &pieces[i]
		switch want := wanted(p, size(pieces), goal, limit); {
		case p.file != nil && s.cutFile(b, p, want):
		case p.document != nil && s.cutDocument(b, p, want):
		default:
			b.leaveOut(p)
			pieces = slices.Delete(pieces, i, i+1)
		}
		pieces = s.settle(b, pieces)
	}
	return pieces, nil
}

// largest returns the index of the largest piece that can be cut or left out, -1 for none.
func largest(pieces []piece) int {
	first, newest, largest := firstOfUser(pieces), newestMessage(pieces), -1
	for i := range pieces {
		p := &pieces[i]
		movable := p.file != nil || p.Kind == stability.Document || p.Kind == stability.Note ||
			p.Kind == stability.Message && i != first && i != newest
		if movable && (largest < 0 || before(p, &pieces[largest])) {
			largest = i
		}
	}
	return largest
}

// before reports whether p is cut before q: what has to stay whole last, otherwise the larger one.
func before(p, q *piece) bool {
	if p.whole != q.whole {
		return q.whole
	}
	return p.size() > q.size()
}

// wanted returns how many tokens p should have for all to come to goal; to limit where p would be hardly
// more than nothing otherwise.
func wanted(p *piece, all, goal, limit int) int {
	most := p.Tokens - (all - limit)
	if want := p.Tokens - (all - goal); want >= most/4 {
		return want
	}
	return most
}

// cutFile shows only the first of the lines that a file shows, so many that it has at most want tokens.
// It reports false where nothing worth showing would remain.
func (s *snapshot) cutFile(b *built, p *piece, want int) bool {
	e := *p.file
	if e.Range = e.Visible(); e.Range.IsWhole() {
		e.Range = filecontext.Range{Start: 1, End: e.Lines}
	}
	e.State, e.Reason = filecontext.Partial, reasonCut
	fact := fileFact{tokens: p.Tokens}
	for want >= leastShown {
		shown := e.Range.End - e.Range.Start + 1
		lines := min(shown-1, shown*want/max(fact.tokens, 1))
		if lines < 1 {
			return false
		}
		e.Range.End = e.Range.Start + lines - 1
		if fact = s.facts.of(e, s.counter); fact.tokens <= want {
			b.leftOut = append(b.leftOut, LeftOut{Key: p.Key, Tokens: p.Tokens - fact.tokens, Reason: reasonCut, Score: p.priority})
			b.cutFile(e.Path, e.State, e.Reason, e.Range)
			p.file, p.Hash, p.Tokens, p.Rev, p.Partial = &e, fact.hash, fact.tokens, fact.rev, true
			return true
		}
	}
	return false
}

// cutDocument shows only the beginning of a document, so much that it has at most want tokens. It reports
// false where nothing worth showing would remain.
func (s *snapshot) cutDocument(b *built, p *piece, want int) bool {
	d := p.document
	body := s.body(d)
	keep := len(body)
	shown := p.Tokens
	for want >= leastShown && keep > 0 {
		keep = len(clip.Bytes(body, min(keep-1, keep*want/max(shown, 1))))
		now := s.documentPiece(*d, keep)
		if shown = now.Tokens; shown > want {
			continue
		}
		b.leftOut = append(b.leftOut, LeftOut{Key: p.Key, Tokens: p.Tokens - shown, Reason: reasonCut, Score: p.priority})
		b.fitting.documents = append(b.fitting.documents, history.DocumentCut{Name: d.Name, Version: documentVersion(d), Keep: keep})
		now.since, now.unit = p.since, p.unit
		*p = now
		return true
	}
	return false
}

// lastResort cuts the user's first message, or leaves it out where cutting does not suffice. Where that
// is the newest message nothing is left to shed.
func (s *snapshot) lastResort(ctx context.Context, b *built, pieces []piece, goal, limit int) ([]piece, error) {
	i := firstOfUser(pieces)
	if i < 0 || i == newestMessage(pieces) {
		return s.unmarked(pieces, limit), nil
	}
	over := size(pieces) - goal
	if pieces[i].Tokens-over < leastShown {
		over = size(pieces) - limit
	}
	cut, err := s.cutMessages(ctx, b, &pieces[i], over)
	if err != nil {
		return nil, err
	}
	if !cut {
		b.leaveOut(&pieces[i])
		pieces = s.settle(b, slices.Delete(pieces, i, i+1))
	}
	if size(pieces) > limit && firstOfUser(pieces) != newestMessage(pieces) {
		return s.lastResort(ctx, b, pieces, goal, limit)
	}
	return s.unmarked(pieces, limit), nil
}

// unmarked takes out the marker for omitted messages where not even that fits.
func (s *snapshot) unmarked(pieces []piece, limit int) []piece {
	if size(pieces) <= limit {
		return pieces
	}
	return slices.DeleteFunc(pieces, func(p piece) bool { return p.Key == omittedKey })
}

// patched returns a message of the view with one more patch.
func patched(v history.Viewed, p history.Patch) history.Viewed {
	v.Patches = append(v.Patches[:len(v.Patches):len(v.Patches)], p)
	v.Tokens = max(v.Tokens-p.Saved, 0)
	return v
}

// cutTexts returns the patches that cut the largest texts of messages, and of the results of tools in them, until over
// tokens are saved, as far as there are texts, and what they save.
func cutTexts(messages []history.Message, over int, counter *tokens.Counter) (patches []history.Patch, saves int) {
	texts := textsOf(messages, counter)
	slices.SortStableFunc(texts, func(a, b messageText) int { return b.tokens - a.tokens })
	for _, t := range texts {
		if saves >= over {
			break
		}
		shown := cutText(t.text, t.tokens, t.tokens-(over-saves), counter)
		if save := t.tokens - counter.Count(shown); save > 0 {
			patches = append(patches, history.Patch{Message: t.message, Block: t.block, Part: t.part, Text: shown, Saved: save, Origin: reasonCut})
			saves += save
		}
	}
	return patches, saves
}

// messageText is a text in a message that can be cut.
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

// cutText returns the beginning of a text that has the given tokens, so much that it and the marker
// behind it come to at most want; nothing but the marker where that is more.
func cutText(text string, all, want int, counter *tokens.Counter) string {
	for keep := len(text); ; {
		keep = len(clip.Bytes(text, min(keep-1, keep*want/max(all, 1))))
		shown := withMarker(text, keep)
		if all = counter.Count(shown); all <= want || keep == 0 {
			return shown
		}
	}
}

// withMarker returns the first bytes of text and a marker that says how much is missing.
func withMarker(text string, keep int) string {
	if keep >= len(text) {
		return text
	}
	marker := fmt.Sprintf("[%d characters omitted]", utf8.RuneCountInString(text[keep:]))
	if keep == 0 {
		return marker
	}
	return text[:keep] + "\n" + marker
}
