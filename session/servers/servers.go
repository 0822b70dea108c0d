// Package servers has the MCP servers that a session uses: those of the user's configuration, and those that its editor named.
// It makes their tools available to the model.
//
// It must never know how a server is reached, and never store a server that an editor named: such servers are only in memory.
package servers

import (
	"context"
	"encoding/json"

	"strata/history"
)

// Definition describes an MCP server of the user's configuration or of an editor. It has either a Command or a URL.
type Definition struct {
	Name string // in the configuration or the editor

	Command string   // program: absolute, or a name that is looked up in PATH
	Args    []string // of the program
	Env     []string // in addition to the usual safe variables, in the form of os.Environ

	URL     string // of a server over HTTP
	Headers []Header

	Trusted bool // by the user's configuration: calls of its tools need no approval

	Fault string // why the server cannot be started, for the user; empty for none
}

// Header is a header of all requests to a server over HTTP.
type Header struct{ Name, Value string }

// Place is the surroundings in which a session's servers run.
type Place struct {
	Folder      string   // working folder, absolute
	Roots       []string // further folders, absolute
	Environment []string // of the client that opened the session, in the form of os.Environ; nil: the environment of this process
}

// Source runs MCP servers. It is safe for concurrent use.
type Source interface {
	// Use returns the server of a definition in a place, and starts it in the background unless it runs: equal definitions in
	// equal places share one. changed is called after each change of its state, from any goroutine; it must not block.
	Use(d Definition, at Place, changed func()) Server
}

// Server is a session's use of an MCP server. It is safe for concurrent use.
type Server interface {
	// State returns the state of the server. The caller must not change it.
	State() State

	// Wake restarts a server that has failed, unless the backoff of its last failure has not passed.
	Wake()

	// Call runs a tool, and blocks until there is a result, the server has made no progress for its time limit, or ctx ends.
	// Meanwhile, progress is called for each report of the server, from one goroutine, with the text of the report (may be
	// empty). The error is a sentence for the model, or that of ctx.
	Call(ctx context.Context, tool string, input json.RawMessage, progress func(text string)) (Result, error)

	// Release ends the use. The last release ends the server.
	Release()
}

// Status is the status of a server.
type Status string

// The statuses of a server.
const (
	Starting Status = "starting"
	Ready    Status = "ready"
	Failed   Status = "failed" // until Wake restarts it
)

// State is the status of a server, its tools and its error.
type State struct {
	Status Status
	Tools  []Tool // in the order of the server's last list; kept when the server fails
	Error  string // newest error, for the user; empty for none
}

// Tool is a tool of a server. Only its size is checked.
type Tool struct {
	Name        string
	Title       string // for the user; empty for none
	Description string
	Schema      json.RawMessage // of the input
}

// Result is the result of a call: texts and images.
type Result struct {
	Content []history.Block
	IsError bool
}
