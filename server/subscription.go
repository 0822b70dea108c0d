package server

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/events"
)

// subscription is a connection's stream of events of one session. The connection's writer pulls notifications from it.
type subscription struct {
	peer    *peer
	session *session.Session
	encoder wire.Encoder
	cursor  atomic.Pointer[events.Cursor] // nil only until subscribe has attached the subscription
}

func newSubscription(p *peer, s *session.Session) *subscription {
	return &subscription{peer: p, session: s, encoder: wire.Encoder{SessionID: s.ID(), Epoch: s.Epoch(), Client: p.can, Models: p.Models.Catalogue}}
}

// Next implements rpc.Source.
func (sub *subscription) Next(ctx context.Context) (rpc.Notification, bool, error) {
	cursor := sub.cursor.Load()
	if cursor == nil {
		return rpc.Notification{}, false, nil
	}
	for {
		e, ok, err := cursor.Next(ctx)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, session.ErrClosed):
			sub.peer.drop(sub)
			return rpc.Notification{}, false, nil
		case err != nil || !ok:
			return rpc.Notification{}, false, err
		}
		n, ok, err := sub.encoder.Encode(&e)
		if ok || err != nil {
			return n, ok, err
		}
	}
}
