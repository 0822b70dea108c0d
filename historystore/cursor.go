package historystore

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// cursor is a position in a list: the next page starts after the row with this number and id.
type cursor struct {
	list byte // the list to which it belongs
	n    int64
	id   string
}

// The lists with cursors.
const (
	sessionList byte = 's'
	callList    byte = 'c'
	newestCalls byte = 'n'
	hitList     byte = 'h'
	foundList   byte = 'f'
	deletedList byte = 'd'
)

func (c cursor) encode() string {
	raw := binary.AppendVarint([]byte{c.list}, c.n)
	return base64.RawURLEncoding.EncodeToString(append(raw, c.id...))
}

// decodeCursor decodes a cursor of the same list as start. It returns start for an empty text and ErrCursor for an
// invalid one.
func decodeCursor(text string, start cursor) (cursor, error) {
	if text == "" {
		return start, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	skipped := strings.ContainsAny(text, "\r\n") // by the base64 decoder
	if err != nil || skipped || len(raw) == 0 || raw[0] != start.list {
		return cursor{}, ErrCursor
	}
	n, size := binary.Varint(raw[1:])
	if size <= 0 {
		return cursor{}, ErrCursor
	}
	return cursor{start.list, n, string(raw[1+size:])}, nil
}

// Page lengths, in rows.
const (
	defaultLimit = 50
	maxLimit     = 500
)

// pageLimit returns the page length for a requested length n.
func pageLimit(n int) int {
	if n <= 0 {
		return defaultLimit
	}
	return min(n, maxLimit)
}

// page returns the first limit rows and the cursor after them, or all rows and no cursor if there are no more than
// limit. The caller must read limit+1 rows.
func page[T any](rows []T, limit int, at func(T) cursor) (first []T, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], at(rows[limit-1]).encode()
}
