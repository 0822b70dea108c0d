package llm

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
)

// anthropicBackend speaks Messages. The SDK makes the request; the stream is read by anthropicStream.
type anthropicBackend struct {
	sdk anthropic.Client
}

func newAnthropic(c *Client, config ProviderConfig, key string) *anthropicBackend {
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), // the configuration alone says where requests go and with which key
		option.WithHTTPClient(c.httpClient()),
		option.WithMaxRetries(0),
		option.WithMiddleware(c.onlySuccess),
	}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
	}
	if config.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(config.BaseURL))
	}
	for _, name := range sortedKeys(config.Headers) {
		opts = append(opts, option.WithHeader(name, config.Headers[name]))
	}
	return &anthropicBackend{anthropic.NewClient(opts...)}
}

func (b *anthropicBackend) open(ctx context.Context, req Request, model Model) (io.ReadCloser, error) {
	var res *http.Response
	if err := b.sdk.Post(ctx, "v1/messages", anthropicParams(req, model), &res, option.WithJSONSet("stream", true)); err != nil {
		return nil, err
	}
	return res.Body, nil
}

func (b *anthropicBackend) ping(ctx context.Context) error {
	return ping(b.sdk.Get(ctx, "v1/models", nil, nil))
}

// anthropicParams is a request in Anthropic's words. The present version of the API takes no temperature.
func anthropicParams(req Request, model Model) anthropic.MessageNewParams {
	c := newConversation(req.Entries, len(req.Tools) > 0, model.Vision)
	out := anthropic.MessageNewParams{Model: model.ID, MaxTokens: int64(maxOutput(req, model))}
	for _, p := range c.system {
		out.System = append(out.System, anthropic.TextBlockParam{Text: p.text, CacheControl: cacheControl(p.mark)})
	}
	for _, t := range c.turns {
		blocks := anthropicBlocks(t.parts)
		if t.assistant {
			out.Messages = append(out.Messages, anthropic.NewAssistantMessage(blocks...))
		} else {
			out.Messages = append(out.Messages, anthropic.NewUserMessage(blocks...))
		}
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, anthropicTool(t))
	}
	think(&out, req, model)
	return out
}

func maxOutput(req Request, model Model) int {
	if req.MaxOutput > 0 {
		return req.MaxOutput
	}
	return model.MaxOutput
}

// thinkingBudgets are tokens of thought for models that take no effort.
var thinkingBudgets = map[ThoughtLevel]int64{ThoughtLow: 2048, ThoughtMedium: 8192, ThoughtHigh: 16384}

// minBudget is the smallest budget that the API takes.
const minBudget = 1024

func think(out *anthropic.MessageNewParams, req Request, model Model) {
	if !model.thinks(req.Thought) {
		return
	}
	if model.adaptive {
		out.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{Display: "summarized"}
		out.OutputConfig.Effort = anthropic.OutputConfigEffort(req.Thought)
		return
	}
	budget := min(thinkingBudgets[req.Thought], out.MaxTokens/2) // half is left for the answer
	if budget >= minBudget {
		out.Thinking = anthropic.ThinkingConfigParamOfEnabled(budget)
	}
}

func anthropicTool(t Tool) anthropic.ToolUnionParam {
	schema := param.Override[anthropic.ToolInputSchemaParam](schemaOf(t))
	tool := anthropic.ToolUnionParamOfTool(schema, safeName(t.Name))
	if t.Description != "" {
		tool.OfTool.Description = anthropic.String(t.Description)
	}
	return tool
}

func anthropicBlocks(parts []*part) (out []anthropic.ContentBlockParamUnion) {
	for _, p := range parts {
		out = append(out, anthropicBlock(p))
	}
	return out
}

func anthropicBlock(p *part) anthropic.ContentBlockParamUnion {
	var out anthropic.ContentBlockParamUnion
	cache := cacheControl(p.mark)
	switch p.kind {
	case partImage:
		out = anthropic.NewImageBlockBase64(p.block.MIME, base64.StdEncoding.EncodeToString(p.block.Data))
		out.OfImage.CacheControl = cache
	case partThinking:
		if len(p.block.Data) > 0 {
			return anthropic.NewRedactedThinkingBlock(string(p.block.Data))
		}
		return anthropic.NewThinkingBlock(p.block.Signature, p.block.Text)
	case partCall:
		out = anthropic.NewToolUseBlock(safeName(p.block.CallID), arguments(p.block), safeName(p.block.Name))
		out.OfToolUse.CacheControl = cache
	case partResult:
		out = anthropicResult(p)
		out.OfToolResult.CacheControl = cache
	default:
		out = anthropic.NewTextBlock(p.text)
		out.OfText.CacheControl = cache
	}
	return out
}

func anthropicResult(p *part) anthropic.ContentBlockParamUnion {
	result := &anthropic.ToolResultBlockParam{ToolUseID: safeName(p.block.CallID)}
	if p.block.IsError {
		result.IsError = anthropic.Bool(true)
	}
	for _, c := range p.content {
		b := anthropicBlock(c)
		result.Content = append(result.Content, anthropic.ToolResultBlockParamContentUnion{OfText: b.OfText, OfImage: b.OfImage})
	}
	return anthropic.ContentBlockParamUnion{OfToolResult: result}
}

func cacheControl(m Mark) (out anthropic.CacheControlEphemeralParam) {
	switch m {
	case Mark5m:
		out.TTL = anthropic.CacheControlEphemeralTTLTTL5m
	case Mark1h:
		out.TTL = anthropic.CacheControlEphemeralTTLTTL1h
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
