package compacting

import (
	"errors"
	"slices"

	"strata/compaction"
	"strata/history"
)

// Finished is a compaction that is made, and not stored. It belongs to the mailbox.
type Finished struct {
	*Driver
	run    *run
	edit   history.Edit
	calls  []history.Call // of models
	result Result
}

// apply stores a compaction as an edit and applies it. While a turn runs it waits for the end of the step: the turn takes the
// next sequence numbers.
func (d *Driver) apply(r *run, outcome compaction.Outcome, calls []history.Call, result Result) {
	f := &Finished{d, r, history.Edit{
		ID: d.services.NewID("edit_"), Kind: history.EditCompact, At: d.services.Now(), Reason: outcome.Plan.Reason, Messages: r.covered,
		Patches: r.copies.patches, SavedChars: r.copies.chars,
		Summary: outcome.Summary, SummaryTokens: outcome.SummaryTokens, Strategy: r.strategy,
	}, calls, result}
	if !d.host.Unfinished() {
		f.store()
		return
	}
	d.waiting = f
	d.host.AfterTurn(func() {
		if d.waiting == f {
			d.waiting = nil
			f.store()
		}
	}, func() {
		if d.waiting == f {
			d.waiting = nil
			f.fail(errStopped)
		}
	})
}

func (f *Finished) store() { f.host.Change("store compaction", f.change, f.adopt, f.fail) }

// Take returns the compaction that waits for the running turn with the change that stores it: the turn stores it between two
// steps. It returns nil if none waits, or if that one is dropped.
func (d *Driver) Take() (*Finished, history.Change) {
	f := d.waiting
	if f == nil {
		return nil, history.Change{}
	}
	d.waiting = nil
	change, err := f.change()
	if err != nil {
		f.fail(err)
		return nil, history.Change{}
	}
	return f, change
}

// Stored takes note that the change was stored and applied, or of the error.
func (f *Finished) Stored(err error) {
	if err != nil {
		f.fail(err)
		return
	}
	f.adopt()
}

// Why a finished compaction is not applied.
var (
	errEdited  = errors.New("the history was edited meanwhile")
	errStopped = errors.New("the server stops")
)

// change returns the change that stores the compaction, or why it is dropped.
func (f *Finished) change() (history.Change, error) {
	switch {
	case f.run.abandoned:
		return history.Change{}, errStopped
	case outdated(f.host.Edits(), f.run.since, f.run.covered):
		return history.Change{}, errEdited
	}
	f.edit.Seq, f.edit.Before = f.host.Position()+1, f.tokens()
	f.edit.After = f.host.TokensWith(f.edit)
	f.edit.SavedTokens = f.edit.Before - f.edit.After
	record := f.record(f.run, f.result.Outcome)
	record.Seq = f.edit.Seq
	return history.Change{Edits: []history.Edit{f.edit}, Calls: f.calls, Compaction: record}, nil
}

// adopt tells that the compaction is stored and applied.
func (f *Finished) adopt() {
	f.result.Before, f.result.After, f.result.Summary, f.result.EditSeq = f.edit.Before, f.tokens(), f.edit.Summary, f.edit.Seq
	f.result.Reason = joined(f.edit.Reason, f.result.Reason)
	f.logCompacted(&f.edit, &f.result, f.run.copies.origins)
	f.host.HistoryChanged("compaction")
	f.ended(f.run, f.result)
}

// fail tells why the compaction is not applied.
func (f *Finished) fail(err error) {
	switch {
	case errors.Is(err, errEdited):
		f.result.Outcome, f.result.Reason = Superseded, err.Error()
	case errors.Is(err, errStopped):
		f.result.Outcome, f.result.Reason = Interrupted, err.Error()
	default:
		f.result.Outcome, f.result.Reason = string(compaction.Failed), f.describe(err).Message
	}
	f.failed(f.run, f.result, f.calls)
}

// outdated reports whether an edit after a sequence number concerns messages that a compaction covers. Edits that omit or
// truncate such messages do not: the summary replaces them all the same.
func outdated(edits []history.Edit, since int64, covered []string) bool {
	for i := len(edits) - 1; i >= 0 && edits[i].Seq > since; i-- {
		switch e := &edits[i]; e.Kind {
		case history.EditTruncate, history.EditDedupe, history.EditUnanswered:
		case history.EditResult, history.EditResume, history.EditKeep, history.EditRelease, history.EditTakeOut:
			if concerns(e, covered) {
				return true
			}
		case history.EditRestore:
			undone := slices.IndexFunc(edits, func(other history.Edit) bool { return other.ID == e.Undoes })
			if undone < 0 || edits[undone].Kind != history.EditTruncate || concerns(&edits[undone], covered) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// concerns reports whether an edit removes or changes one of the messages.
func concerns(e *history.Edit, ids []string) bool {
	return slices.ContainsFunc(e.Messages, func(id string) bool { return slices.Contains(ids, id) }) ||
		slices.ContainsFunc(e.Patches, func(p history.Patch) bool { return slices.Contains(ids, p.Message) })
}
