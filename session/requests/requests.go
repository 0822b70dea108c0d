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
	b, err := state.Build(ctx)
	for back := err == nil; back; {
		if back, err = r.readmit(state, &b, first); back {
			b, err = state.Build(ctx)
		}
		back = back && err == nil
	}
	for _, by := range compacting.Condensations {
		if err != nil || len(b.Changes.Evict) == 0 || !state.Profile.Compaction.Enabled {
			break
		}
		first()
		var shorter bool
		if shorter, err = r.condense(ctx, state, by, b.Changes.Evict); err == nil && shorter {
			b, err = state.Build(ctx)
		}
	}
	return b, err
}

// readmit brings back messages that an earlier request omitted, if the built one has room for them, and makes the state the
// one with them. It reports whether it did.
func (r *Requests) readmit(state *assembly.State, b *assembly.Built, first func()) (bool, error) {
	var shed []history.Edit
	r.box.Wait(func() { shed = r.host.Context().Log.Shedding() })
	edit, ok := state.Returns(b, shed)
	if !ok {
		return false, nil
	}
	first()
	if err := r.Amend(edit, "fitted"); err != nil {
		return false, err
	}
	r.box.Wait(func() { *state = r.host.Context().Renewed(state, state.Model, r.host.Choices()) })
	return true, nil
}

// condense stores a compaction of a state without a model, and makes the state the one after it. It reports whether the
// history is shorter now.
func (r *Requests) condense(ctx context.Context, state *assembly.State, by compacting.Condensation, evicted []history.Viewed) (bool, error) {
	var rules compacting.Rules
	r.box.Wait(func() { rules = r.host.CompactionRules() })
	edit, ok, err := compacting.Condense(ctx, state, &rules, by, evicted)
	if err != nil || !ok {
		return false, err
	}
	if err := r.Amend(edit, "compaction"); err != nil {
		return false, err
	}
	r.box.Wait(func() {
		r.compacting.Condensed(&edit)
		*state = r.host.Context().Renewed(state, state.Model, r.host.Choices())
	})
	return true, nil
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
