package session

import (
	"context"
	"fmt"
	"log/slog"

	"strata/filecontext"
	"strata/history"
	"strata/stability"
	"strata/tokens"
)

// shed stores what did not fit a request, so that it stays left out. It runs in the turn's goroutine;
// while a turn runs nothing else takes sequence numbers.
func (s *Session) shed(b *built) error {
	if b.fitting.empty() {
		return nil
	}
	edits := b.fitting.edits()
	var change history.Change
	s.onMailbox(func() {
		s.filesRefreshed(b.refreshed) // what is shown of a file is said of its present version
		b.refreshed = nil
		for i := range edits {
			edits[i].ID, edits[i].Seq, edits[i].At = s.deps.NewID("edit_"), s.context.NextSeq()+int64(i), s.deps.Now()
		}
		s.context.hide(b)
		change = history.Change{Session: s.id, Edits: edits}
		change.PutFiles, change.DropFiles = s.context.takeDirty()
	})
	err := s.deps.Store.Commit(context.WithoutCancel(s.ctx), change)
	s.onMailbox(func() {
		if err != nil {
			s.context.untakeDirty(change)
			return
		}
		for _, e := range edits {
			s.context.apply(e)
		}
		s.contextChanged("fitted")
	})
	if err != nil {
		return fmt.Errorf("make the request fit: %w: %w", ErrStorage, err)
	}
	return nil
}

// amend stores an edit of the view that the next request needs, and makes it take effect. It runs in the turn's goroutine
// or in that of an operation; while one of these runs nothing else takes sequence numbers.
func (s *Session) amend(edit history.Edit, what string) error {
	s.onMailbox(func() { edit.ID, edit.Seq, edit.At = s.deps.NewID("edit_"), s.context.NextSeq(), s.deps.Now() })
	change := history.Change{Session: s.id, Edits: []history.Edit{edit}}
	if err := s.deps.Store.Commit(context.WithoutCancel(s.ctx), change); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	s.onMailbox(func() {
		s.context.apply(edit)
		s.contextChanged(what)
	})
	return nil
}

// hide makes files that did not fit show less of themselves from now on.
func (m *ContextManager) hide(b *built) {
	for _, f := range b.fitting.files {
		state, reason := filecontext.Partial, reasonCut
		if f.lines.IsWhole() {
			state, reason = filecontext.SummaryOnly, reasonBudget
		}
		if m.files.SetState(f.path, state, reason, f.lines) {
			m.dirty[f.path] = true
		}
	}
}

// requestAnswered notes that a request was read by the provider, and adds to change what is to be stored
// of it: the layout, and the bytes that it refers to.
func (m *ContextManager) requestAnswered(b *built, change *history.Change) {
	before := make(map[string]bool) // hashes of what is stored already
	for _, e := range m.layout.entries() {
		before[e.Blob] = true
		before[e.Rev] = true
	}
	stored, err := m.layout.answered(b)
	if err != nil {
		m.deps.Log.Error("layout not kept, the next request is laid out anew", slog.String("session", m.session), slog.Any("error", err))
		return
	}
	change.Layout, change.KeepBlobs = stored, append([]string{}, b.keep...)
	for _, blob := range b.blobs {
		if !before[blob.hash] {
			before[blob.hash] = true
			change.Blobs = append(change.Blobs, history.Blob{Hash: blob.hash, Bytes: []byte(blob.text)})
		}
	}
}

// maxDrift bounds how far a provider's count can be above ours before it is taken for an error.
const maxDrift = 2

// learn compares the provider's count of a request's input with ours, for the model's calibration, and for this session's
// next request as far as that calibration is still below the provider's count. A partial report teaches nothing.
func (m *ContextManager) learn(model string, counted, reported int) *history.Calibration {
	if tokens.Partial(counted, reported) {
		return nil
	}
	learned := m.deps.Calibrations.Learn(model, counted, reported)
	m.drift = 1
	if expected := m.deps.Calibrations.Apply(model, counted); expected > 0 && reported > expected {
		m.drift = min(float64(reported)/float64(expected), maxDrift)
	}
	return learned
}

// expected is how many tokens of a request were expected to be read from the cache, as the provider counts.
func (m *ContextManager) expected(b *built) int {
	if b.plan == nil {
		return 0
	}
	return m.deps.Calibrations.Apply(b.request.Model, b.plan.Expect)
}

// tellTiers tells attached subscribers what moved between tiers with the reply that was just stored.
// It takes a plan of the next request to know, so it is only done where somebody listens.
func (s *Session) tellTiers(turn string) {
	if !s.events.Attached() {
		return
	}
	s.account(func(_ snapshot, b built) {
		if changes := wireChanges(b.plan.Changes()); len(changes) > 0 {
			s.tell(func() { s.emit(Event{Kind: EventTiersChanged, Turn: turn, Data: TiersChanged{Changes: changes}}) })
		}
	}, func(error) {})
}

func wireChanges(changes []stability.TierChange) []TierChange {
	out := make([]TierChange, len(changes))
	for i, c := range changes {
		out[i] = TierChange{Key: c.Key, From: c.From.String(), To: c.To.String(), Reason: c.Reason}
	}
	return out
}
