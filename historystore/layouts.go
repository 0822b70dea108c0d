package historystore

import (
	"context"
	"database/sql"

	"strata/history"
)

// layout writes the head of a layout and the rows that have changed.
func (p *prepared) layout(tx *writeTx) error {
	l := p.Layout
	if l == nil {
		return nil
	}
	if _, err := tx.exec(`INSERT INTO layout (session, bytes) VALUES (?, ?)
		ON CONFLICT DO UPDATE SET bytes = excluded.bytes`, p.Session, notNil(l.Head)); err != nil {
		return err
	}
	if _, err := tx.exec("DELETE FROM layout_row WHERE session = ? AND n >= ?", p.Session, l.Len); err != nil {
		return err
	}
	for _, row := range l.Rows {
		if _, err := tx.exec(`INSERT INTO layout_row (session, n, bytes) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET bytes = excluded.bytes`, p.Session, row.N, notNil(row.Bytes)); err != nil {
			return err
		}
	}
	return nil
}

// loadLayout returns the layout of a session, zero if it has none. A missing row is omitted: the head tells how many there
// are.
func loadLayout(ctx context.Context, tx *sql.Tx, session string) (l history.Layout, err error) {
	l.Head, err = optional(first(ctx, tx, scanBytes, "SELECT bytes FROM layout WHERE session = ?", session))
	if err != nil || l.Head == nil {
		return history.Layout{}, err
	}
	l.Rows, err = collect(ctx, tx, scanBytes, "SELECT bytes FROM layout_row WHERE session = ? ORDER BY n", session)
	return l, err
}

func scanBytes(row scanner) (bytes []byte, err error) {
	err = row.Scan(&bytes)
	return notNil(bytes), err
}
