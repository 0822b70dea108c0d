// Package tools defines what a tool of the model is, and has the built-in tools that read: files, folders, searches,
// outlines, and the plan.
//
// A tool must never read what filecontext refuses, never return more than its limit, and never change anything before its call
// was prepared. What is wrong with a call is told to the model in its result; an error is only that of the context.
package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"strata/history"
	"strata/internal/clip"
	"strata/internal/exact"
	"strata/internal/lazy"
)

// Kind is what a tool does, as ACP names it: clients choose an icon by it.
type Kind string

// The kinds of ACP.
const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindDelete  Kind = "delete"
	KindMove    Kind = "move"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindThink   Kind = "think"
	KindFetch   Kind = "fetch"
	KindOther   Kind = "other"
)

var kinds = []Kind{KindRead, KindEdit, KindDelete, KindMove, KindSearch, KindExecute, KindThink, KindFetch, KindOther}

// Valid reports whether ACP has the kind.
func (k Kind) Valid() bool { return slices.Contains(kinds, k) }

// KindNames returns the names of all kinds, for a message.
func KindNames() string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// Definition is what a model is told of a tool.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema"` // JSON schema of its input, an object
}

// Size returns the size of the definition in bytes.
func (d *Definition) Size() int { return len(d.Name) + len(d.Description) + len(d.Schema) }

// Tool is a tool that a model can call.
type Tool struct {
	Definition
	Kind     Kind
	ReadOnly bool // it changes nothing

	// Check returns an error for the model, such as "command is empty", for an invalid input that the schema admits.
	// A nil Check admits all.
	Check func(input json.RawMessage) error

	// Command returns the command line of a call for approval rules. It is nil for a tool that runs no commands.
	Command func(input json.RawMessage) string

	Server *Server // MCP server that has the tool; nil for other tools

	// Describe returns what clients show of a call before its result. nil: the name of the tool.
	Describe func(input json.RawMessage) Description

	// Run executes a call whose input has been checked. The error is that of ctx. It is nil for a tool with Prepare.
	Run func(ctx context.Context, in Input) (Result, error)

	// Prepare checks a call that can change something, before anything is changed. The error is that of ctx. It is nil for a
	// tool with Run.
	Prepare func(ctx context.Context, in Input) (*Prepared, error)
}

// Server is the MCP server of a tool.
type Server struct {
	Name    string
	Trusted bool // by the user's configuration: calls need no approval
}

// Description is what clients show of a call.
type Description struct {
	Title     string
	Locations []Location
}

// Location is a place in a file that a call concerns.
type Location struct {
	Path string // as the model wrote it
	Line int    // counted from 1; 0 for the whole file
}

// Input is the input of a call.
type Input struct {
	CallID string
	Args   json.RawMessage
	Limit  int // of the texts in the result, in bytes

	// Show sends clients the output of the call so far. It may be called from any goroutine, at most every 250 ms, and has
	// no effect after the call has its result.
	Show func(Output)
}

// Output is the output of a running call so far.
type Output struct {
	Text string // the newest part, at most MaxShownOutput bytes
	End  int64  // size of the whole output, in bytes; Text ends there

	Terminal *Terminal // terminal in which the call runs; nil for none
}

// MaxShownOutput is the maximum size of the text in an Output, in bytes.
const MaxShownOutput = 4 << 10

// Terminal is a terminal of a client.
type Terminal struct {
	Owner any // clients.Client's Identity
	ID    string
}

// Result is the result of a call.
type Result struct {
	Content []history.Block // texts and images, as in a block of type tool_result
	IsError bool
	Plan    []PlanEntry         // of update_plan
	Diffs   []history.Diff      // of files that the call has changed; at most history.MaxDiff bytes
	Made    *Made               // what became of a prepared change
	Outcome history.CallOutcome // of a call that Strata has ended
}

// Failed returns a result that tells the model why a call did nothing.
func Failed(format string, args ...any) Result {
	return Result{Content: []history.Block{textBlock(fmt.Sprintf(format, args...))}, IsError: true}
}

func text(format string, args ...any) Result {
	return Result{Content: []history.Block{textBlock(fmt.Sprintf(format, args...))}}
}

func textBlock(text string) history.Block { return history.Block{Type: history.BlockText, Text: text} }

// with returns the Run of a tool whose input is a T: do gets the input and the limit.
func with[T any](do func(ctx context.Context, in T, limit int) (Result, error)) func(context.Context, Input) (Result, error) {
	return func(ctx context.Context, call Input) (Result, error) {
		var in T
		if err := exact.Decode(call.Args, "", &in); err != nil {
			return Failed("%v", err), nil
		}
		return do(ctx, in, call.Limit)
	}
}

// decoded returns an input as far as it is valid, for a description.
func decoded[T any](args json.RawMessage) (in T) {
	_ = exact.Decode(args, "", &in) // the members before the wrong one
	return in
}

// Set is the tools of a session. It is immutable.
type Set struct {
	tools   []Tool // sorted by name
	schemas []*Schema
}

// The bounds of a set.
const (
	MaxTools       = 256      // in a set
	MaxDescription = 16 << 10 // bytes of a description from a client or an MCP server
)

// toolName is a name that all providers accept.
var toolName = lazy.Regexp(`^[A-Za-z0-9_-]{1,64}$`)

