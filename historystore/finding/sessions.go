package finding

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"strata/history"
	"strata/historystore/fulltext"
)

// Session is a session whose title or folder contains the terms of a query.
type Session struct {
	ID          string
	Title       string
	CWD         string
	UpdatedAt   time.Time
	TitleMarks  []fulltext.Mark // the matches in Title, in order
	FolderMarks []fulltext.Mark // the matches in CWD, in order

	rank    int
	updated int64 // microseconds
}

// Position is the place of a session in the order of the results: best rank, then newest, then by id. The zero value is
// before all.
type Position struct {
	Rank    int
	Updated int64
	ID      string
}

// Position returns the session's place.
func (s *Session) Position() Position { return Position{s.rank, s.updated, s.ID} }

func (p Position) compare(q Position) int {
	return cmp.Or(cmp.Compare(q.Rank, p.Rank), cmp.Compare(q.Updated, p.Updated), strings.Compare(q.ID, p.ID))
}

// Sessions returns at most limit sessions after a position, best first, and the number of all that match. folders is a JSON
// array of the folders to which it is limited, nil for all. Deleted and hidden sessions are not found.
func Sessions(ctx context.Context, q Querier, names fulltext.NameQuery, folders any, after Position, limit int) (found []Session, total int, err error) {
	if names.Empty() {
		return nil, 0, nil
	}
	err = each(ctx, q, func(rows *sql.Rows) (bool, error) {
		var s Session
		if err := rows.Scan(&s.ID, &s.Title, &s.CWD, &s.updated); err != nil {
			return false, err
		}
		if s.rank = names.Match(s.Title, s.CWD); s.rank == 0 {
			return true, nil
		}
		total++
		if after == (Position{}) || after.compare(s.Position()) < 0 {
			found = append(found, s)
		}
		return true, nil
	}, `SELECT id, title, cwd, updated_at FROM session
		WHERE hidden = 0 AND deleted_at IS NULL AND (?1 IS NULL OR cwd IN (SELECT value FROM json_each(?1)))`, folders)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(found, func(a, b Session) int { return a.Position().compare(b.Position()) })
	found = found[:min(len(found), limit)]
	for i := range found {
		s := &found[i]
		s.UpdatedAt = history.StoredTime(s.updated)
		s.TitleMarks, s.FolderMarks = names.Marks(s.Title), names.Marks(s.CWD)
	}
	return found, total, nil
}
