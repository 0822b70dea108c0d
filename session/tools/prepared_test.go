package tools

import (
	"context"
	"testing"
	"testing/synctest"

	"strata/filecontext/change"
	"strata/history"
)

// changer returns a tool that changes a file: how it is prepared and made.
func changer(prepare func(ctx context.Context) (*Prepared, error)) Tool {
	t := toolOf("change", false, nil)
	t.Prepare = func(ctx context.Context, _ Input) (*Prepared, error) { return prepare(ctx) }
	return t
}

func spawn(run func()) { go run() }

// makes returns a prepared change that is made so.
func makes(do func(ctx context.Context) (Result, error)) func(context.Context) (*Prepared, error) {
	return func(context.Context) (*Prepared, error) {
		return &Prepared{Change: Change{Names: []string{"a"}}, Diffs: []history.Diff{{Path: "a", Hunks: []history.TextHunk{{NewStart: 7}}}}, Make: do}, nil
	}
}

// begun returns a step whose change may run.
func begun(t *testing.T, do func(ctx context.Context) (Result, error)) *Step {
	t.Helper()
	step := stepOf(t, []Tool{changer(makes(do))}, 1<<20, "change")
	if event, _ := step.Review(); event != Prepares {
		t.Fatalf("event %d", event)
	}
	event, p := step.Prepare(t.Context(), spawn)
	if event != Asks || len(p.Diffs) != 1 || p.Diffs[0].Path != "/folder/a" {
		t.Fatalf("event %d, %+v", event, p)
	}
	if _, c := step.Asked(); c == nil || c.Names[0] != "a" {
		t.Fatalf("asked about %+v", c)
	}
	step.Allow()
	return step
}

// A change that was made is the result, with what became of the file.
func TestAPreparedCallIsMade(t *testing.T) {
	step := begun(t, func(context.Context) (Result, error) {
		r := text("changed")
		r.Made = &Made{State: change.Done}
		r.Content[0].Shows = []history.FileLines{{Path: "a"}}
		return r, nil
	})
	step.Run(t.Context(), spawn, func(Progress) {})
	if m := step.Made(); m == nil || m.State != change.Done || len(step.Shows()) != 1 || len(step.Settle(Cancelled)) > 0 {
		t.Errorf("made %+v, shown %v", m, step.Shows())
	}
}

// A turn that is cancelled right before a change does not make it.
func TestAChangeThatDoesNotBegin(t *testing.T) {
	step := begun(t, func(context.Context) (Result, error) { t.Error("it was made"); return Result{}, nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	step.Run(ctx, spawn, func(Progress) {})
	equal(t, "made", step.Made(), &Made{State: change.NotDone})
}

// A call whose preparation fails is refused, and a tool that panics is one that fails.
func TestACallThatCannotBePrepared(t *testing.T) {
	for want, prepare := range map[string]func(ctx context.Context) (*Prepared, error){
		"read it first":                 func(context.Context) (*Prepared, error) { return Refuse(Failed("read it first")), nil },
		"change failed: internal error": func(context.Context) (*Prepared, error) { panic("broken") },
	} {
		step := stepOf(t, []Tool{changer(prepare)}, 1<<20, "change")
		step.Review()
		event, p := step.Prepare(t.Context(), spawn)
		if event != Refused || p.Status != Fails || p.Result.Content[0].Text != want {
			t.Errorf("event %d, %+v", event, p)
		}
	}
}

// A turn that is cancelled does not wait for a preparation that hangs.
func TestAPreparationThatIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		step := stepOf(t, []Tool{changer(func(context.Context) (*Prepared, error) { <-release; return Refuse(Failed("late")), nil })}, 1<<20, "change")
		step.Review()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		step.Prepare(ctx, spawn)
		close(release)
		synctest.Wait()
		settled := step.Settle(Cancelled)
		if len(settled) != 1 || settled[0].Result.Content[0].Text != "cancelled by the user" {
			t.Errorf("settled %+v", settled)
		}
	})
}

// What a cancelled change becomes is known if it ends in time: made, or never made. Otherwise the model is told that it is not
// known.
func TestACancelledChange(t *testing.T) {
	made := text("changed")
	made.Made = &Made{State: change.Done}
	for name, tt := range map[string]struct {
		do   func(ctx context.Context, release chan struct{}) (Result, error)
		made *Made
		want string
	}{
		"made":      {func(ctx context.Context, _ chan struct{}) (Result, error) { <-ctx.Done(); return made, nil }, made.Made, "changed"},
		"not begun": {func(ctx context.Context, _ chan struct{}) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() }, &Made{State: change.NotDone}, "cancelled by the user"},
		"stuck": {func(_ context.Context, release chan struct{}) (Result, error) { <-release; return made, nil }, nil,
			"cancelled by the user; whether it changed the file is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				step := begun(t, func(ctx context.Context) (Result, error) { return tt.do(ctx, release) })
				ctx, cancel := context.WithCancel(t.Context())
				step.Run(ctx, spawn, func(Progress) { cancel() }) // when it begins
				close(release)
				synctest.Wait()
				step.Settle(Cancelled)
				equal(t, "made", step.Made(), tt.made)
				equal(t, "result", step.Results()[0].Content[0].Text, tt.want)
			})
		})
	}
}
