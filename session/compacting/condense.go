package compacting

import (
	"context"
	"slices"

	"strata/compaction"
	"strata/history"
	"strata/session/assembly"
)

// A Condensation is a way to shorten a history without a model, so that a prompt waits for no network.
type Condensation func(ctx context.Context, c *condensing) compaction.Outcome

// Condensations are the ways to shorten a history without a model, the first choice first.
var Condensations = []Condensation{byStrategy, byNeed}

// condensing is a history that has to be shortened.
type condensing struct {
	state   *assembly.State
	history compaction.History
	name    string // of the strategy
	numbers compaction.Numbers
	evicted []history.Viewed // messages that do not fit
}

// maxCondensed limits the stored content that is summarised while a prompt waits, in bytes: about a second's work.
// Messages of a larger history leave without a summary.
const maxCondensed = 8 << 20

// Condense returns the edit that shortens the history of a state, of which some messages do not fit, without its sequence
// number; ok is false if there is nothing to shorten. An error is one of reading messages.
func Condense(ctx context.Context, s *assembly.State, rules *Rules, by Condensation, evicted []history.Viewed) (edit history.Edit, ok bool, err error) {
	n := len(s.View)
	if n == 0 || pendingCalls(s.View) || viewBytes(s.View)+headBytes(unsummarized(s.Evicted)) > maxCondensed {
		return history.Edit{}, false, nil
	}
	h, err := historyOf(ctx, s)
	if err != nil {
		return history.Edit{}, false, err
	}
	out := by(ctx, &condensing{state: s, history: h, name: rules.Strategy, numbers: numbers(s, rules, rules.Strategy, true), evicted: evicted})
	if out.Result != compaction.Compacted || slices.Contains(out.Plan.Drop, s.View[n-1].ID) {
		return history.Edit{}, false, nil
	}
	return history.Edit{
		Kind: history.EditCompact, Reason: out.Plan.Reason, Messages: covered(s, &out), Summary: out.Summary, SummaryTokens: out.SummaryTokens,
		Strategy: rules.Strategy, SavedTokens: out.Before - out.After, Before: s.HistoryTokens, After: s.HistoryTokens - (out.Before - out.After),
	}, true, nil
}

// viewBytes returns the stored size of the messages of a view.
func viewBytes(view []history.Viewed) int {
	sum := 0
	for i := range view {
		sum += view[i].Bytes
	}
	return sum
}

func headBytes(heads []history.Head) int {
	sum := 0
	for i := range heads {
		sum += heads[i].Bytes
	}
	return sum
}

// byStrategy is the compaction of the strategy in force. Steps leave only as far as they must.
func byStrategy(ctx context.Context, c *condensing) compaction.Outcome {
	strategy, err := compaction.Named(c.name)
	if err != nil || c.name == compaction.Prune {
		return compaction.Outcome{Result: compaction.NothingToDo, Err: err}
	}
	return compaction.New(strategy, c.numbers, compaction.NewSummarizer(nil, c.state.Counter, compaction.Limits{})).Compact(ctx, c.history)
}

// byNeed summarizes just the messages that do not fit, for profiles that summarize at all.
func byNeed(ctx context.Context, c *condensing) compaction.Outcome {
	none := compaction.Outcome{Result: compaction.NothingToDo}
	if c.numbers.SummaryBudgetTokens == 0 || c.name == compaction.Prune && c.numbers.NoSummary {
		return none
	}
	h := &c.history
	var leaving []compaction.Message
	var ids []string
	for i := range h.Messages {
		if slices.ContainsFunc(c.evicted, func(v history.Viewed) bool { return v.ID == h.Messages[i].ID }) {
			leaving, ids = append(leaving, h.Messages[i]), append(ids, h.Messages[i].ID)
		}
	}
	summary, err := compaction.NewSummarizer(nil, c.state.Counter, compaction.Limits{}).Summarise(ctx, compaction.Request{
		Previous: h.Summary, Messages: slices.Concat(h.Evicted, leaving), Budget: c.numbers.SummaryBudgetTokens, Rewrite: true, Words: true,
	})
	if err != nil || len(ids) == 0 {
		return none
	}
	out := compaction.Outcome{
		Result: compaction.Compacted, Before: h.Tokens(), Summary: summary.Text, SummaryTokens: summary.Tokens, By: summary.By,
		Plan: compaction.Plan{Drop: ids, Summarise: ids, Reason: "summarised without a model: it did not fit"},
	}
	out.After = out.Before + summary.Tokens - h.SummaryTokens
	for i := range leaving {
		out.After -= leaving[i].Tokens
	}
	return out
}
