package reply

import (
	"cmp"
	"encoding/json"

	"strata/history"
)

// anthropicEvent is what is read of an event, or of a whole message.
type anthropicEvent struct {
	Type         label                   `json:"type"`
	Object       label                   `json:"object"`
	Role         label                   `json:"role"`
	Index        count                   `json:"index"`
	Message      maybe[anthropicMessage] `json:"message"`
	ContentBlock maybe[anthropicContent] `json:"content_block"`
	Delta        maybe[anthropicDelta]   `json:"delta"`
	Usage        maybe[anthropicUsage]   `json:"usage"`
	Error        json.RawMessage         `json:"error"`
	Content      list[anthropicContent]  `json:"content"`     // of a whole message
	StopReason   label                   `json:"stop_reason"` // likewise
}

type anthropicMessage struct {
	Content list[anthropicContent] `json:"content"`
	Usage   maybe[anthropicUsage]  `json:"usage"`
}

// anthropicContent is a content block, or its beginning.
type anthropicContent struct {
	Type      label
	Text      prose
	Thinking  prose
	Signature label
	Data      label
	ID        label
	Name      label
	Input     argsDelta
	extra     json.RawMessage // members of a call that we do not know
	bare      bool            // it was a string
}

// UnmarshalJSON accepts a JSON object, and a string, which is text.
func (c *anthropicContent) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		*c = anthropicContent{Type: "text", bare: true}
		return c.Text.UnmarshalJSON(raw)
	}
	type plain anthropicContent
	var known plain
	if err := json.Unmarshal(raw, &known); err != nil {
		return err
	}
	*c = anthropicContent(known)
	if c.Type == "tool_use" {
		c.extra = Without(Members(raw), "type", "id", "name", "input")
	}
	return nil
}

type anthropicDelta struct {
	Text        prose                 `json:"text"`
	Thinking    prose                 `json:"thinking"`
	PartialJSON argsDelta             `json:"partial_json"`
	ID          label                 `json:"id"`   // of a call that no event started
	Name        label                 `json:"name"` // likewise
	Signature   label                 `json:"signature"`
	StopReason  label                 `json:"stop_reason"`
	Usage       maybe[anthropicUsage] `json:"usage"`
}

