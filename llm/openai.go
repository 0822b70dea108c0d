package llm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// openAIBackend speaks chat completions, with OpenAI and with whatever else does.
// The SDK makes the request; the stream is read by openAIStream.
type openAIBackend struct {
	sdk      openai.Client
	official bool // OpenAI itself, which has its own name for the output limit
}

const openAIHost = "api.openai.com"

// official reports whether the provider is OpenAI itself.
func (p ProviderConfig) official() bool {
	address, err := url.Parse(p.BaseURL)
	return p.Kind == OpenAI && (p.BaseURL == "" || err == nil && address.Hostname() == openAIHost)
}

func newOpenAI(c *Client, config ProviderConfig, key string) *openAIBackend {
	base := config.BaseURL
	if base == "" {
		base = "https://" + openAIHost + "/v1"
	}
	opts := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(c.httpClient()),
		option.WithMaxRetries(0),
		option.WithMiddleware(c.onlySuccess),
	}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
	}
	for _, name := range sortedKeys(config.Headers) {
		opts = append(opts, option.WithHeader(name, config.Headers[name]))
	}
	// The client is not made with its constructor, which would take address, key and headers from the environment.
	return &openAIBackend{sdk: openai.Client{Options: opts}, official: config.official()}
}

func (b *openAIBackend) open(ctx context.Context, req Request, model Model) (io.ReadCloser, error) {
	params := openAIParams(req, model, b.official)
	var res *http.Response
	if err := b.sdk.Post(ctx, "chat/completions", params, &res, option.WithJSONSet("stream", true)); err != nil {
		return nil, err
	}
	return res.Body, nil
}

func (b *openAIBackend) ping(ctx context.Context) error {
	return ping(b.sdk.Get(ctx, "models", nil, nil))
}

func openAIParams(req Request, model Model, official bool) openai.ChatCompletionNewParams {
	c := newConversation(req.Entries, len(req.Tools) > 0, model.Vision)
	out := openai.ChatCompletionNewParams{
		Model:         model.ID,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if limit := openai.Int(int64(maxOutput(req, model))); official {
		out.MaxCompletionTokens = limit
	} else {
		out.MaxTokens = limit
	}
	if req.Temperature != nil && !model.reasons {
		out.Temperature = openai.Float(*req.Temperature)
	}
	if model.thinks(req.Thought) {
		out.ReasoningEffort = shared.ReasoningEffort(req.Thought)
	} else if model.effort {
		out.ReasoningEffort = shared.ReasoningEffortNone
	}
	out.Messages = openAIMessages(c)
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, openAITool(t))
	}
	return out
}

func openAITool(t Tool) openai.ChatCompletionToolUnionParam {
	function := shared.FunctionDefinitionParam{Name: safeName(t.Name)}
	if t.Description != "" {
		function.Description = openai.String(t.Description)
	}
	json.Unmarshal(schemaOf(t), &function.Parameters) // an object, see schemaOf
	return openai.ChatCompletionFunctionTool(function)
}

func openAIMessages(c *conversation) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	if len(c.system) > 0 {
		out = append(out, openai.SystemMessage(joined(c.system)))
	}
	for _, t := range c.turns {
		if t.assistant {
			out = append(out, openAIAssistant(t.parts))
			continue
		}
		results, rest := splitResults(t.parts)
		for _, p := range results {
			out = append(out, openai.ToolMessage(openAIResult(p), safeName(p.block.CallID)))
		}
		if len(rest) > 0 {
			out = append(out, openAIUser(rest))
		}
	}
	return out
}

func openAIAssistant(parts []*part) openai.ChatCompletionMessageParamUnion {
	message := openai.ChatCompletionAssistantMessageParam{}
	for _, p := range parts {
		if p.kind == partCall {
			call := &openai.ChatCompletionMessageFunctionToolCallParam{ID: safeName(p.block.CallID)}
			call.Function.Name = safeName(p.block.Name)
			call.Function.Arguments = string(arguments(p.block))
			message.ToolCalls = append(message.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: call})
		}
	}
	if text := joined(parts); text != "" {
		message.Content.OfString = openai.String(text)
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &message}
}

// splitResults takes the results, which stand first, from the rest. Tool messages hold no pictures, so those follow
// as user content.
func splitResults(parts []*part) (results, rest []*part) {
	for len(parts) > 0 && parts[0].kind == partResult {
		p := parts[0]
		results, parts = append(results, p), parts[1:]
		for _, c := range p.content {
			if c.kind == partImage {
				rest = append(rest, &part{text: "[picture of tool result " + p.block.CallID + "]"}, c)
			}
		}
	}
	return results, append(rest, parts...)
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
func openAIUser(parts []*part) openai.ChatCompletionMessageParamUnion {
	var content []openai.ChatCompletionContentPartUnionParam
	pictures := false
	for _, p := range parts {
		if p.kind == partImage {
			pictures = true
			address := "data:" + p.block.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.block.Data)
			content = append(content, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: address}))
			continue
		}
		content = append(content, openai.TextContentPart(p.text))
	}
	if pictures {
		return openai.UserMessage(content)
	}
	return openai.UserMessage(joined(parts))
}
