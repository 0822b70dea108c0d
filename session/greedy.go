package session

import (
	"context"
	"fmt"
	"slices"

	"strata/history"
	"strata/stability"
)

// fillsGreedily reports whether the profile fills a room that is too small with what has the highest score, and cuts
// what is not rules by shares.
func (s *snapshot) fillsGreedily() bool {
	return s.profile.Budget.CodeShare+s.profile.Budget.HistoryShare > 0
}

// greedy returns which of the pieces fill a room: in the given order each that fits what the ones before it have left.
// What does not fit is skipped; smaller ones behind it may still come in.
func greedy(pieces []piece, order []int, room int) map[int]bool {
	in := make(map[int]bool, len(order))
	for _, i := range order {
		if size := pieces[i].size(); size <= room {
			room -= size
			in[i] = true
		}
	}
	return in
}

// fill leaves out what of the ordered pieces, which may go in this order, does not come in when the room is filled
// greedily: first what must stay, then by descending score, the newest of equals first. What is larger than most is not
// left out but cut afterwards, and half of that is kept for it.
func (s *snapshot) fill(b *built, pieces []piece, order []int, room, most int) []piece {
	large := 0
	newest := newestMessage(pieces)
	for i := range pieces {
		if p := &pieces[i]; i != newest && (isCode(p) || isHistory(p)) && p.size() > most {
			room += p.size()
			large = most / 2
		}
	}
	order = slices.DeleteFunc(slices.Clone(order), func(i int) bool { return pieces[i].size() > most })
	slices.Reverse(order)
	fixed := size(pieces)
	for _, i := range order {
		fixed -= pieces[i].size()
	}
	in := greedy(pieces, order, room-fixed-large)
	gone := make(map[int]bool)
	for _, i := range order {
		gone[i] = !in[i]
	}
	return s.without(b, pieces, gone)
}

// without leaves pieces out.
func (s *snapshot) without(b *built, pieces []piece, gone map[int]bool) []piece {
	kept := make([]piece, 0, len(pieces))
	for i := range pieces {
		if gone[i] {
			s.logShed(&pieces[i], 0)
			b.leaveOut(&pieces[i])
		} else {
			kept = append(kept, pieces[i])
		}
	}
	return s.settle(b, kept)
}

// fitHistory makes the conversation fit the budget that a profile gives it that fills greedily, the newest message apart:
// without copies of files, and if that does not suffice down to a share of the budget, so that it does not come again at
// each request. With other profiles the budget is one of compactions only.
func (s *snapshot) fitHistory(ctx context.Context, b *built, pieces []piece) ([]piece, error) {
	budget := s.capacity(s.profile.Budget.HistoryTokens)
	if budget == 0 || !s.fillsGreedily() || historySize(pieces) <= budget {
		return pieces, nil
	}
	pieces, err := s.dedupe(ctx, b, pieces)
	if err != nil || historySize(pieces) <= budget {
		return pieces, err
	}
	goal := int(float64(budget) * shedTo)
	order := slices.DeleteFunc(prunable(pieces, goal), func(i int) bool { return !isHistory(&pieces[i]) })
	pieces = s.fill(b, pieces, order, goal+size(pieces)-historySize(pieces), goal)
	if over := historySize(pieces) - goal; over > 0 && historySize(pieces) > budget {
		return s.cutGroup(ctx, b, pieces, isHistory, over)
	}
	return pieces, nil
}

// historySize is what the conversation comes to, its summary included and the newest message apart.
func historySize(pieces []piece) int {
	sum := 0
	for i := range pieces {
		if isHistory(&pieces[i]) || pieces[i].Kind == stability.Summary {
			sum += pieces[i].size()
		}
	}
	if i := newestMessage(pieces); i >= 0 {
		sum -= pieces[i].size()
	}
	return sum
}

func isHistory(p *piece) bool { return p.Kind == stability.Message || len(p.shows) > 0 }

