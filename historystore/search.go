package historystore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"strata/history"
)

const (
	// queryBytes and queryTerms bound a query; the rest is ignored.
	queryBytes = 1 << 10
	queryTerms = 32

	// prefixRunes is the minimum length of a term that also matches the start of longer words: shorter terms match too
	// many.
	prefixRunes = 3

	// snippetWords is the approximate number of words in a snippet; SQLite allows 64.
	snippetWords = 32
)

// SearchQuery is the input of Search.
type SearchQuery struct {
	Query   string       // see Search
	Role    history.Role // only messages of this role; empty: all
	Folders []string     // only sessions of these folders; nil: all
	Cursor  string       // returned with the previous page; empty: the first page
	Limit   int          // default 50, at most 500
}

// Hit is a message found by a search.
type Hit struct {
	Session string
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
type Mark struct{ Start, End int }

// Search returns a page of the messages that contain all terms of a query, newest first, and the cursor of the next page,
// empty after the last. It skips deleted and hidden sessions. A query can be any text. A bad cursor is ErrCursor.
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
func (s *Store) Search(ctx context.Context, q SearchQuery) (hits []Hit, next string, err error) {
	limit := pageLimit(q.Limit)
	from, err := decodeCursor(q.Cursor, cursor{list: hitList, n: math.MaxInt64})
	if err != nil {
		return nil, "", fmt.Errorf("search: %w", err)
	}
	match := ftsQuery(q.Query)
	if match == "" {
		return nil, "", nil
	}
	var rows []hitRow
	err = s.view(ctx, "search", func(tx *sql.Tx) error {
		rows, err = selectHits(ctx, tx, match, q, from.n, limit+1)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("search: %w", err)
	}
	rows, next = page(rows, limit, func(r hitRow) cursor { return cursor{list: hitList, n: r.rowid} })
	for _, r := range rows {
		hits = append(hits, r.Hit)
	}
	return hits, next, nil
}

type hitRow struct {
	Hit
	rowid int64
}

// selectHits queries the index first (CROSS JOIN fixes the order), so that it stops after n rows without sorting. Of the
// copies of a message it returns the oldest row.
func selectHits(ctx context.Context, tx *sql.Tx, match string, q SearchQuery, before int64, n int) ([]hitRow, error) {
	var folders any // NULL: all
	if q.Folders != nil {
		list, err := asJSON(q.Folders)
		if err != nil {
			return nil, err
		}
		folders = list
	}
	return collect(ctx, tx, scanHit, `SELECT m.rowid, m.session, m.id, m.seq, m.role, m.at,
			snippet(message_fts, 0, char(?1), char(?2), '…', ?3), -bm25(message_fts),
			(SELECT count(*) FROM `+copies+` AND c.rowid > m.rowid)
		FROM message_fts CROSS JOIN message m ON m.rowid = message_fts.rowid CROSS JOIN session s ON s.id = m.session
		WHERE message_fts MATCH ?4 AND message_fts.rowid < ?5 AND s.deleted_at IS NULL AND s.hidden = 0
			AND (?6 = '' OR m.role = ?6) AND (?7 IS NULL OR s.cwd IN (SELECT value FROM json_each(?7)))
			AND NOT EXISTS (SELECT 1 FROM `+copies+` AND c.rowid < m.rowid)
		ORDER BY message_fts.rowid DESC LIMIT ?8`,
		markStart, markEnd, snippetWords, match, before, q.Role, folders, n)
}

// copies are the messages c that are copies of the message m or that m is a copy of: forks and imports change the id only.
const copies = `message c INDEXED BY message_by_time CROSS JOIN session cs ON cs.id = c.session
	WHERE c.at = m.at AND c.seq = m.seq AND c.role = m.role AND c.text = m.text AND cs.deleted_at IS NULL AND cs.hidden = 0
		AND (?7 IS NULL OR cs.cwd IN (SELECT value FROM json_each(?7)))`

func scanHit(row scanner) (r hitRow, err error) {
	var at int64
	var marked string
	err = row.Scan(&r.rowid, &r.Session, &r.Message, &r.Seq, &r.Role, &at, &marked, &r.Score, &r.Copies)
	r.At = fromMicros(at)
	r.Snippet, r.Marks = unmark(marked)
	return r, err
}

// unmark removes the marks and soft breaks from a snippet and returns the positions of the marks.
func unmark(marked string) (snippet string, marks []Mark) {
	var out strings.Builder
	start := 0
	for _, r := range marked {
		switch r {
		case markStart:
			start = out.Len()
		case markEnd:
			marks = append(marks, Mark{start, out.Len()})
		case softBreak:
		default:
			out.WriteRune(r)
		}
	}
	return out.String(), marks
}

// ftsQuery converts text to a valid FTS5 query with quoted terms. The result is empty if text contains no words.
func ftsQuery(text string) string {
	var out []string
	for _, t := range terms(text) {
		quoted := `"` + strings.ReplaceAll(searchable(t.text), `"`, `""`) + `"`
		if !t.exact && utf8.RuneCountInString(t.text) >= prefixRunes {
			quoted += "*"
		}
		out = append(out, quoted)
	}
	return strings.Join(out, " ")
}

type term struct {
	text  string
	exact bool // was in quotes
}

// terms splits a query at spaces and quotes. It omits terms without a letter or digit.
func terms(query string) (found []term) {
	if len(query) > queryBytes {
		query = query[:queryBytes]
	}
	query = strings.ToValidUTF8(query, "")
	for i, part := range strings.Split(query, `"`) {
		quoted := i%2 == 1
		words := []string{part}
		if !quoted {
			words = strings.FieldsFunc(part, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		}
		for _, w := range words {
			if strings.ContainsFunc(w, isWordPart) && len(found) < queryTerms {
				found = append(found, term{w, quoted})
			}
		}
	}
	return found
}

func isWordPart(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
