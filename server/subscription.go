package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync/atomic"

	"strata/rpc"
	"strata/server/editor"
	"strata/server/slash"
	"strata/server/wire"
	"strata/session"
	"strata/session/commands"
	"strata/session/events"
)

// subscription is a connection's stream of events of one session. The connection's writer pulls notifications from it.
type subscription struct {
	*editor.Editor // requests to the client
	peer           *peer
	session        *session.Session
	encoder        wire.Encoder
	cursor         atomic.Pointer[events.Cursor] // nil only until attach
	wake           func()                        // set by attach
	used           atomic.Uint64                 // see touch
	ends           atomic.Bool                   // it was ended to make room for another one
	all            atomic.Bool                   // the client has attached: it receives all kinds of events

	commands *slash.List // of the session, as the client knows them

	farewell []events.Event // left to send once it ends; belongs to the writer
}

func newSubscription(p *peer, s *session.Session) *subscription {
	sub := &subscription{
		peer: p, session: s, encoder: wire.Encoder{SessionID: s.ID(), Epoch: s.Epoch(), Client: p.can, Models: p.Models.Catalogue},
		farewell: []events.Event{
			{Kind: events.Notice, Text: fmt.Sprintf("The updates of this session end here: the connection has %d subscriptions, the limit. Open the session again to go on.", p.Memory)},
			{Kind: wire.EventUnsubscribed},
		},
	}
	sub.Editor = editor.New(editor.Options{SessionID: s.ID(), Conn: p.conn, Source: sub, Capabilities: p.can, Go: p.background.Go})
	sub.commands = slash.NewList(sub, p.background.Go)
	return sub
}

// afterReplay is the position of a frame after everything that its subscription has to send. Replayed updates have
// no sequence numbers of their own: after the number of the newest event they could still be to come.
const afterReplay = math.MaxUint64

// Commands implements slash.Listener.
func (sub *subscription) Commands(ctx context.Context) (commands.Set, []commands.Skipped, error) {
	return sub.peer.commands.Commands(ctx, sub.session)
}

// TellCommands implements slash.Listener.
func (sub *subscription) TellCommands(all []commands.Command) {
	n, err := sub.encoder.Aside(wire.NewCommandsUpdate(all))
	if err != nil {
		sub.peer.Log.Error("commands not sent", slog.Any("error", err))
		return
	}
	sub.peer.aside(sub, n)
}

// SkippedCommands implements slash.Listener.
func (sub *subscription) SkippedCommands(skipped []commands.Skipped) {
	for _, s := range skipped {
		sub.peer.Log.Warn("command file skipped", slog.String("session", sub.session.ID()), slog.String("file", s.Path), slog.String("reason", s.Reason))
	}
}

// attach adds the subscription to its connection.
func (sub *subscription) attach() error {
	wake, err := sub.peer.conn.Attach(sub)
	if err != nil {
		return err
	}
	sub.wake = wake
	sub.touch()
	cursor := sub.session.NewCursor(wake)
	sub.encoder.Identity = cursor.Identity()
	sub.cursor.Store(cursor)
	sub.session.Join(sub)
	return nil
}

// subscribeTo subscribes the connection to a session whose files it may have.
func (p *peer) subscribeTo(s *session.Session, held wire.HeldWorkspace) (*subscription, error) {
	sub, err := p.subscribe(s)
	if err == nil && held.IsHeld() {
		s.Hold(sub, held.WorkspaceID)
	}
	return sub, err
}

// unsubscribe ends the subscription in the session.
func (sub *subscription) unsubscribe() { sub.session.Unsubscribe(sub.cursor.Load(), sub) }

// touch notes that the subscription is in use.
func (sub *subscription) touch() { sub.used.Store(sub.peer.uses.Add(1)) }

// longerIdle reports whether the subscription should end rather than other: that of a working session comes last.
func (sub *subscription) longerIdle(other *subscription) bool {
	works, otherWorks := sub.peer.monitors.Works(sub.session.ID()), sub.peer.monitors.Works(other.session.ID())
	if works != otherWorks {
		return otherWorks
	}
	return sub.used.Load() < other.used.Load()
}

// end makes the subscription send its final event.
func (sub *subscription) end() {
	sub.ends.Store(true)
	sub.wake()
}

// Next implements rpc.Source.
func (sub *subscription) Next(ctx context.Context) (rpc.Notification, bool, error) {
	cursor := sub.cursor.Load()
	if cursor == nil {
		return rpc.Notification{}, false, nil
	}
	for {
		if sub.ends.Load() {
			return sub.lastWords()
		}
		e, ok, err := cursor.Next(ctx)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, session.ErrClosed):
			sub.peer.drop(sub)
			return rpc.Notification{}, false, nil
		case err != nil || !ok:
			return rpc.Notification{}, false, err
		}
		sub.touch()
		n, ok, err := sub.encoder.Encode(&e)
		if ok || err != nil {
			return n, ok, err
		}
	}
}

// Prompt reports whether Next returns without reading from the store. Like Next, it belongs to the connection's writer.
func (sub *subscription) Prompt() bool {
	cursor := sub.cursor.Load()
	return cursor != nil && cursor.Prompt()
}

// lastWords returns what is left to tell the client, and then removes the subscription.
func (sub *subscription) lastWords() (rpc.Notification, bool, error) {
	for len(sub.farewell) > 0 {
		e := sub.farewell[0]
		sub.farewell = sub.farewell[1:]
		if e.Kind == wire.EventUnsubscribed && !sub.all.Load() {
			continue
		}
		if n, ok, err := sub.encoder.Encode(&e); ok || err != nil {
			return n, ok, err
		}
	}
	sub.peer.ending.Add(-1)
	sub.peer.drop(sub)
	return rpc.Notification{}, false, nil
}
