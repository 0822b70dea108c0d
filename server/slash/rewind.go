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

// Rewinder restores an earlier state of a session: the view, and the files that turns have changed since.
type Rewinder interface {
	// Rewind restores a state. With preview it changes nothing and returns what it would do.
	Rewind(ctx context.Context, s *session.Session, to session.RestoreRequest, preview bool) (Rewound, error)
}

// Rewound is what a Rewinder has done.
type Rewound struct {
	After string   // id of the running turn after which it takes effect; empty for immediately
	Files []string // a line for each file: what happens to it
	Note  string   // a sentence about what is not restored, may be empty
}

// View is the Rewinder that restores the view only.
type View struct{}

// filesStay is the note of a View.
const filesStay = "Files on the disk stay as they are."

// Rewind implements Rewinder.
func (View) Rewind(ctx context.Context, s *session.Session, to session.RestoreRequest, preview bool) (Rewound, error) {
	if preview {
		return Rewound{Note: filesStay}, nil
	}
	restored, err := await.Reply(ctx, func(reply func(session.Restored, error)) { s.Restore(to, reply) })
	return Rewound{After: restored.After, Note: filesStay}, err
}

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
	return "The last edit of the history is undone.", nil
}

func (r *Runner) undoTurn(ctx context.Context, preview bool) (string, error) {
	last, err := findLast(ctx, r.Session)
	if err != nil {
		return "", err
	}
	if last == nil {
		return "The working history has no turn to undo.", nil
	}
	done, err := r.Rewinder.Rewind(ctx, r.Session, session.RestoreRequest{Before: last.prompt.ID}, preview)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	switch {
	case preview:
		text.WriteString("This would be taken back:\n\n")
	case done.After != "":
		text.WriteString("This will be taken back after the running turn:\n\n")
	default:
		text.WriteString("Taken back:\n\n")
	}
	fmt.Fprintf(&text, "- the prompt “%s” and the %d messages after it\n", last.words(), last.following)
	for _, file := range done.Files {
		text.WriteString("- " + file + "\n")
	}
	if done.Note != "" {
		text.WriteString("\n" + done.Note + "\n")
	}
	if preview {
		text.WriteString("\n`/undo now` takes it back.")
	} else {
		text.WriteString("\n`/undo edit` brings it back.")
	}
	return text.String(), nil
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
	done, err := r.Rewinder.Rewind(ctx, r.Session, session.RestoreRequest{Checkpoint: all[i].ID}, false)
	switch {
	case err != nil:
		return "", err
	case done.After != "":
		return "The checkpoint “" + all[i].Name + "” will be restored after the running turn.", nil
	}
	lines := []string{"The checkpoint “" + all[i].Name + "” is restored; `/undo edit` takes that back."}
	lines = append(lines, done.Files...)
	if done.Note != "" {
		lines = append(lines, done.Note)
	}
	return list(lines), nil
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
