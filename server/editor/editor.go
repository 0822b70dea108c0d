// Package editor sends the requests of a session to a client, over the connection by which the client is subscribed to the
// session.
//
// It must never choose the client that serves a request, or know what a response means for the session.
package editor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"strata/rpc"
	"strata/server/wire"
	"strata/session/clients"
)

// Options describe an editor.
type Options struct {
	SessionID    string
	Conn         Conn
	Source       rpc.Source // the session's events on the connection
	Capabilities wire.Capabilities
	Go           func(func()) // runs a function on a goroutine that its owner waits for
}

// Conn is the connection of an editor: an *rpc.Conn.
type Conn interface {
	Caller
	Begin(method string, params any, after rpc.Position) (*rpc.Pending, error)
}

// Caller sends requests and waits for their results: an *rpc.Conn.
type Caller interface {
	Call(ctx context.Context, method string, params any, after rpc.Position) (json.RawMessage, error)
}

// Editor is a client of a session, for the requests of clients.Client. It is safe for concurrent use.
type Editor struct {
	of   Options
	last endings
}

// New returns an editor.
func New(opt Options) *Editor { return &Editor{of: opt} }

// Can reports whether the client has a capability.
func (e *Editor) Can(c clients.Capability) bool {
	switch can := e.of.Capabilities; c {
	case clients.ReadFiles:
		return can.ReadFiles
	case clients.WriteFiles:
		return can.WriteFiles
	case clients.Terminals:
		return can.Terminals
	case clients.Permissions:
		return can.Permissions
	case clients.Workspaces:
		return can.Workspaces
	}
	return false
}

// The time limits of an editor for a file.
const (
	readTime  = 10 * time.Second
	writeTime = 10 * time.Second
)

// ReadTextFile returns a file as the editor shows it.
func (e *Editor) ReadTextFile(ctx context.Context, r clients.Read, after uint64) (string, error) {
	params := wire.ReadTextFileParams{SessionID: e.of.SessionID, Path: r.Path, Line: r.Line, Limit: r.Limit}
	return ask(ctx, e, readTime, wire.MethodReadTextFile, params, after, wire.ReadTextFileContent)
}

// WriteTextFile makes the editor write a file.
func (e *Editor) WriteTextFile(ctx context.Context, w clients.Write, after uint64) error {
	params := wire.WriteTextFileParams{SessionID: e.of.SessionID, Path: w.Path, Content: w.Content}
	_, err := ask(ctx, e, writeTime, wire.MethodWriteTextFile, params, after, nothing)
	return err
}

// permissionTime is the time limit of a user for an answer. It ends requests to clients without a user.
const permissionTime = 24 * time.Hour

// RequestPermission asks the user whether a call may run.
func (e *Editor) RequestPermission(ctx context.Context, p clients.Permission, after uint64) (clients.Answer, error) {
	params := wire.NewPermissionParams(e.of.SessionID, p)
	return ask(ctx, e, permissionTime, wire.MethodRequestPermission, params, after, wire.PermissionAnswer)
}

// ask sends a request of the session after an event, and returns what decode reads in the result.
func ask[T any](
	ctx context.Context, e *Editor, limit time.Duration, method string, params any, after uint64, decode func(json.RawMessage) (T, error),
) (T, error) {
	result, err := Ask(ctx, e.of.Conn, limit, method, params, e.position(after))
	if err != nil {
		return *new(T), err
	}
	out, err := decode(result)
	if err != nil && !errors.Is(err, clients.ErrDismissed) {
		err = fmt.Errorf("%w: %w", clients.ErrInvalid, err)
	}
	return out, err
}

// nothing decodes a result that says nothing.
func nothing(json.RawMessage) (struct{}, error) { return struct{}{}, nil }

func (e *Editor) position(after uint64) rpc.Position {
	return rpc.Position{Source: e.of.Source, Seq: after}
}

// Ask sends a request and returns the result. The errors are those of package clients, or the cause of ctx.
func Ask(ctx context.Context, conn Caller, limit time.Duration, method string, params any, after rpc.Position) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := conn.Call(ctx, method, params, after)
	return result, failure(err)
}

// failure returns the error of a request as one of package clients.
func failure(err error) error {
	refusal, refused := errors.AsType[*rpc.PeerError](err)
	switch {
	case refused:
		return &clients.Refused{Code: refusal.Code, Message: refusal.Message}
	case errors.Is(err, rpc.ErrCallEnded):
		return clients.ErrGone
	case errors.Is(err, rpc.ErrCallLate):
		return clients.ErrLate
	case errors.Is(err, rpc.ErrCallsFull):
		return clients.ErrBusy
	case errors.Is(err, rpc.ErrBadResponse):
		return fmt.Errorf("%w: %w", clients.ErrInvalid, err)
	}
	return err
}
