package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
			r.Content, err = shown(r.Content)
		}
		if err != nil {
			return tools.Failed("%s failed: %v", name, err), nil
		}
		return tools.Result{Content: r.Content, IsError: r.IsError}, nil
	}
}

// The bounds of a result's pictures.
const (
	maxPictures = 4
	maxPicture  = 5 << 20 // bytes
)

// noOutput is the text of a result without content: providers refuse a result that says nothing.
const noOutput = "(no output)"

// shown returns the content of a result as the model gets it. The error wraps clients.ErrInvalid.
func shown(blocks []history.Block) (content []history.Block, err error) {
	pictures := 0
	for i := range blocks {
		switch b := blocks[i]; b.Type {
		case history.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				content = append(content, history.Block{Type: history.BlockText, Text: b.Text})
			}
		case history.BlockImage:
			if pictures++; pictures > maxPictures {
				return nil, fmt.Errorf("%w: more than %d images", clients.ErrInvalid, maxPictures)
			}
			picture, err := pictureOf(&b)
			if err != nil {
				return nil, fmt.Errorf("%w: content[%d]: %w", clients.ErrInvalid, i, err)
			}
			content = append(content, picture)
		default:
			return nil, fmt.Errorf("%w: content[%d] is neither text nor an image", clients.ErrInvalid, i)
		}
	}
	if len(content) == 0 {
		content = []history.Block{{Type: history.BlockText, Text: noOutput}}
	}
	return content, nil
}

func pictureOf(b *history.Block) (history.Block, error) {
	if len(b.Data) > maxPicture {
		return history.Block{}, fmt.Errorf("%d bytes exceeds the limit of %d", len(b.Data), maxPicture)
	}
	one := []history.Block{{Type: history.BlockImage, Data: b.Data}}
	if content.Identify(one); one[0].MIME == "" {
		return history.Block{}, errors.New("not a PNG, JPEG, GIF or WebP, or damaged")
	}
	return one[0], nil
}
