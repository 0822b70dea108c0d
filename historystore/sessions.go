package historystore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"strata/history"
)

// SessionQuery is the input of Sessions.
type SessionQuery struct {
	Folders []string // only sessions of these folders; nil: all
	Cursor  string   // returned with the previous page; empty: the first page
	Limit   int      // default 50, at most 500
	Held    *string  // only sessions whose files a client has, with this id; nil: all
}

// isHeld is the condition for a session whose files a client has: its folder is only a name.
const isHeld = "(json_valid(config) AND json_extract(config, '$.workspace') IS '" + history.WorkspaceClient + "')"

// Sessions returns a page of sessions, the last updated first, and the cursor of the next page, empty after the last.
// It skips hidden and deleted sessions. A bad cursor is ErrCursor.
func (s *Store) Sessions(ctx context.Context, q SessionQuery) (list []history.Session, next string, err error) {
	limit := pageLimit(q.Limit)
	from, err := decodeCursor(q.Cursor, cursor{list: sessionList, n: math.MaxInt64})
	if err == nil {
		err = s.view(ctx, "sessions", func(tx *sql.Tx) error {
			list, err = s.selectSessions(ctx, tx, q, from, limit+1)
			return err
		})
	}
	if err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	list, next = page(list, limit, func(s history.Session) cursor { return cursor{sessionList, micros(s.UpdatedAt), s.ID} })
	return list, next, nil
}

func (s *Store) selectSessions(ctx context.Context, tx *sql.Tx, q SessionQuery, from cursor, n int) ([]history.Session, error) {
	where, args := "", []any{from.n, from.id}
	if q.Folders != nil {
		list, err := asJSON(q.Folders)
		if err != nil {
			return nil, err
		}
		where, args = "AND cwd IN (SELECT value FROM json_each(?))", append(args, list)
	}
	if q.Held != nil {
		where, args = where+" AND "+isHeld+" AND ifnull(json_extract(config, '$.workspaceId'), '') = ?", append(args, *q.Held)
	}
	return collect(ctx, tx, s.scanSession, "SELECT "+sessionColumns+` FROM session
		WHERE hidden = 0 AND deleted_at IS NULL AND (updated_at, id) < (?, ?) `+where+`
		ORDER BY updated_at DESC, id DESC LIMIT ?`, append(args, n)...)
}

