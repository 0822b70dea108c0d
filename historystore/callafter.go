package historystore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"strata/history"
)

// CallLog finds single model calls of sessions.
type CallLog struct{ store *Store }

// NewCallLog returns the calls of a store.
func NewCallLog(s *Store) CallLog { return CallLog{s} }

// CallAfter returns the first model call for a reply that was logged after a time, with its id, model and time only. ok is false if
// there is none.
func (l CallLog) CallAfter(ctx context.Context, session string, at time.Time) (call history.Call, ok bool, err error) {
	return l.oneCall(ctx, session, "at > ? ORDER BY rowid LIMIT 1", at.UnixMicro())
}

// CallBack returns the call for a reply before which there are n-1 newer ones: the newest call for 1. Otherwise it is like
// CallAfter. Calls of which nothing arrived do not count: the session does not know of their requests.
func (l CallLog) CallBack(ctx context.Context, session string, n int) (call history.Call, ok bool, err error) {
	return l.oneCall(ctx, session, "(status = 'complete' OR output > 0) ORDER BY rowid DESC LIMIT 1 OFFSET ?", n-1)
}

func (l CallLog) oneCall(ctx context.Context, session, which string, arg any) (call history.Call, ok bool, err error) {
	err = l.store.view(ctx, "one call", func(tx *sql.Tx) error {
		if _, err := l.store.session(ctx, tx, session, "hidden = 0"); err != nil {
			return err
		}
		calls, err := collect(ctx, tx, scanOneCall, "SELECT id, model, at FROM usage WHERE session = ? AND purpose IN (?, ?) AND "+which,
			session, history.PurposeTurn, history.PurposeFrontend, arg)
		if len(calls) > 0 {
			call, ok = calls[0], true
		}
		return err
	})
	if err != nil {
		return history.Call{}, false, fmt.Errorf("look for a call of session %s: %w", session, err)
	}
	return call, ok, nil
}

func scanOneCall(row scanner) (call history.Call, err error) {
	var at int64
	err = row.Scan(&call.ID, &call.Model, &at)
	call.At = fromMicros(at)
	return call, err
}
