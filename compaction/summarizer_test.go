package compaction

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// long returns n exchanges with some text in them.
func long(n int) []Message {
	var messages []Message
	for i := range n {
		messages = append(messages, user(fmt.Sprintf("question %d", i)), assistant(fmt.Sprintf("answer %d: %s", i, strings.Repeat("and so on ", 30))))
	}
	return messages
}

func TestSummariseAsksOnce(t *testing.T) {
	m := always("```\nAll went well.\n```")
	failedTool := message("tool", "no such file")
	failedTool.Failed = true
	r := Request{Previous: "What came before.", Messages: append(long(5), assistant("  "), user(""), failedTool), Budget: 400, Rewrite: true}
	got, err := NewSummarizer(m, counter, Limits{}).Summarise(context.Background(), r)
	if want := (Summary{Text: "All went well.", Tokens: counter.Count("All went well."), By: ByModel}); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(m.calls) != 1 {
		t.Fatalf("%d calls", len(m.calls))
	}
	c := m.calls[0]
	if c.Purpose != PurposeSummary || c.Temperature != 0.1 || c.MaxTokens != 800 {
		t.Errorf("call %+v", c)
	}
	for _, part := range []string{"What came before.", "question 0", "answer 4", "[assistant]\n(empty reply)", "[user]\n(no text)", "[tool, failed]\nno such file", "at most 300 words"} {
		if !strings.Contains(c.Prompt, part) {
			t.Errorf("prompt lacks %q", part)
		}
	}
}

