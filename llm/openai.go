package llm

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"strata/llm/reply"
)

func openAIEndpoint(config ProviderConfig, key string) endpoint {
	base := strings.TrimRight(config.BaseURL, "/")
	if base == "" {
		base = "https://" + openAIHost + "/v1"
	}
	header := newHeader()
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return endpoint{base: base, header: header}
}

// The types below are a request in the words of chat completions. The order of their fields is that of the bytes that
// are sent, and a provider's cache is empty once these change: TestGoldenRequest pins them.
type openAIRequest struct {
	Messages            [0]any               `json:"messages"` // the message types below replace it
	Model               string               `json:"model"`
	MaxCompletionTokens int                  `json:"max_completion_tokens,omitempty"`
	MaxTokens           int                  `json:"max_tokens,omitempty"`
	Temperature         *float64             `json:"temperature,omitempty"`
	ReasoningEffort     string               `json:"reasoning_effort,omitempty"`
	StreamOptions       *openAIStreamOptions `json:"stream_options,omitempty"`
	Tools               []openAIDefinition   `json:"tools,omitempty"`
	Stream              bool                 `json:"stream"`
}

type openAIStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type openAIDefinition struct {
	Function openAIFunctionDefinition `json:"function"`
	Type     string                   `json:"type"`
}

type openAIFunctionDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type openAIMessage struct {
	Content any    `json:"content"` // a string, or a list of openAIText and openAIImage
	Role    string `json:"role"`
}

type openAIToolMessage struct {
	Content string `json:"content"`
	CallID  string `json:"tool_call_id"`
	Role    string `json:"role"`
}

type openAIAssistantMessage struct {
	Content          string `json:"content,omitempty"`
	ToolCalls        []any  `json:"tool_calls,omitempty"` // openAICall, with the provider's own members
	Role             string `json:"role"`
	ReasoningContent string `json:"reasoning_content,omitempty"`
	Reasoning        string `json:"reasoning,omitempty"`
}

type openAICall struct {
	ID       string `json:"id"`
	Function any    `json:"function"` // openAIFunction, with the provider's own members
	Type     string `json:"type"`
}

type openAIFunction struct {
	Arguments string `json:"arguments"`
	Name      string `json:"name"`
}

type openAIText struct {
	Text string `json:"text"`
	Type string `json:"type"`
}

type openAIImage struct {
	Image openAIImageURL `json:"image_url"`
	Type  string         `json:"type"`
}

type openAIImageURL struct {
	URL string `json:"url"`
}

// openAIBody encodes a request.
func openAIBody(req Request, model Model, d dialect) ([]byte, error) {
	return req.body(model, OpenAI, d, func(c *conversation, continued bool) encoding {
		o := &openAIEncoding{req: req, model: model, dialect: d, shape: c.shape}
		if !continued {
			o.system = joined(c.system)
		}
		return o
	})
}

type openAIEncoding struct {
	req     Request
	model   Model
	dialect dialect
	shape   shape
	system  string // that is not written yet
}

func (o *openAIEncoding) envelope() any {
	out := openAIRequest{Model: o.model.ID, Stream: true}
	switch limit := maxOutput(o.req, o.model, o.dialect); o.dialect.outputName {
	case outputMaxCompletionTokens:
		out.MaxCompletionTokens = limit
	case outputMaxTokens:
		out.MaxTokens = limit
	}
	if o.dialect.temperature && !o.model.reasons {
		out.Temperature = o.req.Temperature
	}
	switch {
	case !o.dialect.effort:
	case o.model.thinks(o.req.Thought):
		out.ReasoningEffort = string(o.req.Thought)
	case o.model.effort:
		out.ReasoningEffort = "none"
	}
	if o.dialect.streamOptions {
		out.StreamOptions = &openAIStreamOptions{IncludeUsage: true}
	}
	if o.shape.tools {
		for _, t := range o.req.Tools {
			function := openAIFunctionDefinition{Name: safeName(t.Name), Description: t.Description, Parameters: schemaOf(t)}
			out.Tools = append(out.Tools, openAIDefinition{Function: function, Type: "function"})
		}
	}
	return out
}

