// Package servers has the MCP servers that a session uses: those of the user's configuration, and those that its editor named.
// It makes tools of what they offer.
//
// It must never know how a server is reached, and never store what an editor named: that lives in memory.
package servers

import (
	"context"
	"encoding/json"

	"strata/history"
)

// Definition is an MCP server as the user's configuration or an editor names it. It has either a Command or a URL.
type Definition struct {
	Name string // as the configuration or the editor has it

	Command string   // program: absolute, or a name that is looked up in PATH
	Args    []string // of the program
	Env     []string // beside the usual safe variables, as os.Environ has them

	URL     string // of a server over HTTP
	Headers []Header

	Trusted bool // by the user's configuration: calls of its tools do not ask

	Fault string // why the server cannot be started, for the user; empty for none
}

// Header is a header of all requests to a server over HTTP.
type Header struct{ Name, Value string }

// Place is where a session works.
type Place struct {
	Folder      string   // working folder, absolute
	Roots       []string // further folders, absolute
	Environment []string // of the client that opened the session, as os.Environ has it; nil: the server's own
}

// Source runs MCP servers. It is safe for concurrent use.
type Source interface {
	// Use returns the server of a definition in a place, and starts it in the background unless it runs: equal definitions in
	// equal places share one. changed is called after each change of its state, from any goroutine; it must not block.
	Use(d Definition, at Place, changed func()) Server
}

// Server is a session's use of an MCP server. It is safe for concurrent use.
type Server interface {
	// State returns what is known of the server. The caller must not change it.
	State() State

	// Wake starts the server again if it has failed, unless that was tried a moment ago.
	Wake()

	// Call runs a tool, and blocks until there is a result, the server has made no progress for its time limit, or ctx ends.
	// progress is called with what the server reports meanwhile, from one goroutine; a report has a text or none. An error
	// is a sentence for the model, or that of ctx.
	Call(ctx context.Context, tool string, input json.RawMessage, progress func(text string)) (Result, error)

	// Release ends the use. The server ends with its last use.
	Release()
}

// Status is what a server is doing.
type Status string

// The states of a server.
const (
	Starting Status = "starting"
	Ready    Status = "ready"
	Failed   Status = "failed" // Wake starts it again
)

// State is what is known of a server.
type State struct {
	Status Status
	Tools  []Tool // as the server listed them last, in its order; kept when it fails
	Error  string // the newest one, for the user; empty for none
}

// Tool is a tool of a server. Nothing of it is checked but its size.
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
