package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Limits of the input for detecting the newest topic.
const (
	detectMessages = 50    // newest messages
	detectChars    = 1_000 // characters of each
)

// Detect returns the start of the newest topic of a conversation. It returns no boundary if the model's reply is not
// valid, and no boundary and an error if the model fails.
func (s *Summarizer) Detect(ctx context.Context, messages []Message) (Boundary, error) {
	first := max(len(messages)-detectMessages, 0)
	shown := messages[first:]
	b, err := s.detect(ctx, shown)
	if b.Index >= 0 {
		b.Index += first
	}
	return b, err
}

func (s *Summarizer) detect(ctx context.Context, shown []Message) (Boundary, error) {
	if s.model == nil {
		return cohesion(shown), nil
	}
	limit := min(detectionTokens, s.detection.Reply)
	lines := s.detectionLines(shown, limit)
	if len(lines) < leastDetected {
		return cohesion(shown), nil
	}
	reply, err := s.model.Complete(ctx, detectionCall(lines, limit))
	switch {
	case errors.Is(err, ErrNoModel):
		return cohesion(shown), nil
	case err != nil:
		return NoBoundary, fmt.Errorf("find the newest topic: %w", err)
	}
	return parseBoundary(reply.Text, len(shown)), nil
}

// leastDetected is the number of messages among which a model can find the start of a topic. If its window has no room for
// them, the topic is found by words.
const leastDetected = 2

// detectionLines returns the newest messages that fit the model's window in addition to its reply, numbered.
func (s *Summarizer) detectionLines(shown []Message, reply int) []string {
	room := s.detection.forText() - promptTokens - reply
	lines := make([]string, 0, len(shown))
	for i := len(shown) - 1; i >= 0; i-- {
		line := detectionLine(i, &shown[i])
		if room -= s.counter.Count(line); room < 0 {
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return lines
}
