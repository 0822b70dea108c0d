package session

import (
	"runtime"

	"strata/llm"
	"strata/session/clients"
	"strata/session/tools"
)

// ToolSettings are the settings of the tools that the model can call.
type ToolSettings struct {
	Enabled  bool
	MaxSteps int // of a turn
}

// toolbox returns the tools for a turn, nil for none, and makes the next requests tell of them.
func (t *turns) toolbox(shown tools.Shown) *tools.Set {
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
