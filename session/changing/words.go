package changing

import (
	"encoding/json"
	"fmt"

	"strata/filecontext"
	"strata/history"
	"strata/internal/clip"
	"strata/internal/exact"
	"strata/session/tools"
)

func text(format string, args ...any) tools.Result {
	return tools.Result{Content: []history.Block{{Type: history.BlockText, Text: fmt.Sprintf(format, args...)}}}
}

func lineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

func lineNames(r filecontext.Range) string {
	if r.Start == r.End {
		return fmt.Sprintf("line %d", r.Start)
	}
	return fmt.Sprintf("lines %d to %d", r.Start, r.End)
}

func titlePath(path string) string { return filecontext.Printable(clip.Path(path)) }

// decoded returns the valid members of an input, for a description.
func decoded[T any](args json.RawMessage) (in T) {
	_ = exact.Decode(args, "", &in) // the members before the wrong one
	return in
}

// remedies are predicates of a path, for the model: why the path is refused, and a remedy.
var remedies = map[filecontext.Reason]string{
	filecontext.ReasonBadURI:     "is not a path on this machine",
	filecontext.ReasonNoFile:     "is not a path",
	filecontext.ReasonOutside:    "is outside the workspace; tools change only files in it",
	filecontext.ReasonOwn:        "belongs to the program that runs the tools, and cannot be changed",
	filecontext.ReasonSecret:     "looks like a secret, and cannot be changed unless the user allows it",
	filecontext.ReasonMissing:    "does not exist; write_file creates files",
	filecontext.ReasonDirectory:  "is a folder",
	filecontext.ReasonTooLarge:   "is too large to change",
	filecontext.ReasonReplaced:   "cannot be changed: its folder was replaced by another one",
	filecontext.ReasonNoFolder:   "cannot be changed: the workspace folder cannot be opened",
	filecontext.ReasonEncoding:   "cannot be changed: it contains bytes that are not UTF-8, which would be lost",
	filecontext.ReasonBinary:     "is not text",
	filecontext.ReasonExists:     "already exists; choose another path",
	filecontext.ReasonReadOnly:   "is read-only; ask the user to make it writable",
	filecontext.ReasonUnreadable: "cannot be changed",
}

// explained returns why a path is refused.
func explained(refusal *filecontext.RefusedError) string {
	why := remedies[refusal.Reason]
	if why == "" {
		why = refusal.Reason.Explain()
	}
	if refusal.Detail != "" {
		why += " (" + refusal.Detail + ")"
	}
	return titlePath(refusal.Path) + " " + why
}
