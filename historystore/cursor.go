package historystore

import (
	"encoding/base64"
	"encoding/binary"
)

// A cursor says where the next page of a list begins: behind the row with this number and id.
type cursor struct {
	list byte // which list it comes from
	n    int64
	id   string
}

// The lists that have cursors.
const (
	sessionList byte = 's'
	callList    byte = 'c'
	newestCalls byte = 'n'
	hitList     byte = 'h'
)

func (c cursor) encode() string {
	raw := binary.AppendVarint([]byte{c.list}, c.n)
	return base64.RawURLEncoding.EncodeToString(append(raw, c.id...))
}

// decodeCursor reads a cursor of the given list, or returns ErrCursor. An empty text is the given start.
func decodeCursor(text string, start cursor) (cursor, error) {
	if text == "" {
		return start, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) == 0 || raw[0] != start.list {
		return cursor{}, ErrCursor
	}
	n, size := binary.Varint(raw[1:])
	if size <= 0 {
		return cursor{}, ErrCursor
	}
	return cursor{start.list, n, string(raw[1+size:])}, nil
}

// The lengths of pages.
const (
	defaultLimit = 50
	maxLimit     = 500
)

// pageLimit returns how many rows a page gets when a caller asks for n.
func pageLimit(n int) int {
	if n <= 0 {
		return defaultLimit
	}
	return min(n, maxLimit)
}

// page cuts rows, of which one more than limit was read, and returns the cursor behind the last that stays.
func page[T any](rows []T, limit int, at func(T) cursor) (cut []T, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], at(rows[limit-1]).encode()
}
