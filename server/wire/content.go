package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"strata/history"
	"strata/internal/clip"
)

// MaxPromptID is the maximum length of a prompt's id, in bytes.
const MaxPromptID = 200

const (
	maxBlocks   = 1000 // in a prompt
	maxMessages = 500  // in one request
)

// ContentBlock is a block of a prompt or of a message.
type ContentBlock struct {
	Type     string            `json:"type"`
	Text     *string           `json:"text,omitempty"`
	Data     []byte            `json:"data,omitempty"`
	MIMEType string            `json:"mimeType,omitempty"`
	URI      string            `json:"uri,omitempty"`
	Name     string            `json:"name,omitempty"`
	Resource *EmbeddedResource `json:"resource,omitempty"`
	Meta     *BlockMeta        `json:"_meta,omitempty"`
}

// BlockMeta is the part of a block that ACP does not define.
type BlockMeta struct {
	Strata struct {
		Allow bool `json:"allow,omitempty"` // of a link: add the file even if it looks like a secret
	} `json:"strata,omitzero"`
}

// EmbeddedResource is the content of a resource, sent instead of a link to it.
type EmbeddedResource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     []byte  `json:"blob,omitempty"`
}

// textBlock returns a block of text.
func textBlock(text string) ContentBlock { return ContentBlock{Type: "text", Text: &text} }

// Blocks returns the blocks of the prompt. Empty text is dropped; an unknown type of block is an error.
func (p *PromptParams) Blocks() ([]history.Block, error) {
	if len(p.Prompt) > maxBlocks {
		return nil, InvalidParams("prompt: %d blocks exceed the limit of %d", len(p.Prompt), maxBlocks)
	}
	blocks := make([]history.Block, 0, len(p.Prompt))
	for i := range p.Prompt {
		b, err := p.Prompt[i].block()
		if err != nil {
			return nil, InvalidParams("prompt[%d]: %s", i, err)
		}
		if b.Type != history.BlockText || b.Text != "" {
			blocks = append(blocks, b)
		}
	}
	if id := p.PromptID(); len(id) > MaxPromptID {
		return nil, InvalidParams("_meta.strata.promptId: %d bytes exceed the limit of %d", len(id), MaxPromptID)
	}
	return blocks, nil
}

func (c *ContentBlock) block() (history.Block, error) {
	switch c.Type {
	case "text":
		if c.Text == nil {
			return history.Block{}, errors.New("text is missing")
		}
		return history.Block{Type: history.BlockText, Text: *c.Text}, nil
	case "image":
		if len(c.Data) == 0 || c.MIMEType == "" {
			return history.Block{}, errors.New("a picture needs data and mimeType")
		}
		return history.Block{Type: history.BlockImage, Data: c.Data, MIME: c.MIMEType, URI: c.URI}, nil
	case "resource_link":
		if c.URI == "" {
			return history.Block{}, errors.New("uri is missing")
		}
		allow := c.Meta != nil && c.Meta.Strata.Allow
		return history.Block{Type: history.BlockLink, URI: c.URI, Name: c.Name, MIME: c.MIMEType, Allow: allow}, nil
	case "resource":
		r := c.Resource
		switch {
		case r == nil || r.URI == "":
			return history.Block{}, errors.New("resource.uri is missing")
		case r.Text == nil:
			return history.Block{}, errors.New("only resources with text are supported")
		}
		return history.Block{Type: history.BlockResource, URI: r.URI, Text: *r.Text, MIME: r.MIMEType}, nil
	case "":
		return history.Block{}, errors.New("type is missing")
	default:
		return history.Block{}, fmt.Errorf("content of type %q is not supported", c.Type)
	}
}

// contentOf returns a block of a message as ACP represents it.
func contentOf(b *history.Block) ContentBlock {
	switch b.Type {
	case history.BlockImage:
		return ContentBlock{Type: "image", Data: b.Data, MIMEType: b.MIME, URI: b.URI}
	case history.BlockLink:
		return ContentBlock{Type: "resource_link", URI: b.URI, Name: b.Name, MIMEType: b.MIME}
	case history.BlockResource:
		return ContentBlock{Type: "resource", Resource: &EmbeddedResource{URI: b.URI, MIMEType: b.MIME, Text: &b.Text}}
	default:
		return textBlock(b.Text)
	}
}

// MaxToolText is the maximum length of a tool result's text in an update, in bytes. _strata/history/list returns the
// whole text.
const MaxToolText = 40 << 10

// toolContents returns the content of a tool's result, with long texts truncated.
func toolContents(blocks []history.Block) []ToolContent {
	contents := make([]ToolContent, 0, len(blocks))
	for i := range blocks {
		b := blocks[i]
		if text := clip.Bytes(b.Text, MaxToolText); text != b.Text {
			b.Text = fmt.Sprintf("%s\n[%d more bytes in the transcript]", text, len(b.Text)-len(text))
		}
		contents = append(contents, ToolContent{Type: "content", Content: contentOf(&b)})
	}
	return contents
}

// AppendedMessage is a message that a client appends.
type AppendedMessage struct {
	Role    history.Role    `json:"role"`
	Content json.RawMessage `json:"content"` // a text, or a list of blocks as in the transcript
	Meta    json.RawMessage `json:"meta"`
}

// appended validates messages and returns them as messages of the transcript without ids.
func appended(in []AppendedMessage) ([]history.Message, error) {
	if len(in) == 0 || len(in) > maxMessages {
		return nil, InvalidParams("messages: expected 1 to %d", maxMessages)
	}
	out := make([]history.Message, len(in))
	for i := range in {
		m := &in[i]
		if !m.Role.Valid() {
			return nil, InvalidParams("messages[%d].role: expected user, assistant or tool", i)
		}
		blocks, err := m.blocks()
		if err != nil {
			return nil, InvalidParams("messages[%d].content: %s", i, err)
		}
		if _, err := history.ParseMeta(m.Meta); err != nil {
			return nil, InvalidParams("messages[%d].meta: %s", i, err)
		}
		out[i] = history.Message{Role: m.Role, Blocks: blocks, Meta: m.Meta}
	}
	return out, nil
}

func (m *AppendedMessage) blocks() ([]history.Block, error) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return history.CheckBlocks(m.Role, []history.Block{{Type: history.BlockText, Text: text}})
	}
	var blocks []history.Block
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		return nil, errors.New("expected a text or a list of blocks")
	}
	return history.CheckBlocks(m.Role, blocks)
}
