package compaction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"strata/internal/clip"
)

const (
	maxChunks    = 64  // calls per summary: bounds the cost of a long history with a small window
	minChunk     = 256 // tokens; a window without room for this is too small
	promptTokens = 600 // of the fixed texts of a call, with a margin
	budgetShare  = 12  // divisor of the window for the maximum budget: the reply and the previous summary take twice the budget each
)

// byModel returns a summary by the model, which can be longer than the budget. If the history exceeds the model's window, it
// makes one call per chunk, each with the summary of the previous chunks. A previous summary without room in such calls is
// summarized again, before the messages.
func (s *Summarizer) byModel(ctx context.Context, r Request) (string, error) {
	r.Budget = s.budget(r)
	whole := r
	if s.room(r) < minChunk && r.Previous != "" {
		r.Messages = slices.Concat([]Message{{Role: notesRole, Text: r.Previous}}, r.Messages)
		r.Previous, r.Rewrite = "", true
	}
	parts, err := s.chunks(r)
	if err != nil {
		return "", err
	}
	if len(parts) == 1 && s.fitsAddition(r) {
		before := r.Previous + paragraph
		added := part{previous: r.Previous, text: parts[0], addition: true}
		addition, err := s.notes(ctx, added, r.Budget/additionShare, r.Budget-s.counter.Count(before), Request{Messages: r.Messages})
		if err != nil {
			return "", err
		}
		return before + addition, nil
	}
	text := r.Previous
	for i, next := range parts {
		if i > 0 {
			text, err = s.cut(text, r.Budget)
		}
		if err == nil {
			text, err = s.notes(ctx, part{previous: text, text: next}, r.Budget, r.Budget, whole)
		}
		if err != nil {
			return "", err
		}
	}
	return text, nil
}

// budget returns the budget of a model's summary. It shrinks with the window and with the longest reply of the model.
func (s *Summarizer) budget(r Request) int {
	return min(r.Budget, s.summary.Window/budgetShare, s.summary.Reply/replyShare)
}

// notesRole heads a previous summary that is summarized again.
const notesRole = "notes so far"

// call returns the call for notes of so many words, whose reply is not longer than the model's longest.
func (s *Summarizer) call(p part, budget, words int) Call {
	c := summaryCall(p, words)
	c.MaxTokens = s.replyTokens(budget)
	return c
}

// replyTokens returns the limit for the reply to a call.
func (s *Summarizer) replyTokens(budget int) int { return min(maxReplyTokens(budget), s.summary.Reply) }

// additionShare is the divisor of a summary's budget for one addition: a quarter of the budget.
const additionShare = 4

// paragraph separates an addition from the summary before it.
const paragraph = "\n\n"

// fitsAddition reports whether the summary is to be added to the previous one and the budget has room for that.
func (s *Summarizer) fitsAddition(r Request) bool {
	return !r.Rewrite && r.Previous != "" && s.counter.Count(r.Previous+paragraph) <= r.Budget-r.Budget/additionShare
}

// chunks returns the messages as texts that each fit into a call.
func (s *Summarizer) chunks(r Request) ([]string, error) {
	room := s.room(r)
	if room < minChunk {
		return nil, fmt.Errorf("%w: its window of %d tokens has no room for text in addition to the summary", ErrTooLong, s.summary.Window)
	}
	var chunks []string
	var chunk strings.Builder
	left := room
	for i := range r.Messages {
		for _, text := range s.split(transcribe(&r.Messages[i]), room) {
			n := s.counter.Count(text)
			if n > left && chunk.Len() > 0 {
				if len(chunks) == maxChunks-1 {
					return nil, fmt.Errorf("%w: more than %d chunks at its window of %d tokens", ErrTooLong, maxChunks, s.summary.Window)
				}
				chunks = append(chunks, chunk.String())
				chunk.Reset()
				left = room
			}
			chunk.WriteString(text)
			left -= n
		}
	}
	return append(chunks, chunk.String()), nil
}

// room returns the maximum tokens of a chunk.
func (s *Summarizer) room(r Request) int {
	reply := s.replyTokens(r.Budget)
	previous := max(s.counter.Count(r.Previous), reply)
	return s.summary.forText() - promptTokens - reply - previous
}

// split returns text in parts of at most room tokens, by repeated halving. It terminates because a part with more than
// room tokens also has more than room bytes.
func (s *Summarizer) split(text string, room int) []string {
	if s.counter.Count(text) <= room {
		return []string{text}
	}
	half := len(clip.Bytes(text, len(text)/2))
	return append(s.split(text[:half], room), s.split(text[half:], room)...)
}
