package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/internal/clip"
	"strata/session/servers"
)

// answer is the end of a request.
type answer struct {
	result *sdk.CallToolResult
	err    error
}

// lastAnswer is the time after the end of a connection in which the SDK returns a result that has arrived, or an error.
const lastAnswer = time.Second

// call runs a tool, as servers.Server has it.
func (c *connection) call(ctx context.Context, l limits, tool string, input json.RawMessage, progress func(string)) (servers.Result, error) {
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer context.AfterFunc(c.open, func() { time.AfterFunc(lastAnswer, func() { fail(context.Cause(c.open)) }) })()
	w := c.inbox.expect(fail)
	defer c.inbox.forget(w)
	answers := make(chan answer, 1)
	go func() { answers <- c.request(running, w.token, tool, input) }()
	a := await(running, l, answers, w.progress, progress)
	switch {
	case ctx.Err() != nil:
		return servers.Result{}, ctx.Err()
	case a.err != nil:
		return servers.Result{}, c.sentence(a.err, l)
	}
	return resultOf(a.result), nil
}

func (c *connection) request(ctx context.Context, token int, tool string, input json.RawMessage) (a answer) {
	params := &sdk.CallToolParams{Name: tool}
	if len(input) > 0 {
		params.Arguments = input
	}
	params.SetProgressToken(token)
	a.err = protected(func() (err error) {
		a.result, err = c.session.CallTool(ctx, params)
		return err
	})
	if cause := context.Cause(ctx); a.err != nil && cause != nil {
		a.err = cause
	}
	return a
}

var errIdle, errTooLong = errors.New("no progress"), errors.New("too long")

// await returns the answer of a request, or why there is none.
func await(ctx context.Context, l limits, answers <-chan answer, reports <-chan string, progress func(string)) answer {
	idle, whole := time.NewTimer(l.idle), time.NewTimer(l.call)
	defer idle.Stop()
	defer whole.Stop()
	for {
		select {
		case a := <-answers:
			return a
		case text := <-reports:
			idle.Reset(l.idle)
			progress(text)
		case <-idle.C:
			return answer{err: errIdle}
		case <-whole.C:
			return answer{err: errTooLong}
		case <-ctx.Done():
			return answer{err: context.Cause(ctx)}
		}
	}
}

// sentence returns an error of a request as a sentence for the model.
func (c *connection) sentence(err error, l limits) error {
	var refusal *jsonrpc.Error
	_, overHTTP := c.link.(*web)
	switch {
	case errors.Is(err, errIdle):
		return fmt.Errorf("the MCP server made no progress for %v, so the call was cancelled; whether it took effect is unknown", l.idle)
	case errors.Is(err, errTooLong):
		return fmt.Errorf("the call took more than %v, so it was cancelled; whether it took effect is unknown", l.call)
	case errors.Is(err, errTooLarge):
		return errors.New("the MCP server sent a result above the limit of 16 MiB; whether the call took effect is unknown")
	case errors.As(err, &refusal) && refusal.Code == codeRejected && overHTTP:
		return fmt.Errorf("the call did not reach the MCP server, or has no result: %s", clip.Line(valid(c.link.explain(err).Error()), maxErrorText))
	case errors.As(err, &refusal):
		return fmt.Errorf("the MCP server refused the call: %s", clip.Bytes(valid(refusal.Message), maxErrorText))
	}
	return errors.New("the MCP server ended before the call had a result; whether the call took effect is unknown")
}
