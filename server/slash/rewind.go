package slash

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"strata/history"
	"strata/internal/await"
	"strata/internal/clip"
	"strata/internal/plural"
	"strata/session"
	"strata/session/commands"
)

// The arguments of /undo.
const (
	undoNow  = "now"
	undoEdit = "edit"
)

// undo previews the undo of the last turn, undoes it, or undoes the newest edit of the view.
func (r *Runner) undo(ctx context.Context, call commands.Call) (string, error) {
	switch call.Arguments {
	case "", undoNow:
		return r.undoTurn(ctx, call.Arguments == "")
	case undoEdit:
		return r.undoEdit(ctx)
	}
	return usage(commands.Undo), nil
}

func (r *Runner) undoEdit(ctx context.Context) (string, error) {
	restored, err := await.Reply(ctx, r.Session.Undo)
	switch {
	case err != nil:
		return "", err
	case restored.After != "":
		return "The newest edit of the history will be undone after the running turn.", nil
	}
	files, err := r.filesTold(ctx, restored.Files)
	return strings.TrimSpace("Undid the newest edit of the history.\n\n" + files), err
}

func (r *Runner) undoTurn(ctx context.Context, preview bool) (string, error) {
	last, err := findLast(ctx, r.Session)
	if err != nil {
		return "", err
	}
	if last == nil {
		return "The working history has no turn to undo.", nil
	}
	to := session.RestoreRequest{Before: last.prompt.ID, Files: true, Preview: preview}
	done, err := await.Reply(ctx, func(reply func(session.Restored, error)) { r.Session.Restore(to, reply) })
	if err != nil {
		return "", err
	}
	files, err := r.filesTold(ctx, done.Files)
	if err != nil {
		return "", err
	}
	begin, end := "Undone:\n\n", "\n`/undo edit` restores the turn and its files."
	if preview {
		begin, end = "`/undo now` would undo this turn:\n\n", "\nNothing has changed yet."
	}
	return begin + last.messages() + files + end, nil
}

// messages returns the prompt and the number of messages after it as a line of a list.
func (l *last) messages() string {
	if l.following == 0 {
		return fmt.Sprintf("- the prompt “%s”\n", l.words())
	}
	return fmt.Sprintf("- the prompt “%s” and %s after it\n", l.words(), plural.Of(l.following, "message"))
}

func (r *Runner) checkpoint(ctx context.Context, call commands.Call) (string, error) {
	if call.Arguments == "" {
		return usage(commands.Checkpoint), nil
	}
	made, err := await.Reply(ctx, func(reply func(history.Checkpoint, error)) { r.Session.CreateCheckpoint(call.Arguments, reply) })
	if err != nil {
		return "", err
	}
	return "Created the checkpoint “" + made.Name + "”.", nil
}

// maxListed is the maximum number of checkpoints in a list.
const maxListed = 50

// restore restores the newest checkpoint with a name or an id. Without a name it lists the checkpoints.
func (r *Runner) restore(ctx context.Context, call commands.Call) (string, error) {
	all, err := await.Reply(ctx, r.Session.Checkpoints)
	if err != nil {
		return "", err
	}
	if call.Arguments == "" {
		return checkpointList(all), nil
	}
	all = slices.Clone(all)
	slices.Reverse(all)
	i := slices.IndexFunc(all, func(c history.Checkpoint) bool { return c.Name == call.Arguments || c.ID == call.Arguments })
	if i < 0 {
		return "", &session.MissingError{Kind: "checkpoint", ID: call.Arguments}
	}
	to := session.RestoreRequest{Checkpoint: all[i].ID}
	done, err := await.Reply(ctx, func(reply func(session.Restored, error)) { r.Session.Restore(to, reply) })
	switch {
	case err != nil:
		return "", err
	case done.After != "":
		return "The checkpoint “" + all[i].Name + "” will be restored after the running turn.", nil
	}
	return "Restored the checkpoint “" + all[i].Name + "”. Files on disk did not change. `/undo edit` undoes this.", nil
}

func checkpointList(all []history.Checkpoint) string {
	if len(all) == 0 {
		return "There are no checkpoints. " + usage(commands.Checkpoint)
	}
	text := usage(commands.Restore) + "\n\n"
	for _, c := range slices.Backward(all[max(len(all)-maxListed, 0):]) {
		text += fmt.Sprintf("- %s (%s)\n", c.Name, c.At.UTC().Format(time.RFC3339))
	}
	return text
}

// words returns the start of the prompt for a line of text.
func (l *last) words() string { return clip.Line(l.prompt.PlainText(), 100) }
