package toolbox

import (
	"context"
	"encoding/json"
	"fmt"

	"strata/history"
	"strata/session/clients"
	"strata/session/content"
	"strata/session/tools"
)

// Frontend is a connection whose client has declared tools. It is comparable, and safe for concurrent use.
type Frontend interface {
	// CallTool runs a tool and blocks until there is a response, the time limit has passed, or ctx ends. The request is sent
	// after the event of the session with the sequence number after, if the client receives it. The errors are those of
	// package clients, or the cause of ctx.
	CallTool(ctx context.Context, c Call, after uint64) (Result, error)
}

// Call is a call of a declared tool.
type Call struct {
	ID    string // of the call
	Name  string
	Input json.RawMessage // matches the schema
}

// Result is the response of a frontend: texts and images.
type Result struct {
	Content []history.Block
	IsError bool
}

// runner returns the Run of a declared tool.
func (b *Toolbox) runner(name string) func(context.Context, tools.Input) (tools.Result, error) {
	return func(ctx context.Context, in tools.Input) (tools.Result, error) {
		var frontend Frontend
		var declared bool
		var after uint64
		b.mailbox.Wait(func() { frontend, declared, after = b.frontend, b.declared.has(name), b.newest() })
		switch {
		case !declared:
			return withdrawn(name), nil
		case frontend == nil:
			return tools.Failed("%s was not run: the editor that offers it is not connected. Do without it.", name), nil
		}
		r, err := frontend.CallTool(ctx, Call{ID: in.CallID, Name: name, Input: in.Args}, after)
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		if err == nil {
			if r.Content, err = content.Output(r.Content); err != nil {
				err = fmt.Errorf("%w: %w", clients.ErrInvalid, err)
			}
		}
		if err != nil {
			return tools.Failed("%s failed: %v", name, err), nil
		}
		return tools.Result{Content: r.Content, IsError: r.IsError}, nil
	}
}
