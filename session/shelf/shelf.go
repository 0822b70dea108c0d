// Package shelf stores, removes and lists the documents of a session.
package shelf

import (
	"context"
	"fmt"
	"strings"
	"time"

	"strata/history"
	"strata/session/current"
	"strata/session/documents"
	"strata/session/mailbox"
	"strata/tokens"
)

// Host is the part of a session that its shelf uses. Its methods belong to the mailbox.
type Host interface {
	// Context returns the session's ContextManager, which holds the documents.
	Context() *current.Manager
	// Counter counts tokens for the model in force.
	Counter() *tokens.Counter
	// Store returns the work that stores a change under the name of the operation, and then runs then on the mailbox.
	Store(what string, change history.Change, then func()) mailbox.Work
	// DocumentChanged is called when a document was set or removed.
	DocumentChanged()
}

// Shelf manages the documents of one session. It belongs to the session's mailbox; the methods with a reply can be called from
// any goroutine.
type Shelf struct {
	host    Host
	mailbox *mailbox.Mailbox
	now     func() time.Time
}

// New returns the shelf of a session.
func New(host Host, box *mailbox.Mailbox, now func() time.Time) *Shelf {
	return &Shelf{host: host, mailbox: box, now: now}
}

// SetDocument stores a named text that the next requests contain.
func (s *Shelf) SetDocument(req documents.Request, reply func(documents.Info, error)) {
	mailbox.Change(s.mailbox, reply, func() (mailbox.Work, error) {
		d, err := documents.New(req, s.host.Context().Documents)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", mailbox.ErrInvalid, err)
		}
		d.At = s.now()
		counter := s.host.Counter()
		var info documents.Info
		stored := func() {
			s.replace(documents.With(s.host.Context().Documents, d))
			reply(info, nil)
		}
		return func(ctx context.Context) (mailbox.Step, error) {
			info = documents.InfoOf(&d, counter)
			return s.host.Store("store document "+d.Name, history.Change{PutDocuments: []history.Document{d}}, stored)(ctx)
		}, nil
	})
}

// RemoveDocument removes a document and reports whether it existed.
func (s *Shelf) RemoveDocument(name string, reply func(bool, error)) {
	mailbox.Change(s.mailbox, reply, func() (mailbox.Work, error) {
		name := strings.TrimSpace(name)
		if documents.Find(s.host.Context().Documents, name) < 0 {
			reply(false, nil)
			return nil, nil
		}
		return s.host.Store("remove document "+name, history.Change{DropDocuments: []string{name}}, func() {
			s.replace(documents.Without(s.host.Context().Documents, name))
			reply(true, nil)
		}), nil
	})
}

// replace adopts the stored documents.
func (s *Shelf) replace(all []history.Document) {
	s.host.Context().Documents = all
	s.host.DocumentChanged()
}

// Documents lists the documents by name.
func (s *Shelf) Documents(reply func([]documents.Info, error)) {
	mailbox.Ask(s.mailbox, reply, func() {
		all, counter := s.host.Context().Documents, s.host.Counter()
		s.mailbox.Spawn(func() {
			infos := make([]documents.Info, len(all))
			for i := range all {
				infos[i] = documents.InfoOf(&all[i], counter)
			}
			reply(infos, nil)
		})
	})
}
