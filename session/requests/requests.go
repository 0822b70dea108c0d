// Package requests makes the requests of a session that are to be sent: what a request omits, or shows again, is stored as an
// edit of the view before.
//
// Its methods run outside the mailbox, in a goroutine of a turn or of an operation: while one of these runs, nothing else
// takes sequence numbers. They must never wait for a network.
package requests

import (
	"context"
	"fmt"
	"time"

	"strata/history"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/compacting"
	"strata/session/current"
	"strata/session/mailbox"
	"strata/session/saving"
	"strata/session/workspace"
)

// Host is the session whose requests are made. Its methods belong to the mailbox.
type Host interface {
	// Context returns what requests are made of.
	Context() *current.Manager
	// Choices returns the choices in force.
	Choices() *choices.Choices
	// CompactionRules returns how the session compacts.
	CompactionRules() compacting.Rules
	// HistoryChanged tells the subscribers that the working history changed other than by a turn.
	HistoryChanged(reason string)
}

// Services are what all sessions of a server share for their requests.
type Services struct {
	Store saving.Store
	Now   func() time.Time
	NewID func(prefix string) string // prefix + ULID
}

// Requests are the requests of one session.
type Requests struct {
	session    string
	services   *Services
	host       Host
	box        *mailbox.Mailbox
	workspace  *workspace.Workspace
	compacting *compacting.Driver
}

// New returns the requests of a session.
func New(session string, services *Services, host Host, box *mailbox.Mailbox, files *workspace.Workspace, driver *compacting.Driver) *Requests {
	return &Requests{session: session, services: services, host: host, box: box, workspace: files, compacting: driver}
}

// Prepare builds a request. If messages would be evicted without a summary although the profile compacts its history, they
// are summarized before, without a model. Only the summary is stored, after a call of first; whatever else does not fit
// remains to be evicted.
func (r *Requests) Prepare(ctx context.Context, state *assembly.State, first func()) (assembly.Built, error) {
	return prepare(ctx, r, state, first)
}

func (r *Requests) shedding() (shed []history.Edit) {
	r.box.Wait(func() { shed = r.host.Context().Log.Shedding() })
	return shed
}

func (r *Requests) rules() (rules compacting.Rules) {
	r.box.Wait(func() { rules = r.host.CompactionRules() })
	return rules
}

func (r *Requests) amend(state *assembly.State, edit history.Edit) error {
	what := "fitted"
	if edit.Kind == history.EditCompact {
		what = "compaction"
	}
	if err := r.Amend(edit, what); err != nil {
		return err
	}
	r.box.Wait(func() {
		if edit.Kind == history.EditCompact {
			r.compacting.Condensed(&edit)
		}
		*state = r.host.Context().Renewed(state, state.Model, r.host.Choices())
	})
	return nil
}

// Evict stores what did not fit a request, so that it stays omitted.
func (r *Requests) Evict(b *assembly.Built) error {
	if b.Changes.Empty() {
		return nil
	}
	edits := b.Changes.Edits()
	var change history.Change
	r.box.Wait(func() {
		r.workspace.Refreshed(b.Refreshed) // a range of lines is one of the present version
		for i := range edits {
			edits[i].ID, edits[i].Seq, edits[i].At = r.services.NewID("edit_"), r.host.Context().NextSeq()+int64(i), r.services.Now()
		}
		r.workspace.Hide(b.Changes.Files)
		change = history.Change{Session: r.session, Edits: edits}
		r.workspace.TakeDirty(&change)
	})
	b.Refreshed = nil
	err := r.commit(change)
	r.box.Wait(func() {
		if err != nil {
			r.workspace.UntakeDirty(&change)
			return
		}
		for _, e := range edits {
			r.host.Context().Apply(e)
		}
		r.host.HistoryChanged("fitted")
	})
	if err != nil {
		return fmt.Errorf("make the request fit: %w", err)
	}
	return nil
}

// Amend stores an edit of the view that the next request needs, and applies it. what tells the subscribers why.
func (r *Requests) Amend(edit history.Edit, what string) error {
	r.box.Wait(func() {
		m := r.host.Context()
		edit.ID, edit.Seq, edit.At = r.services.NewID("edit_"), m.NextSeq(), r.services.Now()
		if edit.Kind == history.EditRestore {
			edit.Before, edit.After = m.Tokens(), m.Log.TokensWith(edit)
		}
	})
	if err := r.commit(history.Change{Session: r.session, Edits: []history.Edit{edit}}); err != nil {
		return err
	}
	r.box.Wait(func() {
		r.host.Context().Apply(edit)
		r.host.HistoryChanged(what)
	})
	return nil
}

func (r *Requests) commit(change history.Change) error {
	if err := saving.Commit(context.WithoutCancel(r.box.Context()), r.services.Store, change); err != nil {
		return fmt.Errorf("%w: %w", assembly.ErrStorage, err)
	}
	return nil
}
