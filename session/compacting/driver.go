// Package compacting drives the compactions of one session: when one is due, its job in the pool, and what becomes of its
// outcome.
//
// It must never delay a prompt: an outcome waits for the step of a turn, and a turn never waits for a compaction.
package compacting

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"strata/compaction"
	"strata/history"
	"strata/internal/clip"
	"strata/session/assembly"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/mailbox"
)

// Request asks for a compaction.
type Request struct {
	Strategy string // empty: the session's
	Keep     string // of middle: what follows the first pair, one of compaction.MiddleModes; empty: by need
}

// check returns an error for a request that the strategy does not take.
func (r *Request) check(strategy string) error {
	switch {
	case r.Keep == "":
		return nil
	case strategy != compaction.Middle:
		return fmt.Errorf("%w: keep: the strategy %s takes none, only %s does", mailbox.ErrInvalid, strategy, compaction.Middle)
	case !slices.Contains(compaction.MiddleModes, r.Keep):
		return fmt.Errorf("%w: keep: %q is not one of %s", mailbox.ErrInvalid, clip.Name(r.Keep), strings.Join(compaction.MiddleModes, ", "))
	}
	return nil
}

// Result is the outcome of a compaction; while it runs the outcome is "running".
type Result struct {
	ID       string `json:"compactionId"`
	Outcome  string `json:"outcome"` // compacted, nothing_to_do, no_gain, failed, cancelled, superseded, interrupted
	Strategy string `json:"strategy"`
	By       string `json:"by,omitempty"` // model or words
	Before   int    `json:"before"`       // tokens of the history
	After    int    `json:"after"`
	EditSeq  int64  `json:"editSeq,omitempty"` // sequence number of the edit, if it is compacted
	Summary  string `json:"summary,omitempty"`
	Reason   string `json:"reason,omitempty"` // of the change of the view, of a failure, or both
}

// The outcomes of compactions beside the results of package compaction.
const (
	Running     = history.CompactionRunning
	Superseded  = "superseded"  // the view was edited meanwhile
	Interrupted = "interrupted" // the server stopped or died
)

// Host is the session whose history is compacted. Its methods belong to the mailbox.
type Host interface {
	// State returns what the next request is made of.
	State() assembly.State
	// CompactionRules returns how the session compacts.
	CompactionRules() Rules
	// Position returns the newest sequence number.
	Position() int64
	// Edits returns all edits of the session, in order.
	Edits() []history.Edit
	// TokensWith returns the tokens of the history with a further edit.
	TokensWith(edit history.Edit) int
	// Unfinished reports whether a turn runs or its result is not stored.
	Unfinished() bool
	// AfterTurn runs do when the turn's result is stored, or drop if it never is.
	AfterTurn(do, drop func())
	// Change is an operation: it stores the change that begin returns, takes in its edits and calls, and runs then.
	Change(what string, begin func() (history.Change, error), then func(), fail func(error))
	// Ranges returns the messages that a stored edit concerns, in order.
	Ranges(edit *history.Edit) []history.Range
	// HistoryChanged tells the subscribers that a compaction changed the history.
	HistoryChanged(reason string)
	// StateChanged tells the server that a compaction began or ended.
	StateChanged()
}

// Driver drives the compactions of one session. It belongs to the session's mailbox.
type Driver struct {
	session  string
	services *Services
	host     Host
	box      *mailbox.Mailbox
	events   *events.Stream
	log      *slog.Logger
	describe func(error) history.Failure

	running *run // nil while none is under way
	waiting *Finished
	backoff compaction.Backoff
	last    string // outcome
}

// New returns the driver of a session. describe returns an error as clients receive it.
func New(session string, services *Services, host Host, box *mailbox.Mailbox, stream *events.Stream, log *slog.Logger, describe func(error) history.Failure) *Driver {
	return &Driver{session: session, services: services, host: host, box: box, events: stream, log: log.With(slog.String("session", session)), describe: describe}
}

