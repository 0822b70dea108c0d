package upstream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxMarks is the maximum number of cache breakpoints in one request to Anthropic.
const maxMarks = 4

var anthropicID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// Refusal returns the reason for which a real provider would refuse req, or "". window is in tokens, 0 for none.
func Refusal(req *Request, window int) string {
	if !utf8.Valid(req.Body) || !json.Valid(req.Body) {
		return "the body is not valid UTF-8 JSON"
	}
	if input := req.Tokens(); window > 0 && input+req.MaxTokens > window {
		return fmt.Sprintf("input length and max_tokens exceed context limit: %d + %d > %d", input, req.MaxTokens, window)
	}
	if reason := emptyContent(req); reason != "" {
		return reason
	}
	if req.Wire == Anthropic {
		return refusalByAnthropic(req)
	}
	return refusalByOpenAI(req)
}

func emptyContent(req *Request) string {
	if len(req.Messages) == 0 {
		return "messages: at least one message is required"
	}
	for i, m := range req.Messages {
		if len(m.Blocks) == 0 {
			return fmt.Sprintf("messages.%d: content must not be empty", i)
		}
		for _, b := range m.Blocks {
			if m.Role == "assistant" && b.Type == "image" {
				return fmt.Sprintf("messages.%d: an assistant message holds no pictures", i)
			}
		}
		if reason := blank(m.Blocks); reason != "" {
			return fmt.Sprintf("messages.%d: %s", i, reason)
		}
	}
	if reason := blank(req.System); reason != "" {
		return "system: " + reason
	}
	return ""
}

// pictureTypes are the types of images by their first bytes, in base64.
var pictureTypes = map[string]string{"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}

// refusedPicture returns the reason for which a real provider would refuse an image of req, or "".
func refusedPicture(req *Request) string {
	for i, m := range req.Messages {
		if reason := wrongPicture(m.Blocks); reason != "" {
			return fmt.Sprintf("messages.%d: %s", i, reason)
		}
	}
	return ""
}

// wrongPicture returns an image that is damaged or has another type than declared.
func wrongPicture(blocks []Block) string {
	for _, b := range blocks {
		if b.Type == "image" {
			is := ""
			for start, kind := range pictureTypes {
				if strings.HasPrefix(b.Source.Data, start) {
					is = kind
				}
			}
			switch {
			case is == "":
				return "image: could not process image"
			case is != b.Source.MediaType:
				return fmt.Sprintf("image: the image was specified using the %s media type, but appears to be a %s image", b.Source.MediaType, is)
			}
		}
		if reason := wrongPicture(b.Content); reason != "" {
			return reason
		}
	}
	return ""
}

func blank(blocks []Block) string {
	for _, b := range blocks {
		if b.Type == "text" && strings.TrimSpace(b.Text) == "" {
			if b.CacheControl != nil {
				return "cache_control cannot be set for empty text blocks"
			}
			return "text content blocks must contain non-whitespace text"
		}
		if reason := blank(b.Content); reason != "" {
			return reason
		}
	}
	return ""
}

func refusalByAnthropic(req *Request) string {
	if req.MaxTokens <= 0 {
		return "max_tokens: must be greater than 0"
	}
	for _, reason := range []string{wrongMarks(req), wrongDefinitions(req), wrongThinking(req)} {
		if reason != "" {
			return reason
		}
	}
	want := "user"
	for i, m := range req.Messages {
		if m.Role != want {
			return fmt.Sprintf("messages.%d: role %q where %q is expected: roles must alternate, beginning with the user", i, m.Role, want)
		}
		if last := m.Blocks[len(m.Blocks)-1]; m.Role == "assistant" && strings.HasSuffix(last.Type, "thinking") {
			return fmt.Sprintf("messages.%d: the final block in an assistant message cannot be thinking", i)
		}
		want = map[string]string{"user": "assistant", "assistant": "user"}[want]
	}
	if want == "user" {
		return "the conversation must end with a user message"
	}
	return wrongTools(req)
}

// wrongMarks checks the cache breakpoints of tools, system and messages, in the order in which they are cached.
func wrongMarks(req *Request) string {
	var ttls []string
	for _, raw := range req.rawTools {
		if _, ttl := unmarked(raw); ttl != "" {
			ttls = append(ttls, ttl)
		}
	}
	blocks := slices.Clone(req.System)
	for _, m := range req.Messages {
		blocks = append(blocks, m.Blocks...)
	}
	for _, b := range blocks {
		ttls = append(ttls, b.marks()...)
		if b.CacheControl != nil && strings.HasSuffix(b.Type, "thinking") {
			return "cache_control cannot be set on thinking blocks"
		}
	}
	for i, ttl := range ttls {
		if ttl != "5m" && ttl != "1h" {
			return fmt.Sprintf("cache_control.ttl: %q is neither 5m nor 1h", ttl)
		}
		if i > 0 && ttl == "1h" && ttls[i-1] != "1h" {
			return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
		}
	}
	if len(ttls) > maxMarks {
		return fmt.Sprintf("a maximum of 4 blocks with cache_control may be provided. Found %d", len(ttls))
	}
	return ""
}

// marks returns the lifetimes of the breakpoints on b and on its content.
func (b *Block) marks() (ttls []string) {
	for i := range b.Content {
		ttls = append(ttls, b.Content[i].marks()...)
	}
	if b.CacheControl != nil {
		ttls = append(ttls, cmp.Or(b.CacheControl.TTL, "5m"))
	}
	return ttls
}

// wrongDefinitions checks the declared tools.
func wrongDefinitions(req *Request) string {
	known := map[string]bool{}
	for i, raw := range req.rawTools {
		var tool struct {
			Name   string `json:"name"`
			Schema struct {
				Type string `json:"type"`
			} `json:"input_schema"`
		}
		switch err := json.Unmarshal(raw, &tool); {
		case err != nil || tool.Schema.Type != "object":
			return fmt.Sprintf("tools.%d.input_schema.type: should be 'object'", i)
		case !anthropicID.MatchString(tool.Name) || len(tool.Name) > maxToolName:
			return fmt.Sprintf("tools.%d.name: %q is malformed", i, tool.Name)
		case known[tool.Name]:
			return fmt.Sprintf("tools: tool names must be unique: %s", tool.Name)
		}
		known[tool.Name] = true
	}
	return ""
}

// maxToolName is the maximum length of a tool's name.
const maxToolName = 128

// minThinking is the smallest budget for thinking, in tokens.
const minThinking = 1024

func wrongThinking(req *Request) string {
	var thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	}
	in := json.NewDecoder(bytes.NewReader(req.rawThinking))
	if in.Decode(&thinking) != nil || thinking.Type != "enabled" {
		return ""
	}
	if thinking.Budget < minThinking || thinking.Budget >= req.MaxTokens {
		return fmt.Sprintf("thinking.budget_tokens: %d is not between 1024 and max_tokens", thinking.Budget)
	}
	return ""
}