// mark returns nothing: these providers cache by themselves.
func (o *openAIEncoding) mark(Mark) string { return "" }

func (o *openAIEncoding) turn(w *writer, t *turn) {
	message := func(v any) {
		w.comma()
		w.value(v)
	}
	if o.system != "" && o.dialect.system {
		message(openAIMessage{Content: o.system, Role: "system"})
		o.system = ""
	}
	if t.assistant {
		message(openAIAssistant(t.parts))
		return
	}
	results, rest := splitResults(t.parts)
	update := ""
	if len(results) > 0 && areUpdates(rest) { // between two steps: a message of the user would begin a turn
		update, rest = joined(rest), nil
	}
	for i, p := range results {
		text := openAIResult(p)
		if i == len(results)-1 && update != "" {
			text += "\n\n" + update
		}
		message(openAIToolMessage{Content: text, CallID: p.id, Role: "tool"})
	}
	if len(results) > 0 && len(rest) > 0 && !o.dialect.userAfterTool {
		message(openAIAssistantMessage{Content: understood, Role: "assistant"})
	}
	if o.system != "" { // the model takes no system message
		rest = append([]*part{{text: o.system}}, rest...)
		o.system = ""
	}
	if len(rest) > 0 {
		message(openAIUser(rest))
	}
}

func openAIAssistant(parts []*part) openAIAssistantMessage {
	message := openAIAssistantMessage{Content: joined(parts), Role: "assistant"}
	for _, p := range parts {
		switch {
		case p.kind == partThinking && p.block.Origin != nil && p.block.Origin.Field == "reasoning":
			message.Reasoning += p.block.Text
		case p.kind == partThinking:
			message.ReasoningContent += p.block.Text
		case p.kind == partCall:
			extra := p.extra()
			function := openAIFunction{Arguments: string(arguments(p.block)), Name: safeName(p.block.Name)}
			call := openAICall{ID: p.id, Function: reply.Extended(function, reply.Members(extra)["function"]), Type: "function"}
			message.ToolCalls = append(message.ToolCalls, reply.Extended(call, reply.Without(reply.Members(extra), "function")))
		}
	}
	return message
}

// splitResults takes the results, which come first, from the rest. Tool messages hold no pictures, so those follow
// as user content.
func splitResults(parts []*part) (results, rest []*part) {
	for len(parts) > 0 && parts[0].kind == partResult {
		p := parts[0]
		results, parts = append(results, p), parts[1:]
		for _, c := range p.content {
			if c.kind == partImage {
				rest = append(rest, &part{text: "[picture of tool result " + p.id + "]"}, c)
			}
		}
	}
	return results, append(rest, parts...)
}

// areUpdates reports whether parts are nothing but updates of the context.
func areUpdates(parts []*part) bool {
	return !slices.ContainsFunc(parts, func(p *part) bool { return !p.update })
}

func openAIResult(p *part) string {
	text := joined(p.content)
	if text == "" {
		text = "[picture: follows]"
	}
	if p.block.IsError {
		text = "Error: " + text
	}
	return text
}

// openAIUser sends a string where it can: not every server takes parts.
func openAIUser(parts []*part) openAIMessage {
	var content []any
	pictures := false
	for _, p := range parts {
		if p.kind == partImage {
			pictures = true
			address := "data:" + p.block.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.block.Data)
			content = append(content, openAIImage{Image: openAIImageURL{URL: address}, Type: "image_url"})
			continue
		}
		content = append(content, openAIText{Text: p.text, Type: "text"})
	}
	if pictures {
		return openAIMessage{Content: content, Role: "user"}
	}
	return openAIMessage{Content: joined(parts), Role: "user"}
}
