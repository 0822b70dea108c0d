// Package remote has the files of a workspace that a client of the session holds: a browser, or an editor elsewhere. It sends
// the requests for them to the client, and keeps the list of the files.
//
// It must never look at the disk of this machine, and never use a value of a client without a bound.
package remote

import (
	"context"
	"errors"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"strata/filecontext"
	"strata/filecontext/source"
	"strata/internal/clip"
	"strata/session/clients"
)

// returnTime is how long a call of a tool waits for a client that has the files: a page that is loaded again, or a connection
// that broke.
const returnTime = 20 * time.Second

// Files are the files of one session. It is a source.Files, and safe for concurrent use.
type Files struct {
	*session
	patience time.Duration // how long a request waits for a client
	after    func() uint64 // the event of the session that requests for changes follow
}

// session is the part that all Files of a session share. Its lock is a leaf: no request is sent while it is held.
type session struct {
	folder string // names the files, absolute

	mu      sync.Mutex
	holders []clients.Client        // that have the files, the newest first; see askLast
	several map[clients.Client]bool // whether a holder serves ReadFiles; absent: not known
	joined  chan struct{}           // closed when a client joins, and replaced

	listing chan *list // the newest list; empty while a goroutine asks for it
	known   atomic.Pointer[source.List]
}

var _ source.Files = (*Files)(nil)

// New returns the files of a session without clients. folder is an absolute path with slashes that names them. Without a client
// that has the files, their requests fail immediately.
func New(folder string) *Files {
	f := &Files{after: func() uint64 { return 0 }, session: &session{
		folder: path.Clean(folder), several: make(map[clients.Client]bool), joined: make(chan struct{}), listing: make(chan *list, 1),
	}}
	f.listing <- nil
	return f
}

// Patient returns the same files for calls of tools, which wait for a client to return. after returns the newest event of the
// session: the client receives it before a request that changes a file, so that it knows of the call.
func (f *Files) Patient(after func() uint64) *Files { return &Files{f.session, returnTime, after} }

// Join adds a client that has subscribed, and reports whether it is asked from now on and was not before. Clients that cannot
// have files have no effect. The newest client is asked.
func (f *Files) Join(client clients.Client) bool {
	if !client.Can(clients.Workspaces) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.holders) > 0 && f.holders[0] == client {
		return false
	}
	f.holders = append([]clients.Client{client}, f.without(client)...)
	close(f.joined)
	f.joined = make(chan struct{})
	return true
}

// Leave removes a client that has unsubscribed, or whose connection has ended.
func (f *Files) Leave(client clients.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holders = f.without(client)
	delete(f.several, client)
}

// without returns a copy of the holders without a client. The lock must be held.
func (f *Files) without(client clients.Client) []clients.Client {
	return slices.DeleteFunc(slices.Clone(f.holders), func(other clients.Client) bool { return other == client })
}

// holder returns the client to ask, nil for none. It waits as long as the patience says, or until ctx ends.
func (f *Files) holder(ctx context.Context) clients.Client {
	ctx, cancel := context.WithTimeout(ctx, f.patience)
	defer cancel()
	for {
		f.mu.Lock()
		holders, joined := f.holders, f.joined
		f.mu.Unlock()
		if len(holders) > 0 {
			return holders[0]
		}
		select {
		case <-joined:
		case <-ctx.Done():
			return nil
		}
	}
}

// Terminal returns the client that runs commands where the files are, nil for none.
func (f *Files) Terminal() clients.Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, client := range f.holders {
		if client.Can(clients.Terminals) {
			return client
		}
	}
	return nil
}

// errNotHolder is the error of a client that does not have the files, whatever it said.
var errNotHolder = errors.New("the client has other files")

// ask sends a request that changes nothing to the client that has the files, and to the next one if its connection has ended,
// if it has other files, or if it does not respond in time. name is the path for errors. A client whose connection has ended, or
// which says of the list that it has other files, is not asked again.
func ask[T any](ctx context.Context, f *Files, name string, request func(clients.Client) (T, error)) (T, error) {
	var none T
	asked := make(map[clients.Client]error)
	for client := f.holder(ctx); client != nil; client = f.holder(ctx) {
		if err, again := asked[client]; again {
			return none, refused(name, err)
		}
		result, err := request(client)
		switch {
		case err == nil:
			return result, nil
		case ctx.Err() != nil:
			return none, ctx.Err()
		case errors.Is(err, clients.ErrLate), hasCode(err, notMine):
			asked[client] = err
			f.askLast(client)
		case errors.Is(err, clients.ErrGone), errors.Is(err, errNotHolder):
			f.Leave(client)
		default:
			return none, refused(name, err)
		}
	}
	return none, away(ctx, name)
}

// away returns the error of a request for which there is no client, or that of ctx.
func away(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &filecontext.RefusedError{Path: name, Reason: filecontext.ReasonAway}
}

// askLast makes a client that does not respond in time, or does not know what it is asked for, the last one to be asked.
func (f *Files) askLast(client clients.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.holders, client) {
		f.holders = append(f.without(client), client)
	}
}

// maxMessage is the maximum length of a client's message in an error, in characters.
const maxMessage = 200

// refused returns the error for a path that a client refuses, or for a client that does not respond.
func refused(name string, err error) error {
	refusal, ok := errors.AsType[*clients.Refused](err)
	switch {
	case !ok:
		return &filecontext.RefusedError{Path: name, Reason: filecontext.ReasonAway, Detail: known(err), Err: err}
	case refusal.Code == notFound:
		return &filecontext.RefusedError{Path: name, Reason: filecontext.ReasonMissing}
	}
	reason := filecontext.ReasonUnreadable
	if refusal.Code == tooLarge {
		reason = filecontext.ReasonTooLarge
	}
	return &filecontext.RefusedError{
		Path: name, Reason: reason, Detail: filecontext.Printable(clip.Line(refusal.Message, maxMessage)),
	}
}

// known returns the error of a request without what a client has sent.
func known(err error) string {
	for _, one := range []error{clients.ErrGone, clients.ErrLate, clients.ErrBusy, clients.ErrInvalid, errNothing} {
		if errors.Is(err, one) {
			return one.Error()
		}
	}
	return "the request failed"
}

// absolute returns the path of a file as clients know it.
func (f *Files) absolute(name string) string { return path.Join(f.folder, name) }

// Write implements source.Files.
func (f *Files) Write(ctx context.Context, name, text string) error {
	return f.change(ctx, name, func(c clients.Client) error {
		return c.WriteTextFile(ctx, clients.Write{Path: f.absolute(name), Content: text}, f.after())
	})
}

// Delete implements source.Files.
func (f *Files) Delete(ctx context.Context, name string) error {
	return f.change(ctx, name, func(c clients.Client) error { return c.DeleteFile(ctx, f.absolute(name), f.after()) })
}

// Move implements source.Files.
func (f *Files) Move(ctx context.Context, from, to string) error {
	return f.change(ctx, from, func(c clients.Client) error { return c.MoveFile(ctx, f.absolute(from), f.absolute(to), f.after()) })
}

// change sends a request that changes files, to one client only: a client whose connection has ended may have made the change.
func (f *Files) change(ctx context.Context, name string, request func(clients.Client) error) error {
	client := f.holder(ctx)
	if client == nil {
		return away(ctx, name)
	}
	err := request(client)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, clients.ErrGone):
		f.Leave(client)
	}
	return refused(name, err)
}