// ValidName reports whether a tool can have the name.
func ValidName(name string) bool { return toolName().MatchString(name) }

// builtIn are the tools of Strata, by name. A session need not have all of them.
var builtIn = map[string]Kind{
	"delete_file": KindDelete,
	"edit_file":   KindEdit,
	"find_symbol": KindSearch,
	"list_files":  KindRead,
	MoveFile:      KindMove,
	"outline":     KindSearch,
	"read_file":   KindRead,
	"run_command": KindExecute,
	"search":      KindSearch,
	"update_plan": KindThink,
	"write_file":  KindEdit,
}

// IsBuiltIn reports whether a name is that of a tool of Strata, whether or not a session has it.
func IsBuiltIn(name string) bool { return builtIn[name] != "" }

// KindOf returns the kind of a tool of Strata by its name, and KindOther for all other names. It is for calls of which only
// the name has arrived.
func KindOf(name string) Kind { return cmp.Or(builtIn[name], KindOther) }

// MoveFile is the name of the tool that moves files.
const MoveFile = "move_file"

// ChangesFiles reports whether a name is that of a tool of Strata that changes files.
func ChangesFiles(name string) bool {
	switch name {
	case "delete_file", "edit_file", MoveFile, "write_file":
		return true
	}
	return false
}

// NewSet returns a set. The error names the tool that cannot be called: its name is invalid or is used twice, or its schema
// cannot be used.
func NewSet(tools ...Tool) (*Set, error) { return new(Set).With(tools...) }

// With is NewSet, but does not parse the schemas again that s has for tools of the same names.
func (s *Set) With(tools ...Tool) (*Set, error) {
	if len(tools) > MaxTools {
		return nil, fmt.Errorf("%d tools exceeds the limit of %d", len(tools), MaxTools)
	}
	next := &Set{tools: slices.SortedFunc(slices.Values(tools), func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })}
	for i := range next.tools {
		t := &next.tools[i]
		switch {
		case !ValidName(t.Name):
			return nil, fmt.Errorf("tool %q: the name must have 1 to 64 letters, digits, _ or -", clip.Name(t.Name))
		case i > 0 && next.tools[i-1].Name == t.Name:
			return nil, fmt.Errorf("tool %s: the name is used twice", t.Name)
		}
		schema := s.schema(t)
		if schema == nil {
			var err error
			if schema, err = ParseSchema(t.Schema); err != nil {
				return nil, fmt.Errorf("tool %s: inputSchema%w", t.Name, err)
			}
		}
		t.Schema = schema.raw
		next.schemas = append(next.schemas, schema)
	}
	return next, nil
}

// Without returns the set without the tools that isLeftOut reports.
func (s *Set) Without(isLeftOut func(name string) bool) *Set {
	next := new(Set)
	for i := range s.tools {
		if !isLeftOut(s.tools[i].Name) {
			next.tools, next.schemas = append(next.tools, s.tools[i]), append(next.schemas, s.schemas[i])
		}
	}
	return next
}

// schema returns the parsed schema of a tool, nil if the set has no tool with this name and schema.
func (s *Set) schema(t *Tool) *Schema {
	for i := range s.tools {
		if s.tools[i].Name == t.Name && bytes.Equal(s.schemas[i].raw, t.Schema) {
			return s.schemas[i]
		}
	}
	return nil
}

// Definitions returns the definitions sorted by name: equal tools give equal bytes.
func (s *Set) Definitions() []Definition {
	all := make([]Definition, len(s.tools))
	for i := range s.tools {
		all[i] = s.tools[i].Definition
	}
	return all
}

// Call is a call whose input has been checked.
type Call struct {
	ID   string // set by the step
	Tool Tool
	Args json.RawMessage
}

// Check checks the call of a tool. The error is a sentence for the model.
func (s *Set) Check(name, args string) (*Call, error) {
	at, found := slices.BinarySearchFunc(s.tools, name, func(t Tool, name string) int { return cmp.Compare(t.Name, name) })
	if !found {
		return nil, fmt.Errorf("there is no tool %q; the tools are %s", clip.Name(name), s.names())
	}
	input, err := s.schemas[at].Check(args)
	if err != nil {
		return nil, fmt.Errorf("%s was not run: %w", name, err)
	}
	if check := s.tools[at].Check; check != nil {
		if err := check(input); err != nil {
			return nil, fmt.Errorf("%s was not run: %w", name, err)
		}
	}
	return &Call{Tool: s.tools[at], Args: input}, nil
}

func (s *Set) names() string {
	if len(s.tools) == 0 {
		return "none"
	}
	names := make([]string, len(s.tools))
	for i := range s.tools {
		names[i] = s.tools[i].Name
	}
	return strings.Join(names, ", ")
}

// Describe returns what clients show of the call.
func (c *Call) Describe() Description {
	if c.Tool.Describe == nil {
		return Description{Title: c.Tool.Name}
	}
	return c.Tool.Describe(c.Args)
}

// Run executes the call, which shows its output by show. The texts of the result have at most limit bytes. The error is that of ctx.
func (c *Call) Run(ctx context.Context, limit int, show func(Output)) (Result, error) {
	limit = min(limit, MaxResult)
	r, err := c.Tool.Run(ctx, Input{CallID: c.ID, Args: c.Args, Limit: limit, Show: show})
	if err != nil {
		return Result{}, err
	}
	return Cut(r, limit), nil
}
