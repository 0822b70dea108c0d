package historystore

import (
	"fmt"

	"strata/history"
)

// encodeEdit validates an edit and returns its encoding.
func encodeEdit(e history.Edit) (body string, err error) {
	if e.ID == "" || e.Seq < 1 {
		return "", fmt.Errorf("invalid edit %q with sequence number %d", e.ID, e.Seq)
	}
	e.At = fromMicros(micros(e.At))
	if body, err = asJSON(e); err != nil {
		return "", fmt.Errorf("edit %s: %w", e.ID, err)
	}
	return body, nil
}

func (p *prepared) insertEdits(tx *writeTx) error {
	for i := range p.Edits {
		e := &p.Edits[i]
		if _, err := tx.exec("INSERT INTO edit (session, seq, id, kind, at, body) VALUES (?, ?, ?, ?, ?, ?)",
			p.Session, e.Seq, e.ID, e.Kind, micros(e.At), p.edits[i]); err != nil {
			return err
		}
	}
	return nil
}

// scanEdit reads an edit. If the body is damaged it returns the columns only: the edit keeps its position in the sequence,
// and a clear, which has no other content, keeps its effect.
func (s *Store) scanEdit(row scanner) (history.Edit, error) {
	var columns history.Edit
	var at int64
	var body string
	if err := row.Scan(&columns.Seq, &columns.ID, &columns.Kind, &at, &body); err != nil {
		return history.Edit{}, err
	}
	columns.At = fromMicros(at)
	return decodeWhole(s, "edit", columns.ID, body, columns, func(e history.Edit) bool {
		return e.ID == columns.ID && e.Seq == columns.Seq && e.Kind == columns.Kind
	}), nil
}
