package compaction

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

var chat = Numbers{TriggerTokens: 1_500, VerbatimWindowTokens: 300, SummaryBudgetTokens: 100, MinVerbatimExchanges: 2, MinConfidence: 0.5}

func compact(t *testing.T, strategy string, n Numbers, m Model, h History) Outcome {
	t.Helper()
	return New(named(t, strategy), n, NewSummarizer(m, counter, Limits{})).Compact(context.Background(), h)
}

// unchanged checks that an outcome has the given result and changes nothing.
func unchanged(t *testing.T, o Outcome, want Result) {
	t.Helper()
	if o.Result != want || !o.Plan.Empty() || o.Summary != "" || o.SummaryTokens != 0 || o.After != o.Before {
		t.Errorf("%+v, want %s", o, want)
	}
}

func TestCompactReplacesByASummary(t *testing.T) {
	m := always("They talked about numbers.")
	h := talk(long(40)...)
	o := compact(t, Topic, chat, m, h)
	if o.Result != Compacted || o.By != ByModel || o.Err != nil || o.Summary != "They talked about numbers." {
		t.Fatalf("%+v", o)
	}
	left := applied(h, o)
	if o.Before != h.Tokens() || o.After != left.Tokens() || o.After >= chat.TriggerTokens {
		t.Errorf("%d to %d tokens, really %d to %d", o.Before, o.After, h.Tokens(), left.Tokens())
	}
	if c := New(named(t, Topic), chat, NewSummarizer(m, counter, Limits{})); !c.Fill(h).Due || !c.Shortens(h) || c.Fill(left).Due || c.Shortens(left) {
		t.Error("due before, not after")
	}
	if again := compact(t, Topic, chat, m, left); again.Result != NothingToDo || m.count(PurposeSummary) != 1 || m.count(PurposeDetection) != 1 {
		t.Errorf("again: %+v", again)
	}
}

func TestCompactPassesThePreviousSummary(t *testing.T) {
	m := always("All of it.")
	h := talk(long(40)...)
	h.Summary = "What came before."
	o := compact(t, Topic, chat, m, h)
	if want := size(h.Messages) + counter.Count(h.Summary); o.Before != want {
		t.Errorf("%d tokens before, want %d", o.Before, want)
	}
	if left := applied(h, o); o.After != left.Tokens() || left.Summary != "All of it." {
		t.Errorf("%+v", o)
	}
	if prompt := m.calls[1].Prompt; !strings.Contains(prompt, h.Summary) {
		t.Errorf("prompt %.100q", prompt)
	}
}

func TestCompactAtABoundaryNeedsNoSummary(t *testing.T) {
	m := &scripted{answer: func(_ context.Context, c Call) (Reply, error) {
		return Reply{Text: `{"boundary": 48, "confidence": 0.9, "reason": "another matter"}`}, nil
	}}
	h := talk(long(40)...)
	n := chat
	n.MinVerbatimExchanges = 1
	o := compact(t, Topic, n, m, h)
	if got := kept(h, o.Plan); o.Result != Compacted || o.Summary != "" || got != ids(79, 80) || o.Plan.Confidence != 0.9 {
		t.Errorf("kept %s: %+v", got, o)
	}
	if m.count(PurposeSummary) != 0 || !strings.Contains(o.Plan.Reason, "another matter") || o.By != ByModel {
		t.Errorf("%+v", o)
	}
}

func TestCompactOfAShortHistory(t *testing.T) {
	m := always(strings.Repeat("word ", 6_000))
	h := talk(user("hello"), assistant("hello"), user("bye"))
	asked := chat
	asked.Asked, asked.RoomTokens, asked.RawWindowSize, asked.MaxSteps = true, 1_000, 5, 20
	for _, strategy := range []string{Topic, Rolling, Middle, Window} {
		unchanged(t, compact(t, strategy, asked, m, h), NothingToDo)
	}
	unchanged(t, compact(t, Prune, asked, m, h), NoGain)
}

