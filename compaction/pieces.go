package compaction

import (
	"context"
	"fmt"
	"strings"
)

const (
	maxPieces    = 64  // calls for one summary: bounds what a long history costs with a small window
	leastPiece   = 256 // tokens below which a window has no room for a piece
	promptTokens = 600 // of the fixed texts of a call, with some to spare
	budgetShare  = 12  // the part of a window that a summary may have at most: its answer and the one before take twice that each
)

// byModel asks the model for a summary: in one call, or for a history larger than its window in several,
// each given the summary of those before it.
func (s *Summarizer) byModel(ctx context.Context, r Request) (string, error) {
	r.Budget = min(r.Budget, s.window/budgetShare)
	parts, err := s.pieces(r)
	if err != nil {
		return "", err
	}
	if len(parts) == 1 && s.fitsBehind(r) {
		addition, err := s.ask(ctx, summaryCall(r.Previous, parts[0], r.Budget/additionShare, true))
		if err != nil {
			return "", err
		}
		return r.Previous + "\n\n" + addition, nil
	}
	text := r.Previous
	for _, part := range parts {
		if text, err = s.ask(ctx, summaryCall(text, part, r.Budget, false)); err != nil {
			return "", err
		}
	}
	return text, nil
}

// additionShare is the part of a summary's budget that one addition may take: a quarter of it.
const additionShare = 4

// fitsBehind reports whether the summary is to be added to the one before it, and there is room for that.
func (s *Summarizer) fitsBehind(r Request) bool {
	return !r.Anew && r.Previous != "" && s.counter.Count(r.Previous) <= r.Budget-r.Budget/additionShare
}

func (s *Summarizer) ask(ctx context.Context, c Call) (string, error) {
	reply, err := s.model.Complete(ctx, c)
	if err != nil {
		return "", fmt.Errorf("summarise: %w", err)
	}
	text := unfenced(reply.Text)
	switch {
	case reply.CutOff:
		return "", ErrCutOff
	case text == "":
		return "", ErrEmpty
	}
	return text, nil
}

// unfenced returns text without the space and the code fence around it.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	inner, fenced := strings.CutPrefix(text, "```")
	inner, closed := strings.CutSuffix(inner, "```")
	if _, body, ok := strings.Cut(inner, "\n"); fenced && closed && ok && !strings.Contains(body, "```") {
		return strings.TrimSpace(body)
	}
	return text
}

// pieces returns the messages as texts that each fit a call.
func (s *Summarizer) pieces(r Request) ([]string, error) {
	room := s.room(r)
	if room < leastPiece {
		return nil, fmt.Errorf("%w: its window of %d tokens has no room beside the summary", ErrTooLong, s.window)
	}
	var pieces []string
	var piece strings.Builder
	left := room
	for i := range r.Messages {
		for _, text := range s.halved(transcribe(&r.Messages[i]), room) {
			n := s.counter.Count(text)
			if n > left && piece.Len() > 0 {
				if len(pieces) == maxPieces-1 {
					return nil, fmt.Errorf("%w: more than %d pieces for its window of %d tokens", ErrTooLong, maxPieces, s.window)
				}
				pieces = append(pieces, piece.String())
				piece.Reset()
				left = room
			}
			piece.WriteString(text)
			left -= n
		}
	}
	return append(pieces, piece.String()), nil
}

// forText returns the tokens that a call and its answer may have. A quarter of the window is left free: the
// model may count the same text higher.
func (s *Summarizer) forText() int { return s.window * 3 / 4 }

// room returns the tokens that a piece may have.
func (s *Summarizer) room(r Request) int {
	answer := answerTokens(r.Budget)
	previous := max(s.counter.Count(r.Previous), answer)
	return s.forText() - promptTokens - answer - previous
}

// halved returns text in parts of at most room tokens. A part that is halved has more bytes than that.
func (s *Summarizer) halved(text string, room int) []string {
	if s.counter.Count(text) <= room {
		return []string{text}
	}
	half := len(head(text, len(text)/2))
	return append(s.halved(text[:half], room), s.halved(text[half:], room)...)
}