// run is a compaction that is under way.
type run struct {
	id        string
	strategy  string
	since     int64 // sequence number when it began
	cancel    func()
	stopped   bool // the server stops it
	abandoned bool // it must not be applied: the position after the newest message belongs to a result that is not stored
	waiters   []func(Result, error)
	copies    copies   // of files, once it is done
	covered   []string // ids of the messages that it removes or summarizes, once it is done
}

// Compact compacts the history now, and replies when that is done. If a compaction is under way the reply is its result.
// cancel stops it; a compaction that is stopped changes nothing. Compact and cancel may be called from any goroutine.
func (d *Driver) Compact(req Request, reply func(Result, error)) (cancel func()) {
	fail := func(err error) { reply(Result{}, err) }
	var own *run // the mailbox's
	d.box.Post(func() {
		r := d.running
		if r == nil {
			var err error
			d.backoff = compaction.Backoff{}
			req.Strategy = cmp.Or(req.Strategy, d.host.CompactionRules().Strategy)
			if r, err = d.start(req, true); err != nil {
				fail(err)
				return
			}
		}
		r.waiters = append(r.waiters, reply)
		own = r
	}, fail)
	return func() {
		d.box.Tell(func() {
			if own != nil && own == d.running {
				own.cancel()
			}
		}, nil)
	}
}

// WhenDue starts a compaction if the strategy wants one. It is called after replies and whenever the history has grown.
func (d *Driver) WhenDue() {
	if !d.host.Unfinished() {
		d.startDue()
	}
}

// BetweenSteps is WhenDue for a turn that runs: the results of its newest step are stored.
func (d *Driver) BetweenSteps() { d.startDue() }

func (d *Driver) startDue() {
	if d.running != nil || !d.box.IsOpen() {
		return
	}
	state, rules := d.host.State(), d.host.CompactionRules()
	need := NeedOf(&state, &rules)
	if !need.Due || d.waitsForHistory(&state, &need) != "" {
		return
	}
	if _, err := d.start(Request{Strategy: rules.Strategy}, need.asked); err != nil {
		d.log.Warn("compaction not started", slog.Any("error", err))
	}
}

// waitsFor returns what a compaction that is due has to wait for; empty if nothing.
func (d *Driver) waitsFor(state *assembly.State, need *Need) string {
	if d.host.Unfinished() {
		return waitsForTurn
	}
	return d.waitsForHistory(state, need)
}

// waitsForHistory is waitsFor without the running turn.
func (d *Driver) waitsForHistory(state *assembly.State, need *Need) string {
	switch {
	case pendingCalls(state.View):
		return waitsForResults
	case !need.shortens:
		return waitsForHistory
	case !need.pressing && !d.backoff.Allows(state.HistoryTokens):
		return waitsForGrowth
	}
	return ""
}

// start hands a copy of the working history to the pool.
func (d *Driver) start(req Request, asked bool) (*run, error) {
	strategy, err := compaction.Named(req.Strategy)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", mailbox.ErrInvalid, err)
	}
	if err := req.check(req.Strategy); err != nil {
		return nil, err
	}
	state, rules := d.host.State(), d.host.CompactionRules()
	if pendingCalls(state.View) {
		return nil, fmt.Errorf("%w: the results of tool calls are missing; compact when they are there", mailbox.ErrInvalid)
	}
	j := &job{
		Services: d.services, state: state, strategy: strategy, numbers: numbers(&state, &rules, req.Strategy, asked),
		dedupePercent: state.Profile.Budget.DedupeSufficesPercent, describe: d.describe,
	}
	if req.Keep != "" {
		j.numbers.MiddleMode, j.dedupePercent = req.Keep, 0 // as asked for, whatever copies would save
	}
	r := &run{id: d.services.NewID("cmp_"), strategy: req.Strategy, since: d.host.Position()}
	j.draft = func(text string, anew bool) { d.box.Tell(func() { d.drafted(r, text, anew) }, nil) }
	ended := make(chan struct{})
	r.cancel, err = d.services.Pool.Submit(d.session, func(ctx context.Context) compaction.Result {
		defer close(ended)
		outcome := d.work(ctx, j)
		d.box.Tell(func() {
			r.copies, r.covered = j.copies, covered(&j.state, &outcome)
			d.done(r, outcome, j.calls)
		}, nil)
		return outcome.Result
	})
	if err != nil {
		return nil, err
	}
	d.box.Spawn(func() { <-ended })
	d.running = r
	d.note(r, Running, nil)
	d.host.StateChanged()
	d.tell(Result{ID: r.id, Outcome: Running, Strategy: r.strategy, Before: state.HistoryTokens, After: state.HistoryTokens})
	return r, nil
}

