package historystore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"

	"strata/historystore/finding"
	"strata/historystore/fulltext"
)

// Finder searches without the full-text index: for sessions by title and folder, and for a text in a session.
type Finder struct{ store *Store }

// NewFinder returns the finder of a store.
func NewFinder(s *Store) Finder { return Finder{s} }

// SessionSearch is the input of Sessions.
type SessionSearch struct {
	Query   string   // see fulltext.Names
	Folders []string // only sessions of these folders; nil: all
	Cursor  string   // returned with the previous page; empty: the first page
	Limit   int      // default 50, at most 500
}

// FoundSessions is the result of Sessions.
type FoundSessions struct {
	Sessions []finding.Session
	Total    int    // number of sessions on all pages
	Next     string // cursor of the next page; empty after the last
}

// Sessions returns a page of the sessions whose titles or folders contain all terms of a query, best matches first,
// then those updated last. It skips deleted and hidden sessions. A bad cursor is ErrCursor.
func (f Finder) Sessions(ctx context.Context, q SessionSearch) (found FoundSessions, err error) {
	limit := pageLimit(q.Limit)
	after, err := sessionPosition(q.Cursor)
	if err != nil {
		return FoundSessions{}, fmt.Errorf("search sessions: %w", err)
	}
	folders, err := folderList(q.Folders)
	if err != nil {
		return FoundSessions{}, err
	}
	err = f.store.view(ctx, "search sessions", func(tx *sql.Tx) error {
		found.Sessions, found.Total, err = finding.Sessions(ctx, tx, fulltext.Names(q.Query), folders, after, limit+1)
		return err
	})
	if err != nil {
		return FoundSessions{}, fmt.Errorf("search sessions: %w", err)
	}
	found.Sessions, found.Next = page(found.Sessions, limit, func(s finding.Session) cursor {
		at := s.Position()
		return cursor{foundList, int64(at.Rank), string(binary.BigEndian.AppendUint64(nil, uint64(at.Updated))) + at.ID}
	})
	return found, nil
}

// sessionPosition returns the position in a cursor of Sessions.
func sessionPosition(text string) (at finding.Position, err error) {
	c, err := decodeCursor(text, cursor{list: foundList})
	if err != nil || text == "" {
		return at, err
	}
	if len(c.id) < 8 {
		return at, ErrCursor
	}
	return finding.Position{Rank: int(c.n), Updated: int64(binary.BigEndian.Uint64([]byte(c.id[:8]))), ID: c.id[8:]}, nil
}

// folderList returns folders for a comparison with json_each, nil (NULL) for all.
func folderList(folders []string) (any, error) {
	if folders == nil {
		return nil, nil
	}
	return asJSON(folders)
}

// PhraseQuery is the input of Text.
type PhraseQuery struct {
	Session string
	Text    string // see fulltext.Phrase; at most MaxPhrase bytes
	After   int64  // only messages with sequence numbers above it
	Limit   int    // number of places with which a page ends; default 50, at most MaxPlaces
}

const (
	// MaxPhrase is the maximum length of a text to find, in bytes.
	MaxPhrase = fulltext.PhraseBytes
	// MaxPlaces is the maximum number of places with which a page of Text ends.
	MaxPlaces = 1000
)

// Place is where a text was found.
type Place = finding.Place

// Text returns the places of a text in a session, oldest first, see finding.Text. next is the number for After of the next
// page, 0 after the last.
func (f Finder) Text(ctx context.Context, q PhraseQuery) (places []Place, next int64, err error) {
	limit := min(cmp.Or(q.Limit, defaultLimit), MaxPlaces)
	err = f.store.view(ctx, "find", func(tx *sql.Tx) error {
		places, next, err = finding.Text(ctx, tx, q.Session, fulltext.NewPhrase(q.Text), q.After, limit)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("find in session %s: %w", q.Session, err)
	}
	return places, next, nil
}
