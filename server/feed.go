package server

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"strata/rpc"
	"strata/session"
)

// feed is one connection's subscription of one session: it turns what the session's cursor delivers
// into notifications. The connection's writer pulls from it.
type feed struct {
	peer    *peer
	session *session.Session
	cursor  atomic.Pointer[session.Cursor]
}

// newFeed makes a feed and attaches it to the connection. It delivers nothing until the session
// places its cursor.
func newFeed(p *peer, s *session.Session) (*feed, error) {
	f := &feed{peer: p, session: s}
	wake, err := p.conn.Attach(f)
	if err != nil {
		return nil, err
	}
	f.cursor.Store(s.NewCursor(wake))
	return f, nil
}

// Next implements rpc.Source.
func (f *feed) Next(ctx context.Context) (rpc.Notification, bool, error) {
	cursor := f.cursor.Load()
	if cursor == nil {
		return rpc.Notification{}, false, nil
	}
	for {
		e, ok, err := cursor.Next(ctx)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, session.ErrClosed):
			f.peer.drop(f)
			return rpc.Notification{}, false, nil
		case err != nil || !ok:
			return rpc.Notification{}, false, err
		}
		n, ok, err := f.encode(e)
		if ok || err != nil {
			return n, ok, err
		}
	}
}
