package reply

import (
	"encoding/json"
	"strings"

	"strata/history"
)

// openAIChunk is what is read of a chunk, or of a whole completion.
type openAIChunk struct {
	Choices list[openAIChoice] `json:"choices"`
	Usage   maybe[openAIUsage] `json:"usage"`
	Groq    maybe[struct {
		Usage maybe[openAIUsage] `json:"usage"`
	}] `json:"x_groq"`
	Error json.RawMessage `json:"error"`
}

type openAIChoice struct {
	Index        count              `json:"index"`
	Delta        maybe[openAIDelta] `json:"delta"`
	Message      maybe[openAIDelta] `json:"message"` // of a whole completion
	Text         prose              `json:"text"`    // of the older completions
	FinishReason label              `json:"finish_reason"`
	Usage        maybe[openAIUsage] `json:"usage"` // Moonshot
	Error        json.RawMessage    `json:"error"` // OpenRouter
}

type openAIDelta struct {
	Content          prose                     `json:"content"`
	Refusal          prose                     `json:"refusal"`
	ReasoningContent prose                     `json:"reasoning_content"` // DeepSeek, vLLM, llama.cpp
	Reasoning        prose                     `json:"reasoning"`         // OpenRouter, Ollama
	ToolCalls        list[openAICallPart]      `json:"tool_calls"`
	FunctionCall     maybe[openAIFunctionPart] `json:"function_call"` // the form before tool calls
}

// openAICallPart is a part of a call: the first brings id and name, all bring some of the arguments.
type openAICallPart struct {
	index    int // -1 where the provider gave none
	id       string
	function openAIFunctionPart
	extra    json.RawMessage // members that we do not know; those of the function stand in one called function
}

type openAIFunctionPart struct {
	Name      label     `json:"name"`
	Arguments argsDelta `json:"arguments"`
}

// UnmarshalJSON accepts any JSON object.
func (p *openAICallPart) UnmarshalJSON(raw []byte) error {
	var known struct {
		Index    maybe[count]              `json:"index"`
		ID       label                     `json:"id"`
		Function maybe[openAIFunctionPart] `json:"function"`
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		return err
	}
	*p = openAICallPart{index: -1, id: string(known.ID), function: known.Function.value}
	if known.Index.present {
		p.index = int(known.Index.value)
	}
	object := Members(raw)
	p.extra = Without(object, "index", "id", "type", "function")
	if inner := Without(Members(object["function"]), "name", "arguments"); inner != nil {
		nested, err := json.Marshal(map[string]json.RawMessage{"function": inner})
		if err != nil {
			return err
		}
		p.extra = merged(p.extra, nested)
	}
	return nil
}

