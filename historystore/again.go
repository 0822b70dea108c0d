package historystore

import "errors"

// stored reports whether every row that the change inserts exists with the same content, and whether its turn has ended
// in the same way. What a change replaces or deletes needs no look: doing it again changes nothing.
func (p *prepared) stored(tx *writeTx) (bool, error) {
	all := true
	exists := func(query string, args ...any) error {
		found, err := collect(background, tx, scanOne[int], query, args...)
		all = all && len(found) > 0
		return err
	}
	var errs []error
	if s := p.Create; s != nil {
		errs = append(errs, exists("SELECT 1 FROM session WHERE id = ? AND cwd = ? AND created_at = ?", s.ID, s.CWD, micros(s.CreatedAt)))
	}
	if t := p.Begin; t != nil {
		errs = append(errs, exists("SELECT 1 FROM turn WHERE session = ? AND id = ? AND user_id = ? AND reply_id = ?", p.Session, t.ID, t.UserID, t.ReplyID))
	}
	if t := p.End; t != nil {
		errs = append(errs, exists("SELECT 1 FROM turn WHERE session = ? AND id = ? AND status = ? AND reply_id = coalesce(nullif(?, ''), reply_id)",
			p.Session, t.ID, t.Status, t.ReplyID))
	}
	if c := p.Partial; c != nil {
		errs = append(errs, exists("SELECT 1 FROM partial WHERE session = ? AND turn = ? AND n = ? AND kind = ? AND text = ? AND message = ?",
			p.Session, c.Turn, c.N, c.Kind, c.Text, c.Message))
	}
	for i := range p.messages {
		m := &p.messages[i]
		errs = append(errs, exists("SELECT 1 FROM message WHERE session = ? AND id = ? AND seq = ? AND body = ?", p.Session, m.ID, m.Seq, m.body))
	}
	for i := range p.Edits {
		e := &p.Edits[i]
		errs = append(errs, exists("SELECT 1 FROM edit WHERE session = ? AND id = ? AND seq = ? AND body = ?", p.Session, e.ID, e.Seq, p.edits[i]))
	}
	for i := range p.Calls {
		errs = append(errs, exists("SELECT 1 FROM usage WHERE session = ? AND id = ?", p.Session, p.Calls[i].ID))
	}
	return all, errors.Join(errs...)
}