// If a requested summary fails, steps are removed only above the maximum.
func TestPruneAskedForWithoutASummary(t *testing.T) {
	n := steps
	n.Asked = true
	broken := errors.New("status 400")
	m := &scripted{answer: func(context.Context, Call) (Reply, error) { return Reply{}, broken }}
	unchanged(t, compact(t, Prune, n, m, stepsOf(15, true)), Failed)
	if o := compact(t, Prune, n, m, stepsOf(16, true)); o.Result != Compacted {
		t.Errorf("%+v", o)
	}
}

// A failed summary changes nothing, and does not prevent the next one.
func TestCompactSurvivesBadSummaries(t *testing.T) {
	broken := errors.New("status 400")
	h := talk(long(15)...)
	n := chat
	n.RawWindowSize, n.SummaryThreshold, n.MaxSteps = 5, 5, 40
	for name, bad := range map[string]struct {
		reply Reply
		err   error
		want  error
		is    Result
	}{
		"failed":    {Reply{}, broken, broken, Failed},
		"empty":     {Reply{}, nil, ErrEmpty, Failed},
		"truncated": {Reply{Text: "We", Truncated: true}, nil, ErrTruncated, Failed},
		"echo":      {Reply{Text: strings.Repeat("word ", h.Tokens()*99/100)}, nil, ErrNoGain, NoGain},
	} {
		for _, strategy := range []string{Topic, Rolling, Prune} {
			t.Run(name+" "+strategy, func(t *testing.T) {
				m := &scripted{answer: func(_ context.Context, c Call) (Reply, error) {
					if c.Purpose == PurposeDetection {
						return Reply{Text: `{"boundary": null}`}, nil
					}
					return bad.reply, bad.err
				}}
				o := compact(t, strategy, n, m, h)
				unchanged(t, o, bad.is)
				if !errors.Is(o.Err, bad.want) {
					t.Errorf("%v, want %v", o.Err, bad.want)
				}
				if o := compact(t, strategy, n, always("Well."), h); o.Result != Compacted {
					t.Errorf("then: %+v", o)
				}
			})
		}
	}
}

func TestPruneFallsBackWithoutASummary(t *testing.T) {
	broken := errors.New("status 400")
	m := &scripted{answer: func(context.Context, Call) (Reply, error) { return Reply{}, broken }}
	h := stepsOf(20, true, 6, 16)
	o := compact(t, Prune, steps, m, h)
	if got, want := keptSteps(h, o.Plan), ids(1, 3, 6, 6, 11, 20); o.Result != Compacted || got != want || o.Summary != "" {
		t.Errorf("kept %s: %+v", got, o)
	}
	if !errors.Is(o.Err, broken) {
		t.Errorf("the failure is not reported: %v", o.Err)
	}
}

// The iterations of a failed summary are kept and folded with the next one.
func TestRollingRetriesAFailedFold(t *testing.T) {
	broken := errors.New("status 529")
	n := Numbers{RawWindowSize: 5, SummarizeEvery: 10, SummaryBudgetTokens: 100}
	h := talk(long(23)...)
	unchanged(t, compact(t, Rolling, n, &scripted{answer: func(context.Context, Call) (Reply, error) { return Reply{}, broken }}, h), Failed)
	h = talk(append(h.Messages, long(1)...)...)
	o := compact(t, Rolling, n, always("Iterations 1 to 19."), h)
	if got := kept(h, o.Plan); got != ids(39, 48) {
		t.Errorf("kept %s: %+v", got, o)
	}
}

func TestDetectionThatFailsDoesNotStopTheSummary(t *testing.T) {
	broken := errors.New("status 500")
	m := &scripted{answer: func(_ context.Context, c Call) (Reply, error) {
		if c.Purpose == PurposeDetection {
			return Reply{}, broken
		}
		return Reply{Text: "Well."}, nil
	}}
	if o := compact(t, Topic, chat, m, talk(long(40)...)); o.Result != Compacted || o.Summary != "Well." || !errors.Is(o.Err, broken) {
		t.Errorf("%+v", o)
	}
}

