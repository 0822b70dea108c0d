package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/clients"
	"strata/session/toolbox"
)

// The time limits of an editor for a file.
const (
	readTime  = 10 * time.Second
	writeTime = 10 * time.Second
)

// Can implements clients.Client.
func (sub *subscription) Can(c clients.Capability) bool {
	switch can := sub.peer.can; c {
	case clients.ReadFiles:
		return can.ReadFiles
	case clients.WriteFiles:
		return can.WriteFiles
	case clients.Terminals:
		return can.Terminals
	case clients.Permissions:
		return can.Permissions
	}
	return false
}

// Environment implements clients.Client.
func (sub *subscription) Environment() []string { return sub.peer.offeredEnvironment() }

// ReadTextFile implements clients.Client.
func (sub *subscription) ReadTextFile(ctx context.Context, r clients.Read, after uint64) (string, error) {
	params := wire.ReadTextFileParams{SessionID: sub.session.ID(), Path: r.Path, Line: r.Line, Limit: r.Limit}
	result, err := sub.peer.ask(ctx, readTime, wire.MethodReadTextFile, params, rpc.Position{Source: sub, Seq: after})
	if err != nil {
		return "", err
	}
	text, err := wire.ReadTextFileContent(result)
	if err != nil {
		return "", fmt.Errorf("%w: %w", clients.ErrInvalid, err)
	}
	return text, nil
}

// WriteTextFile implements clients.Client.
func (sub *subscription) WriteTextFile(ctx context.Context, w clients.Write, after uint64) error {
	params := wire.WriteTextFileParams{SessionID: sub.session.ID(), Path: w.Path, Content: w.Content}
	_, err := sub.peer.ask(ctx, writeTime, wire.MethodWriteTextFile, params, rpc.Position{Source: sub, Seq: after})
	return err
}

// permissionTime is the time limit of a user for an answer. It ends requests to clients that nobody looks at any more.
const permissionTime = 24 * time.Hour

// RequestPermission implements clients.Client.
func (sub *subscription) RequestPermission(ctx context.Context, p clients.Permission, after uint64) (clients.Answer, error) {
	params := wire.NewPermissionParams(sub.session.ID(), p)
	result, err := sub.peer.ask(ctx, permissionTime, wire.MethodRequestPermission, params, rpc.Position{Source: sub, Seq: after})
	if err != nil {
		return clients.Answer{}, err
	}
	answer, err := wire.PermissionAnswer(result)
	if err != nil && !errors.Is(err, clients.ErrDismissed) {
		err = fmt.Errorf("%w: %w", clients.ErrInvalid, err)
	}
	return answer, err
}

// ask sends a request to the client and returns the result. The errors are those of package clients, or the cause of ctx.
func (p *peer) ask(
	ctx context.Context, limit time.Duration, method string, params any, after rpc.Position,
) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := p.conn.Call(ctx, method, params, after)
	refusal, refused := errors.AsType[*rpc.PeerError](err)
	switch {
	case refused:
		err = &clients.Refused{Code: refusal.Code, Message: refusal.Message}
	case errors.Is(err, rpc.ErrCallEnded):
		err = clients.ErrGone
	case errors.Is(err, rpc.ErrCallLate):
		err = clients.ErrLate
	case errors.Is(err, rpc.ErrCallsFull):
		err = clients.ErrBusy
	case errors.Is(err, rpc.ErrBadResponse):
		err = fmt.Errorf("%w: %w", clients.ErrInvalid, err)
	}
	return result, err
}

// toolTime is the time limit of a frontend for a call of a tool.
const toolTime = 10 * time.Minute

// frontend is a connection that runs tools for a session. It need not be subscribed to the session.
type frontend struct {
	peer    *peer
	session *session.Session
}

// offer returns what a connection declares for a session, nil for nothing.
func (p *peer) offer(s *session.Session, declared *toolbox.Declaration) *toolbox.Offer {
	if declared == nil {
		return nil
	}
	return &toolbox.Offer{Frontend: frontend{p, s}, Tools: declared}
}

// CallTool implements toolbox.Frontend.
func (f frontend) CallTool(ctx context.Context, c toolbox.Call, after uint64) (toolbox.Result, error) {
	params := wire.CallToolParams{SessionID: f.session.ID(), CallID: c.ID, Name: c.Name, Input: c.Input}
	var position rpc.Position
	if sub := f.peer.subscription(f.session); sub != nil {
		position = rpc.Position{Source: sub, Seq: after}
	}
	result, err := f.peer.ask(ctx, toolTime, wire.MethodCallTool, params, position)
	if err != nil {
		return toolbox.Result{}, err
	}
	r, err := wire.CallToolResult(result)
	if err != nil {
		return toolbox.Result{}, fmt.Errorf("%w: %w", clients.ErrInvalid, err)
	}
	return r, nil
}
