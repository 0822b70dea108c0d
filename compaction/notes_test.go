package compaction

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// changes returns notes of n sentences.
func changes(n int) string {
	return strings.TrimSpace(strings.Repeat("They changed one more of the files. ", n))
}

// replying is a model whose replies for summaries are the given ones in order, the last one again and again.
func replying(replies ...Reply) *scripted {
	n := 0
	return &scripted{answer: func(_ context.Context, c Call) (Reply, error) {
		if c.Purpose == PurposeDetection {
			return Reply{Text: `{"boundary": null}`}, nil
		}
		n++
		return replies[min(n, len(replies))-1], nil
	}}
}

// A model's summary has at most its budget, whatever the strategy: a longer one is asked for once more with a smaller limit,
// and then its end is omitted, after a line or sentence.
func TestP09ASummaryHasAtMostItsBudget(t *testing.T) {
	const budget = 300
	fits, over, far := changes(20), changes(150), changes(400)
	for strategy, n := range map[string]Numbers{
		Topic:   {TriggerTokens: 1_000, VerbatimWindowTokens: 100, SummaryBudgetTokens: budget, MinVerbatimExchanges: 1},
		Prune:   {SummaryThreshold: 5, SummaryBudgetTokens: budget, MaxSteps: 100},
		Rolling: {RawWindowSize: 3, SummarizeEvery: 10, SummaryBudgetTokens: budget},
	} {
		for name, c := range map[string]struct {
			replies []Reply
			calls   int
			want    string // in the summary
			err     error
		}{
			"within it":               {[]Reply{{Text: fits}}, 1, fits, nil},
			"shorter when asked":      {[]Reply{{Text: far}, {Text: fits}}, 2, fits, nil},
			"too long again":          {[]Reply{{Text: far}, {Text: over}}, 2, "the files.\n[", nil},
			"longer when asked":       {[]Reply{{Text: over}, {Text: far}}, 2, "the files.\n[", nil},
			"then nothing":            {[]Reply{{Text: over}, {Text: ""}}, 2, "the files.\n[", nil},
			"then truncated":          {[]Reply{{Text: over}, {Text: fits, Truncated: true}}, 2, "the files.\n[", nil},
			"one long line":           {[]Reply{{Text: strings.Repeat("word ", 2_000)}}, 2, "word word\n[", nil},
			"one long word":           {[]Reply{{Text: strings.Repeat("ä", 4_000)}}, 2, "ää\n[", nil},
			"Japanese":                {[]Reply{{Text: strings.Repeat("ファイルを変更した。", 400)}}, 2, "した。\n[", nil},
			"as long as the messages": {[]Reply{{Text: changes(600)}}, 1, "", ErrNoGain},
			"truncated, then shorter": {[]Reply{{Text: over, Truncated: true}, {Text: fits}}, 2, fits, nil},
			"truncated, then long":    {[]Reply{{Text: far, Truncated: true}, {Text: over}}, 2, "the files.\n[", nil},
			"truncated twice":         {[]Reply{{Text: over, Truncated: true}}, 2, "", ErrTruncated},
			"truncated in thought":    {[]Reply{{Truncated: true}}, 1, "", ErrTruncated},
		} {
			t.Run(strategy+": "+name, func(t *testing.T) {
				m := replying(c.replies...)
				h := talk(long(40)...)
				o := compact(t, strategy, n, m, h)
				if asked := m.count(PurposeSummary); asked != c.calls {
					t.Errorf("%d calls, want %d", asked, c.calls)
				}
				if c.err != nil {
					if unchanged(t, o, map[bool]Result{true: NoGain, false: Failed}[errors.Is(c.err, ErrNoGain)]); !errors.Is(o.Err, c.err) {
						t.Errorf("%v, want %v", o.Err, c.err)
					}
					return
				}
				if o.Result != Compacted || !strings.Contains(o.Summary, c.want) || o.SummaryTokens != counter.Count(o.Summary) {
					t.Fatalf("%+v, want a summary with %q", o, c.want)
				}
				if o.SummaryTokens > budget || o.SummaryTokens < budget/3 {
					t.Errorf("%d tokens for a budget of %d", o.SummaryTokens, budget)
				}
			})
		}
	}
}

