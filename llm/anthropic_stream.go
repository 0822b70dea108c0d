package llm

import (
	"encoding/json"

	"strata/history"
)

// anthropicEvent is what is read of an event, or of a whole message.
type anthropicEvent struct {
	Type                 label                   `json:"type"`
	Index                count                   `json:"index"`
	Message              maybe[anthropicMessage] `json:"message"`
	ContentBlock         maybe[anthropicContent] `json:"content_block"`
	Delta                maybe[anthropicDelta]   `json:"delta"`
	Usage                maybe[anthropicUsage]   `json:"usage"`
	Error                json.RawMessage         `json:"error"`
	anthropicMessageBody                         // of a whole message
}

type anthropicMessage struct {
	anthropicMessageBody
	Usage maybe[anthropicUsage] `json:"usage"`
}

type anthropicMessageBody struct {
	Content    list[anthropicContent] `json:"content"`
	StopReason label                  `json:"stop_reason"`
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
}

// UnmarshalJSON accepts any JSON object.
func (c *anthropicContent) UnmarshalJSON(raw []byte) error {
	type plain anthropicContent
	var known plain
	if err := json.Unmarshal(raw, &known); err != nil {
		return err
	}
	*c = anthropicContent(known)
	if c.Type == "tool_use" {
		c.extra = without(members(raw), "type", "id", "name", "input")
	}
	return nil
}

type anthropicDelta struct {
	Type        label     `json:"type"`
	Text        prose     `json:"text"`
	Thinking    prose     `json:"thinking"`
	PartialJSON argsDelta `json:"partial_json"`
	Signature   label     `json:"signature"`
	StopReason  label     `json:"stop_reason"`
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
	*answer
	byIndex map[int]*block // the open blocks
}

func newAnthropicStream(a *answer) *anthropicStream {
	return &anthropicStream{answer: a, byIndex: map[int]*block{}}
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
	switch e.Type {
	case "message_start":
		s.report(e.Message.value.Usage.value)
		return false, s.message(&e.Message.value.anthropicMessageBody)
	case "message":
		return true, s.message(&e.anthropicMessageBody)
	case "content_block_start":
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
		return false, s.stopped(string(e.Delta.value.StopReason))
	case "message_stop":
		return true, nil
	}
	return false, nil // ping, and events that are not known yet
}

// failure returns the error that an event holds, if it holds one.
func (e *anthropicEvent) failure(object []byte) (wireFailure, bool) {
	if failure, ok := readWireFailure(e.Error); ok {
		if whole, ok := readWireFailure(object); ok {
			return whole, true
		}
		return failure, true
	}
	switch e.Type {
	case "error":
		failure, _ := readWireFailure(object)
		return failure, true
	case "": // no event of Messages
		return readWireFailure(object)
	}
	return wireFailure{}, false
}

// message takes blocks that came whole, and the stop reason.
func (s *anthropicStream) message(m *anthropicMessageBody) error {
	for i := range m.Content {
		b, err := s.start(&m.Content[i])
		if err != nil {
			return err
		}
		if b != nil {
			s.close(b)
		}
	}
	return s.stopped(string(m.StopReason))
}

// start opens a block. It returns nil for blocks of server tools, which are never asked for.
func (s *anthropicStream) start(in *anthropicContent) (b *block, err error) {
	switch in.Type {
	case "text":
		if b, err = s.open(history.Block{Type: history.BlockText}); err == nil {
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

// delta appends to the block with the event's index. A delta whose block was not opened, or is closed, opens one.
func (s *anthropicStream) delta(e *anthropicEvent) error {
	d := &e.Delta.value
	b := s.byIndex[int(e.Index)]
	if b == nil {
		kind := history.BlockText
		switch {
		case d.PartialJSON != (argsDelta{}):
			return nil // of a call whose name is not known
		case len(d.Thinking) > 0 || d.Signature != "":
			kind = history.BlockThinking
		case len(d.Text) == 0:
			return nil
		}
		var err error
		if b, err = s.last(kind); err != nil {
			return err
		}
		s.byIndex[int(e.Index)] = b
	}
	switch b.Type {
	case history.BlockThinking:
		if d.Signature != "" {
			if err := s.sign(b, string(d.Signature)); err != nil {
				return err
			}
		}
		return s.addSpans(b, d.Thinking)
	case history.BlockToolCall:
		return s.add(b, d.PartialJSON.fragment)
	}
	return s.addSpans(b, d.Text)
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
	take(&s.long, u.Creation.value.Long)
	if s.usage != (history.Usage{}) {
		s.tellUsage()
	}
}
