package compaction

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const parserTalk = `parser grammar token lexer syntax tree node expression operator precedence statement recursion lookahead parse rule
production terminal`

const gardenTalk = `tomato soil water seed compost garden harvest leaf root plant sunlight greenhouse fertilizer basil spinach pruning
seedling`

// chatter returns exchanges with words from a small vocabulary.
func chatter(r *rand.Rand, vocabulary string, exchanges int) []Message {
	words := strings.Fields(vocabulary)
	sentence := func(n int) string {
		var out []string
		for range n {
			out = append(out, words[r.IntN(len(words))], "the", "with")
		}
		return strings.Join(out, " ")
	}
	var messages []Message
	for range exchanges {
		messages = append(messages, user(sentence(8)), assistant(sentence(30)))
	}
	return messages
}

func TestCohesionFindsTheNewestTopic(t *testing.T) {
	for newest := 1; newest <= 6; newest++ {
		r := rand.New(rand.NewPCG(uint64(newest), 1))
		h := talk(append(chatter(r, parserTalk, 10), chatter(r, gardenTalk, newest)...)...)
		b, err := NewSummarizer(nil, counter, Limits{}).Detect(context.Background(), h.Messages)
		if err != nil || b.Index != 20 || b.Confidence < 0.5 || b.By != ByWords {
			t.Errorf("%d exchanges of the new topic: %+v, %v", newest, b, err)
		}
	}
}

func TestCohesionSeesOneTopic(t *testing.T) {
	for seed := range uint64(50) {
		h := talk(chatter(rand.New(rand.NewPCG(seed, 2)), parserTalk, 12)...)
		if b := cohesion(h.Messages); b.Index >= 0 {
			t.Errorf("seed %d: %+v", seed, b)
		}
	}
}

func TestCohesionNeedsWords(t *testing.T) {
	for name, messages := range map[string][]Message{
		"nothing":  nil,
		"short":    exchanges(10, 10),
		"no words": {user("1"), assistant("2"), user("3"), assistant("4"), user("5"), assistant(""), user("!"), assistant("?")},
	} {
		if b := cohesion(messages); b.Index >= 0 {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

func TestDetectLooksAtTheNewestMessages(t *testing.T) {
	m := &scripted{answer: func(context.Context, Call) (Reply, error) {
		return Reply{Text: `{"boundary": 48, "confidence": 0.9, "reason": "gardening", "summary": "parsers"}`}, nil
	}}
	h := talk(exchanges(40, 10)...)
	h.Messages[79].Text = strings.Repeat("é", 5_000)
	b, err := NewSummarizer(m, counter, Limits{}).Detect(context.Background(), h.Messages)
	if want := (Boundary{Index: 78, Confidence: 0.9, Reason: "gardening", Summary: "parsers", By: ByModel}); err != nil || b != want {
		t.Errorf("%+v, %v", b, err)
	}
	prompt := m.calls[0].Prompt
	if strings.Contains(prompt, "question 15\n") || !strings.HasPrefix(prompt, "[0] user: question 16") {
		t.Errorf("prompt begins %.60q", prompt)
	}
	if n := strings.Count(prompt, "é"); n != detectChars {
		t.Errorf("%d characters of a long message", n)
	}
}

func TestDetectFitsASmallWindow(t *testing.T) {
	m := always("")
	var messages []Message
	for i := range 50 {
		messages = append(messages, user(fmt.Sprint(i, strings.Repeat(" word", 190))))
	}
	window := 4_000
	if _, err := NewSummarizer(m, counter, Limits{Window: window}).Detect(context.Background(), messages); err != nil {
		t.Fatal(err)
	}
	c := m.calls[0]
	if n := counter.Count(c.System+c.Prompt) + c.MaxTokens; n > window {
		t.Errorf("%d tokens", n)
	}
	if !strings.Contains(c.Prompt, "[49] user: 49 word") {
		t.Error("the newest message is omitted")
	}
}
