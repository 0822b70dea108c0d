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

// filesTold returns what became of files, or what would: a line of a list for each, with its path in the session's folder.
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
		return name + ": is already as it was"
	case restoring.Unavailable:
		return name + ": stays, because its earlier content is not stored any more"
	}
	why := reasons[f.Reason]
	if why == "" {
		why = clip.Line(filecontext.Printable(f.Detail), 200)
	}
	return name + ": stays, because " + why
}

var effects = map[restoring.Effect]string{
	restoring.PutBack: "gets its content back", restoring.Created: "is there again", restoring.Deleted: "is deleted", restoring.Moved: "is moved to ",
}

var reasons = map[history.ConflictReason]string{
	history.ConflictChanged: "somebody else has changed it since",
	history.ConflictMissing: "somebody else has removed it",
	history.ConflictExists:  "somebody else has made a file there",
	history.ConflictBetween: "somebody else changed it between two of the changes",
	history.ConflictLinked:  "it was moved from or to a path that cannot be put back",
	history.ConflictLater:   "a later change of it stays",
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
