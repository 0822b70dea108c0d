package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"strata/history"
)

// openAIChunk is what is read of a chunk. The SDK's type of it would make two replacement marks of a character that
// two deltas share, and does not know the two names that servers have for thinking.
type openAIChunk struct {
	Choices []struct {
		Delta        openAIDelta `json:"delta"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
	Usage *openAIUsage `json:"usage"`
	Error *wireError   `json:"error"`
}

type openAIDelta struct {
	Content          fragment         `json:"content"`
	Refusal          fragment         `json:"refusal"`
	ReasoningContent fragment         `json:"reasoning_content"` // DeepSeek, vLLM, llama.cpp
	Reasoning        fragment         `json:"reasoning"`         // OpenRouter, Ollama
	ToolCalls        []openAICallPart `json:"tool_calls"`
}

type openAICallPart struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string   `json:"name"`
		Arguments fragment `json:"arguments"`
	} `json:"function"`
}

type openAIUsage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Details    struct {
		Cached  count `json:"cached_tokens"`
		Written count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}

// usage is u in our convention: prompt tokens include the cached ones.
func (u *openAIUsage) usage() history.Usage {
	cached := min(u.Details.Cached, u.Prompt)
	written := min(u.Details.Written, u.Prompt-cached)
	return history.Usage{Input: int(u.Prompt - cached - written), Output: int(u.Completion),
		CacheRead: int(cached), CacheWrite: int(written)}
}

// decode reads chunks up to [DONE]. Some servers end without it; then a finish reason must have come.
// Usage follows the finish reason, so that is not the end yet.
func (*openAIBackend) decode(events *sseReader, a *answer) error {
	s := openAIStream{answer: a, calls: map[int]*block{}}
	for {
		_, data, err := events.next()
		if err == io.EOF || bytes.HasPrefix(data, []byte("[DONE]")) {
			return s.end()
		}
		if err != nil {
			return s.unlessFinished(err)
		}
		var chunk openAIChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return broken(err)
		}
		if err := s.take(&chunk); err != nil {
			return err
		}
	}
}

type openAIStream struct {
	*answer
	calls    map[int]*block // by index
	finished bool
}

func (s *openAIStream) end() error {
	if !s.finished {
		return errNoEnd
	}
	return nil
}

// unlessFinished forgives a connection that breaks behind the finish reason: the answer is complete.
func (s *openAIStream) unlessFinished(err error) error {
	if s.finished {
		return nil
	}
	return err
}

func (s *openAIStream) take(c *openAIChunk) error {
	if c.Error != nil {
		return c.Error.inStream()
	}
	if c.Usage != nil {
		s.usage = c.Usage.usage()
		s.tellUsage()
	}
	if len(c.Choices) == 0 {
		return nil
	}
	if err := s.delta(&c.Choices[0].Delta); err != nil {
		return err
	}
	return s.finish(c.Choices[0].FinishReason)
}

func (s *openAIStream) delta(d *openAIDelta) error {
	thinking := d.ReasoningContent
	if thinking == (fragment{}) {
		thinking = d.Reasoning // servers that send both send the same
	}
	if err := s.text(history.BlockThinking, thinking); err != nil {
		return err
	}
	if err := s.text(history.BlockText, d.Content); err != nil {
		return err
	}
	if err := s.text(history.BlockText, d.Refusal); err != nil {
		return err
	}
	for i := range d.ToolCalls {
		if err := s.call(&d.ToolCalls[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *openAIStream) text(kind history.BlockType, f fragment) error {
	if f == (fragment{}) {
		return nil
	}
	b, err := s.last(kind)
	if err != nil {
		return err
	}
	return s.add(b, f)
}

// call takes a piece of a tool call. Another id at the same index is another call: some servers never count.
func (s *openAIStream) call(part *openAICallPart) error {
	b := s.calls[part.Index]
	if b == nil || part.ID != "" && part.ID != b.CallID {
		id := part.ID
		if id == "" {
			id = fmt.Sprintf("call_%d", len(s.blocks)) // some local servers give none
		}
		var err error
		if b, err = s.openCall(id, part.Function.Name); err != nil {
			return err
		}
		s.calls[part.Index] = b
	}
	return s.add(b, part.Function.Arguments)
}

func (s *openAIStream) finish(reason string) error {
	switch reason {
	case "":
		return nil
	case "error", "insufficient_system_resource": // OpenRouter, DeepSeek
		return (&wireError{Type: reason, Message: "the provider broke the answer off"}).inStream()
	case "length":
		s.stop, s.cut = StopMaxTokens, true
	case "content_filter":
		s.stop = StopRefusal
	case "tool_calls", "function_call":
		s.stop = s.toolUse()
	default:
		s.stop = StopEndTurn
	}
	s.finished = true
	return nil
}