// work runs a job in the pool. A panic of the job ends neither the session nor the server.
func (d *Driver) work(ctx context.Context, j *job) (outcome compaction.Outcome) {
	if err := d.box.Guard(func() { outcome = j.run(ctx) }); err != nil {
		return compaction.Outcome{Result: compaction.Failed, Err: err}
	}
	return outcome
}

// done takes the outcome of a compaction.
func (d *Driver) done(r *run, outcome compaction.Outcome, calls []history.Call) {
	d.backoff.Note(outcome)
	tokens := d.tokens()
	result := Result{ID: r.id, Outcome: string(outcome.Result), Strategy: r.strategy, By: outcome.By, Before: tokens, After: tokens}
	if outcome.Err != nil && outcome.Result != compaction.Cancelled {
		result.Reason = d.describe(outcome.Err).Message
	}
	switch {
	case outcome.Result == compaction.Compacted:
		d.apply(r, outcome, calls, result)
		return
	case outcome.Result == compaction.Cancelled && r.stopped:
		result.Outcome = Interrupted
	}
	d.failed(r, result, calls)
}

func (d *Driver) tokens() int {
	state := d.host.State()
	return state.HistoryTokens
}

// failed stores and tells the outcome of a compaction that changed nothing.
func (d *Driver) failed(r *run, result Result, calls []history.Call) {
	d.note(r, result.Outcome, calls)
	d.log.Info("compaction without effect", slog.String("strategy", result.Strategy), slog.String("outcome", result.Outcome), slog.Int("tokens", result.Before))
	d.ended(r, result)
}

// logCompacted logs a compaction that was stored: what left the view, and the number of copies of files by origin. It logs
// no reason, which can contain words of a model.
func (d *Driver) logCompacted(edit *history.Edit, result *Result, origins map[string]int) {
	attrs := []slog.Attr{
		slog.String("strategy", result.Strategy), slog.String("by", result.By), slog.String("messages", span(d.host.Ranges(edit))),
		slog.Int("before", result.Before), slog.Int("after", result.After), slog.Int("percent", saved(result.Before, result.After)),
	}
	for _, origin := range []string{fit.OriginRead, fit.OriginWrite, fit.OriginMention} {
		if n := origins[origin]; n > 0 {
			attrs = append(attrs, slog.Int("copies_"+origin, n))
		}
	}
	d.log.LogAttrs(context.Background(), slog.LevelInfo, "history compacted", attrs...)
}

// span returns the sequence numbers of the first and the last message of ranges: "3-40"; empty for none.
func span(ranges []history.Range) string {
	if len(ranges) == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", ranges[0].From, ranges[len(ranges)-1].To)
}

// saved returns the percentage of before that is saved.
func saved(before, after int) int {
	if before <= 0 {
		return 0
	}
	return max(before-after, 0) * 100 / before
}

// joined returns why the view changed and what failed nevertheless.
func joined(reason, failed string) string {
	if reason == "" || failed == "" {
		return reason + failed
	}
	return reason + "; " + failed
}

// ended tells everybody the outcome of a compaction.
func (d *Driver) ended(r *run, result Result) {
	d.running = nil
	d.last = result.Outcome
	d.host.StateChanged()
	d.tell(result)
	for _, reply := range r.waiters {
		reply(result, nil)
	}
	d.box.CheckIdle()
}

// drafted tells the subscribers more of a summary that is being written.
func (d *Driver) drafted(r *run, text string, anew bool) {
	if d.running != r {
		return
	}
	if anew {
		d.events.Emit(events.Event{Kind: events.CompactionUpdate, Data: Result{ID: r.id, Outcome: Running, Strategy: r.strategy}})
	}
	d.events.EmitChunks(events.Event{Kind: events.SummaryChunk, Message: r.id, Text: text})
}