// isCode reports whether a piece counts to the share of the code: files, outlines and documents other than rules.
func isCode(p *piece) bool {
	switch p.Kind {
	case stability.File, stability.Outline:
		return true
	case stability.Document:
		return p.Key != documentPrefix+documentRules && len(p.shows) == 0
	}
	return false
}

// cutShares cuts what is not rules down to room: code and history get their shares of what the rest leaves. What one of
// them does not need is the other's.
func (s *snapshot) cutShares(ctx context.Context, b *built, pieces []piece, room int) ([]piece, error) {
	code, talk := groupSize(pieces, isCode), groupSize(pieces, isHistory)
	forCode, forTalk := shared(room-(size(pieces)-code-talk), code, talk, s.profile.Budget.CodeShare, s.profile.Budget.HistoryShare)
	pieces, err := s.cutGroup(ctx, b, pieces, isCode, code-forCode)
	if err != nil {
		return nil, err
	}
	return s.cutGroup(ctx, b, pieces, isHistory, talk-forTalk)
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

func groupSize(pieces []piece, in func(*piece) bool) int {
	sum := 0
	for i := range pieces {
		if in(&pieces[i]) {
			sum += pieces[i].size()
		}
	}
	return sum
}

// cutGroup cuts the largest pieces of a group until over tokens are saved, never the newest message. Of what nothing
// worth showing would remain it leaves out.
func (s *snapshot) cutGroup(ctx context.Context, b *built, pieces []piece, in func(*piece) bool, over int) ([]piece, error) {
	goal := groupSize(pieces, in) - over
	for groupSize(pieces, in) > goal {
		i := largestOf(pieces, in)
		if i < 0 {
			break
		}
		cut, err := s.cutPiece(ctx, b, &pieces[i], pieces[i].Tokens-(groupSize(pieces, in)-goal))
		if err != nil {
			return nil, err
		}
		if !cut {
			b.leaveOut(&pieces[i])
			pieces = slices.Delete(pieces, i, i+1)
		}
		pieces = s.settle(b, pieces)
	}
	return pieces, nil
}

// largestOf returns the index of the largest piece of a group but for the newest message, -1 for none.
func largestOf(pieces []piece, in func(*piece) bool) int {
	newest, largest := newestMessage(pieces), -1
	for i := range pieces {
		if i != newest && in(&pieces[i]) && (largest < 0 || pieces[i].size() > pieces[largest].size()) {
			largest = i
		}
	}
	return largest
}

// cutPiece cuts a piece to at most want tokens, with a marker. It reports false where nothing worth showing would remain.
func (s *snapshot) cutPiece(ctx context.Context, b *built, p *piece, want int) (bool, error) {
	switch {
	case want < leastShown:
		return false, nil
	case p.file != nil:
		return s.cutFile(b, p, want), nil
	case p.document != nil:
		return s.cutDocument(b, p, want), nil
	case p.Kind == stability.Message:
		return s.cutMessages(ctx, b, p, p.Tokens-want)
	}
	return false, nil
}

// cutMessages cuts the texts of a piece of the conversation, the largest first, until over tokens are saved. It reports
// false, and cuts nothing, where its texts do not come to that.
func (s *snapshot) cutMessages(ctx context.Context, b *built, p *piece, over int) (bool, error) {
	messages, err := s.read(ctx, p.messages)
	if err != nil {
		return false, fmt.Errorf("cut the history: %w", err)
	}
	patches, saves := cutTexts(messages, over, s.counter)
	if saves < over {
		return false, nil
	}
	view := slices.Clone(p.messages)
	for _, patch := range patches {
		i := slices.IndexFunc(view, func(v history.Viewed) bool { return v.ID == patch.Message })
		view[i] = patched(view[i], patch)
	}
	b.fitting.cuts = append(b.fitting.cuts, patches...)
	b.leftOut = append(b.leftOut, LeftOut{Key: p.Key, Tokens: saves, Reason: reasonCut, Score: p.priority})
	now := messagePiece(view)
	now.priority, now.pinned = p.priority, p.pinned
	*p = now
	return true, nil
}
