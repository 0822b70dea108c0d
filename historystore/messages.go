package historystore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"

	"strata/history"
)

// Messages returns the messages with the given sequence numbers, in the given order. Callers share the messages and must
// not modify them. A damaged message has StatusDamaged, no blocks, and its other fields from the columns. The error is
// history.ErrNotFound if a message does not exist.
func (s *Store) Messages(ctx context.Context, session string, seqs []int64) ([]history.Message, error) {
	keys := make([]messageKey, len(seqs))
	for i, seq := range seqs {
		keys[i] = messageKey{session, seq}
	}
	found, missing, since := s.messages.lookup(keys)
	if len(missing) > 0 {
		if err := s.readMessages(ctx, session, missing, since, found); err != nil {
			return nil, fmt.Errorf("read messages of session %s: %w", session, err)
		}
	}
	ordered := make([]history.Message, len(seqs))
	for i, key := range keys {
		m, ok := found[key]
		if !ok {
			return nil, fmt.Errorf("message %d of session %s: %w", key.seq, session, history.ErrNotFound)
		}
		ordered[i] = m
	}
	return ordered, nil
}

// readMessages reads messages from the database and adds them to found, and those that are not damaged to the cache.
func (s *Store) readMessages(ctx context.Context, session string, keys []messageKey, since int, found map[messageKey]history.Message) error {
	where, args, err := selection(session, keys)
	if err != nil {
		return err
	}
	return s.view(ctx, "messages", func(tx *sql.Tx) error {
		damaged, err := s.readBodies(ctx, tx, session, where, args, since, found)
		if err != nil {
			return err
		}
		for _, seq := range damaged {
			h, err := first(ctx, tx, scanHead, "SELECT "+headColumns+" FROM message WHERE session = ? AND seq = ?", session, seq)
			if err != nil {
				return err
			}
			found[messageKey{session, seq}] = history.Message{
				ID: h.ID, Seq: h.Seq, Turn: h.Turn, Role: h.Role, Tokens: h.Tokens, At: h.At, Status: history.StatusDamaged,
			}
		}
		return nil
	})
}

// selection returns the condition for messages of a session: a range if their sequence numbers ascend and are close
// together, so that SQLite follows the index instead of looking up each of them; else their list.
func selection(session string, keys []messageKey) (where string, args []any, err error) {
	const spread = 2 // at most so many times the wanted rows are read
	from, to := keys[0].seq, keys[len(keys)-1].seq
	ascending := slices.IsSortedFunc(keys, func(a, b messageKey) int { return cmp.Compare(a.seq, b.seq) })
	if ascending && to-from < int64(spread*len(keys)) {
		return "session = ? AND seq BETWEEN ? AND ?", []any{session, from, to}, nil
	}
	seqs := make([]int64, len(keys))
	for i, key := range keys {
		seqs[i] = key.seq
	}
	wanted, err := asJSON(seqs)
	return "session = ? AND seq IN (SELECT value FROM json_each(?))", []any{session, wanted}, err
}

// readBodies adds the selected messages to found and to the cache. It returns the sequence numbers of the damaged ones.
func (s *Store) readBodies(
	ctx context.Context, tx *sql.Tx, session, where string, args []any, since int, found map[messageKey]history.Message,
) (damaged []int64, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, seq, checksum, body FROM message WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r messageRow
		var body sql.RawBytes // valid until the next row: decode copies what it keeps
		if err := rows.Scan(&r.ID, &r.Seq, &r.checksum, &body); err != nil {
			return nil, err
		}
		r.body = body
		m, err := r.decode()
		if err != nil {
			s.opt.Log.Error("damaged message", "session", session, "id", r.ID, "err", err)
			damaged = append(damaged, r.Seq)
			continue
		}
		key := messageKey{session, r.Seq}
		s.messages.put(key, m, len(body), since)
		found[key] = m
	}
	return damaged, rows.Err()
}

