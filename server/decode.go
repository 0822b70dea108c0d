package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"strata/history"
	"strata/rpc"
)

// invalidParams returns the error for parameters that a method cannot take.
func invalidParams(format string, args ...any) *rpc.Error {
	return &rpc.Error{Code: codeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// decode reads a request's parameters: strictly by type, leniently by unknown field.
func decode(raw json.RawMessage, into any) error {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	err := json.Unmarshal(raw, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		return invalidParams("%s: a JSON %s is not what is wanted here", wrong.Field, wrong.Value)
	default:
		return invalidParams("the parameters cannot be read: an object with the method's fields is wanted")
	}
}

// The bounds of a prompt or an appended message.
const (
	maxBlocks   = 1000
	maxPromptID = 200 // bytes
	maxMessages = 500
)

// blocks returns the blocks of a prompt. Empty text is dropped; a kind that is not known is an error.
func blocks(content []contentBlock) ([]history.Block, error) {
	if len(content) > maxBlocks {
		return nil, invalidParams("prompt: %d blocks, at most %d are taken", len(content), maxBlocks)
	}
	out := make([]history.Block, 0, len(content))
	for i := range content {
		b, err := block(&content[i])
		if err != nil {
			return nil, invalidParams("prompt[%d]: %s", i, err)
		}
		if b.Type != history.BlockText || b.Text != "" {
			out = append(out, b)
		}
	}
	return out, nil
}

func block(c *contentBlock) (history.Block, error) {
	switch c.Type {
	case "text":
		if c.Text == nil {
			return history.Block{}, errors.New("text is missing")
		}
		return history.Block{Type: history.BlockText, Text: *c.Text}, nil
	case "image":
		return image(c)
	case "resource_link":
		if c.URI == "" {
			return history.Block{}, errors.New("uri is missing")
		}
		return history.Block{Type: history.BlockLink, URI: c.URI, Name: c.Name, MIME: c.MIMEType}, nil
	case "resource":
		return resource(c.Resource)
	case "":
		return history.Block{}, errors.New("type is missing")
	default:
		return history.Block{}, fmt.Errorf("content of type %q is not supported", c.Type)
	}
}

func image(c *contentBlock) (history.Block, error) {
	if len(c.Data) == 0 || c.MIMEType == "" {
		return history.Block{}, errors.New("a picture needs data and mimeType")
	}
	return history.Block{Type: history.BlockImage, Data: c.Data, MIME: c.MIMEType, URI: c.URI}, nil
}

func resource(r *embeddedResource) (history.Block, error) {
	switch {
	case r == nil || r.URI == "":
		return history.Block{}, errors.New("resource.uri is missing")
	case r.Text == nil:
		return history.Block{}, errors.New("only resources with text are supported")
	}
	return history.Block{Type: history.BlockResource, URI: r.URI, Text: *r.Text, MIME: r.MIMEType}, nil
}
