package requests

import (
	"context"

	"strata/history"
	"strata/session/assembly"
	"strata/session/compacting"
)

// amender is the history that a request is built from, whose edits it may need.
type amender interface {
	// shedding returns the edits in force that removed or truncated messages to fit the window.
	shedding() []history.Edit
	// rules returns how the history is compacted.
	rules() compacting.Rules
	// amend adds an edit to the history, and makes the state the one after it.
	amend(state *assembly.State, edit history.Edit) error
}

// prepare builds a request, with the edits of its history that it needs. first is called before the first of them.
func prepare(ctx context.Context, a amender, state *assembly.State, first func()) (assembly.Built, error) {
	b, err := state.Build(ctx)
	for back := err == nil; back; {
		if back, err = readmit(a, state, &b, first); back {
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
		if shorter, err = condense(ctx, a, state, by, b.Changes.Evict); err == nil && shorter {
			b, err = state.Build(ctx)
		}
	}
	return b, err
}

// readmit brings back messages that an earlier request omitted, if the built one has room for them, and makes the state the
// one with them. It reports whether it did.
func readmit(a amender, state *assembly.State, b *assembly.Built, first func()) (bool, error) {
	edit, ok := state.Returns(b, a.shedding())
	if !ok {
		return false, nil
	}
	first()
	err := a.amend(state, edit)
	return err == nil, err
}

// condense compacts the history without a model, and makes the state the one after it. It reports whether the history is
// shorter now.
func condense(ctx context.Context, a amender, state *assembly.State, by compacting.Condensation, evicted []history.Viewed) (bool, error) {
	rules := a.rules()
	edit, ok, err := compacting.Condense(ctx, state, &rules, by, evicted)
	if err != nil || !ok {
		return false, err
	}
	err = a.amend(state, edit)
	return err == nil, err
}
