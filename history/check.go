package history

import (
	"encoding/json"
	"errors"
	"fmt"
)

// maxBlocks bounds the blocks of one message.
const maxBlocks = 1000

// CheckBlocks checks the blocks of a message that a client appends: that their types fit the role and
// that their fields are there. It returns them without empty texts and without fields of other types.
func CheckBlocks(role Role, blocks []Block) ([]Block, error) {
	if len(blocks) > maxBlocks {
		return nil, fmt.Errorf("%d blocks, at most %d are taken", len(blocks), maxBlocks)
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
	if len(kept) == 0 {
		return nil, errors.New("it is empty")
	}
	return kept, nil
}

func checkBlock(role Role, b *Block) (Block, error) {
	switch {
	case role == RoleTool && b.Type != BlockToolResult:
		return Block{}, fmt.Errorf("type %q in a message of tool results", b.Type)
	case role != RoleTool && b.Type == BlockToolResult:
		return Block{}, errors.New("a tool result outside a message of role tool")
	case role != RoleAssistant && (b.Type == BlockToolCall || b.Type == BlockThinking):
		return Block{}, fmt.Errorf("type %q outside a message of role assistant", b.Type)
	}
	return cleanBlock(b)
}

// cleanBlock returns b with the fields of its type only.
func cleanBlock(b *Block) (Block, error) {
	switch b.Type {
	case BlockText:
		return Block{Type: b.Type, Text: b.Text}, nil
	case BlockThinking:
		return Block{Type: b.Type, Text: b.Text, Signature: b.Signature}, nil
	case BlockImage:
		if len(b.Data) == 0 || b.MIME == "" {
			return Block{}, errors.New("a picture needs data and mimeType")
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
		return Block{}, fmt.Errorf("type %q is not known", b.Type)
	}
}

func cleanCall(b *Block) (Block, error) {
	if b.CallID == "" || b.Name == "" {
		return Block{}, errors.New("a tool call needs callId and name")
	}
	args := b.Args
	if args == "" {
		args = "{}"
	}
	return Block{Type: b.Type, CallID: b.CallID, Name: b.Name, Args: args, Incomplete: b.Incomplete || !json.Valid([]byte(args))}, nil
}

func cleanResult(b *Block) (Block, error) {
	if b.CallID == "" {
		return Block{}, errors.New("a tool result needs callId")
	}
	out := Block{Type: b.Type, CallID: b.CallID, IsError: b.IsError}
	for i := range b.Content {
		c := &b.Content[i]
		if c.Type != BlockText && c.Type != BlockImage {
			return Block{}, fmt.Errorf("content %d of a tool result has type %q", i, c.Type)
		}
		clean, err := cleanBlock(c)
		if err != nil {
			return Block{}, fmt.Errorf("content %d: %w", i, err)
		}
		out.Content = append(out.Content, clean)
	}
	return out, nil
}
