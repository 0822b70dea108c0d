package server

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

// readTime is the time limit of an editor for reading a file.
const readTime = 10 * time.Second

// Can implements clients.Client.
func (sub *subscription) Can(c clients.Capability) bool {
	switch can := sub.peer.can; c {
	case clients.ReadFiles:
		return can.ReadFiles
	case clients.WriteFiles:
		return can.WriteFiles
	case clients.Terminals:
		return can.Terminals
	}
	return false
}

// ReadTextFile implements clients.Client.
func (sub *subscription) ReadTextFile(ctx context.Context, r clients.Read, after uint64) (string, error) {
	params := wire.ReadTextFileParams{SessionID: sub.session.ID(), Path: r.Path, Line: r.Line, Limit: r.Limit}
	result, err := sub.ask(ctx, readTime, wire.MethodReadTextFile, params, after)
	if err != nil {
		return "", err
	}
	text, err := wire.ReadTextFileContent(result)
	if err != nil {
		return "", fmt.Errorf("%w: %w", clients.ErrInvalid, err)
	}
	return text, nil
}

// ask sends a request to the client and returns the result.
func (sub *subscription) ask(
	ctx context.Context, limit time.Duration, method string, params any, after uint64,
) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := sub.peer.conn.Call(ctx, method, params, rpc.Position{Source: sub, Seq: after})
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
