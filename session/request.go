package session

import (
	"context"

	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/compacting"
)

// requests builds requests that are to be sent.
type requests struct {
	*core
	compacting *compacting.Driver
}

// prepare builds a request. If messages would be evicted without a summary although the profile compacts its history, they
// are summarized before, without a model: a prompt waits for no network. Only the summary is stored; whatever else does not
// fit remains to be evicted.
func (r *requests) prepare(ctx context.Context, state *assembly.State, tools []llm.Tool) (assembly.Built, error) {
	b, err := state.Build(ctx, tools)
	for _, by := range compacting.Condensations {
		if err != nil || len(b.Changes.Evict) == 0 || !state.Profile.Compaction.Enabled {
			break
		}
		var shorter bool
		if shorter, err = r.condense(ctx, state, by, b.Changes.Evict); err == nil && shorter {
			b, err = state.Build(ctx, tools)
		}
	}
	return b, err
}

// condense stores a compaction of a state without a model, and makes the state the one after it. It reports whether the
// history is shorter now.
func (r *requests) condense(ctx context.Context, state *assembly.State, by compacting.Condensation, evicted []history.Viewed) (bool, error) {
	var rules compacting.Rules
	r.mailbox.Wait(func() { rules = r.choices.compactionRules() })
	edit, ok, err := compacting.Condense(ctx, state, &rules, by, evicted)
	if err != nil || !ok {
		return false, err
	}
	if err := r.amend(edit, "compaction"); err != nil {
		return false, err
	}
	r.mailbox.Wait(func() {
		r.compacting.Condensed(&edit)
		*state = r.context.renewed(state, state.Model, r.choices)
	})
	return true, nil
}
