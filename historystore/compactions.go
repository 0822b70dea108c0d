package historystore

import (
	"fmt"

	"strata/history"
)

func (p *prepared) putCompaction(tx *writeTx) error {
	c := p.Compaction
	if c == nil {
		return nil
	}
	whole := *c
	whole.At = fromMicros(micros(c.At))
	body, err := asJSON(whole)
	if err != nil {
		return fmt.Errorf("compaction %s: %w", c.ID, err)
	}
	_, err = tx.exec("INSERT INTO compaction (session, body) VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body", p.Session, body)
	return err
}

// scanCompaction returns nil if the body is damaged; the next compaction replaces it.
func (s *Store) scanCompaction(row scanner) (c *history.Compaction, err error) {
	var body string
	if err := row.Scan(&body); err != nil {
		return nil, err
	}
	s.decode("compaction", "", body, &c)
	return c, nil
}