// tell tells the subscribers the state of a compaction.
func (d *Driver) tell(result Result) {
	d.events.Emit(events.Event{Kind: events.CompactionUpdate, Data: result})
	d.events.Emit(events.Event{Kind: events.Compaction, Data: result})
}

// Condensed takes note of a compaction without a model that was stored.
func (d *Driver) Condensed(edit *history.Edit) {
	d.backoff = compaction.Backoff{}
	result := Result{
		ID: d.services.NewID("cmp_"), Outcome: string(compaction.Compacted), Strategy: edit.Strategy, By: compaction.ByWords,
		Before: edit.Before, After: d.tokens(), Summary: edit.Summary, Reason: edit.Reason,
	}
	d.logCompacted(edit, &result, nil)
	d.tell(result)
}

// Running reports whether a compaction is under way.
func (d *Driver) Running() bool { return d.running != nil }

// RunningID returns the id of the compaction under way, "" for none.
func (d *Driver) RunningID() string {
	if d.running == nil {
		return ""
	}
	return d.running.id
}

// ResetBackoff lets the next compaction start without a delay: the history was edited.
func (d *Driver) ResetBackoff() { d.backoff = compaction.Backoff{} }

// Stop cancels the compaction that is under way. Its outcome is interrupted if the server stops, otherwise cancelled.
func (d *Driver) Stop(serverStops bool) {
	if d.running != nil {
		d.running.stopped = serverStops
		d.running.cancel()
	}
}

// Abandon makes sure that the compaction that is under way is not applied.
func (d *Driver) Abandon() {
	if d.running != nil {
		d.running.abandoned = true
	}
}

// Status returns how the session's compaction stands.
func (d *Driver) Status() Status {
	state := d.host.State()
	status := Status{Running: d.running != nil, LastOutcome: d.last}
	if state.Profile.Compaction.Enabled {
		rules := d.host.CompactionRules()
		need := NeedOf(&state, &rules)
		status.Enabled, status.Strategy, status.Paused = true, rules.Strategy, !d.backoff.Allows(state.HistoryTokens)
		status.needs(&state, &need)
		if need.Due && !status.Running {
			status.WaitsFor = cmp.Or(d.waitsFor(&state, &need), waitsForReply)
		}
	}
	return status
}

// record returns what is stored of a compaction with an outcome.
func (d *Driver) record(r *run, outcome string) *history.Compaction {
	return &history.Compaction{ID: r.id, Outcome: outcome, At: d.services.Now(), Seq: d.host.Position(), Fruitless: d.backoff.Fruitless, Tokens: d.backoff.Tokens}
}

// note stores the outcome of a compaction that changed nothing, and the cost of its model calls. It delays nobody, and if it
// fails the compaction goes on.
func (d *Driver) note(r *run, outcome string, calls []history.Call) {
	begin := func() (history.Change, error) {
		return history.Change{Calls: calls, Compaction: d.record(r, outcome)}, nil
	}
	d.host.Change("record a compaction", begin, func() {}, func(err error) {
		d.log.Error("compaction not recorded", slog.String("outcome", outcome), slog.Any("error", err))
	})
}

// Recover adopts the stored outcome of the newest compaction while the session is loading. edited says whether the history
// was edited since: then a compaction may be tried again. If the last server left the compaction running, Recover returns
// the record that ends it, otherwise nil.
func (d *Driver) Recover(stored *history.Compaction, edited bool) *history.Compaction {
	if stored == nil {
		return nil
	}
	if !edited {
		d.backoff = compaction.Backoff{Fruitless: stored.Fruitless, Tokens: stored.Tokens}
	}
	d.last = stored.Outcome
	if stored.Outcome != Running {
		return nil
	}
	d.last = Interrupted
	ended := *stored
	ended.Outcome, ended.At = Interrupted, d.services.Now()
	return &ended
}
