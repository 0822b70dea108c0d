package historystore

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"strata/history"
	"strata/historystore/finding"
	"strata/historystore/fulltext"
)

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
type Hit = finding.Hit

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
	folders, err := folderList(q.Folders)
	if err != nil {
		return Found{}, err
	}
	err = s.view(ctx, "search", func(tx *sql.Tx) error {
		if found.Behind, err = behind(ctx, tx); err != nil {
			return err
		}
		found.Hits, err = finding.Messages(ctx, tx, finding.Query{
			Match: match, Role: q.Role, Folders: folders, Session: q.Session, Before: from.n,
		}, limit+1)
		return err
	})
	if err != nil {
		return Found{}, fmt.Errorf("search: %w", err)
	}
	found.Hits, found.Next = page(found.Hits, limit, func(h Hit) cursor { return cursor{list: hitList, n: h.Row()} })
	return found, nil
}
