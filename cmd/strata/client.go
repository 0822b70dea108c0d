package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"strata/rpc"
	"strata/server/access"
)

// maxFrame is the largest frame that is taken from the server, which knows how much that must be: a page of a transcript
// holds at least one message, however long.
const maxFrame = 64 << 20

// dialTimeout bounds how long a server that is just going or coming is tried again.
const dialTimeout = 5 * time.Second

// connect gives an initialised connection to the running server, which is started if there is none.
// onNotification may be nil.
func (p *process) connect(ctx context.Context, onNotification func(method string, params json.RawMessage)) (*rpc.Client, error) {
	stream, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	return initialized(ctx, stream, onNotification)
}

// initialized makes an initialised connection of a stream.
func initialized(ctx context.Context, stream *rpc.WebSocketStream, onNotification func(method string, params json.RawMessage)) (*rpc.Client, error) {
	client := rpc.NewClient(stream, onNotification)
	if err := client.Call(ctx, "initialize", initializeParams(), nil); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

func initializeParams() map[string]any {
	return map[string]any{
		"protocolVersion":    1,
		"clientInfo":         map[string]any{"name": "strata", "title": "Strata's command line", "version": currentVersion()},
		"clientCapabilities": map[string]any{"session": map[string]any{"notices": map[string]any{}}},
	}
}

// dial opens a WebSocket to the running server, which is started if there is none. A server that goes away in
// between is looked for, or started, again.
func (p *process) dial(ctx context.Context) (*rpc.WebSocketStream, error) {
	giveUp := time.Now().Add(dialTimeout)
	for {
		running, err := p.ensureServer(ctx)
		if err != nil {
			return nil, err
		}
		stream, err := dialServer(ctx, running)
		var gone *net.OpError
		if err == nil || !errors.As(err, &gone) || time.Now().After(giveUp) {
			return stream, err
		}
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func dialServer(ctx context.Context, running access.ServerFile) (*rpc.WebSocketStream, error) {
	address, err := webSocketURL(running.URL)
	if err != nil {
		return nil, err
	}
	stream, err := rpc.DialWebSocket(ctx, address, rpc.DialOptions{
		Limits:       rpc.Limits{FrameBytes: maxFrame},
		Header:       http.Header{"Authorization": {"Bearer " + running.Token.Reveal()}},
		Subprotocols: []string{access.Subprotocol},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the server at %s: %w", running.URL, err)
	}
	return stream, nil
}

// eachPage calls a paged method until there is no further page, and take with each result.
func eachPage(ctx context.Context, client *rpc.Client, method string, params map[string]any, take func(page json.RawMessage) error) error {
	for {
		var page json.RawMessage
		if err := client.Call(ctx, method, params, &page); err != nil {
			return err
		}
		if err := take(page); err != nil {
			return err
		}
		var next struct {
			Cursor string `json:"nextCursor"`
		}
		if err := json.Unmarshal(page, &next); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		if next.Cursor == "" {
			return nil
		}
		params["cursor"] = next.Cursor
	}
}
