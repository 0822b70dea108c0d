package compacting

import (
	"testing"

	"strata/history"
)

// A compaction of m1 and m2 that began at 10 is dropped if a later edit concerns these, or the whole view.
func TestWhichEditsOutdateACompaction(t *testing.T) {
	const since = 10
	covered := []string{"m1", "m2"}
	edit := func(seq int64, kind history.EditKind, messages ...string) history.Edit {
		return history.Edit{ID: string(kind), Seq: seq, Kind: kind, Messages: messages}
	}
	patching := func(kind history.EditKind, message string) history.Edit {
		return history.Edit{Seq: 11, Kind: kind, Patches: []history.Patch{{Message: message}}}
	}
	undo := func(of string) history.Edit { return history.Edit{Seq: 12, Kind: history.EditRestore, Undoes: of} }
	for name, tt := range map[string]struct {
		edits []history.Edit
		want  bool
	}{
		"none":                                  {nil, false},
		"a clear before it":                     {[]history.Edit{edit(10, history.EditClear)}, false},
		"a clear":                               {[]history.Edit{edit(11, history.EditClear)}, true},
		"a clear, then an eviction":             {[]history.Edit{edit(11, history.EditClear), edit(12, history.EditTruncate, "m9")}, true},
		"a replace":                             {[]history.Edit{edit(11, history.EditReplace)}, true},
		"another compaction":                    {[]history.Edit{edit(11, history.EditCompact, "m9")}, true},
		"an eviction of what it covers":         {[]history.Edit{edit(11, history.EditTruncate, "m1")}, false},
		"a cut in what it covers":               {[]history.Edit{patching(history.EditTruncate, "m1")}, false},
		"copies that left what it covers":       {[]history.Edit{patching(history.EditDedupe, "m2")}, false},
		"a prompt that was not answered":        {[]history.Edit{edit(11, history.EditUnanswered, "m2")}, false},
		"a late result for what it covers":      {[]history.Edit{patching(history.EditResult, "m2")}, true},
		"a late result for another message":     {[]history.Edit{patching(history.EditResult, "m9")}, false},
		"a restore":                             {[]history.Edit{edit(11, history.EditRestore)}, true},
		"the return of what it covers":          {[]history.Edit{edit(9, history.EditTruncate, "m1"), undo("truncate")}, true},
		"the return of others":                  {[]history.Edit{edit(9, history.EditTruncate, "m9"), undo("truncate")}, false},
		"the undo of a compaction":              {[]history.Edit{edit(9, history.EditCompact, "m9"), undo("compact")}, true},
		"the undo of an unknown edit":           {[]history.Edit{undo("lost")}, true},
		"the removal of another broken reply":   {[]history.Edit{edit(11, history.EditResume, "m9")}, false},
		"the removal of a reply that it covers": {[]history.Edit{edit(11, history.EditResume, "m2")}, true},
	} {
		if got := outdated(tt.edits, since, covered); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