func TestFailedDigestsAreOmitted(t *testing.T) {
	h := talk(exchanges(50, 10)...)
	for i := range h.Messages {
		h.Messages[i].Text = ""
	}
	h.Messages[0].Text = "first"
	n := Numbers{RoomTokens: 400, SummaryBudgetTokens: 1}
	for _, strategy := range []string{Middle, Window} {
		o := compact(t, strategy, n, nil, h)
		if o.Result != Compacted || len(o.Plan.Summarise) > 0 || o.Summary != "" || o.Err == nil {
			t.Errorf("%s: %+v", strategy, o)
		}
	}
}

func TestCompactCancelled(t *testing.T) {
	for purpose, when := range map[string]string{PurposeDetection: "before the reply", PurposeSummary: "after the reply"} {
		t.Run(purpose, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			m := &scripted{answer: func(_ context.Context, c Call) (Reply, error) {
				if c.Purpose != purpose {
					return Reply{}, nil
				}
				cancel()
				if when == "before the reply" {
					return Reply{Text: "half"}, ctx.Err()
				}
				return Reply{Text: "A whole summary."}, nil
			}}
			o := New(named(t, Topic), chat, NewSummarizer(m, counter, Limits{})).Compact(ctx, talk(long(40)...))
			unchanged(t, o, Cancelled)
			if !errors.Is(o.Err, context.Canceled) {
				t.Errorf("%v", o.Err)
			}
		})
	}
}

func TestCompactOfMessagesWithoutTokens(t *testing.T) {
	h := talk(exchanges(20, 0)...)
	unchanged(t, compact(t, Middle, Numbers{}, nil, h), NoGain)
}

func TestCompactInTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	m := &scripted{answer: func(ctx context.Context, _ Call) (Reply, error) { return Reply{}, ctx.Err() }}
	unchanged(t, New(named(t, Topic), chat, NewSummarizer(m, counter, Limits{})).Compact(ctx, talk(long(40)...)), Failed)
}

func TestCompactChangesNothingItself(t *testing.T) {
	h, same := talk(long(40)...), talk(long(40)...)
	for _, strategy := range []string{Topic, Rolling, Prune, Middle, Window} {
		n := chat
		n.RawWindowSize, n.RoomTokens = 3, 500
		if o := compact(t, strategy, n, nil, h); o.Result != Compacted {
			t.Errorf("%s: %+v", strategy, o)
		}
		if !reflect.DeepEqual(h, same) {
			t.Fatalf("%s changed the history", strategy)
		}
	}
}

func TestBackoff(t *testing.T) {
	type run struct {
		result Result
		before int
	}
	for name, c := range map[string]struct {
		runs   []run
		tokens int
		allows bool
	}{
		"initially":                     {nil, 1, true},
		"one fruitless run":             {[]run{{NoGain, 1000}}, 1000, true},
		"two":                           {[]run{{NoGain, 900}, {Failed, 1000}}, 1249, false},
		"grown by a quarter":            {[]run{{NoGain, 900}, {Failed, 1000}}, 1250, true},
		"fruitless again":               {[]run{{NoGain, 900}, {Failed, 1000}, {NoGain, 1250}}, 1561, false},
		"grown by another quarter":      {[]run{{NoGain, 900}, {Failed, 1000}, {NoGain, 1250}}, 1562, true},
		"success between":               {[]run{{NoGain, 900}, {Compacted, 1000}, {NoGain, 1000}}, 1000, true},
		"cancelled and idle in between": {[]run{{NoGain, 900}, {Cancelled, 950}, {NothingToDo, 960}, {Failed, 1000}}, 1249, false},
		"cancelled only":                {[]run{{Cancelled, 900}, {Cancelled, 950}, {NothingToDo, 960}}, 1000, true},
		"an empty history":              {[]run{{Failed, 0}, {Failed, 0}}, 0, false},
	} {
		var p Backoff
		for _, r := range c.runs {
			p.Note(Outcome{Result: r.result, Before: r.before})
		}
		if got := p.Allows(c.tokens); got != c.allows {
			t.Errorf("%s: %v", name, got)
		}
	}
}
