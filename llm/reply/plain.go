package reply

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
	p := plainReader{object}
	ok = p.object(openAIChunkNames, func(name string) bool {
		switch name {
		case "choices":
			return p.next('[') && p.openAIChoice(&out) && p.next(']')
		case "usage":
			return p.null()
		}
		return p.scalar()
	})
	return out, ok && p.ended() && out.text != ""
}

// The members of a plain chunk, its choice and its delta.
var (
	openAIChunkNames  = []string{"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier", "provider", "obfuscation", "p"}
	openAIChoiceNames = []string{"index", "delta", "finish_reason", "logprobs", "native_finish_reason", "stop_reason"}
	openAIDeltaNames  = []string{"content", "role", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call"}
)

func (p *plainReader) openAIChoice(out *plainText) bool {
	return p.object(openAIChoiceNames, func(name string) bool {
		switch name {
		case "index":
			n, ok := p.number()
			return ok && n == 0
		case "delta":
			return p.openAIDelta(out)
		}
		return p.null()
	})
}

func (p *plainReader) openAIDelta(out *plainText) bool {
	return p.object(openAIDeltaNames, func(name string) bool {
		switch name {
		case "role":
			return p.scalar()
		case "content", "reasoning_content", "reasoning":
			if p.null() {
				return true
			}
			text, ok := p.text()
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
		return p.null()
	})
}

// anthropicPlain reads an event that says nothing but a piece of text or thinking. For all others it returns false.
func anthropicPlain(object []byte) (out plainText, ok bool) {
	p := plainReader{object}
	typed := false
	ok = p.object(anthropicEventNames, func(name string) (ok bool) {
		switch name {
		case "type":
			typed = p.word("content_block_delta")
			return typed
		case "index":
			out.index, ok = p.number()
			return ok && out.index < maxBlocks
		}
		return p.anthropicDelta(&out)
	})
	return out, ok && typed && p.ended() && out.text != ""
}

// The members of a plain event and its delta.
var (
	anthropicEventNames = []string{"type", "index", "delta"}
	anthropicDeltaNames = []string{"type", "text", "thinking"}
)

func (p *plainReader) anthropicDelta(out *plainText) bool {
	return p.object(anthropicDeltaNames, func(name string) (ok bool) {
		if name == "type" {
			return p.scalar()
		}
		once := out.text == ""
		out.text, ok = p.text()
		out.thinking = name == "thinking"
		return ok && once
	})
}
