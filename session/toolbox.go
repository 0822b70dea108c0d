package session

import (
	"context"
	"runtime"
	"slices"

	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/clients"
	"strata/session/content"
	"strata/session/tools"
)

// ToolSettings are the settings of the tools that the model can call.
type ToolSettings struct {
	Enabled  bool
	MaxSteps int // of a turn
}

// seen is which lines of files the next request of a turn shows. It belongs to the turn's goroutine while no call runs.
type seen struct{ *tools.View }

// toolbox returns the tools for a turn, nil for none, and makes the next requests tell of them.
func (t *turns) toolbox(shown *seen) *tools.Set {
	t.context.Tools, t.context.Guide = nil, ""
	if !t.deps.Tools.Enabled || t.choices.Model.NoTools || t.workspace.Roots() == nil {
		return nil
	}
	set, err := tools.NewSet(t.workspace.Tools(shown, t.editor)...)
	if err != nil {
		panic(err) // the built-in tools are a set
	}
	for _, d := range set.Definitions() {
		t.context.Tools = append(t.context.Tools, llm.Tool{Name: d.Name, Description: d.Description, Schema: d.Schema})
	}
	t.context.Guide = tools.Guide(tools.Surroundings{
		Folder: t.workspace.Roots().Folder(), Platform: runtime.GOOS, Git: t.workspace.IsRepository(), Date: t.deps.Now(),
	})
	return set
}

// editor returns the client that reads files for the running turn, nil for none. It is called from goroutines of calls.
func (t *turns) editor() (editor clients.Client) {
	t.mailbox.Wait(func() { editor = t.clients.For(clients.ReadFiles) })
	return editor
}

// look notes what the request that was sent shows, for the calls of its reply.
func (s *seen) look(ctx context.Context, state *assembly.State) error {
	read := content.Reader(func(ctx context.Context, seqs []int64) ([]history.Message, error) {
		return state.Store.Messages(ctx, state.Session, seqs)
	})
	withResults := slices.DeleteFunc(slices.Clone(state.View), func(v history.Viewed) bool { return v.Role != history.RoleTool })
	messages, err := read.View(ctx, withResults)
	if err == nil {
		s.View = tools.NewView(history.ShownLines(messages))
	}
	return err
}
