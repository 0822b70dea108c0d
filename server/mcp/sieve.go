package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The bounds of the fields of an event. Others are dropped.
const (
	maxEventID = 1 << 10 // bytes
	minRetry   = 1_000   // milliseconds
	maxRetry   = 60_000
)

// sieve is a stream of server-sent events with those messages that the SDK has to process. Each is one line of data.
type sieve struct {
	ctx    context.Context
	body   io.Closer
	lines  *lines
	in     *inbox
	ready  bytes.Buffer // events that were not read
	lastID string
}

func newSieve(ctx context.Context, body io.ReadCloser, in *inbox) *sieve {
	return &sieve{ctx: ctx, body: body, lines: newLines(body, maxMessage), in: in}
}

func (s *sieve) Read(p []byte) (int, error) {
	for s.ready.Len() == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	return s.ready.Read(p)
}

func (s *sieve) Close() error { return s.body.Close() }

// next reads an event. The last one of a stream needs no end.
func (s *sieve) next() error {
	var e event
	for {
		line, err := s.lines.next()
		switch {
		case errors.Is(err, errTooLarge):
			e.tooLarge = true
		case err != nil && e.empty():
			return err
		case err != nil || len(line) == 0:
			return s.pass(e)
		default:
			e.add(line)
		}
	}
}

// pass makes an event ready, without its message if the SDK does not have to process that.
func (s *sieve) pass(e event) error {
	if e.tooLarge {
		s.in.fail(errTooLarge)
	}
	if e.id != "" {
		s.lastID = e.id
		fmt.Fprintf(&s.ready, "id: %s\n", e.id)
	}
	if e.retry != "" {
		fmt.Fprintf(&s.ready, "retry: %s\n", e.retry)
	}
	if len(e.data) > 0 && !e.tooLarge && (e.name == "" || e.name == "message") {
		if err := s.message(e.data); err != nil {
			return err
		}
	}
	if s.ready.Len() > 0 {
		s.ready.WriteByte('\n')
	}
	return nil
}

func (s *sieve) message(data []byte) error {
	m, ok, err := s.in.accept(s.ctx, data)
	if err != nil || !ok {
		return err
	}
	encoded, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message of an MCP server: %w", err)
	}
	fmt.Fprintf(&s.ready, "data: %s\n", encoded)
	return nil
}

// event is a server-sent event.
type event struct {
	name, id, retry string
	data            []byte
	tooLarge        bool
}

func (e *event) empty() bool {
	return e.name == "" && e.id == "" && e.retry == "" && len(e.data) == 0 && !e.tooLarge
}

// add adds a line. Fields that are unknown or exceed their bounds are ignored.
func (e *event) add(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.tooLarge = e.tooLarge || len(e.data)+len(value) > maxMessage
		if !e.tooLarge {
			e.data = append(append(e.data, value...), '\n')
		}
	case "event":
		e.name = string(value)
	case "id":
		if id := string(value); len(id) <= maxEventID && !strings.ContainsFunc(id, unprintable) {
			e.id = id
		}
	case "retry":
		if n, err := strconv.Atoi(string(value)); err == nil && n >= minRetry && n <= maxRetry {
			e.retry = string(value)
		}
	}
}

// unprintable reports that a character cannot be in a header.
func unprintable(r rune) bool { return r < ' ' || r > '~' }