// The second call is the first with fewer words, by as much as the reply was too long.
func TestP09TheSecondCallAsksForLess(t *testing.T) {
	over := changes(150)
	m := replying(Reply{Text: over}, Reply{Text: "Well done."})
	if _, err := NewSummarizer(m, counter, Limits{}).Summarise(t.Context(), Request{Messages: long(40), Budget: 300, Rewrite: true}); err != nil {
		t.Fatal(err)
	}
	first, second := m.calls[0], m.calls[1]
	words := 225 * 300 / counter.Count(over) * 8 / 10
	want := strings.Replace(first.Prompt, "at most 225 words", fmt.Sprintf("at most %d words", words), 1) + tooLong
	if second.Prompt != want || want == first.Prompt+tooLong || second.MaxTokens != first.MaxTokens || second.System != first.System {
		t.Errorf("%q, want %q", second.Prompt, want)
	}
}

// An addition to a summary, and each chunk's notes, have a budget of their own. No call is made a third time.
func TestP09AnAdditionHasItsBudget(t *testing.T) {
	const budget = 400
	m := replying(Reply{Text: changes(200)})
	r := Request{Previous: changes(25), Messages: long(40), Budget: budget}
	got, err := NewSummarizer(m, counter, Limits{}).Summarise(t.Context(), r)
	if err != nil || len(m.calls) != 2 || !strings.HasPrefix(got.Text, r.Previous+"\n\nThey changed") || got.Tokens > budget {
		t.Errorf("%d calls: %+v, %v", len(m.calls), got, err)
	}
	m = replying(Reply{Text: changes(600)})
	got, err = NewSummarizer(m, counter, Limits{Window: 4_000}).Summarise(t.Context(), Request{Messages: long(60), Budget: 300, Rewrite: true})
	if err != nil || len(m.calls) < 6 || len(m.calls)%2 != 0 || got.Tokens > 300 {
		t.Fatalf("%d calls: %+v, %v", len(m.calls), got, err)
	}
	for i := range m.calls {
		if n := counter.Count(m.calls[i].System+m.calls[i].Prompt) + m.calls[i].MaxTokens; n > 4_000 {
			t.Errorf("call %d has %d tokens", i, n)
		}
	}
}

var omission = regexp.MustCompile(`\n\[(\d+) characters omitted\]$`)

// The beginning of any text fits the budget, ends within no character, and tells how much is missing.
func TestP09AnyTextIsCutToItsBudget(t *testing.T) {
	s := NewSummarizer(nil, counter, Limits{})
	r := rand.New(rand.NewPCG(9, 9))
	parts := []string{"word", " ", "\n", ". ", "。", "äöü", "漢字", "😀", "\xff", "[12 characters omitted]", "0123456789", "\u2028", strings.Repeat("x", 300)}
	for range 300 {
		var b strings.Builder
		for range 1 + r.IntN(400) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		text := "A" + strings.TrimSpace(b.String())
		budget := r.IntN(200)
		got, err := s.cut(text, budget)
		if (got == "") != errors.Is(err, ErrEmpty) {
			t.Fatalf("%q, %v", got, err)
		}
		if n := counter.Count(got); n > budget {
			t.Fatalf("%d tokens for a budget of %d: %q", n, budget, got)
		}
		if counter.Count(text) <= budget {
			if got != text {
				t.Fatalf("%q fits", text)
			}
			continue
		}
		if got == "" && budget > 20 {
			t.Errorf("nothing is left in %d tokens of %q", budget, text)
		}
		if m := omission.FindStringSubmatch(got); got != "" {
			kept := strings.TrimSuffix(got, m[0])
			if !strings.HasPrefix(text, kept) || m[1] != fmt.Sprint(utf8.RuneCountInString(text[len(kept):])) {
				t.Errorf("%q of %q", got, text)
			}
		}
	}
}

// The words to ask for shrink by the length of the notes, whatever the language.
func TestP09FewerWords(t *testing.T) {
	for name, tt := range map[string]struct {
		asked        int
		notes        string
		tokens, most int
		want         int
	}{
		"all of the words":    {100, strings.Repeat("word ", 100), 200, 100, 40},
		"more words":          {100, strings.Repeat("word ", 400), 800, 100, 9},
		"fewer, long words":   {100, strings.Repeat("a/long/path ", 60), 200, 100, 24},
		"no spaces":           {100, strings.Repeat("漢", 300), 400, 100, 9},
		"nothing, cut by far": {2, "word", 1000, 1, 1},
	} {
		if got := fewerWords(tt.asked, tt.notes, tt.tokens, tt.most); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
