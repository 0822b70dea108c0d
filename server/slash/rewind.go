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
	"strata/session"
	"strata/session/commands"
)

// The arguments of /undo.
const (
	undoNow  = "now"
	undoEdit = "edit"
)

// undo shows the last turn, takes it back, or makes the last edit of the view ineffective.
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
		return "The last edit of the history will be undone after the running turn.", nil
	}
	files, err := r.filesTold(ctx, restored.Files)
	return strings.TrimSpace("The last edit of the history is undone.\n\n" + files), err
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
	begin, end := "Taken back:\n\n", "\n`/undo edit` brings it back."
	if preview {
		begin, end = "This would be taken back:\n\n", "\n`/undo now` takes it back."
	}
	messages := fmt.Sprintf("- the prompt “%s” and the %d messages after it\n", last.words(), last.following)
	return begin + messages + files + end, nil
}

func (r *Runner) checkpoint(ctx context.Context, call commands.Call) (string, error) {
	if call.Arguments == "" {
		return usage(commands.Checkpoint), nil
	}
	made, err := await.Reply(ctx, func(reply func(history.Checkpoint, error)) { r.Session.CreateCheckpoint(call.Arguments, reply) })
	if err != nil {
		return "", err
	}
	return "The checkpoint “" + made.Name + "” names the present state.", nil
}

// maxListed is the maximum number of checkpoints in a list.
const maxListed = 50

// restore restores the newest checkpoint of a name, or the one with an id. Without a name it lists the checkpoints.
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
	return "The checkpoint “" + all[i].Name + "” is restored; `/undo edit` takes that back. Files on the disk stay as they are.", nil
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