// wrongTools checks that each call of an assistant message has exactly one result, at the start of the next message.
func wrongTools(req *Request) string {
	calls := map[string]bool{} // all so far; true while one waits for its result
	for i, m := range req.Messages {
		waiting := 0
		for _, b := range m.Blocks {
			waiting += map[bool]int{true: 1}[b.Type == "tool_use"]
		}
		if waiting > 0 && len(req.Tools) == 0 {
			return "tools must be declared where messages hold tool_use blocks"
		}
		if reason := openCalls(m, calls); reason != "" {
			return fmt.Sprintf("messages.%d: %s", i, reason)
		}
		if m.Role == "user" {
			for id, open := range calls {
				if open {
					return fmt.Sprintf("messages.%d: tool_use ids were found without tool_result blocks immediately after: %s", i, id)
				}
			}
		}
	}
	return ""
}

func openCalls(m Message, calls map[string]bool) string {
	text := false
	for _, b := range m.Blocks {
		switch b.Type {
		case "tool_use":
			if _, known := calls[b.ID]; known || !anthropicID.MatchString(b.ID) || !anthropicID.MatchString(b.Name) {
				return fmt.Sprintf("tool_use id %q or name %q is malformed or not unique", b.ID, b.Name)
			}
			if !strings.HasPrefix(string(b.Input), "{") {
				return "tool_use.input: must be an object"
			}
			calls[b.ID] = true
		case "tool_result":
			if !calls[b.ToolUseID] {
				return fmt.Sprintf("unexpected tool_use_id in tool_result: %s", b.ToolUseID)
			}
			if text {
				return "tool_result blocks must come first"
			}
			calls[b.ToolUseID] = false
		default:
			text = true
		}
	}
	return ""
}

func refusalByOpenAI(req *Request) string {
	open := map[string]bool{}
	for i, m := range req.Messages {
		if m.Role == "system" && i > 0 {
			return fmt.Sprintf("messages.%d: a system message must come first", i)
		}
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Sprintf("messages.%d: an assistant message with tool_calls must be followed by tool messages", i)
		}
		for _, b := range m.Blocks {
			if b.Type == "tool_use" && (len(req.Tools) == 0 || !json.Valid(b.Input) || b.ID == "" || open[b.ID]) {
				return fmt.Sprintf("messages.%d: tool call %q without tools, without an id of its own or without JSON arguments", i, b.ID)
			}
			if b.Type == "tool_use" {
				open[b.ID] = true
			}
			if b.Type == "tool_result" && !open[b.ToolUseID] {
				return fmt.Sprintf("messages.%d: tool message without a preceding call", i)
			}
			if b.Type == "tool_result" {
				delete(open, b.ToolUseID)
			}
		}
	}
	if len(open) > 0 {
		return "an assistant message with tool_calls must be followed by tool messages"
	}
	return ""
}

var mistralID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// refusalByMistral returns the reason for which Mistral would refuse a request that OpenAI accepts, or "".
func refusalByMistral(req *Request) string {
	if req.Wire != OpenAI {
		return ""
	}
	before := ""
	for _, m := range req.Messages {
		if before == "tool" && m.Role == "user" {
			return "Unexpected role 'user' after role 'tool'"
		}
		before = m.Role
		for _, b := range m.Blocks {
			if id := b.ID + b.ToolUseID; id != "" && !mistralID.MatchString(id) {
				return fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id)
			}
		}
	}
	if before == "assistant" {
		return "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
	}
	return ""
}
