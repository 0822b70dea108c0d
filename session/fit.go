package session

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"strata/filecontext"
	"strata/history"
	"strata/stability"
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
	dedupe    []history.Patch
	chars     int              // that dedupe saves
	drop      []history.Viewed // messages that leave the view
	cuts      []history.Patch  // blocks that are cut
	files     []fileCut
	documents []history.DocumentCut
}

// fileCut says which lines of a file are still shown; the zero range: none.
type fileCut struct {
	path  string
	lines filecontext.Range
}

func (f *fitting) empty() bool {
	return len(f.dedupe)+len(f.drop)+len(f.cuts)+len(f.files)+len(f.documents) == 0
}

// fit makes the pieces fit the room: each step only if those before it did not suffice. What remains in
// any case are the tools, the system prompt and the newest message; a prompt is only admitted if these fit.
func (s *snapshot) fit(ctx context.Context, b *built, pieces []piece) ([]piece, error) {
	limit, goal := s.capacity(s.room()), s.capacity(int(float64(s.room())*shedTo))
	pieces, share := s.fitBytes(b, pieces)
	if share < 1 {
		limit = min(limit, int(float64(size(pieces))*share))
		goal = min(goal, int(float64(limit)*shedTo))
	}
	pieces, err := s.fitHistory(ctx, b, pieces)
	if err != nil || size(pieces) <= limit {
		return pieces, err
	}
	pieces, err = s.dedupe(ctx, b, pieces)
	if err != nil || size(pieces) <= limit {
		return pieces, err
	}
	if s.fillsGreedily() {
		pieces = s.fill(b, pieces, prunable(pieces, goal), goal, goal)
		if size(pieces) > limit {
			if pieces, err = s.cutShares(ctx, b, pieces, goal); err != nil {
				return nil, err
			}
		}
		return s.truncate(ctx, b, pieces, goal, limit)
	}
	pieces = s.prune(b, pieces, goal)
	return s.truncate(ctx, b, pieces, goal, limit)
}

// size is what pieces come to in counted tokens.
func size(pieces []piece) int {
	sum := 0
	for i := range pieces {
		sum += pieces[i].size()
	}
	return sum
}

// capacity returns how many counted tokens the provider takes for at most n of its own.
func (s *snapshot) capacity(n int) int {
	c := n
	if provider := s.calibrated(n); provider > 0 {
		c = int(float64(n) * float64(n) / float64(provider))
	}
	for c > 0 && s.calibrated(c) > n {
		c--
	}
	return c
}

// prune takes out pieces, the least important first and the oldest of equal ones, down to goal. Never
// those that are pinned, the first message of the user, the newest message, or the last two of the rest.
// Nor files that are larger than goal: they could never come back whole, so they are cut afterwards, and
// half of the goal is kept for them.
func (s *snapshot) prune(b *built, pieces []piece, goal int) []piece {
	left, gone := size(pieces), make(map[int]bool)
	large := 0
	for i := range pieces {
		if oversized(&pieces[i], goal) {
			left -= pieces[i].size()
			large = goal / 2
		}
	}
	left += large
	s.rank(pieces)
	for _, i := range prunable(pieces, goal) {
		if left <= goal {
			break
		}
		left -= pieces[i].size()
		gone[i] = true
		s.logShed(&pieces[i], left)
	}
	kept := make([]piece, 0, len(pieces))
	for i := range pieces {
		if gone[i] {
			b.leaveOut(&pieces[i])
		} else {
			kept = append(kept, pieces[i])
		}
	}
	return s.settle(b, kept)
}

func oversized(p *piece, goal int) bool { return p.file != nil && p.size() > goal }

