package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"strata/rpc"
)

// drainTime is how long answers that are on their way are waited for when the editor has closed our input.
const drainTime = 5 * time.Second

const closeNormal = 1000 // RFC 6455

func newStdio(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Speak to an editor over standard input and output, one JSON message a line",
		Long: "Pass messages between standard input and output and the running server, which is started if there is none.\n" +
			"Nothing but messages goes to standard output. When the editor leaves, its turns go on in the server.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.proxy(cmd.Context()) },
	}
}

// proxy passes frames both ways until the editor or the server leaves, or ctx ends.
func (p *process) proxy(ctx context.Context) error {
	server, err := p.dial(ctx)
	if err != nil {
		return err
	}
	editor := rpc.NewLineStream(p.stdin, p.stdout, closerOf(p.stdin), rpc.Limits{})
	defer editor.Close(closeNormal, "")
	var waiting inFlight
	fromEditor, fromServer := make(chan error, 1), make(chan error, 1)
	go func() { fromEditor <- relay(editor, server, waiting.asked) }()
	go func() { fromServer <- relay(server, editor, waiting.answered) }()
	select {
	case err := <-fromServer:
		return fmt.Errorf("the server left: %w", err)
	case err = <-fromEditor:
		if errors.Is(err, io.EOF) {
			err = nil
			waiting.settle(ctx, drainTime)
		}
	case <-ctx.Done():
	}
	server.Close(closeNormal, "the editor left")
	<-fromServer
	return err
}

// closerOf gives what ends a blocked read of the input, where anything does.
func closerOf(r io.Reader) io.Closer {
	if c, ok := r.(io.Closer); ok {
		return c
	}
	return io.NopCloser(r)
}

// relay passes frames on until one side ends, and tells see of each before it goes on.
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

// inFlight counts the editor's requests that have no answer yet. The zero value is ready.
type inFlight struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // closed when count falls to 0, if somebody waits
}

// envelope is what tells a request from an answer and a notification.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
}

func (f *inFlight) asked(frame []byte) {
	var e envelope
	if json.Unmarshal(frame, &e) == nil && e.ID == nil && e.Method != nil {
		return // a notification gets no answer; all else does, whatever is wrong with it
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
}

func (f *inFlight) answered(frame []byte) {
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

// settle waits until no answer is missing, for at most patience.
func (f *inFlight) settle(ctx context.Context, patience time.Duration) {
	f.mu.Lock()
	if f.count <= 0 {
		f.mu.Unlock()
		return
	}
	none := make(chan struct{})
	f.none = none
	f.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	case <-ctx.Done():
	}
}
