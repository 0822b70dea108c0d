// Package bridge is `strata stdio`: it passes messages between an editor on standard input and output and the server.
//
// It must never write anything but messages to standard output, or look into a message further than its id and method.
package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/rpc"
)

// drainTime bounds the wait for responses after the editor has closed the input.
const drainTime = 5 * time.Second

const closeNormal = 1000 // RFC 6455

// Command returns `strata stdio`.
func Command(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Serve ACP on standard input and output",
		Long: "Pass messages, one JSON object per line, between standard input and output and the running server; start a server if\n" +
			"none is running. Standard output contains messages only. When the editor exits, its turns continue in the server.",
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return proxy(cmd.Context(), p) },
	}
}

// proxy passes frames in both directions until the editor or the server disconnects, or ctx ends.
func proxy(ctx context.Context, p *cli.Process) error {
	server, err := connect.Dial(ctx, p)
	if err != nil {
		return err
	}
	editor := rpc.NewLineStream(p.Stdin, p.Stdout, closerOf(p.Stdin), rpc.Limits{})
	defer editor.Close(closeNormal, "")
	var waiting inFlight
	fromEditor, fromServer := make(chan error, 1), make(chan error, 1)
	go func() { fromEditor <- relay(editor, server, waiting.request) }()
	go func() { fromServer <- relay(server, editor, waiting.response) }()
	select {
	case err := <-fromServer:
		return fmt.Errorf("the server disconnected: %w", err)
	case err = <-fromEditor:
		if errors.Is(err, io.EOF) {
			err = nil
			waiting.drain(ctx, drainTime)
		}
	case <-ctx.Done():
	}
	server.Close(closeNormal, "the editor disconnected")
	<-fromServer
	return err
}

// closerOf returns the closer that ends a blocked read of the input, if the input has a closer.
func closerOf(r io.Reader) io.Closer {
	if c, ok := r.(io.Closer); ok {
		return c
	}
	return io.NopCloser(r)
}

// relay passes frames on until one side ends, and calls see with each frame first.
func relay(from, to rpc.Stream, see func(frame []byte)) error {
	pass := func(frame []byte) error {
		see(frame)
		return to.WriteFrame(frame)
	}
	for {
		if err := from.ReadFrame(pass); err != nil {
			return err
		}
	}
}

// inFlight counts the editor's requests without a response. The zero value is ready; it is safe for concurrent use.
type inFlight struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // closed when count falls to 0; nil without a waiter
}

// envelope distinguishes requests, responses and notifications.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
}

func (f *inFlight) request(frame []byte) {
	var e envelope
	if json.Unmarshal(frame, &e) == nil && e.ID == nil && e.Method != nil {
		return // a notification has no response; every other frame has one, even if it is invalid
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
}

func (f *inFlight) response(frame []byte) {
	var e envelope
	if json.Unmarshal(frame, &e) != nil || e.Method != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count--; f.count <= 0 && f.none != nil {
		close(f.none)
		f.none = nil
	}
}

// drain waits until no response is missing, for at most limit.
func (f *inFlight) drain(ctx context.Context, limit time.Duration) {
	f.mu.Lock()
	if f.count <= 0 {
		f.mu.Unlock()
		return
	}
	none := make(chan struct{})
	f.none = none
	f.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	case <-ctx.Done():
	}
}