func TestSummariseAddsToARunningSummary(t *testing.T) {
	m := always("More of it.")
	r := Request{Previous: "What came before.", Messages: long(5), Budget: 400}
	got, err := NewSummarizer(m, counter, Limits{}).Summarise(context.Background(), r)
	if err != nil || got.Text != "What came before.\n\nMore of it." {
		t.Fatalf("%+v, %v", got, err)
	}
	r.Previous = strings.Repeat("many words ", 200) // no room for an addition
	if got, err = NewSummarizer(m, counter, Limits{}).Summarise(context.Background(), r); err != nil || got.Text != "More of it." {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestSummariseInChunks(t *testing.T) {
	const window = 4_000
	calls := 0
	m := &scripted{}
	m.answer = func(_ context.Context, c Call) (Reply, error) {
		if n := counter.Count(c.System+c.Prompt) + c.MaxTokens; n > window {
			t.Errorf("call of %d tokens", n)
		}
		if calls > 0 && !strings.Contains(c.Prompt, fmt.Sprintf("notes %d.", calls)) {
			t.Errorf("call %d lacks the notes of the one before", calls)
		}
		calls++
		return Reply{Text: fmt.Sprintf("notes %d.", calls)}, nil
	}
	messages := append(long(60), user(strings.Repeat("one long message ", 2_000)))
	got, err := NewSummarizer(m, counter, Limits{Window: window}).Summarise(context.Background(), Request{Messages: messages, Budget: 300, Rewrite: true})
	if err != nil || calls < 5 || got.Text != fmt.Sprintf("notes %d.", calls) {
		t.Fatalf("%d calls: %+v, %v", calls, got, err)
	}
	sent := ""
	for _, c := range m.calls {
		sent += c.Prompt
	}
	for i := range 60 {
		if strings.Count(sent, fmt.Sprintf("answer %d:", i)) != 1 {
			t.Errorf("reply %d is not sent exactly once", i)
		}
	}
	if n := strings.Count(sent, "one long"); n < 1_990 { // some are split at chunk boundaries
		t.Errorf("%d parts of the long message are sent", n)
	}
}

func TestSummariseRefusesTooManyChunks(t *testing.T) {
	m := always("notes")
	for window, messages := range map[int][]Message{
		1_000: long(1),
		2_800: long(400),
	} {
		_, err := NewSummarizer(m, counter, Limits{Window: window}).Summarise(context.Background(), Request{Messages: messages, Budget: 300, Rewrite: true})
		if !errors.Is(err, ErrTooLong) || len(m.calls) > 0 {
			t.Errorf("window %d: %v after %d calls", window, err, len(m.calls))
		}
	}
}

func TestUnusableSummaries(t *testing.T) {
	broken := errors.New("status 400")
	messages := long(10)
	words := func(n int) string { return strings.Repeat("word ", n) }
	for name, c := range map[string]struct {
		reply    Reply
		err      error
		previous string
		budget   int
		want     error
	}{
		"failed":                 {Reply{}, broken, "", 500, broken},
		"empty":                  {Reply{Text: " \n"}, nil, "", 500, ErrEmpty},
		"an empty fence":         {Reply{Text: "```\n\n```"}, nil, "", 500, ErrEmpty},
		"truncated":              {Reply{Text: "We have", Truncated: true}, nil, "", 500, ErrTruncated},
		"as long as the history": {Reply{Text: words(size(messages))}, nil, "", 5_000, ErrNoGain},
		"almost as long":         {Reply{Text: words(size(messages) * 95 / 100)}, nil, "", 5_000, ErrNoGain},
		"growing by as much":     {Reply{Text: words(size(messages) + 400)}, nil, words(400), 5_000, ErrNoGain},
		"good":                   {Reply{Text: "Well done."}, nil, "", 500, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := &scripted{answer: func(context.Context, Call) (Reply, error) { return c.reply, c.err }}
			r := Request{Previous: c.previous, Messages: messages, Budget: c.budget, Rewrite: true}
			if _, err := NewSummarizer(m, counter, Limits{}).Summarise(context.Background(), r); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

func TestAnAdditionThatFails(t *testing.T) {
	m := &scripted{answer: func(context.Context, Call) (Reply, error) { return Reply{}, nil }}
	r := Request{Previous: "What came before.", Messages: long(5), Budget: 400}
	if got, err := NewSummarizer(m, counter, Limits{}).Summarise(context.Background(), r); !errors.Is(err, ErrEmpty) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWordsReplaceAMissingModel(t *testing.T) {
	m := &scripted{answer: func(context.Context, Call) (Reply, error) {
		return Reply{}, fmt.Errorf("configuration: %w", ErrNoModel)
	}}
	s := NewSummarizer(m, counter, Limits{})
	got, err := s.Summarise(context.Background(), Request{Messages: long(10), Budget: 200})
	if err != nil || got.By != ByWords || got.Text == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if b, err := s.Detect(context.Background(), long(10)); err != nil || b.By != ByWords {
		t.Errorf("%+v, %v", b, err)
	}
}

// A running summary may use its whole budget, not only the 500 words of other summaries.
func TestARunningSummaryHasItsOwnBudget(t *testing.T) {
	m := always("All went well.")
	for budget, words := range map[int]int{500: 375, 2_000: 1_500} {
		if _, err := NewSummarizer(m, counter, Limits{}).Summarise(context.Background(), Request{Messages: long(5), Budget: budget, Rewrite: true}); err != nil {
			t.Fatal(err)
		}
		c := m.calls[len(m.calls)-1]
		if !strings.Contains(c.Prompt, fmt.Sprintf("at most %d words", words)) || c.MaxTokens != 2*budget {
			t.Errorf("%d tokens: %d for the reply, %s", budget, c.MaxTokens, c.Prompt[len(c.Prompt)-120:])
		}
	}
}

// Each summary of a model is given to the model for the next one, or stays in front of an addition.
func TestSummariesArePassedOn(t *testing.T) {
	for strategy, n := range map[string]Numbers{
		Topic:   {TriggerTokens: 1_000, VerbatimWindowTokens: 100, SummaryBudgetTokens: 300, MinVerbatimExchanges: 1},
		Prune:   {SummaryThreshold: 5, SummaryBudgetTokens: 300},
		Rolling: {RawWindowSize: 3, SummarizeEvery: 10, SummaryBudgetTokens: 2_000},
	} {
		t.Run(strategy, func(t *testing.T) {
			round := 0
			m := &scripted{answer: func(_ context.Context, c Call) (Reply, error) {
				if c.Purpose == PurposeDetection {
					return Reply{Text: `{"boundary": null}`}, nil
				}
				return Reply{Text: fmt.Sprintf("Fact %d of the conversation.", round)}, nil
			}}
			compactor := New(named(t, strategy), n, NewSummarizer(m, counter, Limits{}))
			var h History
			for ; round < 4; round++ {
				before := h.Summary
				h = talk(append(h.Messages, long(8)...)...)
				h.Summary, h.Summarised = before, 8*round
				o := compactor.Compact(context.Background(), h)
				if o.Result != Compacted {
					t.Fatalf("%+v", o)
				}
				prompt := m.calls[len(m.calls)-1].Prompt
				if !strings.Contains(prompt, "<notes_so_far>\n"+before+"\n</notes_so_far>") && before != "" {
					t.Errorf("round %d: the prompt lacks %q", round, before)
				}
				h = applied(h, o)
			}
		})
	}
}
