package historystore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"strata/history"
	"strata/historystore/requests"
)

// The usual limits of RequestStore.Purge.
const (
	RequestRetention = 30 * 24 * time.Hour
	MaxRequestBytes  = 64 << 20
)

// RequestStore is the part of a Store that has the requests of calls.
type RequestStore struct{ store *Store }

// RequestStore returns the kept requests of s.
func (s *Store) RequestStore() RequestStore { return RequestStore{s} }

// KeptRequest is a call with its request.
type KeptRequest struct {
	Call    history.Call
	Request *history.Request // nil: it is not kept
}

// Of returns a call of a session with its request. The error is history.ErrNotFound if the session or the call does not exist,
// and ErrRequest if the request is damaged.
func (r RequestStore) Of(ctx context.Context, session, call string) (KeptRequest, error) {
	return r.find(ctx, session, call, "SELECT rowid FROM usage WHERE session = ? AND id = ?", call)
}

// OfReply is like Of, for the call whose reply a message is.
func (r RequestStore) OfReply(ctx context.Context, session, message string) (KeptRequest, error) {
	return r.find(ctx, session, message, `SELECT usage.rowid FROM request JOIN usage ON usage.session = request.session AND usage.id = request.call
		WHERE request.session = ? AND request.message <> '' AND request.message = ?`, message)
}

// Before is like Of, for the newest call with a kept request that has the purpose of a call and precedes it.
func (r RequestStore) Before(ctx context.Context, session, call string) (KeptRequest, error) {
	return r.find(ctx, session, "before "+call, `SELECT u.rowid FROM usage AS this JOIN usage AS u ON u.session = this.session AND u.purpose = this.purpose AND u.rowid < this.rowid
		WHERE this.session = ? AND this.id = ? AND EXISTS (SELECT 1 FROM request WHERE session = u.session AND call = u.id)
		ORDER BY u.rowid DESC LIMIT 1`, call)
}

// find returns the call of the row that a query returns for a session and an id.
func (r RequestStore) find(ctx context.Context, session, what, query, id string) (k KeptRequest, err error) {
	s := r.store
	err = s.view(ctx, "request", func(tx *sql.Tx) error {
		if _, err := s.session(ctx, tx, session, "hidden = 0"); err != nil {
			return err
		}
		row, err := first(ctx, tx, scanOne[int64], query, session, id)
		if err != nil {
			return err
		}
		call, err := first(ctx, tx, s.scanCall, callColumns+"FROM usage WHERE rowid = ?", row)
		if err != nil {
			return err
		}
		k.Call = call.Call
		k.Request, err = readRequest(ctx, tx, "session = ? AND call = ?", session, call.ID)
		return err
	})
	if err != nil {
		return KeptRequest{}, fmt.Errorf("request of call %s of session %s: %w", what, session, err)
	}
	return k, nil
}

// readRequest returns a request, nil if it is not kept.
func readRequest(ctx context.Context, tx *sql.Tx, where string, args ...any) (*history.Request, error) {
	row, err := first(ctx, tx, scanRequest, "SELECT call, message, at, base, checksum, body FROM request WHERE "+where, args...)
	if errors.Is(err, history.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var base *history.Request
	if requests.IsDifference(row.Body) && row.Base != 0 {
		if base, err = readRequest(ctx, tx, "rowid = ? AND base = 0", row.Base); err != nil {
			return nil, err
		}
	}
	if row.checksum != requestSum(row.call, row.Body) {
		return nil, fmt.Errorf("%w: checksum differs", ErrRequest)
	}
	decoded, err := requests.Decode(row.Body, base)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	decoded.Call, decoded.Message, decoded.At = row.call, row.message, row.at
	return &decoded, nil
}

// requestRow is a row of the table request.
type requestRow struct {
	requests.Encoded
	of            *history.Request // to be stored
	row           int64            // once it is stored whole
	call, message string
	at            time.Time
	checksum      int64
}

func scanRequest(row scanner) (r requestRow, err error) {
	var at int64
	err = row.Scan(&r.call, &r.message, &at, &r.Base, &r.checksum, &r.Body)
	r.at = fromMicros(at)
	return r, err
}

func requestSum(call string, body []byte) int64 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return int64(crc32.Update(crc32.Checksum([]byte(call), table), table, body))
}

