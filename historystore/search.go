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
	// queryBytes and queryTerms bound a query; what is longer is cut.
	queryBytes = 1 << 10
	queryTerms = 32

	// prefixRunes is how long a term must be to match the beginning of longer words too: shorter ones match too many.
	prefixRunes = 3

	// snippetWords is about how many words a snippet has; SQLite allows 64.
	snippetWords = 32
)

// SearchQuery says what to look for.
type SearchQuery struct {
	Query  string       // see Search
	Role   history.Role // only messages of this role; empty: all
	CWD    string       // only sessions of this folder; empty: all
	Cursor string       // the end of the page before; empty: the first page
	Limit  int          // default 50, at most 500
}

// Hit is a message that a search found.
type Hit struct {
	Session string
	Message string
	Seq     int64
	Role    history.Role
	At      time.Time
	Snippet string  // plain text around the first matches, with "…" where it was cut
	Marks   []Mark  // the matches in Snippet, in order
	Score   float64 // how well the message matches (BM25); higher is better
}

// Mark is a part of a snippet, from Start up to and without End, in bytes.
type Mark struct{ Start, End int }

// Search returns a page of the messages that hold all terms of a query, the newest first, and the cursor of the next page,
// empty after the last. Deleted and hidden sessions are left out. A bad cursor is ErrCursor; a query can be any text.
//
// Terms are separated by spaces; "in quotes" is one term. A term is words in a row. Words are what stands between
// characters that are neither letters nor digits, so parse_config and parse.config are two words and parseConfig is one; case and
// accents do not matter. A term of three or more characters also finds longer words that begin with it. Chinese,
// Japanese and Korean characters are words by themselves. A query without any word finds nothing. Only the first 128 KiB of a
// message's text are searched.
//
// Why not the trigram index, which finds any part of a word: measured on source code it was six times as large and five times
// as slow to delete from, and it finds no term of one or two characters, which Chinese words mostly are.
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

// selectHits lets the index lead (CROSS JOIN fixes the order), so that it stops after n rows without sorting.
func selectHits(ctx context.Context, tx *sql.Tx, match string, q SearchQuery, before int64, n int) ([]hitRow, error) {
	return collect(ctx, tx, scanHit, `SELECT m.rowid, m.session, m.id, m.seq, m.role, m.at,
			snippet(message_fts, 0, char(?), char(?), '…', ?), -bm25(message_fts)
		FROM message_fts CROSS JOIN message m ON m.rowid = message_fts.rowid CROSS JOIN session s ON s.id = m.session
		WHERE message_fts MATCH ? AND message_fts.rowid < ? AND s.deleted_at IS NULL AND s.hidden = 0
			AND (? = '' OR m.role = ?) AND (? = '' OR s.cwd = ?)
		ORDER BY message_fts.rowid DESC LIMIT ?`,
		markStart, markEnd, snippetWords, match, before, q.Role, q.Role, q.CWD, q.CWD, n)
}

func scanHit(row scanner) (r hitRow, err error) {
	var at int64
	var marked string
	err = row.Scan(&r.rowid, &r.Session, &r.Message, &r.Seq, &r.Role, &at, &marked, &r.Score)
	r.At = fromMicros(at)
	r.Snippet, r.Marks = unmark(marked)
	return r, err
}

// unmark takes the marks and soft breaks out of a snippet and says where the marks were.
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

// ftsQuery turns any text into a query that FTS5 takes, with each term quoted. It is empty where text has no word.
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

// terms cuts a query at spaces and quotes. Terms without a letter or digit are left out.
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
