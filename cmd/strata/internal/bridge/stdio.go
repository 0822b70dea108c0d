// Package bridge is `strata stdio`: it passes messages between an editor on standard input and output and the server.
// If the connection to the server is lost, it connects again, or starts a server, and continues what the editor had open.
//
// It must never write anything but messages to standard output, or end because of a message.
package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/cmd/strata/internal/login"
	"strata/rpc"
)

// drainTime bounds the wait for responses after the editor has closed the input.
const drainTime = 5 * time.Second

const (
	closeNormal    = 1000 // RFC 6455
	closeGoingAway = 1001
	closeNow       = 0 // without a close frame
)

// Command returns `strata stdio`.
func Command(p *cli.Process) *cobra.Command {
	var provider string
	cmd := &cobra.Command{
		Use:   "stdio",
		Short: "Serve ACP on standard input and output",
		Long: "Pass messages, one JSON object per line, between standard input and output and the running server. If none is running,\n" +
			"start the installed service, otherwise a server in the background. Standard output contains messages only. When the\n" +
			"editor exits, its turns continue in the server. When the server exits, stdio connects to the next one and continues.",
		Args: cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if provider != "" {
				return login.Run(cmd.Context(), p, provider)
			}
			return proxy(cmd.Context(), p)
		},
	}
	cmd.Flags().StringVar(&provider, "login", "", "only store the API key of `PROVIDER`, as strata login does")
	return cmd
}

// bridge is an editor, its connection to a server, and all that is needed to continue on another connection. Two
// goroutines use it: one reads from the editor (hear), one from the server (serve).
type bridge struct {
	*cli.Process
	input  *lines
	editor *rpc.LineStream // for writing
	limit  atomic.Int64    // of the editor's messages, in bytes

	telling sync.Mutex // held while a frame is written to the editor
	sending sync.Mutex // held while a frame is written to the server; taken before mu

	mu       sync.Mutex
	server   *connect.Stream // nil while there is no connection
	changed  chan struct{}   // closed and replaced when there is a connection
	greeting json.RawMessage // parameters of the editor's initialize; nil before the response
	requests requests        // of the editor
	asked    asked           // requests of the server
	sessions sessions        // that the editor has opened
	held     bool            // a message of the editor waits for a connection
	monitors bool            // the editor has subscribed to the events of all sessions

	dial   func(ctx context.Context, start bool) (*connect.Stream, error) // connects; may start a server
	wanted chan struct{}                                                  // receives when the editor waits for a connection; has a buffer of 1
}

// proxy passes frames in both directions until the editor disconnects, there is no server, or ctx ends.
func proxy(ctx context.Context, p *cli.Process) error {
	b := &bridge{
		Process: p, input: newLines(p.Stdin), editor: rpc.NewLineStream(p.Stdin, p.Stdout, closerOf(p.Stdin), rpc.Limits{}),
		changed: make(chan struct{}), wanted: make(chan struct{}, 1),
		dial: func(ctx context.Context, start bool) (*connect.Stream, error) {
			if start {
				return connect.Dial(ctx, p)
			}
			return connect.DialRunning(ctx, p)
		},
	}
	b.limit.Store(rpc.DefaultFrameBytes)
	defer b.editor.Close(closeNormal, "")
	server, err := b.dial(ctx, true)
	if err != nil {
		return err
	}
	b.resume(server)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	heard, served := make(chan error, 1), make(chan error, 1)
	go func() { heard <- b.hear(serving) }()
	go func() { served <- b.serve(serving, server) }()
	select {
	case err := <-served:
		return err
	case err = <-heard:
		if errors.Is(err, io.EOF) {
			err = nil
			b.drain(ctx, drainTime)
		}
	case <-ctx.Done():
	}
	stop()
	<-served
	return err
}

// closerOf returns the closer that ends a blocked read of the input, if the input has a closer.
func closerOf(r io.Reader) io.Closer {
	if c, ok := r.(io.Closer); ok {
		return c
	}
	return io.NopCloser(r)
}

