package compaction

import (
	"context"
	"errors"
)

// Result says how a compaction ended.
type Result string

// The results of a compaction. All but Compacted leave the history as it is.
const (
	Compacted   Result = "compacted"
	NothingToDo Result = "nothing_to_do"
	NoGain      Result = "no_gain"
	Failed      Result = "failed"
	Cancelled   Result = "cancelled"
)

// Outcome is how a compaction ended and, where its result is Compacted, the edit that it wants.
type Outcome struct {
	Result        Result
	Plan          Plan
	Summary       string // stands for Plan.Summarise and the summary before it; empty where the plan has none
	SummaryTokens int    // of Summary
	Before, After int    // tokens of the history
	By            string // ByModel or ByWords, of the summary or else of the boundary; empty where neither was made
	Err           error  // why it failed or gained nothing; with Compacted: what it had to do without
}

// Compactor makes compactions of one kind. It holds no state: it is safe for concurrent use.
type Compactor struct {
	strategy   Strategy
	numbers    Numbers
	summarizer *Summarizer
}

// New returns a compactor.
func New(strategy Strategy, numbers Numbers, summarizer *Summarizer) *Compactor {
	return &Compactor{strategy: strategy, numbers: numbers, summarizer: summarizer}
}

// Due reports whether the history should be compacted now. It needs no texts and asks no model.
func (c *Compactor) Due(h History) bool {
	if !c.strategy.Due(h, c.numbers) {
		return false
	}
	plan := c.strategy.Plan(h, c.numbers, NoBoundary)
	return !plan.Empty()
}

// Compact plans a compaction and makes the summary that the plan asks for. It changes nothing.
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
	if r.strategy.NeedsBoundary() {
		plan = r.strategy.Plan(r.history, r.numbers, r.boundary(ctx))
	}
	if len(plan.Summarise) == 0 {
		r.apply(plan)
		return
	}
	summary, err := r.summarizer.Summarise(ctx, r.request(plan))
	if err != nil {
		r.without(plan, err)
		return
	}
	r.out.Summary, r.out.SummaryTokens, r.out.By = summary.Text, summary.Tokens, summary.By
	r.apply(plan)
}

// boundary looks for the newest topic. Where the model fails there is none, and a summary will be made.
func (r *run) boundary(ctx context.Context) Boundary {
	b, err := r.summarizer.Detect(ctx, r.history.Messages)
	r.out.By, r.out.Err = b.By, err
	return b
}

func (r *run) request(plan Plan) Request {
	return Request{
		Previous: r.history.Summary,
		Messages: r.named(plan.Summarise),
		Budget:   plan.Budget,
		Anew:     plan.Anew,
		Words:    plan.Words,
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

// without goes on where the summary failed: with what the strategy does without one, if it does.
func (r *run) without(plan Plan, why error) {
	r.out.Err = errors.Join(r.out.Err, why)
	if plan.Words {
		plan.Summarise = nil
		r.apply(plan)
		return
	}
	numbers := r.numbers
	numbers.NoSummary, numbers.Asked = true, false // a summary was asked for, not that anything be lost
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

// apply takes a plan for the outcome unless it gains nothing.
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
