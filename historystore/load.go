package historystore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"strata/history"
	"strata/historystore/blobs"
	"strata/historystore/heads"
)

// Load returns a consistent snapshot of a session without the content of its messages.
// The error is history.ErrNotFound for a deleted or hidden session.
func (s *Store) Load(ctx context.Context, session string) (history.Loaded, error) {
	var l history.Loaded
	err := s.view(ctx, "load", func(tx *sql.Tx) (err error) {
		l, err = s.load(ctx, tx, session)
		return err
	})
	if err != nil {
		return history.Loaded{}, fmt.Errorf("load session %s: %w", session, err)
	}
	return l, nil
}

func (s *Store) load(ctx context.Context, tx *sql.Tx, id string) (l history.Loaded, err error) {
	if l.Session, err = s.session(ctx, tx, id, "deleted_at IS NULL AND hidden = 0"); err != nil {
		return l, err
	}
	found, err := heads.Read(ctx, tx, id, l.Session.Messages)
	if err != nil {
		return l, err
	}
	s.writer.heads.Loaded(id, found)
	l.Heads = found.Heads
	if l.Edits, err = collect(ctx, tx, s.scanEdit, "SELECT seq, id, kind, at, body FROM edit WHERE session = ? ORDER BY seq", id); err != nil {
		return l, err
	}
	if l.Files, err = collect(ctx, tx, scanFile, "SELECT path, state, buffer, buffer IS NOT NULL FROM file WHERE session = ? ORDER BY path", id); err != nil {
		return l, err
	}
	if l.Checkpoints, err = collect(ctx, tx, scanCheckpoint, "SELECT id, seq, name, at FROM checkpoint WHERE session = ? ORDER BY seq, at, id", id); err != nil {
		return l, err
	}
	if l.Documents, err = collect(ctx, tx, s.scanDocument, "SELECT name, body FROM document WHERE session = ? ORDER BY name", id); err != nil {
		return l, err
	}
	if l.Layout, err = loadLayout(ctx, tx, id); err != nil {
		return l, err
	}
	if l.Compaction, err = optional(first(ctx, tx, s.scanCompaction, "SELECT body FROM compaction WHERE session = ?", id)); err != nil {
		return l, err
	}
	if l.Totals, err = first(ctx, tx, scanTotals, "SELECT calls, input, output, cache_read, cache_write, cost FROM session WHERE id = ?", id); err != nil {
		return l, err
	}
	if l.Planned, err = blobs.FileChanges(ctx, tx, id, history.FileChangeQuery{Planned: true}, s.opt.Log); err != nil {
		return l, err
	}
	return l, s.loadUnfinished(ctx, tx, &l)
}

// loadUnfinished adds the running turn, with the usage of its stored steps, and the saved chunks of its reply.
func (s *Store) loadUnfinished(ctx context.Context, tx *sql.Tx, l *history.Loaded) (err error) {
	running, err := first(ctx, tx, scanOne[int], "SELECT running FROM session WHERE id = ?", l.Session.ID)
	if err != nil || running == 0 {
		return err // without a look at all turns
	}
	l.Unfinished, err = optional(first(ctx, tx, s.scanTurn,
		"SELECT "+turnColumns+" FROM turn WHERE session = ? AND status = 'running' ORDER BY rowid DESC LIMIT 1", l.Session.ID))
	if err != nil || l.Unfinished == nil {
		return err
	}
	t := l.Unfinished
	spent, err := first(ctx, tx, scanTotals, `SELECT count(*), `+sumOf("input")+`, `+sumOf("output")+`, `+sumOf("cache_read")+`, `+sumOf("cache_write")+`, total(cost)
		FROM usage WHERE session = ? AND turn = ? AND purpose = ?`, l.Session.ID, t.ID, history.PurposeTurn)
	if err != nil {
		return err
	}
	t.Usage, t.Cost = spent.Usage, spent.Cost
	l.Partials, err = collect(ctx, tx, scanPartial,
		"SELECT turn, n, kind, text, message FROM partial WHERE session = ? AND turn = ? ORDER BY n", l.Session.ID, l.Unfinished.ID)
	return err
}

// optional replaces history.ErrNotFound with a zero value.
func optional[T any](v T, err error) (T, error) {
	if errors.Is(err, history.ErrNotFound) {
		err = nil
	}
	return v, err
}

func scanTotals(row scanner) (t history.Totals, err error) {
	err = row.Scan(&t.Calls, &t.Usage.Input, &t.Usage.Output, &t.Usage.CacheRead, &t.Usage.CacheWrite, &t.Cost)
	return t, err
}
