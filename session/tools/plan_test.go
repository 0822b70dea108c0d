package tools

import (
	"errors"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/filecontext/index"
	"strata/filecontext/outline"
)

func TestUpdatePlanGivesThePlan(t *testing.T) {
	w := workspaceOf(t, folderOf(t, nil))
	entry := func(content, status string) members {
		return members{"content": content, "priority": "high", "status": status}
	}
	r := call(t, w, "update_plan", members{"entries": []members{entry("read", "completed"), entry("write", "in_progress")}})
	equal(t, "plan", r.Plan, []PlanEntry{{Content: "read", Priority: "high", Status: "completed"}, {Content: "write", Priority: "high", Status: "in_progress"}})
	equal(t, "text", shownText(r), "The plan has 2 entries, 1 of them open.")
	if r := call(t, w, "update_plan", members{"entries": []members{}}); r.Plan == nil || len(r.Plan) > 0 {
		t.Errorf("an empty plan is %#v", r.Plan)
	}
	many := make([]members, maxPlan+1)
	for i := range many {
		many[i] = entry("x", "pending")
	}
	for want, entries := range map[string][]members{
		"a plan has at most 100 entries, not 101":              many,
		"entries[1].content is empty":                          {entry("x", "pending"), entry(" \n", "pending")},
		"entries[0].content has 1001 bytes, the limit is 1000": {entry(strings.Repeat("x", 1001), "pending")},
	} {
		if r := call(t, w, "update_plan", members{"entries": entries}); shownText(r) != want || !r.IsError || r.Plan != nil {
			t.Errorf("%s, plan %v; want %s", shownText(r), r.Plan, want)
		}
	}
}

func TestOutlineOfAFile(t *testing.T) {
	w := workspaceOf(t, folderOf(t, nil))
	w.Symbols = symbols{outline: &outline.Outline{Language: "go", Symbols: []outline.Symbol{{Kind: "func", Name: "Run", Line: 7}}}}
	hasAll(t, said(t, w, "outline", members{"path": "a.go"}), "a.go\n", "Run")
	w.Symbols = symbols{}
	equal(t, "no outline", complained(t, w, "outline", members{"path": "a.txt"}), "a.txt has no outline; read the file instead")
	w.Symbols = symbols{err: &filecontext.RefusedError{Path: "a.go", Reason: filecontext.ReasonMissing}}
	hasAll(t, complained(t, w, "outline", members{"path": "a.go"}), "a.go does not exist")
}

func TestFindSymbolListsHits(t *testing.T) {
	w := workspaceOf(t, folderOf(t, nil))
	hit := index.Hit{Path: "a.go", Name: "Run", Kind: "func", Line: 7}
	w.Symbols = symbols{complete: true, hits: []index.Hit{hit, {Path: "odd\nrun.go", Name: "run.go", Kind: index.KindFile}}}
	equal(t, "hits", said(t, w, "find_symbol", members{"query": "run"}), "a.go:7 func Run\n\"odd\\nrun.go\" (file)\n")
	w.Symbols = symbols{}
	equal(t, "none", said(t, w, "find_symbol", members{"query": "r\nun"}),
		"Nothing is named like \"r\\nun\".\n[the workspace is still being indexed: there may be more]\n")
	w.Symbols = symbols{err: errors.New("the folder is not indexed")}
	equal(t, "error", complained(t, w, "find_symbol", members{"query": "run"}), "find_symbol cannot search: the folder is not indexed")
	hit.Name = strings.Repeat("n", 5000)
	w.Symbols = symbols{complete: true, hits: make([]index.Hit, 200)}
	for i := range 200 {
		w.Symbols.(symbols).hits[i] = hit
	}
	if n := strings.Count(said(t, w, "find_symbol", members{"query": "n"}), "\n"); n != maxHits {
		t.Errorf("%d hits", n)
	}
}
