package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"strata/history"
	"strata/internal/clip"
	"strata/internal/exact"
)

// MaxPromptID is the maximum length of a prompt's id, in bytes.
const MaxPromptID = 200

const (
	maxBlocks   = 1000 // in a prompt
	maxMessages = 500  // to add in one request
)

// ContentBlock is a block of a prompt or of a message.
type ContentBlock struct {
	Type     string            `json:"type" need:"content"`
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
		Allow    bool `json:"allow,omitempty"`    // of a link: add the file even if it looks like a secret
		Required bool `json:"required,omitempty"` // of a link: refuse the prompt if the file cannot be added
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
	blocks, err := promptBlocks(p.Prompt)
	if err != nil {
		return nil, err
	}
	if id := p.PromptID(); len(id) > MaxPromptID {
		return nil, InvalidParams("params._meta.strata.promptId: %d bytes exceeds the limit of %d", len(id), MaxPromptID)
	}
	if _, err := history.ParseMeta(p.Attached()); err != nil {
		return nil, InvalidParams("params._meta.strata.%s", err)
	}
	return blocks, nil
}

// promptBlocks returns the blocks of a prompt for the transcript.
func promptBlocks(prompt []ContentBlock) ([]history.Block, error) {
	if len(prompt) > maxBlocks {
		return nil, InvalidParams("params.prompt: %d blocks exceeds the limit of %d", len(prompt), maxBlocks)
	}
	blocks := make([]history.Block, 0, len(prompt))
	for i := range prompt {
		b, fault := prompt[i].block()
		if fault != nil {
			return nil, InvalidParams("params.prompt[%d]%s", i, fault)
		}
		if b.Type != history.BlockText || b.Text != "" {
			blocks = append(blocks, b)
		}
	}
	return blocks, nil
}

// block returns the block for the transcript. The path of an error starts below the block.
func (c *ContentBlock) block() (history.Block, *exact.Error) {
	switch c.Type {
	case "text":
		if c.Text == nil {
			return history.Block{}, exact.Missing(".text")
		}
		return history.Block{Type: history.BlockText, Text: *c.Text}, nil
	case "image":
		switch {
		case len(c.Data) == 0:
			return history.Block{}, exact.Missing(".data")
		case c.MIMEType == "":
			return history.Block{}, exact.Missing(".mimeType")
		}
		return history.Block{Type: history.BlockImage, Data: c.Data, MIME: c.MIMEType, URI: c.URI}, nil
	case "resource_link":
		if c.URI == "" {
			return history.Block{}, exact.Missing(".uri")
		}
		link := history.Block{Type: history.BlockLink, URI: c.URI, Name: c.Name, MIME: c.MIMEType}
		if c.Meta != nil {
			link.Allow, link.Required = c.Meta.Strata.Allow, c.Meta.Strata.Required
		}
		return link, nil
	case "resource":
		r := c.Resource
		switch {
		case r == nil:
			return history.Block{}, exact.Missing(".resource")
		case r.URI == "":
			return history.Block{}, exact.Missing(".resource.uri")
		case r.Text == nil:
			return history.Block{}, &exact.Error{Path: ".resource", Want: "only resources with text are supported"}
		}
		return history.Block{Type: history.BlockResource, URI: r.URI, Text: *r.Text, MIME: r.MIMEType}, nil
	default:
		return history.Block{}, &exact.Error{Path: ".type", Want: fmt.Sprintf("content of type %q is not supported", clip.Name(c.Type))}
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
func toolContents(blocks []history.Block) []any {
	contents := make([]any, 0, len(blocks))
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
	Role    history.Role    `json:"role" need:"content"`
	Content json.RawMessage `json:"content" need:"value"` // a text, or a list of blocks as in the transcript
	Meta    json.RawMessage `json:"meta"`
}

// appended is converted for messages that are added to others: at least one, and not too many.
func appended(in []AppendedMessage) ([]history.Message, error) {
	if len(in) == 0 || len(in) > maxMessages {
		return nil, InvalidParams("params.messages: expected 1 to %d", maxMessages)
	}
	return converted(in)
}

// converted validates messages and returns them as messages of the transcript without ids.
func converted(in []AppendedMessage) ([]history.Message, error) {
	out := make([]history.Message, len(in))
	for i := range in {
		m := &in[i]
		if !m.Role.Valid() {
			return nil, InvalidParams("params.messages[%d].role: must be user, assistant or tool", i)
		}
		blocks, err := m.blocks(fmt.Sprintf("params.messages[%d].content", i))
		if err != nil {
			return nil, InvalidParams("%s", err)
		}
		if _, err := history.ParseMeta(m.Meta); err != nil {
			return nil, InvalidParams("params.messages[%d].%s", i, err)
		}
		out[i] = history.Message{Role: m.Role, Blocks: blocks, Meta: m.Meta}
	}
	return out, nil
}

// blocks returns the content of the message, whose name in errors is path.
func (m *AppendedMessage) blocks(path string) ([]history.Block, error) {
	var blocks []history.Block
	switch {
	case bytes.HasPrefix(m.Content, []byte(`"`)):
		blocks = []history.Block{{Type: history.BlockText}}
		if err := exact.Decode(m.Content, path, &blocks[0].Text); err != nil {
			return nil, err
		}
	case !bytes.HasPrefix(m.Content, []byte("[")):
		return nil, fmt.Errorf("%s: must be a text or a list of blocks", path)
	default:
		if err := exact.Decode(m.Content, path, &blocks); err != nil {
			return nil, err
		}
	}
	blocks, err := history.CheckBlocks(m.Role, blocks)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return blocks, nil
}
