package historystore

import (
	"context"
	"database/sql"
	"fmt"

	"strata/history"
)

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

// newestTurns are the turns of a session since the oldest of some turns that answer some prompts, in order of their start.
const newestTurns = "SELECT " + turnColumns + ` FROM turn WHERE session = ?1
	AND +rowid >= (SELECT min(rowid) FROM turn WHERE session = ?1 AND id IN (SELECT value FROM json_each(?2)))
	AND user_id IN (SELECT value FROM json_each(?3)) ORDER BY rowid`

// NewestTurns returns the newest turn of each prompt, by the id of its message. prompts are user messages of the session;
// those that no turn answers are ignored. It reads the turns since that of the oldest prompt: one that is sent again has
// several.
func (s *Store) NewestTurns(ctx context.Context, session string, prompts []history.Message) (map[string]history.Turn, error) {
	var first, ids []string
	for i := range prompts {
		if m := &prompts[i]; m.Turn != "" {
			first, ids = append(first, m.Turn), append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	firstList, err := asJSON(first)
	if err != nil {
		return nil, err
	}
	idList, err := asJSON(ids)
	if err != nil {
		return nil, err
	}
	newest := make(map[string]history.Turn, len(ids))
	err = s.view(ctx, "turns", func(tx *sql.Tx) error {
		turns, err := collect(ctx, tx, s.scanTurn, newestTurns, session, firstList, idList)
		for _, t := range turns {
			newest[t.UserID] = *t
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("turns of session %s: %w", session, err)
	}
	return newest, nil
}

func (p *prepared) begin(tx *writeTx) error {
	t := p.Begin
	if t == nil {
		return nil
	}
	failure, err := failureJSON(t.Failure)
	if err != nil {
		return err
	}
	if t.Status == history.TurnRunning {
		if err := tx.must("UPDATE session SET running = running + 1 WHERE id = ?", p.Session); err != nil {
			return err
		}
	}
	_, err = tx.exec(`INSERT INTO turn (session, id, prompt_id, user_id, reply_id, status, stop_reason, failure,
		input, output, cache_read, cache_write, cost, started_at, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.Session, t.ID, orNull(t.PromptID), t.UserID, t.ReplyID, t.Status, t.StopReason, failure,
		t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Cost, micros(t.StartedAt), micros(t.EndedAt))
	return err
}

// dropPartials deletes the chunks of a turn whose step is stored.
func (p *prepared) dropPartials(tx *writeTx) error {
	if p.DropPartials == "" {
		return nil
	}
	_, err := tx.exec("DELETE FROM partial WHERE session = ? AND turn = ?", p.Session, p.DropPartials)
	return err
}

// partial inserts a chunk of a running turn. It refuses a chunk of any other turn, which would never be deleted. It skips a
// chunk whose message was stored while the chunk's save was under way.
func (p *prepared) partial(tx *writeTx) error {
	part := p.Partial
	if part == nil {
		return nil
	}
	late, err := first(background, tx, scanOne[bool], `SELECT EXISTS (
			SELECT 1 FROM message m WHERE m.session = turn.session AND m.id = coalesce(nullif(?, ''), turn.reply_id))
		FROM turn WHERE session = ? AND id = ? AND status = ?`, part.Message, p.Session, part.Turn, history.TurnRunning)
	if err != nil {
		return fmt.Errorf("running turn %s: %w", part.Turn, err)
	}
	if late {
		return nil
	}
	_, err = tx.exec("INSERT INTO partial (session, turn, n, kind, text, message) VALUES (?, ?, ?, ?, ?, ?)",
		p.Session, part.Turn, part.N, part.Kind, part.Text, part.Message)
	return err
}

func (p *prepared) end(tx *writeTx) error {
	t := p.End
	if t == nil {
		return nil
	}
	failure, err := failureJSON(t.Failure)
	if err != nil {
		return err
	}
	if _, err := tx.exec(`UPDATE session SET updated_at = max(updated_at, ?),
		running = running - (SELECT count(*) FROM turn WHERE turn.session = session.id AND turn.id = ? AND turn.status = ?) WHERE id = ?`,
		micros(t.EndedAt), t.ID, history.TurnRunning, p.Session); err != nil {
		return err
	}
	if err := tx.must(`UPDATE turn SET status = ?, stop_reason = ?, failure = ?, reply_id = coalesce(nullif(?, ''), reply_id),
		input = ?, output = ?, cache_read = ?, cache_write = ?, cost = ?, ended_at = ? WHERE session = ? AND id = ?`,
		t.Status, t.StopReason, failure, t.ReplyID,
		t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Cost, micros(t.EndedAt), p.Session, t.ID); err != nil {
		return fmt.Errorf("turn %s: %w", t.ID, err)
	}
	_, err = tx.exec("DELETE FROM partial WHERE session = ? AND turn = ?", p.Session, t.ID)
	return err
}

func failureJSON(f *history.Failure) (any, error) {
	if f == nil {
		return nil, nil
	}
	return asJSON(f)
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
	err = row.Scan(&p.Turn, &p.N, &p.Kind, &p.Text, &p.Message)
	return p, err
}
