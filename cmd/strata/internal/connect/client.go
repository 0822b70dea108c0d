// Package connect finds the running server, starts a server if none is running, and connects to it.
//
// It must never read or change a session.
package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/rpc"
	"strata/server/access"
)

// maxFrame is the largest frame from the server, in bytes. The server knows how large a frame must be: a page of a
// transcript contains at least one message, of any length.
const maxFrame = 64 << 20

// openAttempts is the number of servers that Open tries if they shut down before they respond.
const openAttempts = 3

// OnNotification receives the notifications of a server. It may be nil.
type OnNotification func(method string, params json.RawMessage)

// Handlers serve what a server sends. All may be nil.
type Handlers struct {
	Notified OnNotification

	// Asked answers session/request_permission, as the functions of rpc.Client.Serve do. The server asks only a client
	// that has it.
	Asked func(ctx context.Context, params json.RawMessage) (result any, err error)

	Initialized func(agent json.RawMessage) // receives the result of initialize
}

// Open returns an initialized connection to the running server, and starts a server if none is running.
func Open(ctx context.Context, p *cli.Process, on OnNotification) (*rpc.Client, error) {
	return OpenWith(ctx, p, Handlers{Notified: on})
}

// OpenWith is Open with handlers.
func OpenWith(ctx context.Context, p *cli.Process, on Handlers) (*rpc.Client, error) {
	for attempt := 1; ; attempt++ {
		stream, err := Dial(ctx, p)
		if err != nil {
			return nil, err
		}
		client, err := initialize(ctx, p, stream, on)
		if err == nil || attempt == openAttempts || !errors.Is(err, rpc.ErrClosed) {
			return client, err
		}
	}
}

// OpenServer returns an initialized connection to a server.
func OpenServer(ctx context.Context, p *cli.Process, running access.ServerFile) (*rpc.Client, error) {
	stream, err := dialServer(ctx, p, running)
	if err != nil {
		return nil, err
	}
	return initialize(ctx, p, stream, Handlers{})
}

func initialize(ctx context.Context, p *cli.Process, stream *Stream, on Handlers) (*rpc.Client, error) {
	client := rpc.NewClient(stream, on.Notified)
	if on.Asked != nil {
		client.Serve("session/request_permission", on.Asked)
	}
	params := map[string]any{
		"protocolVersion": 1,
		"clientInfo":      map[string]any{"name": "strata", "title": "Strata's command line", "version": p.Version},
		"clientCapabilities": map[string]any{
			"session": map[string]any{"notices": map[string]any{}},
			"_meta":   map[string]any{"strata": map[string]any{"permission": on.Asked != nil}},
		},
	}
	var result json.RawMessage
	if err := client.Call(ctx, "initialize", params, &result); err != nil {
		client.Close()
		return nil, err
	}
	client.SetFrameLimit(FrameLimit(result))
	if on.Initialized != nil {
		on.Initialized(result)
	}
	return client, nil
}

// FrameLimit returns the size of the largest frame that a server reads, in bytes, from its result of initialize.
func FrameLimit(agent json.RawMessage) int64 {
	if limit := extensionsOf(agent).Limits.FrameBytes; limit > 0 {
		return limit
	}
	return rpc.DefaultFrameBytes
}

// Serves reports whether a server has a method of Strata's own, from its result of initialize.
func Serves(agent json.RawMessage, method string) bool {
	return slices.Contains(extensionsOf(agent).Methods, method)
}

// extensions are the part of a result of initialize that only Strata's server has.
type extensions struct {
	Methods []string `json:"methods"`
	Limits  struct {
		FrameBytes int64 `json:"frameBytes"`
	} `json:"limits"`
}

// extensionsOf returns the zero value for another agent.
func extensionsOf(agent json.RawMessage) extensions {
	var result struct {
		AgentCapabilities struct {
			Meta struct {
				Strata extensions `json:"strata"`
			} `json:"_meta"`
		} `json:"agentCapabilities"`
	}
	if json.Unmarshal(agent, &result) != nil {
		return extensions{}
	}
	return result.AgentCapabilities.Meta.Strata
}

// Stream is a connection to a server.
type Stream struct {
	*rpc.WebSocketStream
	PID int // of the server
}

// Dial opens a WebSocket to the running server, and starts a server if none is running. It waits for a server that is
// starting or shutting down, for at most startTimeout.
func Dial(ctx context.Context, p *cli.Process) (*Stream, error) {
	s := search{Process: p}
	defer s.forget()
	return s.dial(ctx)
}

// DialRunning is Dial without starting a server. The error wraps fs.ErrNotExist or access.ErrStale if no server is
// running.
func DialRunning(ctx context.Context, p *cli.Process) (*Stream, error) {
	running, err := FindServer(p)
	if err != nil {
		return nil, err
	}
	if err := checkDatabase(p, running); err != nil {
		return nil, err
	}
	return dialServer(ctx, p, running)
}

func dialServer(ctx context.Context, p *cli.Process, running access.ServerFile) (*Stream, error) {
	address, err := webSocketURL(running.URL)
	if err != nil {
		return nil, err
	}
	stream, err := rpc.DialWebSocket(ctx, address, rpc.DialOptions{
		Limits:       rpc.Limits{FrameBytes: maxFrame},
		Header:       http.Header{"Authorization": {"Bearer " + running.Token.Reveal()}},
		Subprotocols: []string{access.Subprotocol},
		HTTPClient:   &http.Client{Transport: transport(p)},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the server at %s: %w", running.URL, err)
	}
	return &Stream{stream, running.PID}, nil
}

// Accepts reports whether a running server accepts a token.
func Accepts(ctx context.Context, p *cli.Process, running access.ServerFile, token access.Token) (bool, error) {
	address, err := httpURL(running.URL, "/metrics")
	if err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return false, err
	}
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	r.Close = true
	response, err := (&http.Client{Transport: transport(p)}).Do(r)
	if err != nil {
		return false, err
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK, nil
}

// EachPage calls a paged method until the last page, and calls take with each result. It sets the cursor in params.
func EachPage(ctx context.Context, client *rpc.Client, method string, params map[string]any, take func(page json.RawMessage) error) error {
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

// runningTimeout is how long WithRunning may take: nobody waits longer for the completion of a word.
const runningTimeout = 2 * time.Second

// WithRunning calls use with a connection to the running server, for at most a short time. It never starts a server: the
// error wraps fs.ErrNotExist or access.ErrStale if none is running.
func WithRunning(ctx context.Context, p *cli.Process, use func(ctx context.Context, client *rpc.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, runningTimeout)
	defer cancel()
	running, err := FindServer(p)
	if err != nil {
		return err
	}
	client, err := OpenServer(ctx, p, running)
	if err != nil {
		return err
	}
	defer client.Close()
	return use(ctx, client)
}
