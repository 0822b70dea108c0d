package upstream

import "fmt"

// Dialect is the form of a provider's error for a request that exceeds its context.
type Dialect int

// The dialects.
const (
	Numbers   Dialect = iota // the limit and the size of the request: in the message for Anthropic's wire format, as llama.cpp does for OpenAI's
	Completed                // as OpenAI does: the maximum output counts too, and is reported
	LimitOnly                // the limit without the size of the request
	Silent                   // no number at all
)

// tooLong returns the error body for a request that exceeds the context, and an empty text for any other request.
func (o *Options) tooLong(req *Request) string {
	n := req.Tokens()
	size := n
	if o.Dialect == Completed {
		size += req.MaxTokens
	}
	if o.Context == 0 || size <= o.Context {
		return ""
	}
	const invalid = "invalid_request_error"
	switch {
	case o.Dialect == Silent:
		return string(errorBody(req.Wire, invalid, "the request exceeds the model's context"))
	case o.Dialect == LimitOnly:
		return string(errorBody(req.Wire, invalid, fmt.Sprintf("the model's maximum context length is %d tokens", o.Context)))
	case o.Dialect == Completed:
		return string(errorBody(req.Wire, invalid, fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion).",
			o.Context, size, n, req.MaxTokens)))
	case req.Wire == Anthropic:
		return string(errorBody(req.Wire, invalid, fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, o.Context)))
	}
	return encode(object{"error": object{
		"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": n, "n_ctx": o.Context,
		"message": fmt.Sprintf("the request exceeds the available context size (%d tokens)", o.Context),
	}})
}
