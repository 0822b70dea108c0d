package historystore

import (
	"strata/history"
)

// Failpoints are the names of the points around a commit at which internal/failpoint can kill the process:
// ".before" after everything was written but before the commit, ".after" after the commit but before its callers return.
// Each commit of changes hits "commit" and the kinds of its changes; the end of a turn with a layout hits "end" and "layout".
// A change that stores a step and deletes its saved chunks hits "step".
var Failpoints = failpointNames(
	"commit", "create", "update", "begin", "partial", "step", "end", "edit", "append", "layout", "compaction", "filechange",
	"delete", "undelete", "show", "purge", "outlines", "index",
)

func failpointNames(kinds ...string) []string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind+".before", kind+".after")
	}
	return names
}

// kinds returns the names in Failpoints of the parts of a change.
func kinds(ch *history.Change) []string {
	var names []string
	add := func(name string, holds bool) {
		if holds {
			names = append(names, name)
		}
	}
	add("create", ch.Create != nil)
	add("begin", ch.Begin != nil)
	add("partial", ch.Partial != nil)
	add("step", ch.DropPartials != "")
	add("end", ch.End != nil)
	add("edit", len(ch.Edits) > 0)
	add("append", len(ch.Messages) > 0 && ch.Begin == nil && ch.End == nil && ch.DropPartials == "" && len(ch.Edits) == 0)
	add("layout", ch.Layout != nil)
	add("compaction", ch.Compaction != nil)
	add("filechange", len(ch.PutFileChanges) > 0)
	add("update", len(names) == 0)
	return names
}
