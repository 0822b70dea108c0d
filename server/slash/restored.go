package slash

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/internal/await"
	"strata/internal/clip"
	"strata/session/restoring"
)

// filesTold returns a list with the outcome of a restore, or of its preview, for each file, and restoring.Note. Paths are
// relative to the session's folder.
func (r *Runner) filesTold(ctx context.Context, done *restoring.Done) (string, error) {
	if done == nil || len(done.Files) == 0 {
		return "", nil
	}
	info, err := await.Reply(ctx, r.Session.Info)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for i := range done.Files {
		text.WriteString("- " + fileTold(&done.Files[i], info.Session.CWD) + "\n")
	}
	if done.Omitted > 0 {
		fmt.Fprintf(&text, "- and %d more files\n", done.Omitted)
	}
	return text.String() + "\n" + restoring.Note + "\n", nil
}

func fileTold(f *restoring.File, folder string) string {
	name := shownPath(f.Path, folder)
	switch f.Outcome {
	case restoring.Restored:
		return name + ": " + effects[f.Change] + shownPath(f.To, folder)
	case restoring.Unchanged:
		return name + ": no change needed"
	case restoring.Unavailable:
		return name + ": not restored; its earlier content is no longer stored"
	}
	why := reasons[f.Reason]
	if why == "" {
		why = clip.Line(filecontext.Printable(f.Detail), 200)
	}
	return name + ": not restored; " + why
}

var effects = map[restoring.Effect]string{
	restoring.PutBack: "content restored", restoring.Created: "created again", restoring.Deleted: "deleted", restoring.Moved: "moved to ",
}

var reasons = map[history.ConflictReason]string{
	history.ConflictChanged: "somebody else has changed it since",
	history.ConflictMissing: "somebody else has removed it",
	history.ConflictExists:  "somebody else has created a file at this path",
	history.ConflictBetween: "somebody else changed it between two of the turn's changes",
	history.ConflictLinked:  "it was moved, and the file at its other path cannot be restored",
	history.ConflictLater:   "it has a later change that is not undone",
}

// shownPath returns a path in backticks, relative to the folder if it is in it; "" for none.
func shownPath(path, folder string) string {
	if path == "" {
		return ""
	}
	if name, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(name) {
		path = filepath.ToSlash(name)
	}
	return "`" + filecontext.Printable(clip.Path(path)) + "`"
}
