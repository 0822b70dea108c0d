package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/internal/clip"
	"strata/internal/plural"
	"strata/session/servers"
)

// The bounds of the list of a server's tools.
const (
	maxPages       = 100
	maxTools       = 512
	maxName        = 256      // bytes
	maxTitle       = 256      // characters
	maxDescription = 16 << 10 // bytes
	maxSchema      = 64 << 10 // bytes
	maxDefinitions = 4 << 20  // bytes of all together
)

// list lists the tools of a server.
func (c *connection) list(ctx context.Context) (l listing, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	w := c.inbox.expect(fail)
	defer c.inbox.forget(w)
	err = protected(func() error { return l.read(ctx, c.session) })
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return l, err
}

// listing is a list of tools that is read page by page.
type listing struct {
	tools    []servers.Tool
	size     int
	tooLarge int  // number of tools that are too large
	tooMany  bool // there are more than fit
}

func (l *listing) read(ctx context.Context, session *sdk.ClientSession) error {
	if caps := session.InitializeResult().Capabilities; caps != nil && caps.Tools == nil {
		return nil // a server without tools
	}
	cursor := ""
	for range maxPages {
		page, err := session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return fmt.Errorf("list tools: %w", err)
		}
		for _, tool := range page.Tools {
			l.add(tool)
		}
		if page.NextCursor == "" || l.tooMany {
			return nil
		}
		cursor = page.NextCursor
	}
	l.tooMany = true
	return nil
}

func (l *listing) add(t *sdk.Tool) {
	tool, err := toolOf(t)
	size := len(tool.Name) + len(tool.Description) + len(tool.Schema)
	switch {
	case err != nil:
		l.tooLarge++
	case len(l.tools) == maxTools || l.size+size > maxDefinitions:
		l.tooMany = true
	default:
		l.size += size
		l.tools = append(l.tools, tool)
	}
}

// toolOf returns a tool in the session's form. The error says that it is too large.
func toolOf(t *sdk.Tool) (servers.Tool, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || len(schema) > maxSchema || len(t.Name) > maxName {
		return servers.Tool{}, errors.New("the definition of the tool is too large")
	}
	title := t.Title
	if title == "" && t.Annotations != nil {
		title = t.Annotations.Title
	}
	return servers.Tool{
		Name:        valid(t.Name),
		Title:       clip.Line(valid(title), maxTitle),
		Description: clip.Bytes(valid(t.Description), maxDescription),
		Schema:      schema,
	}, nil
}

// omitted returns a sentence for the user about tools that exceed a bound; empty if none does.
func (l *listing) omitted() string {
	var parts []string
	if l.tooMany {
		parts = append(parts, fmt.Sprintf("the server has more than %d tools; the others are omitted", len(l.tools)))
	}
	if l.tooLarge > 0 {
		parts = append(parts, plural.Of(l.tooLarge, "tool")+" omitted: too large a definition")
	}
	return strings.Join(parts, "; ")
}
