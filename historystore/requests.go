package historystore

import (
	"context"
	"database/sql"
	"fmt"
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

// RequestStore reads and purges the kept requests of a store.
type RequestStore struct{ store *Store }

// RequestsOf returns the kept requests of a store.
func RequestsOf(s *Store) RequestStore { return RequestStore{s} }

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

// OfReply is like Of, for the call with a message as its reply.
func (r RequestStore) OfReply(ctx context.Context, session, message string) (KeptRequest, error) {
	return r.find(ctx, session, message, `SELECT usage.rowid FROM request JOIN usage ON usage.session = request.session AND usage.id = request.call
		WHERE request.session = ? AND request.message <> '' AND request.message = ?`, message)
}

// Before is like Of, for the newest call before a call that has the same purpose and a kept request. It skips failed calls.
func (r RequestStore) Before(ctx context.Context, session, call string) (KeptRequest, error) {
	return r.find(ctx, session, "before "+call, `SELECT u.rowid FROM usage AS this JOIN usage AS u ON u.session = this.session AND u.purpose = this.purpose AND u.rowid < this.rowid
		WHERE this.session = ? AND this.id = ? AND u.status <> 'failed' AND EXISTS (SELECT 1 FROM request WHERE session = u.session AND call = u.id)
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
		k.Request, err = requests.Read(ctx, tx, session, call.ID)
		return err
	})
	if err != nil {
		return KeptRequest{}, fmt.Errorf("request of call %s of session %s: %w", what, session, err)
	}
	return k, nil
}

// insertRequests inserts the requests of the change.
func (p *prepared) insertRequests(tx *writeTx) error {
	return requests.Insert(requests.Tx{Querier: tx, Exec: tx.exec}, p.Session, p.requests)
}

// Purge deletes the requests of calls before a time, then the oldest ones until the rest has about maxBytes, and returns their
// number. A whole request is deleted only after all differences to it. Purge uses small transactions, and stops between two of
// them when ctx ends.
func (r RequestStore) Purge(ctx context.Context, before time.Time, maxBytes int64) (purged int, err error) {
	var due int64
	err = r.store.view(ctx, "requests", func(tx *sql.Tx) error {
		due, err = requests.Due(ctx, tx, micros(before), maxBytes)
		return err
	})
	if err == nil {
		err = r.store.repeat(ctx, func(tx *writeTx) (bool, error) {
			n, err := requests.Purge(requests.Tx{Querier: tx, Exec: tx.exec}, due, purgeRows)
			purged += n
			return n > 0, err
		})
	}
	if err == nil && purged > 0 {
		err = r.store.repeat(ctx, vacuum)
	}
	if err != nil {
		return purged, fmt.Errorf("purge requests: %w", err)
	}
	return purged, nil
}

// maxEditsBetween is the maximum number of edits that EditsBetween returns.
const maxEditsBetween = 1000

// EditsBetween returns the newest edits of a session after one sequence number and up to another, in order.
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
