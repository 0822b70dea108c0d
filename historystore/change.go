package historystore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"strata/history"
)

// Commit stores a change atomically and returns when it is on disk. Concurrent changes share one fsync; each can fail
// alone. On error nothing was stored. The error is history.ErrNotFound if the session or turn does not exist,
// ErrDuplicate if an id, sequence number or prompt id is in use, and ErrBusy or ErrFull if a retry may succeed. A
// deleted or hidden session accepts changes until its purge starts.
//
// The end of a turn updates the session's UpdatedAt. Times are stored in UTC with microseconds. A record that a change
// both drops and puts is kept. A blob is kept until a layout of its session with KeepBlobs omits it or the session is
// purged, and longer if another session refers to it. KeepBlobs may name blobs put by other sessions; unknown hashes are
// ignored.
func (s *Store) Commit(ctx context.Context, ch history.Change) error {
	_, _, since := s.messages.lookup(nil)
	p, err := prepare(&ch)
	if err == nil {
		err = s.write(ctx, "commit", kinds(&ch), p.apply)
	}
	if err != nil {
		return fmt.Errorf("store change of session %s: %w", ch.Session, err)
	}
	if len(p.gone) > 0 {
		s.blobs.drop(p.gone)
	}
	s.keepFresh(p, since)
	return nil
}

// freshMessages is the maximum number of messages in a change that is cached. Larger changes are imports, which may
// never be read.
const freshMessages = 4

// keepFresh adds stored messages to the cache, because the next request contains them. It decodes the stored bytes, so
// that the messages equal the result of a query and share no memory with the caller.
func (s *Store) keepFresh(p *prepared, since int) {
	if len(p.messages) > freshMessages {
		return
	}
	for i := range p.messages {
		row := &p.messages[i]
		if m, err := row.decode(); err == nil {
			s.messages.put(messageKey{p.Session, row.Seq}, m, len(row.body), since)
		}
	}
}

// prepared is an encoded change, ready for the writer.
type prepared struct {
	*history.Change
	messages  []messageRow
	edits     []string // bodies of Edits
	documents []string // bodies of PutDocuments
	kept      string   // KeepBlobs as JSON; empty if all blobs are kept
	gone      []string // hashes of the blobs that apply deleted
}

// messageRow is a row of the table message.
type messageRow struct {
	history.Head
	body     []byte
	checksum uint32
	text     string
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

// prepare validates and encodes a change. It checks only conditions that the schema does not enforce.
func prepare(ch *history.Change) (*prepared, error) {
	if ch.Session == "" {
		return nil, errors.New("change without session id")
	}
	if ch.Create != nil && ch.Create.ID != ch.Session {
		return nil, fmt.Errorf("change creates session %s", ch.Create.ID)
	}
	p := &prepared{Change: ch}
	if err := cmp.Or(
		encodeAll(&p.messages, ch.Messages, encodeMessage),
		encodeAll(&p.edits, ch.Edits, encodeEdit),
		encodeAll(&p.documents, ch.PutDocuments, encodeDocument),
		p.prepareBlobs(),
	); err != nil {
		return nil, err
	}
	return p, nil
}

// encodeAll appends the encoding of each record to rows.
func encodeAll[R, T any](rows *[]R, records []T, encode func(T) (R, error)) error {
	for _, record := range records {
		row, err := encode(record)
		if err != nil {
			return err
		}
		*rows = append(*rows, row)
	}
	return nil
}

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

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// apply writes the parts of the change, referenced rows first.
func (p *prepared) apply(tx *writeTx) error {
	for _, part := range []func(*writeTx) error{
		p.session, p.begin, p.insertMessages, p.insertEdits, p.partial, p.end, p.insertCalls,
		p.putFiles, p.putDocuments, p.putCheckpoints, p.putCompaction, p.layout, p.putBlobs, p.calibration,
	} {
		if err := part(tx); err != nil {
			return err
		}
	}
	return nil
}

// session creates the session or checks that it exists, and updates it. A session that is both hidden and deleted is
// being purged and does not count as existing.
func (p *prepared) session(tx *writeTx) error {
	if p.Create != nil {
		if err := insertSession(tx, p.Create); err != nil {
			return err
		}
	}
	if _, err := first(background, tx, scanOne[int],
		"SELECT 1 FROM session WHERE id = ? AND (hidden = 0 OR deleted_at IS NULL)", p.Session); err != nil {
		return err
	}
	if p.Update != nil {
		return updateSession(tx, p.Session, p.Update)
	}
	return nil
}

func insertSession(tx *writeTx, s *history.Session) error {
	roots, config, err := sessionJSON(s)
	if err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.CWD, roots, s.Title, s.TitleByUser, config, micros(s.CreatedAt), micros(s.UpdatedAt), s.Hidden)
	return err
}

