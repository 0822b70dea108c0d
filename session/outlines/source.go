// Package outlines chooses the outlines of source files and the tree of the workspace that a request contains in addition
// to the session's files.
//
// It must never let a request wait for the first index of a folder, except for a moment after that was begun, and never
// change what a session has.
package outlines

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"strata/filecontext"
	"strata/filecontext/index"
	"strata/filecontext/outline"
	"strata/session/events"
	"strata/session/mailbox"
)

// ErrNone reports that outlines are turned off for the whole server.
var ErrNone = fmt.Errorf("%w: outlines are turned off: set outlines.enabled in the configuration", mailbox.ErrInvalid)

// grace is how long requests wait for the first index after it was begun: small folders are indexed by then, and a
// session's first request has their outlines.
const grace = 300 * time.Millisecond

// Source has the outlines of one session's working folder. It uses the index of that folder from the first need until
// Close, or until the session's mailbox ends. It is safe for concurrent use.
type Source struct {
	services *Services // nil: outlines are turned off
	folder   string
	remote   *filecontext.Roots // has the files if they are not on disk
	box      *mailbox.Mailbox
	events   *events.Stream
	ctx      context.Context // ends with Close or the mailbox
	end      context.CancelFunc

	begin  sync.Once
	begun  time.Time     // set by begin
	opened chan struct{} // closed when handle or err is set
	handle *index.Handle
	err    error

	news atomic.Pointer[index.Status] // progress that was not told yet

	mu     sync.Mutex // guards the rest
	last   remembered
	parsed map[parsedKey]*outline.Outline
	sizes  sizes
}

// New returns the outlines of a folder. It does nothing before they are needed. services is nil if outlines are turned
// off.
func New(services *Services, folder string, box *mailbox.Mailbox, stream *events.Stream) *Source {
	s := &Source{services: services, folder: folder, box: box, events: stream, opened: make(chan struct{})}
	if services != nil {
		s.ctx, s.end = context.WithCancel(box.Context())
	}
	return s
}

// NewRemote returns the outlines of the files of a client, which roots has.
func NewRemote(services *Services, roots *filecontext.Roots, box *mailbox.Mailbox, stream *events.Stream) *Source {
	s := New(services, roots.Folder(), box, stream)
	s.remote = roots
	return s
}

// Folder returns the folder.
func (s *Source) Folder() string { return s.folder }

// Close releases the index. Queries still return the last known files.
func (s *Source) Close() {
	if s.services != nil {
		s.end()
	}
}

// Open starts indexing the folder, once. It is called from the mailbox or from one of its goroutines.
func (s *Source) Open() {
	if s.services == nil {
		return
	}
	s.begin.Do(func() {
		s.begun = time.Now()
		s.box.Spawn(s.hold)
	})
}

// hold acquires the index, which is released by Close, or when the mailbox ends.
func (s *Source) hold() {
	if s.remote != nil {
		s.handle, s.err = s.services.indexes.AcquireRemote(s.remote, s.progress)
	} else {
		s.handle, s.err = s.services.indexes.Acquire(s.ctx, s.folder, s.progress)
	}
	if s.err == nil {
		s.box.After(s.ctx, s.handle.Release)
	}
	close(s.opened)
}

// progress tells the subscribers how far the index is.
func (s *Source) progress(status index.Status) {
	if s.news.Swap(&status) != nil {
		return // the job that is waiting tells it
	}
	s.box.Tell(func() {
		if status := s.news.Swap(nil); s.ctx.Err() == nil {
			s.events.Emit(events.Event{Kind: events.Index, Data: newIndexStatus(status)})
		}
	}, nil)
}

// IndexStatus is the progress of the index of a workspace, and what it lacks, as clients receive it.
type IndexStatus struct {
	Complete  bool     `json:"complete"`
	Files     int      `json:"files"`               // that are listed
	Outlined  int      `json:"outlined"`            // of them have an outline
	Pending   int      `json:"pending"`             // of them are still to be read
	Omissions []string `json:"omissions,omitempty"` // what the index lacks, one fact each
	Problem   string   `json:"problem,omitempty"`   // why the last comparison with the disk failed; the files are those known before
}

// newIndexStatus returns the standing of an index.
func newIndexStatus(s *index.Status) IndexStatus {
	return IndexStatus{
		Complete: s.Complete, Files: s.Files, Outlined: s.Outlined, Pending: s.Pending, Omissions: s.Omissions(), Problem: s.Problem,
	}
}

