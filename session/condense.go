package session

import (
	"context"
	"slices"

	"strata/compaction"
	"strata/history"
	"strata/llm"
)

// prepare builds a request. Where messages would leave it without a summary although the profile compacts its history, they
// are summarised before that, without a model: a prompt waits for no network. Only the summary is stored; what else does
// not fit remains to be shed.
func (s *Session) prepare(ctx context.Context, snap *snapshot, tools []llm.Tool) (built, error) {
	b, err := snap.build(ctx, tools)
	for _, plan := range []condensation{byStrategy, byNeed} {
		if err != nil || len(b.fitting.drop) == 0 || !snap.profile.Compaction.Enabled {
			break
		}
		var shorter bool
		if shorter, err = s.condense(ctx, snap, plan, b.fitting.drop); err == nil && shorter {
			b, err = snap.build(ctx, tools)
		}
	}
	return b, err
}

// condensation returns the outcome of a compaction without a model. drop are the messages that do not fit.
type condensation func(ctx context.Context, j *compactionJob, name string, h compaction.History, drop []history.Viewed) compaction.Outcome

// condense makes a compaction without a model and stores it. It reports whether the history is shorter now.
func (s *Session) condense(ctx context.Context, snap *snapshot, plan condensation, drop []history.Viewed) (bool, error) {
	job, name, before := s.condensing(snap)
	if n := len(job.view); n == 0 || job.view[n-1].HasCalls {
		return false, nil
	}
	h, err := job.history(ctx)
	if err != nil {
		return false, err
	}
	out := plan(ctx, job, name, h, drop)
	newest := job.view[len(job.view)-1].ID
	if out.Result != compaction.Compacted || slices.Contains(out.Plan.Drop, newest) {
		return false, nil
	}
	edit := history.Edit{
		Kind: history.EditCompact, Reason: out.Plan.Reason, Messages: out.Plan.Drop, Summary: out.Summary, SummaryTokens: out.SummaryTokens,
		Strategy: name, SavedTokens: out.Before - out.After, Before: before, After: before - (out.Before - out.After),
	}
	if err := s.amend(edit, "compaction"); err != nil {
		return false, err
	}
	s.onMailbox(func() {
		s.pause = compaction.Backoff{}
		s.tellCompaction(Compacted{
			ID: s.deps.NewID("cmp_"), Outcome: string(compaction.Compacted), Strategy: name, By: compaction.ByWords,
			Before: before, After: s.context.Tokens(), Summary: out.Summary,
		})
		*snap = s.context.renewed(*snap, snap.model)
	})
	return true, nil
}

// condensing returns a compaction of the history as it is now, the name of the strategy in force and the history's size.
func (s *Session) condensing(snap *snapshot) (job *compactionJob, name string, before int) {
	s.onMailbox(func() {
		name, before = s.strategy(), s.context.Tokens()
		job = &compactionJob{
			deps: s.deps, session: s.id, view: s.context.View(), summary: s.context.log.Summary(), numbers: s.numbers(name, true),
			counter: s.context.counter, snap: *snap,
		}
	})
	return job, name, before
}

// byStrategy is the compaction that the strategy in force would make. A topic that words alone have found is no reason to
// drop anything without a summary; and steps leave only as far as they must.
func byStrategy(ctx context.Context, j *compactionJob, name string, h compaction.History, _ []history.Viewed) compaction.Outcome {
	strategy, err := compaction.Named(name)
	if err != nil || name == compaction.Prune {
		return compaction.Outcome{Result: compaction.NothingToDo, Err: err}
	}
	numbers := j.numbers
	numbers.MinConfidence = 2 // more than any boundary has
	return compaction.New(strategy, numbers, compaction.NewSummarizer(nil, j.counter, 0)).Compact(ctx, h)
}

// byNeed summarises just the messages that do not fit, for profiles that summarise at all.
func byNeed(ctx context.Context, j *compactionJob, name string, h compaction.History, drop []history.Viewed) compaction.Outcome {
	none := compaction.Outcome{Result: compaction.NothingToDo}
	if j.numbers.SummaryBudgetTokens == 0 || name == compaction.Prune && j.numbers.NoSummary {
		return none
	}
	var leaving []compaction.Message
	var ids []string
	for i := range h.Messages {
		if slices.ContainsFunc(drop, func(v history.Viewed) bool { return v.ID == h.Messages[i].ID }) {
			leaving, ids = append(leaving, h.Messages[i]), append(ids, h.Messages[i].ID)
		}
	}
	summary, err := compaction.NewSummarizer(nil, j.counter, 0).Summarise(ctx, compaction.Request{
		Previous: h.Summary, Messages: leaving, Budget: j.numbers.SummaryBudgetTokens, Rewrite: true, Words: true,
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