// prunable returns the indices of the pieces that may go, in the order in which they go.
func prunable(pieces []piece, goal int) []int {
	var order, talk []int
	for i := range pieces {
		switch p := &pieces[i]; {
		case p.Kind == stability.Message:
			talk = append(talk, i)
		case !p.pinned && !oversized(p, goal):
			order = append(order, i)
		}
	}
	const kept = 3 // the newest message and the last two of the rest
	first := firstOfUser(pieces)
	for n, i := range talk {
		if i != first && n < len(talk)-kept {
			order = append(order, i)
		}
	}
	byScore(pieces, order)
	return order
}

// firstOfUser returns the index of the user's first message, -1 for none.
func firstOfUser(pieces []piece) int {
	return slices.IndexFunc(pieces, func(p piece) bool { return p.Kind == stability.Message && p.User })
}

// newestMessage returns the index of the newest message, -1 for none.
func newestMessage(pieces []piece) int {
	for i := len(pieces) - 1; i >= 0; i-- {
		if pieces[i].Kind == stability.Message {
			return i
		}
	}
	return -1
}

// leaveOut notes that a piece goes, and how that is stored.
func (b *built) leaveOut(p *piece) {
	b.leftOut = append(b.leftOut, LeftOut{Key: p.Key, Tokens: p.size(), Reason: reasonBudget, Score: p.priority})
	switch {
	case p.Kind == stability.Message:
		b.fitting.drop = append(b.fitting.drop, p.messages...)
	case len(p.shows) > 0:
		b.fitting.drop = append(b.fitting.drop, p.shows...)
	case p.Kind == stability.Note:
		b.untold = append(b.untold, p.Key)
	case p.file != nil:
		b.cutFile(p.file.Path, filecontext.SummaryOnly, reasonBudget, filecontext.Range{})
	case p.document != nil:
		b.fitting.documents = append(b.fitting.documents, history.DocumentCut{Name: p.document.Name, Version: documentVersion(p.document)})
	}
}

// cutFile notes that a file shows less of itself, also to what the model is told of it.
func (b *built) cutFile(path string, state filecontext.State, reason string, lines filecontext.Range) {
	b.fitting.files = slices.DeleteFunc(b.fitting.files, func(f fileCut) bool { return f.path == path })
	b.fitting.files = append(b.fitting.files, fileCut{path: path, lines: lines})
	i := slices.IndexFunc(b.entries, func(e filecontext.Entry) bool { return e.Path == path })
	b.entries = slices.Clone(b.entries) // the snapshot's own
	b.entries[i].State, b.entries[i].Reason, b.entries[i].Range = state, reason, lines
}

// settle puts what depends on the other pieces in step with them: the notes on files, and the marker
// where messages were left out.
func (s *snapshot) settle(b *built, pieces []piece) []piece {
	pieces = slices.DeleteFunc(pieces, func(p piece) bool { return p.Kind == stability.Note || p.Key == omittedKey })
	talk := len(pieces)
	if i := slices.IndexFunc(pieces, func(p piece) bool { return p.Kind == stability.Message }); i >= 0 {
		talk = i
	}
	marked := s.marked(pieces[talk:], s.omitted+len(b.fitting.drop))
	return slices.Concat(pieces[:talk], s.notePieces(b, pieces[:talk], marked), marked)
}

// marked returns the conversation with the marker that says how many messages were left out: behind the
// first message, unless that is the newest.
func (s *snapshot) marked(talk []piece, omitted int) []piece {
	if omitted == 0 || len(talk) == 0 {
		return talk
	}
	at := min(1, len(talk)-1)
	return slices.Concat(talk[:at], []piece{omittedPiece(omitted, s.counter)}, talk[at:])
}

func (s *snapshot) logShed(p *piece, left int) {
	s.deps.Log.Debug("left out", slog.String("session", s.session), slog.String("item", p.Key), slog.Int("tokens", p.size()),
		slog.Int("score", p.priority), slog.Int("left", left))
}

