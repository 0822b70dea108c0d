package requests

import (
	"context"

	"strata/filecontext"
	"strata/history"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/compacting"
	"strata/session/content"
	"strata/session/current"
)

// Draft is a prompt that is not sent.
type Draft struct {
	Message history.Message     // with an id
	Resent  bool                // the message is in the view already
	Resume  *history.Edit       // removes the reply that broke off; nil for none
	Files   []filecontext.Entry // of the session, with those that the prompt attaches
}

// Trial is a request with a draft: it is built like one that is sent, from a copy of the history, and changes nothing of the
// session.
type Trial struct {
	requests *Requests
	draft    *Draft
	copy     *current.Manager
	Edits    []history.Edit // that the request needs, in their order, without ids
}

// Try builds the request that a draft would be sent with. state is the one after it.
func (r *Requests) Try(ctx context.Context, from *assembly.State, d *Draft) (t *Trial, state assembly.State, b assembly.Built, err error) {
	t = &Trial{requests: r, draft: d}
	pictures := from.Pictures
	if !d.Resent {
		pictures.Add(&d.Message)
		defer pictures.Forget(d.Message.ID)
	}
	r.box.Wait(func() {
		t.copy = r.host.Context().Copy()
		if !d.Resent {
			d.Message.Seq = t.copy.NextSeq()
			t.copy.Log.Append(d.Message.Head(content.Bytes(d.Message.Blocks)))
		}
		if d.Resume != nil {
			t.apply(*d.Resume)
		}
		state = t.copy.State(r.host.Choices())
		t.complete(&state)
	})
	b, err = prepare(ctx, t, &state, func() {})
	return t, state, b, err
}

// complete adds to a state what a stored prompt would have added to the session. It belongs to the mailbox.
func (t *Trial) complete(state *assembly.State) {
	state.Files = t.draft.Files
	if !t.draft.Resent {
		state.Store = assembly.Expecting(state.Store, &t.draft.Message)
	}
}

// apply adds an edit to the copy of the history. It belongs to the mailbox.
func (t *Trial) apply(edit history.Edit) {
	edit.ID, edit.Seq, edit.At = t.requests.services.NewID("edit_"), t.copy.NextSeq(), t.requests.services.Now()
	t.copy.Apply(edit)
	t.Edits = append(t.Edits, edit)
}

func (t *Trial) shedding() (shed []history.Edit) {
	t.requests.box.Wait(func() { shed = t.copy.Log.Shedding() })
	return shed
}

func (t *Trial) rules() compacting.Rules { return t.requests.rules() }

func (t *Trial) amend(state *assembly.State, edit history.Edit) error {
	t.requests.box.Wait(func() {
		t.apply(edit)
		*state = t.copy.Renewed(state, state.Model, t.choices())
		t.complete(state)
	})
	return nil
}

func (t *Trial) choices() *choices.Choices { return t.requests.host.Choices() }
