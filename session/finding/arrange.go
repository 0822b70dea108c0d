package finding

import (
	"fmt"
	"slices"

	"strata/history"
	"strata/session/mailbox"
)

// Arranged is the response to Arrange.
type Arranged struct {
	Seq        int64    `json:"seq"` // of the edit
	MessageIDs []string `json:"messageIds"`
}

// Arrange keeps a message, does not keep it any longer, or removes it from the view, together with the results of its calls. It
// is refused while a turn runs. The transcript stays, and an undo takes the change back.
func (f *Finder) Arrange(id string, action Action, reply func(Arranged, error)) {
	mailbox.Change(f.mailbox, reply, func() (mailbox.Work, error) {
		if err := f.host.Busy(); err != nil {
			return nil, err
		}
		now := f.host.Context()
		m, err := messageOf(now.Log, id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(m.actions(), action) {
			return nil, fmt.Errorf("%w: action: %s is not possible for a message that is %s", mailbox.ErrInvalid, action, m.words())
		}
		edit := history.Edit{
			ID: f.newID("edit_"), Seq: now.NextSeq(), Kind: history.EditKind(action), At: f.now(), Reason: "asked for", Messages: m.unit, Before: now.Tokens(),
		}
		edit.After = now.Log.TokensWith(edit)
		edit.SavedTokens = max(edit.Before-edit.After, 0)
		return f.host.Store("arrange messages", history.Change{Edits: []history.Edit{edit}}, func() {
			f.host.Arranged(edit)
			reply(Arranged{Seq: edit.Seq, MessageIDs: edit.Messages}, nil)
		}), nil
	})
}

func (m *message) words() string {
	switch {
	case m.InView && m.Kept:
		return "kept"
	case m.InView:
		return "in view"
	}
	return string(m.Reason)
}