func updateSession(tx *writeTx, id string, s *history.Session) error {
	roots, config, err := sessionJSON(s)
	if err != nil {
		return err
	}
	return tx.must("UPDATE session SET roots = ?, title = ?, title_by_user = ?, config = ?, updated_at = ? WHERE id = ?",
		roots, s.Title, s.TitleByUser, config, micros(s.UpdatedAt), id)
}

func sessionJSON(s *history.Session) (roots, config string, err error) {
	if roots, err = asJSON(s.Roots); err != nil {
		return "", "", err
	}
	config, err = asJSON(s.Config)
	return roots, config, err
}

func (p *prepared) begin(tx *writeTx) error {
	t := p.Begin
	if t == nil {
		return nil
	}
	failure, err := failureJSON(t.Failure)
	if err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO turn (session, id, prompt_id, user_id, reply_id, status, stop_reason, failure,
		input, output, cache_read, cache_write, cost, started_at, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.Session, t.ID, orNull(t.PromptID), t.UserID, t.ReplyID, t.Status, t.StopReason, failure,
		t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Cost, micros(t.StartedAt), micros(t.EndedAt))
	return err
}

func failureJSON(f *history.Failure) (any, error) {
	if f == nil {
		return nil, nil
	}
	return asJSON(f)
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

// partial inserts a chunk of a running turn. It refuses a chunk of any other turn, which would never be deleted.
func (p *prepared) partial(tx *writeTx) error {
	part := p.Partial
	if part == nil {
		return nil
	}
	if err := tx.must(`INSERT INTO partial (session, turn, n, kind, text)
		SELECT session, id, ?, ?, ? FROM turn WHERE session = ? AND id = ? AND status = ?`,
		part.N, part.Kind, part.Text, p.Session, part.Turn, history.TurnRunning); err != nil {
		return fmt.Errorf("running turn %s: %w", part.Turn, err)
	}
	return nil
}

func (p *prepared) end(tx *writeTx) error {
	t := p.End
	if t == nil {
		return nil
	}
	failure, err := failureJSON(t.Failure)
	if err != nil {
		return err
	}
	if err := tx.must(`UPDATE turn SET status = ?, stop_reason = ?, failure = ?,
		input = ?, output = ?, cache_read = ?, cache_write = ?, cost = ?, ended_at = ? WHERE session = ? AND id = ?`,
		t.Status, t.StopReason, failure,
		t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Cost, micros(t.EndedAt), p.Session, t.ID); err != nil {
		return fmt.Errorf("turn %s: %w", t.ID, err)
	}
	if _, err := tx.exec("UPDATE session SET updated_at = max(updated_at, ?) WHERE id = ?", micros(t.EndedAt), p.Session); err != nil {
		return err
	}
	_, err = tx.exec("DELETE FROM partial WHERE session = ? AND turn = ?", p.Session, t.ID)
	return err
}

func (p *prepared) insertCalls(tx *writeTx) error {
	for i := range p.Calls {
		c := &p.Calls[i]
		categories, err := asJSON(c.Categories)
		if err != nil {
			return err
		}
		documents, err := asJSON(c.Documents)
		if err != nil {
			return err
		}
		if _, err := tx.exec(`INSERT INTO usage (session, id, turn, purpose, model, input, output, cache_read, cache_write, cost, estimated, expected, categories, documents, phase, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			p.Session, c.ID, c.Turn, c.Purpose, c.Model,
			c.Usage.Input, c.Usage.Output, c.Usage.CacheRead, c.Usage.CacheWrite, c.Cost, c.Estimated, c.Expected, categories, documents, c.Phase, micros(c.At)); err != nil {
			return err
		}
	}
	return nil
}

// putFiles deletes first, so that a file in both lists is kept.
func (p *prepared) putFiles(tx *writeTx) error {
	for _, path := range p.DropFiles {
		if _, err := tx.exec("DELETE FROM file WHERE session = ? AND path = ?", p.Session, path); err != nil {
			return err
		}
	}
	for i := range p.PutFiles {
		f := &p.PutFiles[i]
		if _, err := tx.exec("INSERT OR REPLACE INTO file (session, path, state, buffer) VALUES (?, ?, ?, ?)",
			p.Session, f.Path, notNil(f.State), f.Buffer); err != nil {
			return err
		}
	}
	return nil
}

func (p *prepared) layout(tx *writeTx) error {
	if p.Layout == nil {
		return nil
	}
	_, err := tx.exec("INSERT OR REPLACE INTO layout (session, bytes) VALUES (?, ?)", p.Session, p.Layout)
	return err
}

func (p *prepared) calibration(tx *writeTx) error {
	c := p.Calibration
	if c == nil {
		return nil
	}
	_, err := tx.exec("INSERT OR REPLACE INTO calibration (model, ratio, weight) VALUES (?, ?, ?)", c.Model, c.Ratio, c.Weight)
	return err
}
