package session

import (
	"context"
	"fmt"
	"strings"

	"strata/history"
	"strata/session/accounts"
	"strata/session/documents"
	"strata/session/mailbox"
)

// shelf is the documents of a session. It belongs to the mailbox.
type shelf struct {
	*core
	accounts *accounts.Accounts
}

// SetDocument stores a named text that the next requests contain.
func (s *shelf) SetDocument(req documents.Request, reply func(documents.Info, error)) {
	mailbox.Change(s.mailbox, reply, func() (work, error) {
		d, err := documents.New(req, s.context.Documents)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		d.At = s.deps.Now()
		counter := s.counter()
		var info documents.Info
		stored := func() {
			s.context.Documents = documents.With(s.context.Documents, d)
			s.historyChanged("document")
			s.accounts.TellUsage()
			reply(info, nil)
		}
		return func(ctx context.Context) (step, error) {
			info = documents.InfoOf(&d, counter)
			return s.store("store document "+d.Name, history.Change{PutDocuments: []history.Document{d}}, stored)(ctx)
		}, nil
	})
}

// RemoveDocument removes a document and tells whether it existed.
func (s *shelf) RemoveDocument(name string, reply func(bool, error)) {
	mailbox.Change(s.mailbox, reply, func() (work, error) {
		name := strings.TrimSpace(name)
		if documents.Find(s.context.Documents, name) < 0 {
			reply(false, nil)
			return nil, nil
		}
		return s.store("remove document "+name, history.Change{DropDocuments: []string{name}}, func() {
			s.context.Documents = documents.Without(s.context.Documents, name)
			s.historyChanged("document")
			s.accounts.TellUsage()
			reply(true, nil)
		}), nil
	})
}

// Documents lists the documents by name.
func (s *shelf) Documents(reply func([]documents.Info, error)) {
	mailbox.Ask(s.mailbox, reply, func() {
		all, counter := s.context.Documents, s.counter()
		s.mailbox.Spawn(func() {
			infos := make([]documents.Info, len(all))
			for i := range all {
				infos[i] = documents.InfoOf(&all[i], counter)
			}
			reply(infos, nil)
		})
	})
}
