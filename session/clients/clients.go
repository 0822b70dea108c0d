// Package clients chooses the connections that serve a session's requests to its editor, such as to read a file with its
// unsaved text, or to ask the user.
//
// It must never know how requests reach a connection, or what a session does with their results.
package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Capability is a group of requests that an editor may serve.
type Capability int

// The capabilities of ACP's clients.
const (
	ReadFiles Capability = iota + 1
	WriteFiles
	Terminals
	Permissions // it asks the user whether a call may run
	Workspaces  // it has the files of a session's workspace: WorkspaceHolder, ReadFiles and WriteFiles
)

// Client is a connection that is subscribed to a session. It is comparable, and safe for concurrent use.
//
// Its requests block until there is a response, the request's time limit has passed, or ctx ends. They are sent after the
// event of the session with the sequence number after, if the client receives it, and before later ones; 0 stands for no
// event. The errors are those below, or the cause of ctx.
type Client interface {
	// Identity returns a comparable value that no other client has, and that does not keep the client in memory.
	Identity() any

	// Can reports whether the editor has said that it serves requests of this group.
	Can(Capability) bool

	// ReadTextFile returns a file as the editor shows it.
	ReadTextFile(ctx context.Context, r Read, after uint64) (text string, err error)

	// WriteTextFile makes the editor write a file. With any error but ErrBusy the editor may have written it, or still write it.
	WriteTextFile(ctx context.Context, w Write, after uint64) error

	TerminalRunner
	WorkspaceHolder

	// Environment returns the environment that the client has handed over for programs that run on its behalf, in the form
	// of os.Environ; nil: these programs get the server's own. The caller must not change it.
	Environment() []string

	// RequestPermission asks the user whether a call may run. ErrDismissed is an error of it too.
	RequestPermission(ctx context.Context, p Permission, after uint64) (Answer, error)
}

// Read is a file, or some of its lines.
type Read struct {
	Path  string // absolute
	Line  int    // the first line, from 1; 0: from the start
	Limit int    // maximum number of lines; 0: all
}

// Write is the new text of a file.
type Write struct {
	Path    string // absolute
	Content string
}

// The errors of requests to a client, wrapped.
var (
	ErrGone    = errors.New("the editor's connection ended before its response")
	ErrLate    = errors.New("the editor did not respond in time")
	ErrBusy    = errors.New("too many requests to the editor are in flight")
	ErrInvalid = errors.New("the editor's response is invalid")
)

// Refused is an error with which an editor responded.
type Refused struct {
	Code    int
	Message string // the editor's, at most 4 KiB
}

// Error implements error.
func (e *Refused) Error() string {
	return fmt.Sprintf("the editor responded: %s (code %d)", e.Message, e.Code)
}

// Choice is the choice among the clients of a session. It is not safe for concurrent use.
type Choice struct {
	clients []Client // those that sent or joined a prompt before the others, the newest first
	serving Client   // of the running turn: sent its prompt, or joined it last; nil for none, or if that is gone
}

// All returns all clients with a capability, those that sent or joined a prompt first, the newest of them first.
func (c *Choice) All(capability Capability) (all []Client) {
	for _, client := range c.clients {
		if client.Can(capability) {
			all = append(all, client)
		}
	}
	return all
}

// Add adds a client that has subscribed. It has no effect if it is known.
func (c *Choice) Add(client Client) {
	if !slices.Contains(c.clients, client) {
		c.clients = append(c.clients, client)
	}
}

// Has reports whether a client is known.
func (c *Choice) Has(client Client) bool { return slices.Contains(c.clients, client) }

// Prompted records that a client has sent the prompt of the turn that begins, or has joined the running one: it serves the
// turn's requests from now on. nil stands for a prompt without a connection.
func (c *Choice) Prompted(client Client) {
	c.serving = nil
	if client == nil {
		return
	}
	c.drop(client)
	c.clients = slices.Insert(c.clients, 0, client)
	c.serving = client
}

// TurnEnded records that no turn is running.
func (c *Choice) TurnEnded() { c.serving = nil }

// Remove removes a client that has unsubscribed, or whose connection has ended.
func (c *Choice) Remove(client Client) {
	c.drop(client)
	if c.serving == client {
		c.serving = nil
	}
}

func (c *Choice) drop(client Client) {
	c.clients = slices.DeleteFunc(c.clients, func(other Client) bool { return other == client })
}

// Serving returns the client that sent the running turn's prompt or joined it last, nil if there is none or it is gone.
func (c *Choice) Serving() Client { return c.serving }

// For returns the client that serves a group of requests: the one that sent the running turn's prompt or joined it last.
// If that is gone, another subscribed one with the capability takes its place. It returns nil if there is none; the server
// then acts itself.
func (c *Choice) For(capability Capability) Client {
	if c.serving != nil {
		if c.serving.Can(capability) {
			return c.serving
		}
		return nil
	}
	for _, client := range c.clients {
		if client.Can(capability) {
			return client
		}
	}
	return nil
}