// current returns the index after it was compared to the disk. It is nil, without an error, as long as the first index of
// the folder has not ended, or if there is none.
func (s *Source) current(ctx context.Context) (*index.Handle, error) {
	if s.services == nil {
		return nil, nil
	}
	s.Open()
	opening, cancel := context.WithDeadline(ctx, s.begun.Add(grace))
	defer cancel()
	if !s.isOpen(opening) {
		return nil, ctx.Err()
	}
	early, cancel := context.WithDeadline(ctx, s.handle.Begun().Add(grace))
	defer cancel()
	if _, err := s.handle.Wait(early); err != nil {
		return nil, ctx.Err()
	}
	_, err := s.refreshed(ctx)
	return s.handle, err
}

// Compare makes an index that is open compare its files. It does not wait.
func (s *Source) Compare() {
	if h, err := s.present(); h != nil && err == nil {
		s.box.Spawn(func() { _, _ = h.Refresh(s.ctx) }) // the next request does it, too
	}
}

// isOpen waits until the index is opened or ctx ends, and reports whether there is one.
func (s *Source) isOpen(ctx context.Context) bool {
	select {
	case <-s.opened:
	default:
		select {
		case <-s.opened:
		case <-ctx.Done():
			return false
		}
	}
	return s.err == nil
}

// refreshed compares the index to the disk and returns the state after that. The error is that of ctx: if the server ends
// the index has what was known.
func (s *Source) refreshed(ctx context.Context) (index.Status, error) {
	status, err := s.handle.Refresh(ctx)
	if errors.Is(err, index.ErrClosed) {
		err = nil
	}
	return status, err
}

// indexStatus returns how far the index is, nil if there is none.
func (s *Source) indexStatus() *IndexStatus {
	h, err := s.present()
	switch {
	case err != nil:
		return &IndexStatus{Problem: err.Error()}
	case h == nil:
		return nil
	}
	status := h.Status()
	shown := newIndexStatus(&status)
	return &shown
}

// waits reports whether the first index of the folder has not ended yet.
func (s *Source) waits() bool {
	h, err := s.present()
	return err == nil && (h == nil || !h.Ready())
}

// present returns the index as it is, without waiting, nil if it is not open, or why the folder is not indexed.
func (s *Source) present() (*index.Handle, error) {
	select {
	case <-s.opened:
		return s.handle, s.err
	default:
		return nil, nil
	}
}

// ready makes the index ready for a query, which may wait longer than a request: until the folder is opened.
func (s *Source) ready(ctx context.Context) (index.Status, error) {
	if s.services == nil {
		return index.Status{}, ErrNone
	}
	s.Open()
	switch {
	case s.isOpen(ctx):
		return s.refreshed(ctx)
	case ctx.Err() != nil:
		return index.Status{}, ctx.Err()
	}
	return index.Status{}, fmt.Errorf("%w: the folder is not indexed: %w", mailbox.ErrInvalid, s.err)
}

// Hash returns the SHA-256 of a file as the index knows it, "" for a file that it does not know. It does not wait.
func (s *Source) Hash(path string) string {
	h, err := s.present()
	if h == nil || err != nil {
		return ""
	}
	f, _, _ := h.Outline(path)
	return f.Hash
}

// Hit is a symbol or a file that a search found.
type Hit struct {
	Path  string `json:"path"`
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Line  int    `json:"line,omitempty"` // from 1; 0 for a file
	Score int    `json:"score"`
}

// Found is the result of a search.
type Found struct {
	Symbols []Hit       `json:"symbols"`
	Index   IndexStatus `json:"index"`
}

// Search finds symbols and files of the workspace, best first; limit 0 means index.DefaultHits.
func (s *Source) Search(ctx context.Context, query string, limit int) (Found, error) {
	status, err := s.ready(ctx)
	if err != nil {
		return Found{}, err
	}
	hits, err := s.handle.Search(ctx, query, limit)
	found := Found{Symbols: make([]Hit, len(hits)), Index: newIndexStatus(&status)}
	for i, hit := range hits {
		found.Symbols[i] = Hit(hit)
	}
	return found, err
}

// Of returns the outline of a file whose text is in memory, nil for a file without an outline.
func (s *Source) Of(ctx context.Context, e *filecontext.Entry) (*outline.Outline, error) {
	if s.services == nil {
		return nil, ErrNone
	}
	h, err := s.present()
	if err != nil {
		h = nil // a folder that is not indexed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(ctx, h, e)
}

// On reports whether outlines are enabled.
func (s *Source) On() bool { return s.services != nil }
