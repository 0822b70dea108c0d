package history

import (
	"encoding/json"
	"errors"
	"fmt"

	"strata/internal/clip"
)

// maxBlocks bounds the blocks of one message.
const maxBlocks = 1000

// CheckBlocks validates the blocks of a message appended by a client: their types must fit the role, and their required
// fields must be set. It returns the blocks without empty texts and without fields that their types do not use. Only a
// message of the assistant may be empty: a model may say nothing.
func CheckBlocks(role Role, blocks []Block) ([]Block, error) {
	if len(blocks) > maxBlocks {
		return nil, fmt.Errorf("%d blocks exceeds the limit of %d", len(blocks), maxBlocks)
	}
	kept := make([]Block, 0, len(blocks))
	for i := range blocks {
		b, err := checkBlock(role, &blocks[i])
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		if b.Type != BlockText || b.Text != "" {
			kept = append(kept, b)
		}
	}
	if len(kept) == 0 && role != RoleAssistant {
		return nil, errors.New("the message is empty")
	}
	return kept, nil
}

func checkBlock(role Role, b *Block) (Block, error) {
	switch {
	case role == RoleTool && b.Type != BlockToolResult:
		return Block{}, fmt.Errorf("type %q is not allowed in a message with role tool", clip.Name(string(b.Type)))
	case role != RoleTool && b.Type == BlockToolResult:
		return Block{}, errors.New("a tool result is only allowed in a message with role tool")
	case role != RoleAssistant && (b.Type == BlockToolCall || b.Type == BlockThinking):
		return Block{}, fmt.Errorf("type %q is only allowed in a message with role assistant", clip.Name(string(b.Type)))
	}
	return cleanBlock(b)
}

// cleanBlock returns b with only the fields of its type.
func cleanBlock(b *Block) (Block, error) {
	switch b.Type {
	case BlockText:
		return Block{Type: b.Type, Text: b.Text}, nil
	case BlockThinking:
		return Block{Type: b.Type, Text: b.Text, Signature: b.Signature}, nil
	case BlockImage:
		if len(b.Data) == 0 || b.MIME == "" {
			return Block{}, errors.New("an image requires data and mimeType")
		}
		return Block{Type: b.Type, Data: b.Data, MIME: b.MIME, URI: b.URI, Width: max(b.Width, 0), Height: max(b.Height, 0)}, nil
	case BlockLink:
		return Block{Type: b.Type, URI: b.URI, Name: b.Name, MIME: b.MIME}, nil
	case BlockResource:
		return Block{Type: b.Type, URI: b.URI, Text: b.Text, MIME: b.MIME}, nil
	case BlockToolCall:
		return cleanCall(b)
	case BlockToolResult:
		return cleanResult(b)
	default:
		return Block{}, fmt.Errorf("unknown type %q", clip.Name(string(b.Type)))
	}
}

func cleanCall(b *Block) (Block, error) {
	if b.CallID == "" || b.Name == "" {
		return Block{}, errors.New("a tool call requires callId and name")
	}
	args := b.Args
	if args == "" {
		args = "{}"
	}
	return Block{Type: b.Type, CallID: b.CallID, Name: b.Name, Args: args, Incomplete: b.Incomplete || !json.Valid([]byte(args))}, nil
}

func cleanResult(b *Block) (Block, error) {
	if b.CallID == "" {
		return Block{}, errors.New("a tool result requires callId")
	}
	out := Block{Type: b.Type, CallID: b.CallID, IsError: b.IsError}
	for i := range b.Content {
		c := &b.Content[i]
		if c.Type != BlockText && c.Type != BlockImage {
			return Block{}, fmt.Errorf("content %d of a tool result: type %q is not allowed", i, clip.Name(string(c.Type)))
		}
		clean, err := cleanBlock(c)
		if err != nil {
			return Block{}, fmt.Errorf("content %d: %w", i, err)
		}
		out.Content = append(out.Content, clean)
	}
	return out, nil
}
