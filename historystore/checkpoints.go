package historystore

import (
	"strata/history"
)

// putCheckpoints deletes first, so that a checkpoint in both lists is kept.
func (p *prepared) putCheckpoints(tx *writeTx) error {
	for _, id := range p.DropCheckpoints {
		if _, err := tx.exec("DELETE FROM checkpoint WHERE session = ? AND id = ?", p.Session, id); err != nil {
			return err
		}
	}
	for i := range p.PutCheckpoints {
		c := &p.PutCheckpoints[i]
		if _, err := tx.exec("INSERT OR REPLACE INTO checkpoint (session, id, seq, name, at) VALUES (?, ?, ?, ?, ?)",
			p.Session, c.ID, c.Seq, c.Name, micros(c.At)); err != nil {
			return err
		}
	}
	return nil
}

func scanCheckpoint(row scanner) (c history.Checkpoint, err error) {
	var at int64
	err = row.Scan(&c.ID, &c.Seq, &c.Name, &at)
	c.At = fromMicros(at)
	return c, err
}
