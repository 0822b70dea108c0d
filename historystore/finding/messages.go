package finding

import (
	"context"
	"database/sql"
	"time"

	"strata/history"
	"strata/historystore/fulltext"
)

// snippetWords is the approximate number of words in a snippet; SQLite allows 64.
const snippetWords = 32

// Hit is a message found by a search.
type Hit struct {
	Session string
	Title   string // of the session; empty for none
	Message string
	Seq     int64
	Role    history.Role
	At      time.Time
	Snippet string          // plain text around the first matches, with "…" at truncated ends
	Marks   []fulltext.Mark // the matches in Snippet, in order
	Score   float64         // relevance (BM25); higher is better
	Copies  int             // messages of forks and imports that are copies of this one

	row int64
}

// Row returns the message's row id, the Before of the next page.
func (h *Hit) Row() int64 { return h.row }

// Query is the input of Messages.
type Query struct {
	Match   string       // as fulltext.Query returns it
	Role    history.Role // empty: all
	Folders any          // a JSON array of the folders to which it is limited, nil for all
	Session string       // empty: all
	Before  int64        // only messages with row ids below it
}

// Messages returns at most n messages that the index has for a query, newest first. Of the copies of a message it returns
// the oldest row. Messages of deleted and hidden sessions are not found.
//
// It queries the index first (CROSS JOIN fixes the order), so that it stops after n rows without sorting.
func Messages(ctx context.Context, tx Querier, q Query, n int) (hits []Hit, err error) {
	after := int64(0)
	if q.Session != "" {
		if after, q.Before, err = rowsOf(ctx, tx, q.Session, q.Before); err != nil {
			return nil, err
		}
	}
	err = each(ctx, tx, func(rows *sql.Rows) (bool, error) {
		var h Hit
		var at int64
		var marked string
		if err := rows.Scan(&h.row, &h.Session, &h.Title, &h.Message, &h.Seq, &h.Role, &at, &marked, &h.Score, &h.Copies); err != nil {
			return false, err
		}
		h.At = time.UnixMicro(at).UTC()
		h.Snippet, h.Marks = fulltext.Unmark(marked)
		hits = append(hits, h)
		return true, nil
	}, `SELECT m.rowid, m.session, s.title, m.id, m.seq, m.role, m.at,
			snippet(message_fts, 0, char(?1), char(?2), '…', ?3), -bm25(message_fts),
			(SELECT count(*) FROM `+copies+` AND c.rowid > m.rowid)
		FROM message_fts CROSS JOIN message m ON m.rowid = message_fts.rowid CROSS JOIN session s ON s.id = m.session
		WHERE message_fts MATCH ?4 AND message_fts.rowid > ?10 AND message_fts.rowid < ?5 AND s.deleted_at IS NULL AND s.hidden = 0
			AND (?9 = '' OR m.session = ?9) AND (?6 = '' OR m.role = ?6) AND (?7 IS NULL OR s.cwd IN (SELECT value FROM json_each(?7)))
			AND NOT EXISTS (SELECT 1 FROM `+copies+` AND c.rowid < m.rowid)
		ORDER BY message_fts.rowid DESC LIMIT ?8`,
		fulltext.MarkStart, fulltext.MarkEnd, snippetWords, q.Match, q.Before, q.Role, q.Folders, n, q.Session, after)
	return hits, err
}

// rowsOf returns the row ids between which the messages of a session are: the index need not be read beyond them.
func rowsOf(ctx context.Context, tx Querier, session string, most int64) (after, before int64, err error) {
	var first, last int64
	err = each(ctx, tx, func(rows *sql.Rows) (bool, error) { return false, rows.Scan(&first, &last) },
		"SELECT coalesce(min(rowid), 1), coalesce(max(rowid), 0) FROM message WHERE session = ?", session)
	return first - 1, min(last+1, most), err
}

// copies are the messages c that are copies of the message m or that m is a copy of: forks and imports change the id only.
const copies = `message c INDEXED BY message_by_time CROSS JOIN session cs ON cs.id = c.session
	WHERE c.at = m.at AND c.seq = m.seq AND c.role = m.role AND c.text = m.text AND cs.deleted_at IS NULL AND cs.hidden = 0
		AND (?9 = '' OR c.session = ?9) AND (?7 IS NULL OR cs.cwd IN (SELECT value FROM json_each(?7)))`