// Folders returns the folders of all sessions with files on disk, each once.
func (s *Store) Folders(ctx context.Context) (folders []string, err error) {
	err = s.view(ctx, "folders", func(tx *sql.Tx) error {
		folders, err = collect(ctx, tx, scanOne[string], "SELECT DISTINCT cwd FROM session WHERE hidden = 0 AND deleted_at IS NULL AND NOT "+isHeld)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list folders: %w", err)
	}
	return folders, nil
}

// Session returns a session. DeletedAt is set if it is deleted. The error is history.ErrNotFound if it does not exist or is
// hidden.
func (s *Store) Session(ctx context.Context, id string) (found history.Session, err error) {
	err = s.view(ctx, "session", func(tx *sql.Tx) error {
		found, err = s.session(ctx, tx, id, "hidden = 0")
		return err
	})
	if err != nil {
		return history.Session{}, fmt.Errorf("session %s: %w", id, err)
	}
	return found, nil
}

func (s *Store) session(ctx context.Context, tx *sql.Tx, id, condition string) (history.Session, error) {
	return first(ctx, tx, s.scanSession, "SELECT "+sessionColumns+" FROM session WHERE id = ? AND "+condition, id)
}

const sessionColumns = "id, cwd, roots, title, title_by_user, config, created_at, updated_at, deleted_at, hidden, messages"

func (s *Store) scanSession(row scanner) (v history.Session, err error) {
	var roots, config string
	var created, updated int64
	var deleted sql.NullInt64
	err = row.Scan(&v.ID, &v.CWD, &roots, &v.Title, &v.TitleByUser, &config, &created, &updated, &deleted, &v.Hidden, &v.Messages)
	v.CreatedAt, v.UpdatedAt = fromMicros(created), fromMicros(updated)
	if deleted.Valid {
		v.DeletedAt = fromMicros(deleted.Int64)
	}
	s.decode("session", v.ID, roots, &v.Roots)
	s.decode("session", v.ID, config, &v.Config)
	return v, err
}

// Delete marks a session as deleted until Undelete or Purge. The error is history.ErrNotFound if it is already deleted.
func (s *Store) Delete(ctx context.Context, id string, at time.Time) error {
	if at.IsZero() {
		return errors.New("delete session " + id + ": missing time")
	}
	return s.mark(ctx, "delete", id, "UPDATE session SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL AND hidden = 0", micros(at), id)
}

// Undelete restores a deleted session. The error is history.ErrNotFound if the session is not deleted or its purge has
// started.
func (s *Store) Undelete(ctx context.Context, id string) error {
	return s.mark(ctx, "undelete", id, "UPDATE session SET deleted_at = NULL WHERE id = ? AND deleted_at IS NOT NULL AND hidden = 0", id)
}

// ImportShow makes a session visible that was created as hidden. Call it when the import is complete.
func (s *Store) ImportShow(ctx context.Context, id string) error {
	return s.mark(ctx, "show", id, "UPDATE session SET hidden = 0 WHERE id = ? AND hidden = 1 AND deleted_at IS NULL", id)
}

// ImportDrop abandons a session that was created as hidden: it marks the session as deleted. A hidden session cannot be
// undeleted.
func (s *Store) ImportDrop(ctx context.Context, id string, at time.Time) error {
	return s.mark(ctx, "delete", id, "UPDATE session SET deleted_at = ? WHERE id = ? AND hidden = 1 AND deleted_at IS NULL", micros(at), id)
}

// mark runs an update that must affect one session.
func (s *Store) mark(ctx context.Context, op, id, query string, args ...any) error {
	err := s.write(ctx, op, []string{op}, func(tx *writeTx) error { return tx.must(query, args...) })
	if err != nil {
		return fmt.Errorf("%s session %s: %w", op, id, err)
	}
	return nil
}

// dropUnfinishedImports marks the hidden sessions as deleted when a database is opened: their imports were interrupted.
// Hidden sessions cannot be undeleted, only purged.
func dropUnfinishedImports(tx *writeTx, now time.Time) error {
	_, err := tx.exec("UPDATE session SET deleted_at = ? WHERE hidden = 1 AND deleted_at IS NULL", micros(now))
	return err
}

// session creates the session or checks that it exists, and updates it. A session that is both hidden and deleted is
// being purged and does not count as existing.
func (p *prepared) session(tx *writeTx) error {
	if p.Create != nil {
		if err := insertSession(tx, p.Create); err != nil {
			return err
		}
	}
	if _, err := first(background, tx, scanOne[int],
		"SELECT 1 FROM session WHERE id = ? AND (hidden = 0 OR deleted_at IS NULL)", p.Session); err != nil {
		return err
	}
	if p.Update != nil {
		return updateSession(tx, p.Session, p.Update)
	}
	return nil
}

func insertSession(tx *writeTx, s *history.Session) error {
	roots, config, err := sessionJSON(s)
	if err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.CWD, roots, s.Title, s.TitleByUser, config, micros(s.CreatedAt), micros(s.UpdatedAt), s.Hidden)
	return err
}

func updateSession(tx *writeTx, id string, s *history.Session) error {
	roots, config, err := sessionJSON(s)
	if err != nil {
		return err
	}
	return tx.must("UPDATE session SET cwd = ?, roots = ?, title = ?, title_by_user = ?, config = ?, updated_at = ? WHERE id = ?",
		s.CWD, roots, s.Title, s.TitleByUser, config, micros(s.UpdatedAt), id)
}

func sessionJSON(s *history.Session) (roots, config string, err error) {
	if roots, err = asJSON(s.Roots); err != nil {
		return "", "", err
	}
	config, err = asJSON(s.Config)
	return roots, config, err
}
