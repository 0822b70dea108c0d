package historystore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"strata/history"
	"strata/historystore/body"
	"strata/historystore/fulltext"
	"strata/historystore/heads"
)

type messageKey struct {
	session string
	seq     int64
}

// Messages returns the messages with the given sequence numbers, in the given order. Callers share the messages and must
// not modify them. A damaged message has StatusDamaged, no blocks, and its other fields from the columns. The error is
// history.ErrNotFound if a message does not exist.
func (s *Store) Messages(ctx context.Context, session string, seqs []int64) ([]history.Message, error) {
	keys := make([]messageKey, len(seqs))
	for i, seq := range seqs {
		keys[i] = messageKey{session, seq}
	}
	messages := make([]history.Message, len(seqs))
	missing, since := s.messages.Lookup(keys, messages)
	if len(missing) == 0 {
		return messages, nil
	}
	read := reading{session: session, since: since, messages: messages, at: make(map[int64]int, len(missing))}
	for _, i := range missing {
		read.at[seqs[i]] = i
	}
	if err := s.readMessages(ctx, &read, slices.Sorted(maps.Keys(read.at))); err != nil {
		return nil, fmt.Errorf("read messages of session %s: %w", session, err)
	}
	for _, i := range missing {
		if messages[i] = messages[read.at[seqs[i]]]; messages[i].ID == "" {
			return nil, fmt.Errorf("message %d of session %s: %w", seqs[i], session, history.ErrNotFound)
		}
	}
	return messages, nil
}

// reading is the messages of a session that are being read.
type reading struct {
	session  string
	since    int               // see cache.Cache.Lookup
	messages []history.Message // zero until they are read
	at       map[int64]int     // index in messages by sequence number
	decoder  body.Decoder
}

// readMessages reads messages from the database, and adds those that are not damaged to the cache.
func (s *Store) readMessages(ctx context.Context, read *reading, seqs []int64) error {
	where, args, err := selection(read.session, seqs)
	if err != nil {
		return err
	}
	return s.view(ctx, "messages", func(tx *sql.Tx) error {
		damaged, err := s.readBodies(ctx, tx, read, where, args)
		if err != nil {
			return err
		}
		for _, seq := range damaged {
			h, err := first(ctx, tx, heads.Scanner(), "SELECT "+heads.Columns+" FROM message WHERE session = ? AND seq = ?", read.session, seq)
			if err != nil {
				return err
			}
			read.messages[read.at[seq]] = history.Message{
				ID: h.ID, Seq: h.Seq, Turn: h.Turn, Role: h.Role, Tokens: h.Tokens, At: h.At, Status: history.StatusDamaged,
			}
		}
		return nil
	})
}

// selection returns the condition for messages of a session: a range if their sequence numbers, which ascend, are close
// together, so that SQLite follows the index instead of looking up each of them; else their list.
func selection(session string, seqs []int64) (where string, args []any, err error) {
	const spread = 2 // at most so many times the wanted rows are read
	from, to := seqs[0], seqs[len(seqs)-1]
	if to-from < int64(spread*len(seqs)) {
		return "session = ? AND seq BETWEEN ? AND ?", []any{session, from, to}, nil
	}
	wanted, err := asJSON(seqs)
	return "session = ? AND seq IN (SELECT value FROM json_each(?))", []any{session, wanted}, err
}

// readBodies reads the selected messages. It returns the sequence numbers of the damaged ones. The bodies are read as text,
// because strings are immutable: messages share their memory.
func (s *Store) readBodies(ctx context.Context, tx *sql.Tx, read *reading, where string, args []any) (damaged []int64, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, seq, checksum, CAST(body AS TEXT) FROM message WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var id, text string
	var seq, sum int64
	for rows.Next() {
		if err := rows.Scan(&id, &seq, &sum, &text); err != nil {
			return nil, err
		}
		i, wanted := read.at[seq]
		if !wanted {
			continue
		}
		m, err := read.decoder.Decode(text, sum, id, seq)
		if err != nil {
			s.opt.Log.Error("damaged message", "session", read.session, "id", id, "err", err)
			damaged = append(damaged, seq)
			continue
		}
		s.messages.Put(messageKey{read.session, seq}, m, len(text), read.since)
		read.messages[i] = m
	}
	return damaged, rows.Err()
}

func encodeMessage(m history.Message) (messageRow, error) {
	if m.ID == "" || m.Seq < 1 || !m.Role.Valid() {
		return messageRow{}, fmt.Errorf("message %q with sequence number %d and role %q", m.ID, m.Seq, m.Role)
	}
	m.At = fromMicros(micros(m.At))
	bytes, checksum, err := body.Encode(&m)
	if err != nil {
		return messageRow{}, fmt.Errorf("message %s: %w", m.ID, err)
	}
	return messageRow{m.Head(len(bytes)), bytes, checksum, fulltext.Searchable(m.PlainText())}, nil
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
