package compaction

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"strata/tokens"
)

// Summarizer summarizes parts of conversations and finds the start of the newest topic, with a model or, without one, by
// words. It is safe for concurrent use.
type Summarizer struct {
	model   Model // nil: words only
	counter *tokens.Counter

	summary, detection Limits // of the models for the two purposes
}

// Limits are those of a model, in counted tokens.
type Limits struct {
	Window int // a call and its reply together; 0: unknown
	Reply  int // the longest reply; 0: unknown
}

// defaultWindow is the window of an unknown model, in tokens.
const defaultWindow = 128_000

func (l Limits) orDefaults() Limits {
	if l.Window <= 0 {
		l.Window = defaultWindow
	}
	if l.Reply <= 0 || l.Reply > l.Window {
		l.Reply = l.Window
	}
	return l
}

// forText returns the maximum tokens of a call and its reply. A quarter of the window is reserved, as the model may count
// more tokens for the same text.
func (l Limits) forText() int { return l.Window * 3 / 4 }

// NewSummarizer returns a summarizer. model may be nil. limits are those of the model that it uses for both purposes.
func NewSummarizer(model Model, counter *tokens.Counter, limits Limits) *Summarizer {
	limits = limits.orDefaults()
	return &Summarizer{model: model, counter: counter, summary: limits, detection: limits}
}

// Detecting returns the summarizer with the limits of another model for the detection of topics.
func (s *Summarizer) Detecting(limits Limits) *Summarizer {
	other := *s
	other.detection = limits.orDefaults()
	return &other
}

// Request is the input of Summarise.
type Request struct {
	Previous string    // summary of the messages before Messages; empty for none
	Messages []Message // the new part
	Budget   int       // tokens of the summary; 0: the default
	Rewrite  bool      // the new summary replaces Previous; otherwise it is appended to Previous
	Words    bool      // use no model
	Later    bool      // the conversation's first message is kept: it tells the goal
}

// Summary is a summary of a Request's Previous and Messages.
type Summary struct {
	Text   string
	Tokens int    // of Text
	By     string // ByModel or ByWords
}

// Summarise makes a summary of at most the budget. The error is ErrEmpty, ErrTruncated, ErrNoGain or ErrTooLong if the
// summary is not usable, or an error of the model.
func (s *Summarizer) Summarise(ctx context.Context, r Request) (Summary, error) {
	if r.Budget <= 0 {
		r.Budget = defaultBudget
	}
	text, by, err := s.write(ctx, r)
	if err == nil {
		err = s.check(text, r)
	}
	if err == nil && by == ByModel {
		text, err = s.cut(text, s.budget(r))
	}
	if err != nil {
		return Summary{}, err
	}
	return Summary{Text: text, Tokens: s.counter.Count(text), By: by}, nil
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

// defaultBudget is the budget of a summary without one in the request, in tokens: 500 words.
const defaultBudget = 667

// minGain is the divisor of the minimum gain: a summary must save at least a tenth of the text it replaces. Otherwise
// the next message would trigger another compaction.
const minGain = 10

// check checks a summary before its end is omitted: the beginning of a text that is no summary is none either.
func (s *Summarizer) check(text string, r Request) error {
	replaced := size(r.Messages)
	growth := s.counter.Count(text) - s.counter.Count(r.Previous)
	switch {
	case strings.TrimSpace(text) == "":
		return ErrEmpty
	case growth*minGain > replaced*(minGain-1):
		return fmt.Errorf("%w: %d tokens instead of %d", ErrNoGain, growth, replaced)
	}
	return nil
}
