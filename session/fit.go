package session

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"strata/filecontext"
	"strata/history"
	"strata/stability"
	"strata/tokens"
)

// shedTo is how far shedding goes down once the room is exceeded, so that it does not come again at each
// request. Sliding the window at each turn costs 0.70 of no cache, shedding to 70 % 0.53: context.md.
const shedTo = 0.70

// The reasons for which something is left out of a request.
const (
	reasonBudget    = "over_budget"
	reasonDuplicate = "duplicate"
	reasonCut       = "cut_to_fit"
)

// fitting is what has to be shed so that a request fits. It is stored as edits of the view and as states
// of files, so that it stays shed.
type fitting struct {
	dedupe  []history.Patch
	drop    []history.Viewed // messages that leave the view
	cuts    []history.Patch  // blocks that are cut
	summary []string         // paths of files that are shown no more
	partial []filePart       // files of which only the beginning is shown
	shed    []string         // keys of documents that are left out of this request
}

// filePart says how many lines of a file are shown.
type filePart struct {
	path  string
	lines int
}

func (f *fitting) empty() bool {
	return len(f.dedupe)+len(f.drop)+len(f.cuts)+len(f.summary)+len(f.partial) == 0
}

// fit makes the pieces fit the room: each step only if those before it did not suffice.
func (s *snapshot) fit(ctx context.Context, b *built, pieces []piece) ([]piece, error) {
	if s.size(pieces) <= s.room() {
		return pieces, nil
	}
	pieces, err := s.dedupe(ctx, b, pieces)
	if err != nil {
		return nil, err
	}
	if s.size(pieces) <= s.room() {
		return pieces, nil
	}
	goal := int(float64(s.room()) * shedTo)
	pieces = s.prune(b, pieces, goal)
	if s.size(pieces) > s.room() {
		pieces, err = s.truncate(ctx, b, pieces)
	}
	return s.remark(b, pieces), err
}

// size is what pieces come to, as the provider counts.
func (s *snapshot) size(pieces []piece) int {
	sum := 0
	for i := range pieces {
		sum += pieces[i].size()
	}
	return s.calibrated(sum)
}

// prune takes out pieces, the least important first and the oldest of equal ones, down to goal. Never
// those that are pinned, the first message of the user, the newest message, or the last two of the rest.
func (s *snapshot) prune(b *built, pieces []piece, goal int) []piece {
	order := prunable(pieces)
	size, gone := s.size(pieces), make(map[string]bool)
	for _, i := range order {
		if size <= goal {
			break
		}
		p := &pieces[i]
		size -= s.calibrated(p.size())
		gone[p.Key] = true
		b.leaveOut(p, reasonBudget)
		s.logConsidered(p, size, false)
	}
	return slices.DeleteFunc(pieces, func(p piece) bool { return gone[p.Key] })
}

// prunable returns the indices of the pieces that may go, in the order in which they go.
func prunable(pieces []piece) []int {
	var order, talk []int
	for i := range pieces {
		switch {
		case pieces[i].Kind == stability.Message:
			talk = append(talk, i)
		case !pieces[i].pinned:
			order = append(order, i)
		}
	}
	const kept = 3 // the newest message and the last two of the rest
	first := slices.IndexFunc(talk, func(i int) bool { return pieces[i].User })
	for n, i := range talk {
		if n != first && n < len(talk)-kept {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return pieces[a].priority - pieces[b].priority })
	return order
}

// leaveOut notes that a piece goes, and how that is stored.
func (b *built) leaveOut(p *piece, reason string) {
	b.leftOut = append(b.leftOut, LeftOut{Key: p.Key, Tokens: p.size(), Reason: reason, Score: p.priority})
	switch {
	case p.Kind == stability.Message:
		b.fitting.drop = append(b.fitting.drop, p.messages...)
	case p.file != nil:
		b.fitting.summary = append(b.fitting.summary, p.file.Path)
	default:
		b.fitting.shed = append(b.fitting.shed, p.Key)
	}
}

// truncate cuts the largest pieces that remain until all of them fit: files first, at a line's end, then
// the first message of the user.
func (s *snapshot) truncate(ctx context.Context, b *built, pieces []piece) ([]piece, error) {
	for {
		over := s.size(pieces) - s.room()
		if over <= 0 {
			return pieces, nil
		}
		i := largestFile(pieces)
		if i < 0 {
			return s.cutFirst(ctx, b, pieces, over)
		}
		if !s.cutFile(b, &pieces[i], over) {
			b.leaveOut(&pieces[i], reasonBudget)
			pieces = slices.Delete(pieces, i, i+1)
		}
	}
}

// largestFile returns the index of the largest file that can be cut, -1 for none.
func largestFile(pieces []piece) int {
	largest := -1
	for i := range pieces {
		if pieces[i].file != nil && (largest < 0 || pieces[i].Tokens > pieces[largest].Tokens) {
			largest = i
		}
	}
	return largest
}

