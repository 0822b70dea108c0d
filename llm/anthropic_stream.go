package llm

import (
	"encoding/json"
	"fmt"
	"io"

	"strata/history"
)

// anthropicEvent is what is read of an event. The SDK's type of it would make two replacement marks of a character
// that two deltas share.
type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type      string   `json:"type"`
		Text      fragment `json:"text"`
		Thinking  fragment `json:"thinking"`
		Signature string   `json:"signature"`
		Data      string   `json:"data"`
		ID        string   `json:"id"`
		Name      string   `json:"name"`
	} `json:"content_block"`
	Delta struct {
		Text        fragment `json:"text"`
		Thinking    fragment `json:"thinking"`
		PartialJSON fragment `json:"partial_json"`
		Signature   string   `json:"signature"`
		StopReason  string   `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
	Error wireError      `json:"error"`
}

// anthropicUsage arrives at the start and again, cumulative, towards the end. Missing numbers are zero.
type anthropicUsage struct {
	Input      count `json:"input_tokens"`
	Output     count `json:"output_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
	Creation   struct {
		Long count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// decode reads a stream of Messages events up to message_stop.
func (*anthropicBackend) decode(events *sseReader, a *answer) error {
	s := anthropicStream{answer: a, byIndex: map[int]*block{}}
	for {
		name, data, err := events.next()
		if err == io.EOF {
			return errNoEnd
		}
		if err != nil {
			return err
		}
		event := anthropicEvent{Type: name}
		if err := json.Unmarshal(data, &event); err != nil {
			return broken(err)
		}
		if done, err := s.take(&event); done || err != nil {
			return err
		}
	}
}

type anthropicStream struct {
	*answer
	byIndex map[int]*block
}

func (s *anthropicStream) take(e *anthropicEvent) (done bool, err error) {
	switch e.Type {
	case "message_start":
		s.report(e.Message.Usage)
	case "content_block_start":
		return false, s.start(e)
	case "content_block_delta":
		return false, s.delta(e)
	case "content_block_stop":
		if b := s.byIndex[e.Index]; b != nil {
			s.close(b)
			delete(s.byIndex, e.Index)
		}
	case "message_delta":
		if e.Delta.StopReason != "" {
			s.stopped(e.Delta.StopReason)
		}
		s.report(e.Usage)
	case "message_stop":
		return true, nil
	case "error":
		return false, e.Error.inStream()
	}
	return false, nil // ping, and what is not known yet
}

func (s *anthropicStream) start(e *anthropicEvent) (err error) {
	var b *block
	in := &e.ContentBlock
	switch in.Type {
	case "text":
		if b, err = s.open(history.Block{Type: history.BlockText}); err == nil {
			err = s.add(b, in.Text)
		}
	case "thinking":
		if b, err = s.open(history.Block{Type: history.BlockThinking, Signature: in.Signature}); err == nil {
			err = s.add(b, in.Thinking)
		}
	case "redacted_thinking":
		b, err = s.open(history.Block{Type: history.BlockThinking, Data: []byte(in.Data)})
	case "tool_use":
		b, err = s.openCall(in.ID, in.Name)
	default:
		return nil // blocks of server tools, which are never asked for
	}
	s.byIndex[e.Index] = b
	return err
}

func (s *anthropicStream) delta(e *anthropicEvent) error {
	b := s.byIndex[e.Index]
	if b == nil {
		return nil
	}
	if b.Type == history.BlockThinking && e.Delta.Signature != "" {
		return s.sign(b, e.Delta.Signature)
	}
	switch b.Type {
	case history.BlockText:
		return s.add(b, e.Delta.Text)
	case history.BlockThinking:
		return s.add(b, e.Delta.Thinking)
	default:
		return s.add(b, e.Delta.PartialJSON)
	}
}

func (s *anthropicStream) stopped(reason string) {
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		s.stop, s.cut = StopMaxTokens, true
	case "refusal":
		s.stop = StopRefusal
	case "tool_use":
		s.stop = s.toolUse()
	default: // end_turn, stop_sequence, pause_turn
		s.stop = StopEndTurn
	}
}

// report takes the numbers that are there over those that were.
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
	take(&s.long, u.Creation.Long)
	s.tellUsage()
}

func broken(err error) error {
	return &Error{Kind: KindTruncated, err: fmt.Errorf("an event that cannot be read: %w", err)}
}