// anthropicUsage arrives at the start and again, cumulative, towards the end. Missing numbers are zero.
type anthropicUsage struct {
	Input      count `json:"input_tokens"`
	Output     count `json:"output_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
	Creation   maybe[struct {
		Long count `json:"ephemeral_1h_input_tokens"`
	}] `json:"cache_creation"`
}

// anthropicStream decodes Messages.
type anthropicStream struct {
	*Answer
	byIndex map[int]*block // the open blocks
}

// NewAnthropicStream returns a decoder of the Messages API, which fills a.
func NewAnthropicStream(a *Answer) Decoder {
	return &anthropicStream{Answer: a, byIndex: map[int]*block{}}
}

func (s *anthropicStream) take(name string, object []byte) (done bool, err error) {
	var e anthropicEvent
	if err := json.Unmarshal(object, &e); err != nil {
		return false, broken(err)
	}
	if e.Type == "" {
		e.Type = label(name)
	}
	if failure, ok := e.failure(object); ok {
		return false, failure.inStream()
	}
	s.report(e.Usage.value)
	s.report(e.Delta.value.Usage.value)
	if e.Type == "" && (e.Role == "assistant" || len(e.Content) > 0) {
		e.Type = "message"
	}
	switch e.Type {
	case "message_start": // its stop reason ends nothing
		s.report(e.Message.value.Usage.value)
		return false, s.message(e.Message.value.Content)
	case "message":
		if err := s.message(e.Content); err != nil {
			return false, err
		}
		return true, s.stopped(string(e.StopReason))
	case "content_block_start":
		if e.ContentBlock.value.bare {
			return false, nil
		}
		b, err := s.start(&e.ContentBlock.value)
		s.byIndex[int(e.Index)] = b
		return false, err
	case "content_block_delta":
		return false, s.delta(&e)
	case "content_block_stop":
		if b := s.byIndex[int(e.Index)]; b != nil {
			s.close(b)
			delete(s.byIndex, int(e.Index))
		}
	case "message_delta":
		return false, s.stopped(string(cmp.Or(e.Delta.value.StopReason, e.StopReason)))
	case "message_stop":
		return true, nil
	}
	return false, nil // ping, and events that are not known yet
}

func (s *anthropicStream) takePlain(data []byte) (taken bool, err error) {
	said, ok := anthropicPlain(data)
	if !ok {
		return false, nil
	}
	kind := history.BlockText
	if said.thinking {
		kind = history.BlockThinking
	}
	b, err := s.blockOf(said.index, kind)
	if err != nil {
		return true, err
	}
	return true, s.add(b, fragment{text: said.text})
}

// failure returns the error that an event holds, if it holds one.
func (e *anthropicEvent) failure(object []byte) (Failure, bool) {
	if failure, ok := readWireFailure(e.Error); ok {
		if whole, ok := readWireFailure(object); ok {
			return whole, true
		}
		return failure, true
	}
	switch {
	case e.Type == "error" || e.Type == "exception":
		failure, _ := readWireFailure(object)
		return failure, true
	case e.Type == "" || e.Object == "error": // no event of Messages
		return readWireFailure(object)
	}
	return Failure{}, false
}

// Message takes blocks that came whole.
func (s *anthropicStream) message(content []anthropicContent) error {
	for i := range content {
		b, err := s.start(&content[i])
		if err != nil {
			return err
		}
		if b != nil {
			s.close(b)
		}
	}
	return nil
}

// start opens a block. It returns nil for blocks of server tools, which are never asked for.
func (s *anthropicStream) start(in *anthropicContent) (b *block, err error) {
	switch in.Type {
	case "text":
		if len(in.Text) == 0 {
			return nil, nil // the first delta opens it
		}
		if b, err = s.last(history.BlockText); err == nil {
			err = s.addSpans(b, in.Text)
		}
	case "thinking":
		if b, err = s.open(history.Block{Type: history.BlockThinking, Signature: string(in.Signature)}); err == nil {
			err = s.addSpans(b, in.Thinking)
		}
	case "redacted_thinking":
		b, err = s.open(history.Block{Type: history.BlockThinking, Data: []byte(in.Data)})
	case "tool_use":
		if b, err = s.openCall(string(in.ID), string(in.Name)); err == nil {
			if given := in.Input.text; given != "{}" {
				b.whole = given
			}
			err = s.keepExtra(b, in.extra)
		}
	}
	return b, err
}

// delta appends to the block with the event's index. What the delta brings says of which type its block is: where
// another block has the index, or none, the delta opens one.
func (s *anthropicStream) delta(e *anthropicEvent) error {
	d := &e.Delta.value
	switch {
	case d.PartialJSON != (argsDelta{}):
		b, err := s.callOf(e)
		if b == nil {
			return err
		}
		return s.add(b, d.PartialJSON.fragment)
	case len(d.Thinking) > 0 || d.Signature != "":
		b, err := s.blockOf(int(e.Index), history.BlockThinking)
		if err != nil {
			return err
		}
		if d.Signature != "" {
			if err := s.sign(b, string(d.Signature)); err != nil {
				return err
			}
		}
		return s.addSpans(b, d.Thinking)
	case len(d.Text) > 0:
		b, err := s.blockOf(int(e.Index), history.BlockText)
		if err != nil {
			return err
		}
		return s.addSpans(b, d.Text)
	}
	return nil
}

// blockOf returns the open block with an event's index, which is opened if none of the kind has it.
func (s *anthropicStream) blockOf(index int, kind history.BlockType) (*block, error) {
	if b := s.byIndex[index]; b != nil && b.Type == kind {
		return b, nil
	}
	b, err := s.last(kind)
	if err == nil && s.byIndex[index] == nil {
		s.byIndex[index] = b
	}
	return b, err
}

// callOf returns the open call of an event; nil where there is none and the event does not name it.
func (s *anthropicStream) callOf(e *anthropicEvent) (*block, error) {
	if b := s.byIndex[int(e.Index)]; b != nil && b.Type == history.BlockToolCall {
		return b, nil
	}
	if e.Delta.value.Name == "" {
		return nil, nil
	}
	b, err := s.openCall(string(e.Delta.value.ID), string(e.Delta.value.Name))
	s.byIndex[int(e.Index)] = b
	return b, err
}

// addSpans appends all of p to b, whose type says what it is.
func (s *anthropicStream) addSpans(b *block, p prose) error {
	for _, span := range p {
		if err := s.add(b, span.fragment); err != nil {
			return err
		}
	}
	return nil
}

// report takes the numbers that are there over earlier ones.
func (s *anthropicStream) report(u anthropicUsage) {
	if u == (anthropicUsage{}) {
		return
	}
	take := func(n *int, c count) {
		if c > 0 {
			*n = int(c)
		}
	}
	take(&s.usage.Input, u.Input)
	take(&s.usage.Output, u.Output)
	take(&s.usage.CacheRead, u.CacheRead)
	take(&s.usage.CacheWrite, u.CacheWrite)
	take(&s.Long, u.Creation.value.Long)
	if s.usage != (history.Usage{}) {
		s.tellUsage()
	}
}
