package server

import (
	"context"
	"fmt"
	"time"

	"strata/rpc"
	"strata/server/editor"
	"strata/server/wire"
	"strata/session"
	"strata/session/clients"
	"strata/session/toolbox"
)

// Identity implements clients.Client.
func (sub *subscription) Identity() any { return sub.cursor.Load().Identity() }

// Environment implements clients.Client.
func (sub *subscription) Environment() []string { return sub.peer.offeredEnvironment() }

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
	result, err := editor.Ask(ctx, f.peer.conn, toolTime, wire.MethodCallTool, params, position)
	if err != nil {
		return toolbox.Result{}, err
	}
	r, err := wire.CallToolResult(result)
	if err != nil {
		return toolbox.Result{}, fmt.Errorf("%w: %w", clients.ErrInvalid, err)
	}
	return r, nil
}
