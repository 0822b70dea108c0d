package compaction

import (
	"context"
	"errors"
	"slices"
)

// Result is the result of a compaction.
type Result string

// The results of a compaction. Only Compacted changes the history.
const (
	Compacted   Result = "compacted"
	NothingToDo Result = "nothing_to_do"
	NoGain      Result = "no_gain"
	Failed      Result = "failed"
	Cancelled   Result = "cancelled"
)

// Outcome is the outcome of a compaction. If the result is Compacted, it contains the edit to apply.
type Outcome struct {
	Result        Result
	Plan          Plan
	Summary       string // replaces Plan.Summarise and the previous summary; empty if the plan has none
	SummaryTokens int    // of Summary
	Before, After int    // tokens of the history
	By            string // ByModel or ByWords, for the summary or else for the boundary; empty if there is neither
	Err           error  // why it failed or gained nothing; with Compacted: an error despite which it succeeded
}

// Compactor makes compactions with one strategy. It is stateless and safe for concurrent use.
type Compactor struct {
	strategy   Strategy
	numbers    Numbers
	summarizer *Summarizer
}

// New returns a compactor.
func New(strategy Strategy, numbers Numbers, summarizer *Summarizer) *Compactor {
	return &Compactor{strategy: strategy, numbers: numbers, summarizer: summarizer}
}

// Fill returns how far the history is on its way to an automatic compaction, and whether one is due. It reads no message
// texts and calls no model.
func (c *Compactor) Fill(h History) Fill { return c.strategy.Fill(h, c.numbers) }

// Shortens reports whether a compaction would remove messages from the history. It reads no message texts and calls no
// model.
func (c *Compactor) Shortens(h History) bool {
	plan := c.strategy.Plan(h, c.numbers, NoBoundary)
	return !plan.Empty()
}

// Compact plans a compaction and makes the summary for the plan. It does not change the history.
func (c *Compactor) Compact(ctx context.Context, h History) Outcome {
	if h.Summary != "" && h.SummaryTokens == 0 {
		h.SummaryTokens = c.summarizer.counter.Count(h.Summary)
	}
	r := run{Compactor: c, history: h, out: Outcome{Before: h.Tokens(), After: h.Tokens()}}
	r.compact(ctx)
	if stopped := ctx.Err(); stopped != nil {
		return Outcome{Result: interruption(stopped), Before: r.out.Before, After: r.out.Before, Err: stopped}
	}
	return r.out
}

// interruption returns the result of a compaction whose context ended.
func interruption(err error) Result {
	if errors.Is(err, context.Canceled) {
		return Cancelled
	}
	return Failed
}

// run is one compaction.
type run struct {
	*Compactor
	history History
	out     Outcome
}

func (r *run) compact(ctx context.Context) {
	plan := r.strategy.Plan(r.history, r.numbers, NoBoundary)
	if plan.Empty() {
		r.out.Result = NothingToDo
		return
	}
	if r.strategy.NeedsBoundary(r.history, r.numbers) {
		plan = r.strategy.Plan(r.history, r.numbers, r.boundary(ctx))
	}
	if len(plan.Summarise) == 0 {
		r.apply(plan)
		return
	}
	summary, err := r.summarizer.Summarise(ctx, r.request(plan))
	if err != nil {
		r.fallBack(plan, err)
		return
	}
	r.out.Summary, r.out.SummaryTokens, r.out.By = summary.Text, summary.Tokens, summary.By
	r.apply(plan)
}

// boundary looks for the start of the newest topic. If the model fails, it returns NoBoundary and a summary is made.
func (r *run) boundary(ctx context.Context) Boundary {
	b, err := r.summarizer.Detect(ctx, r.history.Messages)
	r.out.By, r.out.Err = b.By, err
	return b
}

func (r *run) request(plan Plan) Request {
	return Request{
		Previous: r.history.Summary,
		Messages: slices.Concat(r.history.Evicted, r.named(plan.Summarise)),
		Budget:   plan.Budget,
		Rewrite:  plan.Rewrite,
		Words:    plan.Words,
		Later:    plan.Summarise[0] != r.history.Messages[0].ID,
	}
}

// named returns the messages with the given ids, which are in the history's order.
func (r *run) named(ids []string) []Message {
	messages := make([]Message, 0, len(ids))
	for _, m := range r.history.Messages {
		if len(messages) < len(ids) && m.ID == ids[len(messages)] {
			messages = append(messages, m)
		}
	}
	return messages
}

// fallBack continues after a failed summary with the strategy's plan without a summary, if there is one.
func (r *run) fallBack(plan Plan, why error) {
	r.out.Err = errors.Join(r.out.Err, why)
	if plan.Words {
		plan.Summarise = nil
		r.apply(plan)
		return
	}
	numbers := r.numbers
	numbers.NoSummary, numbers.Asked = true, false // the request was for a summary, not for dropping messages
	plan = r.strategy.Plan(r.history, numbers, NoBoundary)
	if plan.Empty() || len(plan.Summarise) > 0 {
		r.out.Result = Failed
		if errors.Is(why, ErrNoGain) {
			r.out.Result = NoGain
		}
		return
	}
	r.apply(plan)
}

// apply sets the outcome to plan, or to NoGain if the plan does not make the history smaller.
func (r *run) apply(plan Plan) {
	after := r.out.Before - size(r.named(plan.Drop))
	if r.out.Summary != "" {
		after += r.out.SummaryTokens - r.history.SummaryTokens
	}
	if after >= r.out.Before {
		r.out.Result = NoGain
		return
	}
	r.out.Result, r.out.Plan, r.out.After = Compacted, plan, after
}
