package compaction

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"strata/tokens"
)

// Summarizer says in few words what a part of a conversation holds, and finds where its newest topic begins:
// with a model, or without one by the words alone. It is safe for concurrent use.
type Summarizer struct {
	model   Model // nil: words only
	counter *tokens.Counter
	window  int // tokens that a call and its answer may have together
}

// defaultWindow is the window of a model that is not known, in tokens.
const defaultWindow = 128_000

// NewSummarizer returns a summarizer. model may be nil; window is the model's, 0 where it is not known.
func NewSummarizer(model Model, counter *tokens.Counter, window int) *Summarizer {
	if window <= 0 {
		window = defaultWindow
	}
	return &Summarizer{model: model, counter: counter, window: window}
}

// Request is what a summary is to be made of.
type Request struct {
	Previous string    // summary of what came before Messages; empty for none
	Messages []Message // the new part
	Budget   int       // tokens of the summary
	Anew     bool      // Previous is worked into the new summary; otherwise that is added to it
	Words    bool      // no model is asked
}

// Summary is a summary of Previous and Messages of a Request.
type Summary struct {
	Text   string
	Tokens int    // of Text
	By     string // ByModel or ByWords
}

// Summarise makes a summary. It returns ErrEmpty, ErrCutOff, ErrNoGain or ErrTooLong for a summary that is
// of no use, and the model's errors.
func (s *Summarizer) Summarise(ctx context.Context, r Request) (Summary, error) {
	text, by, err := s.write(ctx, r)
	if err != nil {
		return Summary{}, err
	}
	summary := Summary{Text: text, Tokens: s.counter.Count(text), By: by}
	return summary, s.check(summary, r)
}

func (s *Summarizer) write(ctx context.Context, r Request) (text, by string, err error) {
	if s.model != nil && !r.Words {
		text, err = s.byModel(ctx, r)
		if !errors.Is(err, ErrNoModel) {
			return text, ByModel, err
		}
	}
	return s.byWords(r), ByWords, nil
}

// A summary must save at least a tenth of the part that it is made of. One that saves next to nothing would
// be made again after the next message; it is as good as none.
const leastGain = 10

// longestSummary is how many times its budget a summary may have. Models count words badly, but without a
// bound a running summary could grow without end.
const longestSummary = 4

func (s *Summarizer) check(summary Summary, r Request) error {
	replaced := size(r.Messages)
	growth := summary.Tokens - s.counter.Count(r.Previous)
	switch {
	case strings.TrimSpace(summary.Text) == "":
		return ErrEmpty
	case growth*leastGain > replaced*(leastGain-1):
		return fmt.Errorf("%w: %d tokens for %d", ErrNoGain, growth, replaced)
	case r.Budget > 0 && summary.Tokens > longestSummary*r.Budget && growth > 0:
		return fmt.Errorf("%w: %d tokens where %d are allowed", ErrNoGain, summary.Tokens, r.Budget)
	}
	return nil
}
