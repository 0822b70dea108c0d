package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"strata/filecontext/index"
	"strata/filecontext/outline"
)

// symbols is an index for tests.
type symbols struct {
	outline  *outline.Outline
	hits     []index.Hit
	complete bool
	err      error
}

func (s symbols) Outline(_ context.Context, path string) (string, *outline.Outline, error) {
	return path, s.outline, s.err
}

func (s symbols) Find(ctx context.Context, _ string, limit int) ([]index.Hit, bool, error) {
	return s.hits, s.complete, s.err
}

func TestDefinitionsAreSortedAndTheSameEveryTime(t *testing.T) {
	w := workspaceOf(t, folderOf(t, nil))
	w.Symbols = symbols{}
	all := Reading(w)
	set, err := NewSet(all...)
	must(t, err)
	first, err := json.Marshal(set.Definitions())
	must(t, err)
	var names []string
	for _, d := range set.Definitions() {
		names = append(names, d.Name)
		if d.Description == "" || strings.ContainsAny(string(d.Schema), "\n") {
			t.Errorf("%s: %q %s", d.Name, d.Description, d.Schema)
		}
	}
	equal(t, "names", names, []string{"find_symbol", "list_files", "outline", "read_file", "search", "update_plan"})
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	other, err := NewSet(all...)
	must(t, err)
	again, err := json.Marshal(other.Definitions())
	must(t, err)
	equal(t, "definitions in another order", string(again), string(first))
}

func TestASetRefusesToolsThatCannotBeCalled(t *testing.T) {
	tool := func(name, schema string) Tool {
		return Tool{Definition: Definition{Name: name, Schema: json.RawMessage(schema)}}
	}
	const object = `{"type":"object"}`
	many := make([]Tool, MaxTools+1)
	for name, tt := range map[string]struct {
		tools []Tool
		want  string
	}{
		"a blank in the name": {[]Tool{tool("a b", object)}, `tool "a b": the name must have`},
		"no name":             {[]Tool{tool("", object)}, `tool "": the name must have`},
		"a long name":         {[]Tool{tool(strings.Repeat("a", 65), object)}, "the name must have"},
		"a name used twice":   {[]Tool{tool("a", object), tool("b", object), tool("a", object)}, "tool a: the name is used twice"},
		"no schema":           {[]Tool{tool("a", "")}, "tool a: inputSchema: must be an object"},
		"a schema of a list":  {[]Tool{tool("a", `{"type":"array"}`)}, `tool a: inputSchema.type: must be "object"`},
		"too many":            {many, "257 tools exceeds the limit of 256"},
	} {
		if _, err := NewSet(tt.tools...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestACallIsCheckedBeforeItRuns(t *testing.T) {
	set, err := NewSet(Reading(workspaceOf(t, folderOf(t, nil)))...)
	must(t, err)
	for _, tt := range []struct{ name, args, want string }{
		{"read", `{}`, `there is no tool "read"; the tools are list_files, read_file, search, update_plan`},
		{"read_file", ``, "read_file was not run: path is missing"},
		{"read_file", `{"path":"a","line":1}`, "read_file was not run: line is unknown; the members are end_line, path, start_line"},
		{"read_file", `{"path":"a","start_line":"1"}`, `read_file was not run: start_line must be a whole number, not "1"`},
		{"read_file", `{"path":"a"`, "read_file was not run: the input ends in the middle of the JSON"},
		{"search", `{"pattern":"a","context":11}`, "search was not run: context must be at most 10, not 11"},
		{"update_plan", `{"entries":[{"content":"a","priority":"high","status":"done"}]}`,
			`update_plan was not run: entries[0].status must be one of "pending", "in_progress", "completed", not "done"`},
	} {
		if _, err := set.Check(tt.name, tt.args); err == nil || err.Error() != tt.want {
			t.Errorf("%s %s: %v, want %s", tt.name, tt.args, err, tt.want)
		}
	}
	empty, err := NewSet()
	must(t, err)
	if _, err := empty.Check("a", ""); err == nil || !strings.HasSuffix(err.Error(), "the tools are none") {
		t.Error(err)
	}
}

func TestTheErrorOfACallIsThatOfItsContext(t *testing.T) {
	w := workspaceOf(t, folderOf(t, map[string]string{"a.go": "package a\n"}))
	w.Symbols = symbols{err: context.Canceled}
	set, err := NewSet(Reading(w)...)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, args := range map[string]string{
		"read_file": `{"path":"a.go"}`, "list_files": `{"pattern":"*.go"}`, "search": `{"pattern":"a"}`, "outline": `{"path":"a.go"}`, "find_symbol": `{"query":"a"}`,
	} {
		c, err := set.Check(name, args)
		must(t, err)
		if r, err := c.Run(ctx, MaxResult, nil); !errors.Is(err, context.Canceled) || len(r.Content) > 0 {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

func TestTitlesOfCalls(t *testing.T) {
	w := workspaceOf(t, folderOf(t, nil))
	w.Symbols = symbols{}
	set, err := NewSet(Reading(w)...)
	must(t, err)
	for _, tt := range []struct {
		name, args string
		want       Description
	}{
		{"read_file", `{"path":"a.go"}`, Description{"Read a.go", []Location{{"a.go", 0}}}},
		{"read_file", `{"path":"a.go","start_line":7}`, Description{"Read a.go from line 7", []Location{{"a.go", 7}}}},
		{"read_file", `{"path":"a\ngo","end_line":7}`, Description{`Read "a\ngo" lines 1 to 7`, []Location{{"a\ngo", 0}}}},
		{"list_files", `{}`, Description{"List files", nil}},
		{"list_files", `{"path":"src","pattern":"*.go"}`, Description{"List files *.go in src", []Location{{"src", 0}}}},
		{"search", `{"pattern":"MARK","path":"src"}`, Description{"Search for MARK in src", []Location{{"src", 0}}}},
		{"outline", `{"path":"a.go"}`, Description{"Outline of a.go", []Location{{"a.go", 0}}}},
		{"find_symbol", `{"query":"New"}`, Description{"Find New", nil}},
		{"update_plan", `{"entries":[]}`, Description{"Update the plan", nil}},
	} {
		c, err := set.Check(tt.name, tt.args)
		must(t, err)
		equal(t, tt.name+" "+tt.args, c.Describe(), tt.want)
	}
	frontend, err := NewSet(Tool{Definition: Definition{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}})
	must(t, err)
	c, err := frontend.Check("look", "")
	must(t, err)
	equal(t, "a tool without Describe", c.Describe(), Description{Title: "look"})
}
