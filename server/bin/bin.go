// Package bin is the bin of deleted sessions: it lists them, and marks a session for a purge before its retention ends.
//
// It must never purge: a purge erases text from the whole database, and only the server's housekeeping does that.
package bin

import (
	"context"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/server/wire"
)

// Options are the settings and dependencies of a Bin. All are required.
type Options struct {
	Store     *historystore.Bin
	Retention time.Duration // of deleted sessions
	Entry     func(history.Session) wire.SessionInfo
	Purged    func(id string) // called when a session can no longer be undeleted
}

// Bin holds the deleted sessions. It is safe for concurrent use.
type Bin struct {
	opt Options
	due chan struct{}
}

// New returns the bin of a server.
func New(opt Options) *Bin { return &Bin{opt: opt, due: make(chan struct{}, 1)} }

// Due receives when sessions must be purged now.
func (b *Bin) Due() <-chan struct{} { return b.due }

// List returns a page of the deleted sessions, most recently deleted first. cursor is that of the previous page, empty
// for the first page.
func (b *Bin) List(ctx context.Context, cursor string) (wire.DeletedPage, error) {
	list, next, err := b.opt.Store.List(ctx, cursor, wire.PageSize)
	if err != nil {
		return wire.DeletedPage{}, err
	}
	page := wire.DeletedPage{Sessions: make([]wire.DeletedSession, len(list)), NextCursor: next}
	for i, d := range list {
		page.Sessions[i] = wire.DeletedSession{
			SessionInfo: b.opt.Entry(d.Session), DeletedAt: d.DeletedAt.UTC(), PurgeAt: d.DeletedAt.Add(b.opt.Retention).UTC(),
			Messages: d.Messages, Cost: d.Cost,
		}
	}
	return page, nil
}

// Purge marks a deleted session for a purge: it can no longer be undeleted, and Due receives. The error for a session that
// is not in the bin is that for an unknown session.
func (b *Bin) Purge(ctx context.Context, id string) error {
	if err := b.opt.Store.PurgeNext(ctx, id); err != nil {
		return wire.SessionError(id, err)
	}
	select {
	case b.due <- struct{}{}:
	default: // the next purge takes this session too
	}
	b.opt.Purged(id)
	return nil
}