// edits returns what was shed of the conversation and the documents as edits of the view, without ids and numbers.
func (f *fitting) edits() []history.Edit {
	var edits []history.Edit
	if len(f.dedupe) > 0 {
		edits = append(edits, history.Edit{
			Kind: history.EditDedupe, Reason: reasonBudget, Patches: f.dedupe, SavedTokens: saved(f.dedupe), SavedChars: f.chars,
		})
	}
	if len(f.drop)+len(f.cuts)+len(f.documents) > 0 {
		e := history.Edit{Kind: history.EditTruncate, Reason: f.reason(), Patches: f.cuts, Documents: f.documents, SavedTokens: saved(f.cuts)}
		for _, v := range f.drop {
			e.Messages = append(e.Messages, v.ID)
			e.SavedTokens += v.Tokens
			e.SavedChars += v.Bytes
		}
		edits = append(edits, e)
	}
	return edits
}

// reason says why something leaves or is cut.
func (f *fitting) reason() string {
	other := func(p history.Patch) bool { return p.Origin != reasonRequestTooLarge }
	if len(f.drop)+len(f.documents) == 0 && !slices.ContainsFunc(f.cuts, other) {
		return reasonRequestTooLarge
	}
	return reasonBudget
}

func saved(patches []history.Patch) int {
	sum := 0
	for _, p := range patches {
		sum += p.Saved
	}
	return sum
}

// standing names what earlier requests shed and this one therefore does not hold either.
func (s *snapshot) standing(b *built) {
	if n := len(s.shed); n > 0 {
		out := LeftOut{Key: "msg:" + s.shed[0].ID, Reason: reasonBudget, Score: messageLeast}
		for _, h := range s.shed {
			out.Tokens += h.Tokens
		}
		if n > 1 {
			out.Count = n
		}
		b.leftOut = append(b.leftOut, out)
	}
	for _, v := range s.view {
		b.leftOut = append(b.leftOut, patchesLeftOut(v.ID, v.Patches)...)
	}
	for i := range b.entries {
		s.standingFile(b, &b.entries[i])
	}
}

// standingFile names a file that shows less of itself because it did not fit.
func (s *snapshot) standingFile(b *built, e *filecontext.Entry) {
	summary := e.State == filecontext.SummaryOnly && e.Reason == reasonBudget
	part := e.State == filecontext.Partial && e.Reason == reasonCut
	if e.Problem != "" || !summary && !part {
		return
	}
	whole := *e
	whole.State, whole.Range = filecontext.Full, filecontext.Range{}
	missing := s.facts.of(whole, s.counter).tokens
	if part {
		missing -= s.facts.of(*e, s.counter).tokens
	}
	b.leftOut = append(b.leftOut, LeftOut{Key: "file:" + e.Path, Tokens: max(missing, 0), Reason: e.Reason, Score: filePriority(e)})
}

// runs returns what was left out with messages that follow each other as one.
func runs(all []LeftOut) []LeftOut {
	out := all[:0:0]
	for _, l := range all {
		if n := len(out) - 1; n >= 0 && l.joins(&out[n]) {
			out[n].Count = max(out[n].Count, 1) + max(l.Count, 1)
			out[n].Tokens += l.Tokens
			continue
		}
		out = append(out, l)
	}
	return out
}

// joins reports whether l, a message, goes on with the run that ends with before.
func (l *LeftOut) joins(before *LeftOut) bool {
	return isMessage(l.Key) && isMessage(before.Key) && l.Reason == reasonBudget && before.Reason == reasonBudget && l.Score == before.Score
}

func isMessage(key string) bool { return len(key) > len("msg:") && key[:len("msg:")] == "msg:" }

// fitError is how a request is refused whose tools, system prompt and newest message do not fit.
func (s *snapshot) fitError(b *built) error {
	need := s.calibrated(b.counted)
	if limit := s.room(); need > limit {
		return fmt.Errorf("session %s: %w", s.session, &BudgetError{Tokens: need, Limit: limit})
	}
	return nil
}