// encodeRequests encodes the requests of a change.
func (s *Store) encodeRequests(ch *history.Change) (rows []requestRow) {
	for i := range ch.Requests {
		if e, ok := s.bases.Encode(ch.Session, &ch.Requests[i]); ok {
			rows = append(rows, requestRow{Encoded: e, of: &ch.Requests[i]})
		}
	}
	return rows
}

// insertRequests inserts requests. A request whose base has been purged is stored whole.
func (p *prepared) insertRequests(tx *writeTx) error {
	for i := range p.requests {
		r := &p.requests[i]
		if r.Base != 0 {
			found, err := collect(background, tx, scanOne[int], "SELECT 1 FROM request WHERE rowid = ? AND session = ? AND call = ? AND base = 0", r.Base, p.Session, r.Of)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				r.Encoded = requests.Encoded{Body: requests.Encode(r.of, nil)}
			}
		}
		if _, err := tx.exec("INSERT INTO request (session, call, message, at, base, bytes, checksum, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			p.Session, r.of.Call, r.of.Message, micros(r.of.At), r.Base, len(r.Body), requestSum(r.of.Call, r.Body), r.Body); err != nil {
			return err
		}
		var err error
		if r.row, err = first(background, tx, scanOne[int64], "SELECT last_insert_rowid()"); err != nil {
			return err
		}
	}
	return nil
}

// keptRequests makes stored requests the bases of later ones.
func (s *Store) keptRequests(p *prepared) {
	for i := range p.requests {
		r := &p.requests[i]
		s.bases.Stored(p.Session, r.of, &r.Encoded, r.row)
	}
}

// Purge deletes the requests of calls before a time, then the oldest ones until the rest has about maxBytes, and returns their
// number. A whole request stays while a difference to it does. It uses small transactions: when ctx ends, it stops between two of
// them.
func (r RequestStore) Purge(ctx context.Context, before time.Time, maxBytes int64) (purged int, err error) {
	limit := micros(before)
	if limit, err = r.oldest(ctx, limit, maxBytes); err == nil {
		for _, some := range []string{"base <> 0", "base = 0 AND NOT EXISTS (SELECT 1 FROM request AS other WHERE other.base <> 0 AND other.base = request.rowid)"} {
			err = errors.Join(err, r.store.repeat(ctx, func(tx *writeTx) (bool, error) {
				n, err := tx.exec("DELETE FROM request WHERE rowid IN (SELECT rowid FROM request WHERE at < ? AND "+some+" LIMIT ?)", limit, purgeRows)
				purged += int(n)
				return n == purgeRows, err
			}))
		}
	}
	if err == nil && purged > 0 {
		err = r.store.repeat(ctx, vacuum)
	}
	if err != nil {
		return purged, fmt.Errorf("purge requests: %w", err)
	}
	return purged, nil
}

// oldest returns the time before which requests are purged: at least before, and so that the later ones have at most maxBytes.
func (r RequestStore) oldest(ctx context.Context, before, maxBytes int64) (limit int64, err error) {
	err = r.store.view(ctx, "requests", func(tx *sql.Tx) error {
		sum, err := first(ctx, tx, scanOne[int64], "SELECT coalesce(sum(bytes), 0) FROM request WHERE at >= ?", before)
		if err != nil || sum <= maxBytes {
			limit = before
			return err
		}
		limit, err = first(ctx, tx, scanOne[int64], `SELECT max(at) + 1 FROM (SELECT at, sum(bytes) OVER (ORDER BY at DESC, rowid DESC) AS total FROM request)
			WHERE total > ?`, maxBytes)
		return err
	})
	return max(limit, before), err
}

// maxEditsBetween is the maximum number of edits that EditsBetween returns.
const maxEditsBetween = 1000

// EditsBetween returns the newest edits of a session after a sequence number up to another, in order.
func (r RequestStore) EditsBetween(ctx context.Context, session string, after, through int64) (edits []history.Edit, err error) {
	err = r.store.view(ctx, "edits", func(tx *sql.Tx) error {
		edits, err = collect(ctx, tx, r.store.scanEdit, "SELECT seq, id, kind, at, body FROM edit WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?",
			session, after, through, maxEditsBetween)
		return err
	})
	slices.Reverse(edits)
	if err != nil {
		return nil, fmt.Errorf("edits of session %s: %w", session, err)
	}
	return edits, nil
}