// decode returns the message in the body of r, or an error if it is damaged.
func (r *messageRow) decode() (m history.Message, err error) {
	err = json.Unmarshal(r.body, &m)
	switch {
	case err != nil:
	case checksum(r.body) != r.checksum:
		err = fmt.Errorf("checksum differs")
	case m.ID != r.ID || m.Seq != r.Seq:
		err = fmt.Errorf("content belongs to message %s", m.ID)
	default:
		return m, nil
	}
	return history.Message{}, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

func encodeMessage(m history.Message) (messageRow, error) {
	if m.ID == "" || m.Seq < 1 || !m.Role.Valid() {
		return messageRow{}, fmt.Errorf("message %q with sequence number %d and role %q", m.ID, m.Seq, m.Role)
	}
	m.At = fromMicros(micros(m.At))
	body, err := json.Marshal(m)
	if err != nil {
		return messageRow{}, fmt.Errorf("message %s: %w", m.ID, err)
	}
	return messageRow{m.Head(len(body)), body, checksum(body), searchable(m.PlainText())}, nil
}

func (p *prepared) insertMessages(tx *writeTx) error {
	for i := range p.messages {
		m := &p.messages[i]
		if _, err := tx.exec(`INSERT INTO message (session, seq, id, turn, role, status, tokens, bytes, blocks, has_calls, at, checksum, body, text)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			p.Session, m.Seq, m.ID, m.Turn, m.Role, m.Status, m.Tokens, m.Bytes, m.Blocks, m.HasCalls, micros(m.At), m.checksum, m.body, m.text); err != nil {
			return err
		}
	}
	if len(p.messages) == 0 {
		return nil
	}
	return tx.must("UPDATE session SET messages = messages + ? WHERE id = ?", len(p.messages), p.Session)
}

const headColumns = "id, seq, turn, role, status, tokens, bytes, blocks, has_calls, at"

func scanHead(row scanner) (h history.Head, err error) {
	var at int64
	err = row.Scan(&h.ID, &h.Seq, &h.Turn, &h.Role, &h.Status, &h.Tokens, &h.Bytes, &h.Blocks, &h.HasCalls, &at)
	h.At = fromMicros(at)
	return h, err
}

// Taken are ids and sequence numbers of a session that are taken already.
type Taken struct {
	Messages, Edits, Calls map[string]bool // by id
	Seqs                   map[int64]bool  // of messages and edits
}

// Taken returns those of the given ids and sequence numbers that a session has already. The session may be hidden.
func (s *Store) Taken(ctx context.Context, session string, ids []string, seqs []int64) (taken Taken, err error) {
	idList, err := asJSON(ids)
	if err != nil {
		return taken, err
	}
	seqList, err := asJSON(seqs)
	if err != nil {
		return taken, err
	}
	err = s.view(ctx, "taken", func(tx *sql.Tx) error {
		for table, into := range map[string]*map[string]bool{"message": &taken.Messages, "edit": &taken.Edits, "usage": &taken.Calls} {
			found, err := collect(ctx, tx, scanOne[string],
				"SELECT id FROM "+table+" WHERE session = ? AND id IN (SELECT value FROM json_each(?))", session, idList)
			if err != nil {
				return err
			}
			*into = setOf(found)
		}
		found, err := collect(ctx, tx, scanOne[int64], `SELECT seq FROM message WHERE session = ?1 AND seq IN (SELECT value FROM json_each(?2))
			UNION SELECT seq FROM edit WHERE session = ?1 AND seq IN (SELECT value FROM json_each(?2))`, session, seqList)
		taken.Seqs = setOf(found)
		return err
	})
	if err != nil {
		return taken, fmt.Errorf("session %s: %w", session, err)
	}
	return taken, nil
}

func setOf[K comparable](all []K) map[K]bool {
	set := make(map[K]bool, len(all))
	for _, k := range all {
		set[k] = true
	}
	return set
}