// hear passes the editor's messages on until the input or ctx ends. It refuses a message that the server could not read
// or would respond to with an error of its envelope.
func (b *bridge) hear(ctx context.Context) error {
	for {
		line, err := b.input.next(b.limit.Load)
		if long, ok := errors.AsType[*longLine](err); ok {
			err = b.refuse(long.envelope, &rpc.Error{
				Code: rpc.CodeInvalidRequest, Message: long.Error(), Data: map[string]int64{"limit": long.limit},
			})
		} else if err == nil {
			err = b.pass(ctx, line)
		}
		if err != nil {
			return err
		}
	}
}

// pass passes one message of the editor on.
func (b *bridge) pass(ctx context.Context, line []byte) error {
	e, fault := rpc.ParseClientFrame(line)
	if fault != nil {
		return b.refuse(e, fault)
	}
	if !e.IsResponse() {
		return b.send(ctx, b.prepare(e, line))
	}
	return b.respond(e.ID, func(id json.RawMessage) ([]byte, error) { return rpc.ResponseFrame(id, e), nil })
}

// respond passes a response of the editor to the connection whose server waits for it; frame returns it with the server's
// id. If that connection is lost, nobody gets the response.
func (b *bridge) respond(own json.RawMessage, frame func(id json.RawMessage) ([]byte, error)) error {
	b.mu.Lock()
	q, known := b.asked.answered(own)
	b.mu.Unlock()
	if !known {
		return nil
	}
	response, err := frame(q.id)
	if err != nil {
		return err
	}
	b.sending.Lock()
	defer b.sending.Unlock()
	_ = q.server.WriteFrame(response) // the goroutine that reads from it notes that it is lost
	return nil
}

// refuse responds to a message of the editor with an error. If the message is itself a response, the server gets the
// error instead of it.
func (b *bridge) refuse(e rpc.Envelope, fault *rpc.Error) error {
	switch {
	case !e.Silent:
		frame, err := rpc.ErrorFrame(e.ID, fault)
		if err != nil {
			return err
		}
		return b.tell(frame)
	case !e.IsResponse():
		b.note("a notification was dropped: %s", fault.Message)
		return nil
	}
	return b.respond(e.ID, func(id json.RawMessage) ([]byte, error) { return rpc.ErrorFrame(id, fault) })
}

// send sends a message to the server; it waits for a connection. If writing fails, the connection is lost, and the
// goroutine that reads from it settles the requests in flight.
func (b *bridge) send(ctx context.Context, m message) error {
	for {
		b.sending.Lock()
		server, ready := b.accept(m)
		if server != nil {
			_ = server.WriteFrame(m.frame)
			b.sending.Unlock()
			return nil
		}
		b.sending.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// accept returns the connection for a message, whose request it adds. While there is none, it returns a channel that is
// closed when there may be one. A request behind an initialize waits until the server has all that greeted hands over.
func (b *bridge) accept(m message) (server *connect.Stream, ready <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if greeted := b.requests.whenGreeted(); greeted != nil && m.request != nil && m.request.Method != methodInitialize {
		return nil, greeted
	}
	if b.held = b.server == nil; b.held {
		select {
		case b.wanted <- struct{}{}:
		default:
		}
		return nil, b.changed
	}
	if m.request != nil {
		b.requests.add(m.request)
	}
	return b.server, nil
}

// editorError is an error of writing to the editor, which ends the bridge.
type editorError struct{ error }

// tell writes a frame to the editor.
func (b *bridge) tell(frame []byte) error {
	b.telling.Lock()
	defer b.telling.Unlock()
	if err := b.editor.WriteFrame(frame); err != nil {
		return editorError{err}
	}
	return nil
}

// note writes a line for the editor's log.
func (b *bridge) note(format string, args ...any) {
	fmt.Fprintf(b.Stderr, "strata: %s\n", cli.Printable(fmt.Sprintf(format, args...)))
}

// drain waits until no response is missing, for at most limit. It ends as soon as the server asks the editor, which cannot
// respond any more: the server should know that.
func (b *bridge) drain(ctx context.Context, limit time.Duration) {
	b.mu.Lock()
	none, asked := b.requests.whenNone(), b.asked.whenAny()
	b.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-none:
	case <-asked:
	case <-timer.C:
	case <-ctx.Done():
	}
}
