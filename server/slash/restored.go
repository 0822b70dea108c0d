package slash

import (
	"fmt"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/internal/clip"
	"strata/session/restoring"
)

// filesTold returns what became of files, or what would: a line of a list for each.
func filesTold(done *restoring.Done) string {
	if done == nil || len(done.Files) == 0 {
		return ""
	}
	var text strings.Builder
	for i := range done.Files {
		text.WriteString("- " + fileTold(&done.Files[i]) + "\n")
	}
	if done.Omitted > 0 {
		fmt.Fprintf(&text, "- and %d more files\n", done.Omitted)
	}
	return text.String() + "\n" + restoring.Note + "\n"
}

func fileTold(f *restoring.File) string {
	name := shownPath(f.Path)
	switch f.Outcome {
	case restoring.Restored:
		return name + ": " + effects[f.Change] + shownTarget(f.To)
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

// shownPath returns a path in backticks.
func shownPath(path string) string { return "`" + filecontext.Printable(clip.Path(path)) + "`" }

func shownTarget(path string) string {
	if path == "" {
		return ""
	}
	return shownPath(path)
}