// cutFile shows only the first lines of a file, so many that at least over tokens are saved. It reports
// false where nothing worth showing would remain.
func (s *snapshot) cutFile(b *built, p *piece, over int) bool {
	share := 1 - float64(over)/float64(max(s.calibrated(p.Tokens), 1)) - 0.02
	lines := int(float64(p.file.Lines) * share)
	if share <= 0 || lines < 1 || lines >= p.file.Lines {
		return false
	}
	e := *p.file
	e.State, e.Reason, e.Range = filecontext.Partial, reasonCut, filecontext.Range{Start: 1, End: lines}
	fact := s.facts.of(e, s.counter)
	if fact.tokens >= p.Tokens {
		return false
	}
	b.leftOut = append(b.leftOut, LeftOut{Key: p.Key, Tokens: p.Tokens - fact.tokens, Reason: reasonCut, Score: p.priority})
	b.fitting.partial = append(b.fitting.partial, filePart{path: e.Path, lines: lines})
	p.file, p.Hash, p.Tokens, p.Rev, p.Partial = &e, fact.hash, fact.tokens, fact.rev, true
	return true
}

// cutFirst cuts the user's first message, the last resort.
func (s *snapshot) cutFirst(ctx context.Context, b *built, pieces []piece, over int) ([]piece, error) {
	i := slices.IndexFunc(pieces, func(p piece) bool { return p.Kind == stability.Message && p.User })
	if i < 0 || len(pieces[i].messages) == 0 {
		return pieces, nil
	}
	v := pieces[i].messages[0]
	messages, err := s.deps.Store.Messages(ctx, s.session, []int64{v.Seq})
	if err != nil {
		return nil, fmt.Errorf("read a message of session %s: %w: %w", s.session, ErrStorage, err)
	}
	patch, ok := cutLargest(history.Patched(messages[0], v.Patches), over, s.counter)
	if ok {
		b.fitting.cuts = append(b.fitting.cuts, patch)
		b.leftOut = append(b.leftOut, LeftOut{Key: pieces[i].Key, Tokens: patch.Saved, Reason: reasonCut, Score: pieces[i].priority})
		pieces[i] = messagePiece([]history.Viewed{patched(v, patch)})
	}
	return pieces, nil
}

// patched returns a message of the view with one more patch.
func patched(v history.Viewed, p history.Patch) history.Viewed {
	v.Patches = append(v.Patches[:len(v.Patches):len(v.Patches)], p)
	v.Tokens = max(v.Tokens-p.Saved, 0)
	return v
}

// cutLargest returns the patch that cuts the largest text block of m by about over tokens, on a
// character border, with a marker that says how much is missing.
func cutLargest(m history.Message, over int, counter *tokens.Counter) (history.Patch, bool) {
	largest := -1
	for i := range m.Blocks {
		if m.Blocks[i].Type == history.BlockText && (largest < 0 || len(m.Blocks[i].Text) > len(m.Blocks[largest].Text)) {
			largest = i
		}
	}
	if largest < 0 {
		return history.Patch{}, false
	}
	text := m.Blocks[largest].Text
	whole := counter.Count(text)
	keep := int(float64(len(text)) * (1 - float64(over+markerTokens)/float64(max(whole, 1))))
	if keep <= 0 || keep >= len(text) {
		return history.Patch{}, false
	}
	cut := cutAt(text, keep)
	shown := cut + fmt.Sprintf("\n[%d characters omitted]", len([]rune(text[len(cut):])))
	return history.Patch{Message: m.ID, Block: largest, Text: shown, Saved: whole - counter.Count(shown), Origin: reasonCut}, true
}

// markerTokens is what the marker of a cut costs at most.
const markerTokens = 16

// remark puts the marker for omitted messages in step with what was left out now.
func (s *snapshot) remark(b *built, pieces []piece) []piece {
	omitted := s.omitted + len(b.fitting.drop)
	pieces = slices.DeleteFunc(pieces, func(p piece) bool { return p.Key == omittedKey })
	first := slices.IndexFunc(pieces, func(p piece) bool { return p.Kind == stability.Message })
	if omitted == 0 || first < 0 {
		return pieces
	}
	return slices.Insert(pieces, first+1, omittedPiece(omitted, s.counter))
}

func (s *snapshot) logConsidered(p *piece, left int, taken bool) {
	s.deps.Log.Debug("fitting", slog.String("session", s.session), slog.String("item", p.Key), slog.Int("tokens", p.size()),
		slog.Int("score", p.priority), slog.Int("size", left), slog.Bool("taken", taken))
}

// edits returns what was shed of the conversation as edits of the view, without ids and numbers.
func (f *fitting) edits() []history.Edit {
	var edits []history.Edit
	if len(f.dedupe) > 0 {
		edits = append(edits, history.Edit{Kind: history.EditDedupe, Reason: reasonBudget, Patches: f.dedupe, SavedTokens: saved(f.dedupe)})
	}
	if len(f.drop)+len(f.cuts) > 0 {
		e := history.Edit{Kind: history.EditTruncate, Reason: reasonBudget, Patches: f.cuts, SavedTokens: saved(f.cuts)}
		for _, v := range f.drop {
			e.Messages = append(e.Messages, v.ID)
			e.SavedTokens += v.Tokens
			e.SavedChars += v.Bytes
		}
		edits = append(edits, e)
	}
	return edits
}

func saved(patches []history.Patch) int {
	sum := 0
	for _, p := range patches {
		sum += p.Saved
	}
	return sum
}
