package session

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"strata/history"
	"strata/llm/reply"
	"strata/session/calls"
	"strata/session/content"
	"strata/session/filechanges"
	"strata/session/mailbox"
	"strata/session/saving"
	"strata/tokens"
)

// unsettled returns the ending of a turn that the last server left running, nil for none: the one in a recovery file, else
// interrupted, with the text that had been saved. The error is that of the store.
func (t *turns) unsettled(ctx context.Context, loaded *opening) (*ending, error) {
	changes, err := filechanges.Lost(ctx, t.workspace.DiskRoots(), loaded.Planned)
	if err != nil {
		return nil, err
	}
	if t.workspace.IsRemote() {
		t.planned = slices.Clone(changes)
	}
	if loaded.Unfinished == nil {
		t.storeLost(ctx, changes)
		return nil, nil
	}
	for _, kept := range loaded.kept {
		if kept.End != nil && kept.End.ID == loaded.Unfinished.ID {
			kept.PutFileChanges = append(slices.DeleteFunc(changes, settledBy(&kept)), kept.PutFileChanges...)
			e := t.endingOf(kept)
			e.kept = true
			return e, nil
		}
	}
	record := *loaded.Unfinished
	record.Status, record.EndedAt = history.TurnInterrupted, t.deps.Now()
	failure := t.deps.Host.Describe(fmt.Errorf("turn %s: %w", record.ID, ErrInterrupted))
	record.Failure = &failure
	change := history.Change{Session: t.id, End: &record, PutFileChanges: changes}
	add := func(m history.Message) {
		m.Seq, m.Turn, m.At = t.context.NextSeq()+int64(len(change.Messages)), record.ID, record.EndedAt
		m.Tokens = content.Tokens(ctx, t.counter(), m.Blocks)
		change.Messages = append(change.Messages, m)
	}
	newest := calls.NewestStep(loaded.Heads, record.ID)
	if newest != nil {
		record.ReplyID = newest.ID
	}
	results, err := newest.Lost(changes, func(seqs []int64) ([]history.Message, error) { return t.deps.Store.Messages(ctx, t.id, seqs) })
	if err != nil {
		return nil, fmt.Errorf("calls of turn %s: %w: %w", record.ID, ErrStorage, err)
	}
	if len(results) > 0 {
		add(history.Message{ID: t.deps.NewID("msg_"), Role: history.RoleTool, Blocks: results, Status: history.StatusComplete})
	}
	blocks := content.Joined(loaded.Partials)
	if len(results) == 0 { // else it was waiting for the results of calls
		t.addLost(ctx, loaded, &change, blocks)
	}
	if len(blocks) > 0 {
		record.ReplyID = cmp.Or(loaded.Partials[0].Message, record.ReplyID)
		add(history.Message{ID: record.ReplyID, Role: history.RoleAssistant, Blocks: blocks, Model: t.choices.Model.Name, Status: history.StatusInterrupted})
	}
	change.Edits = t.unanswered(&record, newest != nil || len(change.Messages) > 0)
	return t.endingOf(change), nil
}

// addLost adds to the end of a turn the call of the model that the last server was waiting for. Its request is not known:
// what the next one would contain is counted.
func (t *turns) addLost(ctx context.Context, loaded *opening, change *history.Change, arrived []history.Block) {
	state, record := t.state(), change.End
	said := max(content.Tokens(ctx, t.counter(), arrived)-tokens.MessageOverhead, 0)
	spent := state.SpentUntil(&reply.Result{}, state.HistoryTokens+state.Beside, said)
	step := 1
	for i := range loaded.Heads {
		if h := &loaded.Heads[i]; h.Turn == record.ID && h.Role == history.RoleAssistant {
			step++
		}
	}
	change.Calls = []history.Call{{
		ID: t.deps.NewID("call_"), Turn: record.ID, Step: step, Purpose: history.PurposeTurn, Model: t.choices.Model.Name, At: record.EndedAt,
		Usage: spent.Usage, Cost: spent.Cost, Estimated: true, Status: history.CallStopped, Attempts: 1, Failure: record.Failure,
	}}
	record.Usage, record.Cost = record.Usage.Add(spent.Usage), record.Cost+spent.Cost
}

// settledBy returns a function that reports whether a change settles a record, too.
func settledBy(kept *history.Change) func(history.FileChange) bool {
	return func(lost history.FileChange) bool {
		return slices.ContainsFunc(kept.PutFileChanges, func(c history.FileChange) bool { return c.ID == lost.ID })
	}
}

// storeLost stores what became of file changes that are older than the newest turn: its disk did not respond then.
func (t *turns) storeLost(ctx context.Context, changes []history.FileChange) {
	changes = slices.DeleteFunc(changes, func(c history.FileChange) bool { return c.State == history.FileChangePlanned })
	if len(changes) == 0 {
		return
	}
	if err := saving.Commit(ctx, t.deps.Store, history.Change{Session: t.id, PutFileChanges: changes}); err != nil {
		t.deps.Log.Warn("file changes not settled, the next load does it", slog.String("session", t.id), slog.Any("error", err))
	}
}

// settlePlanned stores what became of the changes of a client's files that the last server had planned, now that the client
// is there. If that fails, the next client to join does it.
func (t *turns) settlePlanned() {
	planned := t.planned
	if len(planned) == 0 {
		return
	}
	fail := func(err error) {
		t.deps.Log.Warn("file changes not settled", slog.String("session", t.id), slog.Any("error", err))
	}
	t.mailbox.Enqueue(mailbox.Op{Fail: fail, Begin: func() (work, error) {
		roots := t.workspace.Roots()
		return func(ctx context.Context) (mailbox.Step, error) {
			settled, err := filechanges.Lost(ctx, roots, planned)
			if err == nil {
				_, err = roots.Source().List(ctx) // a client that has left again tells nothing
			}
			if err != nil {
				return nil, err
			}
			return func() (work, error) {
				return t.store("settle file changes", history.Change{PutFileChanges: settled}, func() {
					t.planned = nil
				}), nil
			}, nil
		}, nil
	}})
}

// endingOf returns the result of a turn of the last server with what is stored of it.
func (t *turns) endingOf(change history.Change) *ending {
	of := &turn{record: *change.End, model: t.choices.Model, stored: true, message: change.End.ReplyID}
	e := &ending{turn: of, taken: taken{change: change}}
	if of.record.Failure != nil {
		e.err = &StoredError{Failure: *of.record.Failure}
	}
	for i := range change.Messages {
		if m := &change.Messages[i]; m.ID == of.record.ReplyID {
			e.reply, of.last = m, m.ID
			of.show(m.Blocks)
		}
	}
	return e
}

// show makes the blocks of a message the reply so far.
func (t *turn) show(blocks []history.Block) {
	for i := range blocks {
		switch blocks[i].Type {
		case history.BlockText:
			t.text.WriteString(blocks[i].Text)
		case history.BlockThinking:
			t.thought.WriteString(blocks[i].Text)
		}
	}
}

// settle stores the ending of a turn that the last server left running, while the session is loading. Until an ending that
// cannot be stored is stored, the session can be read, and takes no prompt.
func (t *turns) settle(ctx context.Context, e *ending) error {
	if e == nil {
		return nil
	}
	if err := saving.Commit(ctx, t.deps.Store, e.change); err != nil {
		return err
	}
	t.extend(e.change.Messages, e.change.Edits)
	t.context.Count(e.change.Calls)
	return nil
}
