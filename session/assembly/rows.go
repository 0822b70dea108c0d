package assembly

import (
	"bytes"

	"strata/history"
)

// storedRows is what the store has of the rows of a layout.
type storedRows struct {
	rows   [][]byte     // as they were sent to the store last
	unsure map[int]bool // numbers of those of which it is not known whether they are stored
}

// change returns what turns the stored layout into one with this head and these rows.
func (s *storedRows) change(head []byte, rows [][]byte) *history.LayoutChange {
	c := &history.LayoutChange{Head: head, Len: len(rows)}
	if s.unsure == nil {
		s.unsure = make(map[int]bool)
	}
	for n, row := range rows {
		if n >= len(s.rows) || s.unsure[n] || !bytes.Equal(s.rows[n], row) {
			s.unsure[n] = true
			c.Rows = append(c.Rows, history.LayoutRow{N: n, Bytes: row})
		}
	}
	s.rows = rows
	return c
}

// confirm notes that the newest change is stored.
func (s *storedRows) confirm() { clear(s.unsure) }
