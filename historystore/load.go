package historystore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"strata/history"
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
	if l.Heads, err = collect(ctx, tx, scanHead, "SELECT "+headColumns+" FROM message WHERE session = ? ORDER BY seq", id); err != nil {
		return l, err
	}
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
	if l.Layout, err = optional(first(ctx, tx, scanLayout, "SELECT bytes FROM layout WHERE session = ?", id)); err != nil {
		return l, err
	}
	if l.Compaction, err = optional(first(ctx, tx, s.scanCompaction, "SELECT body FROM compaction WHERE session = ?", id)); err != nil {
		return l, err
	}
	if l.Totals, err = first(ctx, tx, scanTotals, `SELECT count(*), coalesce(sum(input), 0), coalesce(sum(output), 0),
		coalesce(sum(cache_read), 0), coalesce(sum(cache_write), 0), coalesce(sum(cost), 0.0) FROM usage WHERE session = ?`, id); err != nil {
		return l, err
	}
	return l, s.loadUnfinished(ctx, tx, &l)
}

// loadUnfinished adds the running turn and the saved chunks of its reply.
func (s *Store) loadUnfinished(ctx context.Context, tx *sql.Tx, l *history.Loaded) (err error) {
	l.Unfinished, err = optional(first(ctx, tx, s.scanTurn,
		"SELECT "+turnColumns+" FROM turn WHERE session = ? AND status = 'running' ORDER BY rowid DESC LIMIT 1", l.Session.ID))
	if err != nil || l.Unfinished == nil {
		return err
	}
	l.Partials, err = collect(ctx, tx, scanPartial,
		"SELECT turn, n, kind, text FROM partial WHERE session = ? AND turn = ? ORDER BY n", l.Session.ID, l.Unfinished.ID)
	return err
}

// optional replaces history.ErrNotFound with a zero value.
func optional[T any](v T, err error) (T, error) {
	if errors.Is(err, history.ErrNotFound) {
		err = nil
	}
	return v, err
}

// TurnByPrompt returns the turn with a client's prompt id, or history.ErrNotFound.
func (s *Store) TurnByPrompt(ctx context.Context, session, promptID string) (history.Turn, error) {
	var turn *history.Turn
	err := s.view(ctx, "turn", func(tx *sql.Tx) (err error) {
		turn, err = first(ctx, tx, s.scanTurn, "SELECT "+turnColumns+" FROM turn WHERE session = ? AND prompt_id = ?", session, promptID)
		return err
	})
	if err != nil {
		return history.Turn{}, fmt.Errorf("turn of prompt %s in session %s: %w", promptID, session, err)
	}
	return *turn, nil
}

const headColumns = "id, seq, turn, role, status, tokens, bytes, blocks, has_calls, at"

func scanHead(row scanner) (h history.Head, err error) {
	var at int64
	err = row.Scan(&h.ID, &h.Seq, &h.Turn, &h.Role, &h.Status, &h.Tokens, &h.Bytes, &h.Blocks, &h.HasCalls, &at)
	h.At = fromMicros(at)
	return h, err
}

func scanFile(row scanner) (f history.File, err error) {
	var unsaved bool
	err = row.Scan(&f.Path, (*[]byte)(&f.State), &f.Buffer, &unsaved)
	if unsaved {
		f.Buffer = notNil(f.Buffer) // the driver returns nil for an empty blob
	}
	return f, err
}

func scanLayout(row scanner) (layout []byte, err error) {
	err = row.Scan(&layout)
	return notNil(layout), err
}

func scanTotals(row scanner) (t history.Totals, err error) {
	err = row.Scan(&t.Calls, &t.Usage.Input, &t.Usage.Output, &t.Usage.CacheRead, &t.Usage.CacheWrite, &t.Cost)
	return t, err
}

const turnColumns = `id, coalesce(prompt_id, ''), user_id, reply_id, status, stop_reason, coalesce(failure, ''),
	input, output, cache_read, cache_write, cost, started_at, ended_at`

func (s *Store) scanTurn(row scanner) (*history.Turn, error) {
	var t history.Turn
	var failure string
	var started, ended int64
	err := row.Scan(&t.ID, &t.PromptID, &t.UserID, &t.ReplyID, &t.Status, &t.StopReason, &failure,
		&t.Usage.Input, &t.Usage.Output, &t.Usage.CacheRead, &t.Usage.CacheWrite, &t.Cost, &started, &ended)
	t.StartedAt, t.EndedAt = fromMicros(started), fromMicros(ended)
	s.decode("turn", t.ID, failure, &t.Failure)
	return &t, err
}

func scanPartial(row scanner) (p history.Partial, err error) {
	err = row.Scan(&p.Turn, &p.N, &p.Kind, &p.Text)
	return p, err
}

// decode decodes a JSON column. If it is damaged, decode logs the error and leaves into unchanged, so that the rest of
// the record can be used.
func (s *Store) decode(kind, id, text string, into any) {
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		s.opt.Log.Error("damaged record", "kind", kind, "id", id, "err", err)
	}
}

// decodeWhole decodes a record that is stored as JSON. If it is damaged or does not match its columns, decodeWhole logs
// the error and returns columns.
func decodeWhole[T any](s *Store, kind, id, body string, columns T, same func(T) bool) T {
	var whole T
	err := json.Unmarshal([]byte(body), &whole)
	if err == nil && !same(whole) {
		err = errors.New("content belongs to another record")
	}
	if err != nil {
		s.opt.Log.Error("damaged record", "kind", kind, "id", id, "err", err)
		return columns
	}
	return whole
}
