package shell

import (
	"context"
	"errors"
	"testing"

	"strata/session/clients"
	"strata/session/tools"
)

// runCancelled returns a function that runs a command, and one that cancels its turn.
func (w *workshop) runCancelled(line string) (cancel func(), run func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	return cancel, func() {
		defer cancel()
		_, err := w.call(map[string]any{"command": line}).Run(ctx, tools.MaxResult, func(tools.Output) {})
		if !errors.Is(err, context.Canceled) {
			w.t.Errorf("the error is %v", err)
		}
	}
}

// The environment and the editor may already be those of the next turn.
func TestACommandOfACancelledTurnDoesNotStart(t *testing.T) {
	w := open(t)
	cancel, run := w.runCancelled("trap '' TERM; echo ran > ran")
	w.Environment = func() []string {
		cancel()
		return nil
	}
	run()
	equal(t, "file", w.file("ran"), "none")

	e := &fakeEditor{}
	w = inEditor(t, e)
	cancel, run = w.runCancelled("make")
	w.Editor = func() (clients.Client, uint64) {
		cancel()
		return e, 0
	}
	run()
	if log := e.order(); len(log) > 0 {
		t.Errorf("requests to the editor: %q", log)
	}
}
