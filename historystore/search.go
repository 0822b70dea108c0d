package historystore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"strata/history"
	"strata/historystore/fulltext"
)

// snippetWords is the approximate number of words in a snippet; SQLite allows 64.
const snippetWords = 32

// SearchQuery is the input of Search.
type SearchQuery struct {
	Query   string       // see Search
	Role    history.Role // only messages of this role; empty: all
	Folders []string     // only sessions of these folders; nil: all
	Session string       // only this session; empty: all
	Cursor  string       // returned with the previous page; empty: the first page
	Limit   int          // default 50, at most 500
}

// Hit is a message found by a search.
type Hit struct {
	Session string
	Title   string // of the session; empty for none
	Message string
	Seq     int64
	Role    history.Role
	At      time.Time
	Snippet string  // plain text around the first matches, with "…" at truncated ends
	Marks   []Mark  // the matches in Snippet, in order
	Score   float64 // relevance (BM25); higher is better
	Copies  int     // messages of forks and imports that are copies of this one
}

// Mark is the range of a match in a snippet, in bytes. End is exclusive.
type Mark = fulltext.Mark

// Found is the result of a search.
type Found struct {
	Hits   []Hit
	Next   string // cursor of the next page; empty after the last
	Behind int    // at most so many messages are not in the index yet, the newest ones
}

// Search returns a page of the messages that contain all terms of a query, newest first. It skips deleted and hidden
// sessions. A query can be any text. A bad cursor is ErrCursor.
//
// The index follows the messages in the background. A search waits a short time until the index is complete.
//
// Copies of a message, which forks and imports have, are one hit: the oldest one in the sessions that are searched.
//
// Terms are separated by spaces; a quoted text is one term. A term is a sequence of words. Words are separated by
// characters other than letters and digits, so parse_config and parse.config are two words and parseConfig is one. Case
// and accents are ignored. A term of three or more characters also matches longer words that start with it. Each Chinese,
// Japanese or Korean character is a word. A query without words finds nothing. Only the first 128 KiB of a message's text
// are searched.
//
// A trigram index, which finds any part of a word, is not used: measured on source code it was six times as large and
// five times as slow to delete from, and it cannot find terms of one or two characters, such as most Chinese words.
func (s *Store) Search(ctx context.Context, q SearchQuery) (found Found, err error) {
	limit := pageLimit(q.Limit)
	from, err := decodeCursor(q.Cursor, cursor{list: hitList, n: math.MaxInt64})
	if err != nil {
		return Found{}, fmt.Errorf("search: %w", err)
	}
	match := fulltext.Query(q.Query)
	if match == "" {
		return Found{}, nil
	}
	if err := s.completeIndex(ctx, indexWait); err != nil {
		return Found{}, fmt.Errorf("search: %w", err)
	}
	var rows []hitRow
	err = s.view(ctx, "search", func(tx *sql.Tx) error {
		if found.Behind, err = behind(ctx, tx); err != nil {
			return err
		}
		rows, err = selectHits(ctx, tx, match, q, from.n, limit+1)
		return err
	})
	if err != nil {
		return Found{}, fmt.Errorf("search: %w", err)
	}
	rows, found.Next = page(rows, limit, func(r hitRow) cursor { return cursor{list: hitList, n: r.rowid} })
	for _, r := range rows {
		found.Hits = append(found.Hits, r.Hit)
	}
	return found, nil
}

type hitRow struct {
	Hit
	rowid int64
}

// selectHits queries the index first (CROSS JOIN fixes the order), so that it stops after n rows without sorting. Of the
// copies of a message it returns the oldest row.
func selectHits(ctx context.Context, tx *sql.Tx, match string, q SearchQuery, before int64, n int) ([]hitRow, error) {
	folders, err := folderList(q.Folders)
	if err != nil {
		return nil, err
	}
	after := int64(0)
	if q.Session != "" {
		if after, before, err = rowsOf(ctx, tx, q.Session, before); err != nil {
			return nil, err
		}
	}
	return collect(ctx, tx, scanHit, `SELECT m.rowid, m.session, s.title, m.id, m.seq, m.role, m.at,
			snippet(message_fts, 0, char(?1), char(?2), '…', ?3), -bm25(message_fts),
			(SELECT count(*) FROM `+copies+` AND c.rowid > m.rowid)
		FROM message_fts CROSS JOIN message m ON m.rowid = message_fts.rowid CROSS JOIN session s ON s.id = m.session
		WHERE message_fts MATCH ?4 AND message_fts.rowid > ?10 AND message_fts.rowid < ?5 AND s.deleted_at IS NULL AND s.hidden = 0
			AND (?9 = '' OR m.session = ?9) AND (?6 = '' OR m.role = ?6) AND (?7 IS NULL OR s.cwd IN (SELECT value FROM json_each(?7)))
			AND NOT EXISTS (SELECT 1 FROM `+copies+` AND c.rowid < m.rowid)
		ORDER BY message_fts.rowid DESC LIMIT ?8`,
		fulltext.MarkStart, fulltext.MarkEnd, snippetWords, match, before, q.Role, folders, n, q.Session, after)
}

// rowsOf returns the row ids between which the messages of a session are: the index need not be read beyond them.
func rowsOf(ctx context.Context, tx *sql.Tx, session string, most int64) (after, before int64, err error) {
	rows, err := collect(ctx, tx, func(row scanner) (v [2]int64, err error) { return v, row.Scan(&v[0], &v[1]) },
		"SELECT coalesce(min(rowid), 1), coalesce(max(rowid), 0) FROM message WHERE session = ?", session)
	if err != nil {
		return 0, 0, err
	}
	return rows[0][0] - 1, min(rows[0][1]+1, most), nil
}

// copies are the messages c that are copies of the message m or that m is a copy of: forks and imports change the id only.
const copies = `message c INDEXED BY message_by_time CROSS JOIN session cs ON cs.id = c.session
	WHERE c.at = m.at AND c.seq = m.seq AND c.role = m.role AND c.text = m.text AND cs.deleted_at IS NULL AND cs.hidden = 0
		AND (?9 = '' OR c.session = ?9) AND (?7 IS NULL OR cs.cwd IN (SELECT value FROM json_each(?7)))`

func scanHit(row scanner) (r hitRow, err error) {
	var at int64
	var marked string
	err = row.Scan(&r.rowid, &r.Session, &r.Title, &r.Message, &r.Seq, &r.Role, &at, &marked, &r.Score, &r.Copies)
	r.At = fromMicros(at)
	r.Snippet, r.Marks = fulltext.Unmark(marked)
	return r, err
}
