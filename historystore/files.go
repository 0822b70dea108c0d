package historystore

import "strata/history"

// putFiles deletes first, so that a file in both lists is kept.
func (p *prepared) putFiles(tx *writeTx) error {
	for _, path := range p.DropFiles {
		if _, err := tx.exec("DELETE FROM file WHERE session = ? AND path = ?", p.Session, path); err != nil {
			return err
		}
	}
	for i := range p.PutFiles {
		f := &p.PutFiles[i]
		if _, err := tx.exec(`INSERT INTO file (session, path, state, buffer) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET state = excluded.state, buffer = excluded.buffer`,
			p.Session, f.Path, notNil(f.State), f.Buffer); err != nil {
			return err
		}
	}
	return nil
}

func scanFile(row scanner) (f history.File, err error) {
	var unsaved bool
	err = row.Scan(&f.Path, (*[]byte)(&f.State), &f.Buffer, &unsaved)
	if unsaved {
		f.Buffer = notNil(f.Buffer) // the driver returns nil for an empty blob
	}
	return f, err
}
