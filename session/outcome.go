package session

import (
	"log/slog"
	"slices"

	"strata/compaction"
	"strata/history"
)

// compactionRecord is what is stored of a compaction with an outcome.
func (s *Session) compactionRecord(run *compactionRun, outcome string) *history.Compaction {
	return &history.Compaction{
		ID: run.id, Outcome: outcome, At: s.deps.Now(), Seq: s.context.LastSeq(), Fruitless: s.pause.Fruitless, Tokens: s.pause.Tokens,
	}
}

// noteCompaction stores how a compaction stands that has changed nothing, and what its model calls cost: they cost all
// the same. It holds up nobody, and where it fails the compaction goes on.
func (s *Session) noteCompaction(run *compactionRun, outcome string, calls []history.Call) {
	s.enqueue(op{
		fail: func(err error) {
			s.deps.Log.Error("compaction not recorded", slog.String("session", s.id), slog.String("outcome", outcome), slog.Any("error", err))
		},
		begin: func() (work, error) {
			change := history.Change{Calls: calls, Compaction: s.compactionRecord(run, outcome)}
			return s.store("record a compaction", change, func() { s.context.count(calls) }), nil
		},
	})
}

// settleCompaction takes over how the newest compaction ended. One that the last server left running is given its end:
// interrupted. It runs while the session is loading.
func (s *Session) settleCompaction(stored *history.Compaction) {
	if stored == nil {
		return
	}
	if !s.context.editedSince(stored.Seq) {
		s.pause = compaction.Backoff{Fruitless: stored.Fruitless, Tokens: stored.Tokens}
	}
	s.lastOutcome = stored.Outcome
	if stored.Outcome != OutcomeRunning {
		return
	}
	s.lastOutcome = OutcomeInterrupted
	settled := *stored
	settled.Outcome, settled.At = OutcomeInterrupted, s.deps.Now()
	if err := s.deps.Store.Commit(s.ctx, history.Change{Session: s.id, Compaction: &settled}); err != nil {
		s.deps.Log.Warn("compaction not settled, the next load does it", slog.String("session", s.id), slog.Any("error", err))
	}
}

// editedSince reports whether the history was cleared, replaced, restored or compacted behind a sequence number: then
// a compaction may be tried again.
func (m *ContextManager) editedSince(seq int64) bool {
	for _, e := range slices.Backward(m.log.Edits()) {
		if e.Seq <= seq {
			return false
		}
		if e.Kind != history.EditDedupe && e.Kind != history.EditTruncate {
			return true
		}
	}
	return false
}

// deferral is a change that waits for the end of the running turn.
type deferral struct {
	do   func() // when that is stored
	drop func() // when it will not be, since the server stops
}
