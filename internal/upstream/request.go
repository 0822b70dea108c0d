package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Wire is the wire format of a request.
type Wire string

// The wire formats.
const (
	Anthropic Wire = "anthropic"
	OpenAI    Wire = "openai"
)

// Request is a recorded request: its exact bytes in Body, and their decoded content.
type Request struct {
	N      int // from 1
	Wire   Wire
	Header http.Header
	Body   []byte

	Model     string
	MaxTokens int
	System    []Block   // Anthropic only
	Messages  []Message // OpenAI's system messages included
	Tools     []string  // names

	// The bytes of its parts, for the cache and for checks of the provider.
	rawTools    []json.RawMessage
	rawSystem   []json.RawMessage   // Anthropic only, as are the next two
	rawBlocks   [][]json.RawMessage // of each message
	rawThinking []byte
	rawMessages []json.RawMessage // OpenAI only

	count  func(text string) int // nil: one token per four bytes
	factor float64               // 0: 1
}

// Message is one message of a request. OpenAI's tool calls and tool messages are converted to Anthropic's blocks.
type Message struct {
	Role   string
	Blocks []Block
}

// Block is one content block of a request.
type Block struct {
	Type      string          `json:"type"` // text, image, thinking, redacted_thinking, tool_use, tool_result
	Text      string          `json:"text"`
	ID        string          `json:"id"` // of a tool_use
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"` // of a tool_result
	IsError   bool            `json:"is_error"`
	Content   content         `json:"content"`   // of a tool_result
	Signature string          `json:"signature"` // of thinking
	Data      string          `json:"data"`      // of redacted_thinking
	Source    struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"` // base64
	} `json:"source"`
	CacheControl *struct {
		TTL string `json:"ttl"`
	} `json:"cache_control"`
}

// content is a list of blocks, or a string as its short form.
type content []Block

func (c *content) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		*c = content{{Type: "text"}}
		return json.Unmarshal(data, &(*c)[0].Text)
	}
	return json.Unmarshal(data, (*[]Block)(c))
}

// bothContent is content with the bytes that it was read from.
type bothContent struct {
	blocks content
	raw    []json.RawMessage
}

func (c *bothContent) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &c.blocks); err != nil || len(c.blocks) == 0 {
		return err
	}
	if bytes.HasPrefix(data, []byte(`"`)) {
		c.raw = []json.RawMessage{fmt.Appendf(nil, `{"type":"text","text":%s}`, data)}
		return nil
	}
	return json.Unmarshal(data, &c.raw)
}

// LastText returns the text blocks of the last user message, joined by newlines.
func (r *Request) LastText() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Text()
		}
	}
	return ""
}

// Text returns the text blocks of m, joined by newlines.
func (m Message) Text() string {
	var texts []string
	for _, b := range m.Blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// imageTokens is the number of tokens of an image.
const imageTokens = 1500

// Tokens returns an estimate of the request's input: one token per four bytes of text, and 1,500 per image, unless the
// server's options count differently.
func (r *Request) Tokens() int {
	n := r.tokens(r.System)
	for _, m := range r.Messages {
		n += r.tokens(m.Blocks)
	}
	if r.factor > 0 {
		n = int(float64(n) * r.factor)
	}
	return n
}

func (r *Request) tokens(blocks []Block) (n int) {
	for _, b := range blocks {
		if r.count != nil {
			n += r.count(b.Text) + r.count(string(b.Input))
		} else {
			n += (len(b.Text) + len(b.Input) + 3) / 4
		}
		n += r.tokens(b.Content)
		if b.Type == "image" {
			n += imageTokens
		}
	}
	return n
}

func (r *Request) key() string { return keyOf(r.Header) }

func parse(wire Wire, body []byte) (*Request, error) {
	if wire == Anthropic {
		return parseAnthropic(body)
	}
	return parseOpenAI(body)
}

func parseAnthropic(body []byte) (*Request, error) {
	var in struct {
		Model     string      `json:"model"`
		MaxTokens int         `json:"max_tokens"`
		System    bothContent `json:"system"`
		Messages  []struct {
			Role    string      `json:"role"`
			Content bothContent `json:"content"`
		} `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
		Thinking json.RawMessage   `json:"thinking"`
		Output   json.RawMessage   `json:"output_config"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	req := &Request{
		Wire: Anthropic, Body: body, Model: in.Model, MaxTokens: in.MaxTokens, System: in.System.blocks,
		rawTools: in.Tools, rawSystem: in.System.raw, rawThinking: slices.Concat(in.Thinking, in.Output),
	}
	for _, m := range in.Messages {
		req.Messages = append(req.Messages, Message{m.Role, m.Content.blocks})
		req.rawBlocks = append(req.rawBlocks, m.Content.raw)
	}
	for _, raw := range in.Tools {
		var tool struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(raw, &tool); err != nil {
			return nil, fmt.Errorf("read a tool: %w", err)
		}
		req.Tools = append(req.Tools, tool.Name)
	}
	return req, nil
}

type openAIMessage struct {
	Role       string        `json:"role"`
	Content    openAIContent `json:"content"`
	ToolCallID string        `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type openAIContent []Block

func (c *openAIContent) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("[")) {
		return (*content)(c).UnmarshalJSON(data)
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		b := Block{Type: p.Type, Text: p.Text}
		if p.Type == "image_url" {
			b.Type = "image"
			head, data, _ := strings.Cut(p.ImageURL.URL, ";base64,")
			b.Source.MediaType, b.Source.Data = strings.TrimPrefix(head, "data:"), data
		}
		*c = append(*c, b)
	}
	return nil
}

func parseOpenAI(body []byte) (*Request, error) {
	var in struct {
		Model               string            `json:"model"`
		MaxTokens           int               `json:"max_tokens"`
		MaxCompletionTokens int               `json:"max_completion_tokens"`
		Messages            []json.RawMessage `json:"messages"`
		Tools               []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	req := &Request{
		Wire: OpenAI, Body: body, Model: in.Model, MaxTokens: max(in.MaxTokens, in.MaxCompletionTokens),
		rawTools: in.Tools, rawMessages: in.Messages,
	}
	for _, raw := range in.Messages {
		var m openAIMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fmt.Errorf("read a message: %w", err)
		}
		req.Messages = append(req.Messages, m.message())
	}
	for _, raw := range in.Tools {
		var tool struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if err := json.Unmarshal(raw, &tool); err != nil {
			return nil, fmt.Errorf("read a tool: %w", err)
		}
		req.Tools = append(req.Tools, tool.Function.Name)
	}
	return req, nil
}

func (m openAIMessage) message() Message {
	out := Message{Role: m.Role, Blocks: m.Content}
	if m.Role == "tool" {
		out.Blocks = []Block{{Type: "tool_result", ToolUseID: m.ToolCallID, Content: content(m.Content)}}
	}
	for _, call := range m.ToolCalls {
		out.Blocks = append(out.Blocks, Block{Type: "tool_use", ID: call.ID, Name: call.Function.Name,
			Input: json.RawMessage(call.Function.Arguments)})
	}
	return out
}
