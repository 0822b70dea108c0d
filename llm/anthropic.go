package llm

import (
	"encoding/json"
	"strings"

	"strata/llm/reply"
)

// anthropicURL is the address of Anthropic itself.
const anthropicURL = "https://api.anthropic.com"

// anthropicVersion is the version of the Messages API whose words are used here.
const anthropicVersion = "2023-06-01"

func anthropicEndpoint(config ProviderConfig, key string) endpoint {
	base := strings.TrimRight(config.BaseURL, "/")
	if base == "" {
		base = anthropicURL
	}
	header := newHeader()
	header.Set("Anthropic-Version", anthropicVersion)
	if key != "" {
		header.Set("X-Api-Key", key)
	}
	return endpoint{base: strings.TrimSuffix(base, "/v1"), header: header}
}

// The types below are a request in Anthropic's words. The order of their fields is that of the bytes that are sent,
// and a provider's cache is empty once these change: TestGoldenRequest pins them.
type anthropicRequest struct {
	MaxTokens    int                   `json:"max_tokens"`
	Messages     [0]any                `json:"messages"` // the turns replace it
	Model        string                `json:"model"`
	OutputConfig *anthropicOutput      `json:"output_config,omitempty"`
	System       []anthropicText       `json:"system,omitempty"`
	Thinking     *anthropicThinking    `json:"thinking,omitempty"`
	Tools        []anthropicDefinition `json:"tools,omitempty"`
	Stream       bool                  `json:"stream"`
}

type anthropicOutput struct {
	Effort ThoughtLevel `json:"effort"`
}

type anthropicThinking struct {
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
	Type    string `json:"type"` // enabled, adaptive
}

type anthropicDefinition struct {
	Schema      json.RawMessage `json:"input_schema"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
}

// A turn has content, a list of the block types below, and role.

type anthropicMark struct {
	TTL  string `json:"ttl,omitempty"`
	Type string `json:"type"`
}

type anthropicText struct {
	Text string         `json:"text"`
	Mark *anthropicMark `json:"cache_control,omitempty"`
	Type string         `json:"type"`
}

type anthropicImage struct {
	Source anthropicSource `json:"source"`
	Type   string          `json:"type"`
}

type anthropicSource struct {
	Data      []byte `json:"data"` // base64 in JSON
	MediaType string `json:"media_type"`
	Type      string `json:"type"`
}

type anthropicThought struct {
	Signature string `json:"signature"`
	Thinking  string `json:"thinking"`
	Type      string `json:"type"`
}

type anthropicRedacted struct {
	Data string `json:"data"`
	Type string `json:"type"`
}

type anthropicCall struct {
	ID    string          `json:"id"`
	Input json.RawMessage `json:"input"`
	Name  string          `json:"name"`
	Type  string          `json:"type"`
}

type anthropicResult struct {
	ID      string `json:"tool_use_id"`
	IsError bool   `json:"is_error,omitempty"`
	Content []any  `json:"content"` // anthropicText and anthropicImage
	Type    string `json:"type"`
}

// anthropicBody encodes a request. The present version of the API takes no temperature.
func anthropicBody(req Request, model Model, d dialect) ([]byte, error) {
	return req.body(model, Anthropic, d, func(c *conversation, _ bool) encoding {
		return &anthropicEncoding{req, model, d, c}
	})
}

type anthropicEncoding struct {
	req     Request
	model   Model
	dialect dialect
	*conversation
}

func (a *anthropicEncoding) envelope() any {
	out := anthropicRequest{Model: a.model.ID, MaxTokens: maxOutput(a.req, a.model, a.dialect), Stream: true}
	for _, p := range a.system {
		out.System = append(out.System, anthropicText{Text: p.text, Mark: anthropicMarkOf(p.mark, a.dialect), Type: "text"})
	}
	if a.shape.tools {
		for _, t := range a.req.Tools {
			out.Tools = append(out.Tools, anthropicDefinition{Schema: schemaOf(t), Name: safeName(t.Name), Description: t.Description})
		}
	}
	if a.dialect.effort {
		think(&out, a.req, a.model)
	}
	return out
}

func (a *anthropicEncoding) turn(w *writer, t *turn) {
	w.comma()
	w.text(`{"content":[`)
	for _, p := range t.parts {
		w.comma()
		before := len(w.out)
		block, kind := anthropicBlock(p)
		w.value(block)
		p.place.at = len(w.out) - len(`"type":""}`) - len(kind)
		if extra := p.extra(); len(reply.Members(extra)) > 0 {
			w.out = w.out[:before]
			w.value(reply.Extended(block, extra))
		}
	}
	w.text(`],"role":"`)
	if t.assistant {
		w.text(`assistant"}`)
	} else {
		w.text(`user"}`)
	}
}

// mark returns the mark as a member before the type of a block, which is the last member of those that are ours.
func (a *anthropicEncoding) mark(m Mark) string {
	mark := anthropicMarkOf(m, a.dialect)
	if mark == nil {
		return ""
	}
	out, err := json.Marshal(mark)
	if err != nil {
		panic(err) // it has only texts
	}
	return `"cache_control":` + string(out) + ","
}

// thinkingBudgets are tokens of thought for models that take no effort.
var thinkingBudgets = map[ThoughtLevel]int{ThoughtLow: 2048, ThoughtMedium: 8192, ThoughtHigh: 16384}

// minBudget is the smallest budget that the API takes.
const minBudget = 1024

func think(out *anthropicRequest, req Request, model Model) {
	if !model.thinks(req.Thought) {
		return
	}
	if model.adaptive {
		out.Thinking = &anthropicThinking{Display: "summarized", Type: "adaptive"}
		out.OutputConfig = &anthropicOutput{Effort: req.Thought}
		return
	}
	budget := min(thinkingBudgets[req.Thought], out.MaxTokens/2) // half is left for the reply
	if budget >= minBudget {
		out.Thinking = &anthropicThinking{Budget: budget, Type: "enabled"}
	}
}

// anthropicBlock returns a part as a block and the type of that, which is its last member.
func anthropicBlock(p *part) (block any, kind string) {
	switch p.kind {
	case partImage:
		source := anthropicSource{Data: p.block.Data, MediaType: p.block.MIME, Type: "base64"}
		return anthropicImage{Source: source, Type: "image"}, "image"
	case partThinking:
		if len(p.block.Data) > 0 {
			return anthropicRedacted{Data: string(p.block.Data), Type: "redacted_thinking"}, "redacted_thinking"
		}
		return anthropicThought{Signature: p.block.Signature, Thinking: p.block.Text, Type: "thinking"}, "thinking"
	case partCall:
		return anthropicCall{ID: p.id, Input: arguments(p.block), Name: safeName(p.block.Name), Type: "tool_use"}, "tool_use"
	case partResult:
		result := anthropicResult{ID: p.id, IsError: p.block.IsError, Type: "tool_result"}
		for _, c := range p.content {
			inner, _ := anthropicBlock(c)
			result.Content = append(result.Content, inner)
		}
		return result, "tool_result"
	}
	return anthropicText{Text: p.text, Type: "text"}, "text"
}

func anthropicMarkOf(m Mark, d dialect) *anthropicMark {
	if m == MarkNone || !d.cacheMarks {
		return nil
	}
	mark := &anthropicMark{Type: "ephemeral"}
	switch {
	case !d.cacheTTL:
	case m == Mark1h:
		mark.TTL = "1h"
	default:
		mark.TTL = "5m"
	}
	return mark
}
