package reply

import "strata/internal/plainjson"

// plainReader reads the events that contain only text.
type plainReader struct{ plainjson.Reader[[]byte] }

// plainText is a delta of text that a small reader has found in an event.
type plainText struct {
	text     string
	thinking bool
	field    string // member of the wire format that thinking came in; empty where the format has one only
	index    int    // of the block; 0 where the format has none
}

// openAIPlain reads a chunk that says nothing but a piece of text or thinking. For all others it returns false: each
// member is known and expected once, members that could say something are null, and no text has half a surrogate pair.
func openAIPlain(object []byte) (out plainText, ok bool) {
	p := plainReader{plainjson.Reader[[]byte]{Rest: object}}
	ok = p.Object(openAIChunkNames, func(name string) bool {
		switch name {
		case "choices":
			return p.Next('[') && p.openAIChoice(&out) && p.Next(']')
		case "usage":
			return p.Null()
		}
		return p.Scalar()
	})
	return out, ok && p.Ended() && out.text != ""
}

// The members of a plain chunk, its choice and its delta.
var (
	openAIChunkNames  = []string{"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier", "provider", "obfuscation", "p"}
	openAIChoiceNames = []string{"index", "delta", "finish_reason", "logprobs", "native_finish_reason", "stop_reason"}
	openAIDeltaNames  = []string{"content", "role", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call"}
)

func (p *plainReader) openAIChoice(out *plainText) bool {
	return p.Object(openAIChoiceNames, func(name string) bool {
		switch name {
		case "index":
			n, ok := p.Number()
			return ok && n == 0
		case "delta":
			return p.openAIDelta(out)
		}
		return p.Null()
	})
}

func (p *plainReader) openAIDelta(out *plainText) bool {
	return p.Object(openAIDeltaNames, func(name string) bool {
		switch name {
		case "role":
			return p.Scalar()
		case "content", "reasoning_content", "reasoning":
			if p.Null() {
				return true
			}
			text, ok := p.Text()
			if text == "" || !ok {
				return ok
			}
			once := out.text == ""
			out.text, out.thinking = text, name != "content"
			if out.thinking {
				out.field = name
			}
			return once
		}
		return p.Null()
	})
}

// anthropicPlain reads an event that says nothing but a piece of text or thinking. For all others it returns false.
func anthropicPlain(object []byte) (out plainText, ok bool) {
	p := plainReader{plainjson.Reader[[]byte]{Rest: object}}
	typed := false
	ok = p.Object(anthropicEventNames, func(name string) (ok bool) {
		switch name {
		case "type":
			typed = p.Word("content_block_delta")
			return typed
		case "index":
			out.index, ok = p.Number()
			return ok && out.index < maxBlocks
		}
		return p.anthropicDelta(&out)
	})
	return out, ok && typed && p.Ended() && out.text != ""
}

// The members of a plain event and its delta.
var (
	anthropicEventNames = []string{"type", "index", "delta"}
	anthropicDeltaNames = []string{"type", "text", "thinking"}
)

func (p *plainReader) anthropicDelta(out *plainText) bool {
	return p.Object(anthropicDeltaNames, func(name string) (ok bool) {
		if name == "type" {
			return p.Scalar()
		}
		once := out.text == ""
		out.text, ok = p.Text()
		out.thinking = name == "thinking"
		return ok && once
	})
}