// openAIUsage is the usage of chat completions, in the forms that servers give it.
type openAIUsage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Total      count `json:"total_tokens"`
	CacheHit   count `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cached     count `json:"cached_tokens"`           // Moonshot
	Details    maybe[struct {
		Cached  count `json:"cached_tokens"`
		Written count `json:"cache_write_tokens"`
	}] `json:"prompt_tokens_details"`
	OutputDetails maybe[struct {
		Reasoning count `json:"reasoning_tokens"`
	}] `json:"completion_tokens_details"`
}

func (u *openAIUsage) reported() bool { return u.Prompt > 0 || u.Completion > 0 }

// usage is u in our convention: prompt tokens include the cached ones.
func (u *openAIUsage) usage() history.Usage {
	cached := min(max(u.Details.value.Cached, u.CacheHit, u.Cached), u.Prompt)
	written := min(u.Details.value.Written, u.Prompt-cached)
	output := u.Completion
	if thought := u.OutputDetails.value.Reasoning; thought > 0 && u.Total == u.Prompt+output+thought {
		output += thought // xAI and Gemini count thinking apart
	}
	return history.Usage{Input: int(u.Prompt - cached - written), Output: int(output), CacheRead: int(cached), CacheWrite: int(written)}
}

// openAIStream decodes chat completions.
type openAIStream struct {
	*Answer
	calls map[int]*block // by index
}

// NewOpenAIStream returns a decoder of chat completions, which fills a.
func NewOpenAIStream(a *Answer) Decoder {
	return &openAIStream{Answer: a, calls: map[int]*block{}}
}

func (s *openAIStream) take(name string, object []byte) (done bool, err error) {
	var c openAIChunk
	if err := json.Unmarshal(object, &c); err != nil {
		return false, broken(err)
	}
	if failure, ok := c.failure(name, object); ok {
		return false, failure.inStream()
	}
	s.report(c.Usage)
	s.report(c.Groq.value.Usage)
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			return false, s.choice(&c.Choices[i])
		}
	}
	return false, nil
}

func (s *openAIStream) takePlain(data []byte) (taken bool, err error) {
	said, ok := openAIPlain(data)
	if !ok {
		return false, nil
	}
	return true, s.addSpan(span{said.thinking, fragment{text: said.text}}, said.field)
}

func (s *openAIStream) report(u maybe[openAIUsage]) {
	if u.present && u.value.reported() {
		s.usage = u.value.usage()
		s.tellUsage()
	}
}

// choice takes what the only choice that is asked for says.
func (s *openAIStream) choice(c *openAIChoice) error {
	s.report(c.Usage)
	said := len(s.blocks) > 0
	if err := s.delta(&c.Delta.value); err != nil {
		return err
	}
	if !said && len(s.blocks) == 0 { // some servers repeat all that the deltas said
		if err := s.delta(&c.Message.value); err != nil {
			return err
		}
	}
	if len(c.Delta.value.Content) == 0 && !c.Message.present {
		if err := s.addProse(c.Text, ""); err != nil {
			return err
		}
	}
	return s.stopped(string(c.FinishReason))
}

// failure returns the error that a chunk holds, if it holds one.
func (c *openAIChunk) failure(name string, object []byte) (Failure, bool) {
	if failure, ok := readWireFailure(c.Error); ok {
		if whole, ok := readWireFailure(object); ok {
			return whole, true
		}
		return failure, true
	}
	if len(c.Choices) > 0 {
		return readWireFailure(c.Choices[0].Error)
	}
	if name == "error" || !c.Usage.present && !c.Groq.present {
		return readWireFailure(object)
	}
	return Failure{}, false
}

func (s *openAIStream) delta(d *openAIDelta) error {
	thinking, field := d.ReasoningContent, "reasoning_content"
	if len(thinking) == 0 {
		thinking, field = d.Reasoning, "reasoning" // servers that send both send the same
	}
	if err := s.addProse(thinking.thinkingOnly(), field); err != nil {
		return err
	}
	if err := s.addProse(d.Content, ""); err != nil {
		return err
	}
	if err := s.addProse(d.Refusal, ""); err != nil {
		return err
	}
	if f := d.FunctionCall; f.present {
		d.ToolCalls = append(d.ToolCalls, openAICallPart{index: 0, function: f.value})
	}
	for i := range d.ToolCalls {
		if err := s.call(&d.ToolCalls[i], i); err != nil {
			return err
		}
	}
	return nil
}

// call takes a part of a call. place is its position in its delta, which stands in for a missing index.
func (s *openAIStream) call(part *openAICallPart, place int) error {
	if part.index < 0 {
		part.index = place
	}
	if part.id == "" && part.function == (openAIFunctionPart{}) && len(part.extra) == 0 {
		return nil
	}
	b := s.calls[part.index]
	if b != nil && part.repeats(b) {
		return s.keepExtra(b, part.extra)
	}
	if b == nil || part.begins(b) {
		var err error
		if b, err = s.openCall(part.id, string(part.function.Name)); err != nil {
			return err
		}
		s.calls[part.index] = b
	}
	if err := s.identify(b, part.id); err != nil {
		return err
	}
	if err := s.nameCall(b, string(part.function.Name)); err != nil {
		return err
	}
	if err := s.keepExtra(b, part.extra); err != nil {
		return err
	}
	return s.add(b, part.function.Arguments.fragment)
}

// begins reports whether p begins another call than b, which has its index: some servers give every call the same
// index, some no ids.
func (p *openAICallPart) begins(b *block) bool {
	if p.id != "" && b.Origin.ID != "" {
		return p.id != b.Origin.ID || p.isWhole() && isObject(b.text.String())
	}
	name := string(p.function.Name)
	if name == "" || b.Name == "" {
		return false
	}
	args := strings.TrimSpace(b.text.String())
	return name != b.Name || args != "" && json.Valid([]byte(args))
}

// isWhole reports whether p alone is a call.
func (p *openAICallPart) isWhole() bool {
	return p.function.Name != "" && isObject(p.function.Arguments.text)
}

// repeats reports whether p says all of b, a call with an id, once more, as some servers do at the end of a stream.
func (p *openAICallPart) repeats(b *block) bool {
	return p.id != "" && p.id == b.Origin.ID && p.isWhole() && string(p.function.Name) == b.Name &&
		strings.TrimSpace(p.function.Arguments.text) == strings.TrimSpace(b.text.String())
}
