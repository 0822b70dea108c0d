package editor

import (
	"context"
	"errors"
	"sync"
	"time"

	"strata/rpc"
	"strata/session/clients"
)

// The time limits of an editor for a terminal.
const (
	createTime = 10 * time.Second
	outputTime = 10 * time.Second
	exitTime   = 24 * time.Hour // of the command; mostly ctx ends before
	endTime    = 10 * time.Second
)

// CreateTerminal starts a command, and returns the id of its terminal. It does not cancel the request when ctx ends, because the
// client may have started the command: the terminal is ended when the client says which one it is.
func (e *Editor) CreateTerminal(ctx context.Context, c clients.TerminalCommand, after uint64) (string, error) {
	created, abandoned := make(chan terminal), make(chan struct{})
	defer close(abandoned)
	e.of.Go(func() {
		params := NewCreateTerminalParams(e.of.SessionID, c)
		id, err := ask(context.WithoutCancel(ctx), e, createTime, MethodCreateTerminal, params, after, CreatedTerminal)
		select {
		case created <- terminal{id, err}:
			return
		case <-abandoned:
		}
		if err == nil {
			e.KillTerminal(id, after)
			e.ReleaseTerminal(id, after)
		}
	})
	select {
	case t := <-created:
		return t.id, t.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// terminal is what a client has created, or why it has not.
type terminal struct {
	id  string
	err error
}

// TerminalOutput returns the output of the command so far.
func (e *Editor) TerminalOutput(ctx context.Context, id string, after uint64) (clients.TerminalOutput, error) {
	return ask(ctx, e, outputTime, MethodTerminalOutput, e.terminal(id), after, TerminalOutput)
}

// WaitForExit blocks until the command has ended.
func (e *Editor) WaitForExit(ctx context.Context, id string, after uint64) (clients.Exit, error) {
	return ask(ctx, e, exitTime, MethodWaitForExit, e.terminal(id), after, CommandExit)
}

// KillTerminal makes the client end the command.
func (e *Editor) KillTerminal(id string, after uint64) {
	e.end(MethodKillTerminal, id, after)
}

// ReleaseTerminal makes the client end the command, and releases the terminal.
func (e *Editor) ReleaseTerminal(id string, after uint64) {
	e.end(MethodReleaseTerminal, id, after)
}

func (e *Editor) terminal(id string) TerminalParams {
	return TerminalParams{SessionID: e.of.SessionID, TerminalID: id}
}

// ending is a kill or release request, for whose response nobody waits.
type ending struct {
	method, terminal string
	after            uint64
	until            time.Time // it is given up unless sent before
}

// maxEndings is the maximum number of endings that wait for a connection with too many requests in flight. The oldest is
// dropped first: its time limit passes first.
const maxEndings = 64

// endings are those that are not sent yet, in order.
type endings struct {
	mu      sync.Mutex
	queue   []ending
	sending bool // on a goroutine, until the queue is empty
}

func (e *Editor) end(method, terminal string, after uint64) {
	e.last.mu.Lock()
	defer e.last.mu.Unlock()
	if len(e.last.queue) == maxEndings {
		e.last.queue = e.last.queue[1:]
	}
	e.last.queue = append(e.last.queue, ending{method, terminal, after, time.Now().Add(endTime)})
	if !e.last.sending {
		e.last.sending = true
		e.of.Go(e.sendEndings)
	}
}

// next returns the oldest ending that is not sent; ok is false if there is none.
func (q *endings) next() (r ending, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		q.queue, q.sending = nil, false
		return ending{}, false
	}
	r, q.queue = q.queue[0], q.queue[1:]
	return r, true
}

// sendEndings sends endings, each after the one before it. It does not wait for their responses.
func (e *Editor) sendEndings() {
	for r, ok := e.last.next(); ok; r, ok = e.last.next() {
		if pending := e.begin(r); pending != nil {
			e.of.Go(func() { drop(pending) })
		}
	}
}

// busyPause is the time before another attempt to send a request over a connection with too many in flight.
const busyPause = 50 * time.Millisecond

// begin sends an ending, as soon as there is room for it. It returns nil if the connection has ended, or
// was busy for too long.
func (e *Editor) begin(r ending) *rpc.Pending {
	for {
		pending, err := e.of.Conn.Begin(r.method, e.terminal(r.terminal), e.position(r.after))
		if !errors.Is(failure(err), clients.ErrBusy) || time.Now().After(r.until) {
			return pending
		}
		time.Sleep(busyPause)
	}
}

// drop waits for a response and ignores it. It stops at the time limit.
func drop(pending *rpc.Pending) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	_, _ = pending.Await(ctx) // the response changes nothing
}
