package historystore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"strata/history"
	"strata/historystore/blobs"
	"strata/historystore/body"
)

// Commit stores a change atomically and returns when it is on disk. Concurrent changes share one fsync; each can fail
// alone. The error is history.ErrNotFound if the session or turn does not exist, ErrDuplicate if an id, sequence number or
// prompt id is in use, and ErrBusy or ErrFull if a retry may succeed. After an error that is history.ErrUnchanged nothing
// is stored; after any other the change can be committed again, which succeeds without effect if it was stored. A deleted
// or hidden session accepts changes until its purge starts.
//
// The end of a turn updates the session's UpdatedAt. A chunk of a reply whose message is stored is not stored; that is no
// error. Times are stored in UTC with microseconds. A record that a change
// both drops and puts is kept. A blob is kept until a layout of its session with KeepBlobs omits it or the session is
// purged, and longer if another session or a file change refers to it. KeepBlobs may name blobs put by other sessions; unknown hashes are
// ignored.
//
// A file change with the id of a stored one replaces its state, its content afterwards, its mode and RestoredBy; the error is
// ErrDuplicate if it differs in anything else. Its contents are kept as images if they are in FileImages or stored already,
// by any session. A session has images of at most MaxFileImageBytes: those whose newest change is the oldest are deleted
// first. A request that is too large to be kept is not stored; that is no error.
func (s *Store) Commit(ctx context.Context, ch history.Change) error {
	_, since := s.messages.Lookup(nil, nil)
	p, err := prepare(&ch)
	if err == nil {
		p.images, p.requests = s.opt.imageBytes, s.bases.Rows(ch.Session, ch.Requests)
		err = s.write(ctx, "commit", kinds(&ch), p.write)
	}
	if errors.Is(err, errAgain) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store change of session %s: %w", ch.Session, err)
	}
	s.bases.Keep(p.Session, p.requests)
	if len(p.gone) > 0 {
		s.blobs.Drop(p.gone)
	}
	s.writer.heads.Stored(ch.Session, len(ch.Messages))
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
	var decoder body.Decoder
	for i := range p.messages {
		row := &p.messages[i]
		if m, err := decoder.Decode(string(row.body), row.checksum, row.ID, row.Seq); err == nil {
			s.messages.Put(messageKey{p.Session, row.Seq}, m, len(row.body), since)
		}
	}
}

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
		blobs.Check(ch.Blobs),
		blobs.CheckFiles(ch),
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

// apply writes the parts of the change, referenced rows first.
func (p *prepared) apply(tx *writeTx) error {
	for _, part := range []func(*writeTx) error{
		p.session, p.begin, p.insertMessages, p.insertEdits, p.dropPartials, p.partial, p.end, p.insertCalls, p.insertRequests,
		p.putFiles, p.putDocuments, p.putCheckpoints, p.putCompaction, p.layout, p.putBlobs, p.putFileChanges, p.calibration,
	} {
		if err := part(tx); err != nil {
			return err
		}
	}
	return nil
}

// errAgain is returned by write if all of the change is stored already.
var errAgain = errors.New("the change is stored already")

// write writes the change. If it was written before, by a commit whose result the caller did not receive, it writes nothing
// and returns errAgain.
func (p *prepared) write(tx *writeTx) error {
	err := p.apply(tx)
	if !isDuplicate(err) {
		return err
	}
	stored, lookup := p.stored(tx)
	switch {
	case lookup != nil:
		return lookup
	case stored:
		return errAgain
	}
	return err
}

// isDuplicate reports whether a row with the same key exists.
func isDuplicate(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_TRIGGER:
		return true
	}
	return false
}
