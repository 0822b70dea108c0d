package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/internal/process"
)

// maxUnwritten is the maximum number of messages that wait until a server reads them.
const maxUnwritten = 64

// lastOutput is how long the output of a process is read after its end: other processes can keep it open.
const lastOutput = 3 * time.Second

// stdio is the link to a process. Its messages are lines of stdin and stdout. Lines that are no messages, which programs write to
// stdout by mistake, are ignored.
type stdio struct {
	in     *inbox
	limits limits

	process               running
	stdin, stdout, stderr *os.File // ends of ours
	errors                tail
	logged                chan struct{} // closed at the end of stderr

	outgoing chan []byte
	incoming chan jsonrpc.Message
	readErr  error         // why incoming has no more
	unread   chan struct{} // closed after readErr was set

	open  context.Context // ends with close
	shut  context.CancelCauseFunc
	ended sync.WaitGroup
}

// startStdio starts the process of a server.
func startStdio(start starter, c process.Command, in *inbox, l limits) (*stdio, error) {
	s := &stdio{
		in:       in,
		limits:   l,
		outgoing: make(chan []byte, maxUnwritten),
		incoming: make(chan jsonrpc.Message),
		unread:   make(chan struct{}),
		logged:   make(chan struct{}),
	}
	s.open, s.shut = context.WithCancelCause(context.Background())
	if err := s.start(start, c); err != nil {
		s.shut(nil)
		return nil, err
	}
	s.ended.Go(s.readErrors)
	s.ended.Go(s.readAll)
	s.ended.Go(s.writeAll)
	s.ended.Go(s.watch)
	return s, nil
}

// start starts the process with pipes to it.
func (s *stdio) start(start starter, c process.Command) (err error) {
	var pipes pipes
	defer func() { pipes.close(err == nil) }()
	c.Stdin, s.stdin = pipes.to()
	s.stdout, c.Stdout = pipes.from()
	s.stderr, c.Stderr = pipes.from()
	if pipes.err != nil {
		return pipes.err
	}
	s.process, err = start(c)
	return err
}

// pipes are pipes to and from a process.
type pipes struct {
	ours, theirs []*os.File
	err          error
}

func (p *pipes) to() (theirs, ours *os.File) {
	r, w := p.pipe()
	p.theirs, p.ours = append(p.theirs, r), append(p.ours, w)
	return r, w
}

func (p *pipes) from() (ours, theirs *os.File) {
	r, w := p.pipe()
	p.ours, p.theirs = append(p.ours, r), append(p.theirs, w)
	return r, w
}

func (p *pipes) pipe() (r, w *os.File) {
	r, w, err := os.Pipe()
	p.err = errors.Join(p.err, err)
	return r, w
}

// close closes the ends of the process, which has duplicates, and unless it was started, ours.
func (p *pipes) close(started bool) {
	ends := p.theirs
	if !started {
		ends = append(ends, p.ours...)
	}
	for _, f := range ends {
		_ = f.Close()
	}
}

// watch ends the process when the link is closed, and the link when the process has ended and its output was read.
func (s *stdio) watch() {
	select {
	case <-s.process.Done():
		s.limitOutput()
		select {
		case <-s.unread:
		case <-s.open.Done():
		}
	case <-s.open.Done():
		_ = s.stdin.Close()
		s.stop()
	}
	s.shut(nil)
	_ = s.stdin.Close()
	s.limitOutput()
}

// limitOutput begins the time for the rest of the output.
func (s *stdio) limitOutput() {
	last := time.Now().Add(lastOutput)
	_ = s.stdout.SetReadDeadline(last)
	_ = s.stderr.SetReadDeadline(last)
}

// stop waits for the end of the process, which should end when its stdin ends.
func (s *stdio) stop() {
	patience := time.NewTimer(s.limits.stop)
	defer patience.Stop()
	select {
	case <-s.process.Done():
	case <-patience.C:
		s.process.Stop()
		<-s.process.Done()
	}
}

// readAll reads the output of the process to its end, so that the process never waits for us. It passes on the messages until the
// link is closed.
func (s *stdio) readAll() {
	defer func() {
		_, _ = io.Copy(io.Discard, s.stdout)
		_ = s.stdout.Close()
	}()
	s.readErr = s.readMessages()
	close(s.unread)
}

func (s *stdio) readErrors() {
	defer close(s.logged)
	_, _ = io.Copy(&s.errors, s.stderr)
	_ = s.stderr.Close()
}

func (s *stdio) readMessages() error {
	lines := newLines(s.stdout, maxMessage)
	for {
		line, err := lines.next()
		if errors.Is(err, errTooLarge) {
			s.in.fail(err)
			continue
		}
		if err != nil {
			return err
		}
		m, ok, err := s.in.accept(s.open, line)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		select {
		case s.incoming <- m:
		case <-s.open.Done():
			return context.Cause(s.open)
		}
	}
}

// writeAll writes the messages to the process. It closes the link if the process does not read them.
func (s *stdio) writeAll() {
	for {
		select {
		case data := <-s.outgoing:
			_ = s.stdin.SetWriteDeadline(time.Now().Add(s.limits.write))
			if _, err := s.stdin.Write(data); err != nil {
				s.shut(fmt.Errorf("write to the MCP server: %w", err))
				return
			}
		case <-s.open.Done():
			return
		}
	}
}

// Connect implements sdk.Transport.
func (s *stdio) Connect(context.Context) (sdk.Connection, error) { return (*messages)(s), nil }

func (s *stdio) close() { s.shut(nil) }

func (s *stdio) wait() { s.ended.Wait() }

// explain prefers the end of the process to the error of the connection. Below it are the last lines of stderr.
func (s *stdio) explain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) {
		err = s.exit()
	}
	if text := s.errors.text(); text != "" {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return err
}

// exit returns how the process ended. It can end some time after its output.
func (s *stdio) exit() error {
	patience := time.NewTimer(s.limits.exit)
	defer patience.Stop()
	select {
	case <-s.process.Done():
	case <-patience.C:
		return errors.New("the program closed its output")
	}
	<-s.logged
	exit := s.process.Exit()
	if exit.Signal != "" {
		return fmt.Errorf("the program was ended by %s", exit.Signal)
	}
	return fmt.Errorf("the program ended with exit code %d", exit.Code)
}

// messages is the sdk.Connection of a link over stdio.
type messages stdio

func (m *messages) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message := <-m.incoming:
		return message, nil
	case <-m.unread:
		return nil, m.readErr
	case <-m.open.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *messages) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("encode a message to an MCP server: %w", err)
	}
	select {
	case m.outgoing <- append(data, '\n'):
		return nil
	case <-m.open.Done():
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close does not block: the SDK calls it with a lock.
func (m *messages) Close() error {
	m.shut(nil)
	return nil
}

// SessionID returns nothing: only HTTP has sessions.
func (m *messages) SessionID() string { return "" }
