package upstream

import (
	"encoding/json"
	"fmt"
)

// encoder writes the steps of a script in one provider's events.
type encoder interface {
	begin()
	step(Step) // text, thinking, redacted, call, args, tell
	fail(kind, message string)
	end()
}

func newEncoder(req *Request, s Script, out *stream) encoder {
	if s.StopReason == "" {
		s.StopReason = "end_turn"
		for _, step := range s.Steps {
			if step.kind == stepCall {
				s.StopReason = "tool_use"
			}
		}
	}
	if req.Wire == Anthropic {
		return &anthropicEncoder{model: req.Model, script: s, out: out, index: -1}
	}
	return &openAIEncoder{model: req.Model, script: s, out: out, call: -1}
}

type object map[string]any

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // scripts contain only strings and numbers
	}
	return string(b)
}

type anthropicEncoder struct {
	model  string
	script Script
	out    *stream
	index  int      // of the open block; -1 before the first
	open   bool     //
	kind   stepKind // of the open block
}

func (e *anthropicEncoder) event(kind string, fields object) {
	fields["type"] = kind
	e.out.write("event: " + kind + "\ndata: " + encode(fields) + "\n\n")
}

func (e *anthropicEncoder) begin() {
	message := object{"id": "msg_1", "type": "message", "role": "assistant", "model": e.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil}
	if u := e.script.Usage; !e.script.NoUsage {
		message["usage"] = object{"input_tokens": u.Input, "output_tokens": 1,
			"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
			"cache_creation": object{"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWrite1h, "ephemeral_1h_input_tokens": u.CacheWrite1h}}
	}
	e.event("message_start", object{"message": message})
}

func (e *anthropicEncoder) step(s Step) {
	switch s.kind {
	case stepText:
		e.block(stepText, object{"type": "text", "text": ""})
		e.delta(object{"type": "text_delta", "text": s.text})
	case stepThinking:
		e.block(stepThinking, object{"type": "thinking", "thinking": "", "signature": ""})
		e.delta(object{"type": "thinking_delta", "thinking": s.text})
		if s.signature != "" {
			e.delta(object{"type": "signature_delta", "signature": s.signature})
			e.stop()
		}
	case stepRedacted:
		e.stop()
		e.block(stepRedacted, object{"type": "redacted_thinking", "data": s.text})
		e.stop()
	case stepCall:
		e.stop()
		e.block(stepCall, object{"type": "tool_use", "id": s.id, "name": s.name, "input": object{}})
	case stepArgs:
		e.delta(object{"type": "input_json_delta", "partial_json": s.text})
	case stepTell:
		e.event("message_delta", object{"delta": object{"stop_reason": nil}, "usage": object{"output_tokens": e.script.Usage.Output}})
	}
}

// block opens a block unless one of its kind is open.
func (e *anthropicEncoder) block(kind stepKind, start object) {
	if e.open && e.kind == kind {
		return
	}
	e.stop()
	e.index, e.open, e.kind = e.index+1, true, kind
	e.event("content_block_start", object{"index": e.index, "content_block": start})
}

func (e *anthropicEncoder) delta(d object) {
	e.event("content_block_delta", object{"index": e.index, "delta": d})
}

func (e *anthropicEncoder) stop() {
	if e.open {
		e.event("content_block_stop", object{"index": e.index})
		e.open = false
	}
}

func (e *anthropicEncoder) fail(kind, message string) {
	e.event("error", object{"error": object{"type": kind, "message": message}})
}

func (e *anthropicEncoder) end() {
	e.stop()
	last := object{"delta": object{"stop_reason": e.script.StopReason, "stop_sequence": nil}}
	if !e.script.NoUsage {
		last["usage"] = object{"output_tokens": e.script.Usage.Output}
	}
	e.event("message_delta", last)
	e.event("message_stop", object{})
}

type openAIEncoder struct {
	model  string
	script Script
	out    *stream
	call   int // index of the open tool call; -1 before the first
}

func (e *openAIEncoder) data(v any) { e.out.write("data: " + encode(v) + "\n\n") }

func (e *openAIEncoder) chunk(delta object, finish any) {
	e.data(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": e.model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (e *openAIEncoder) begin() { e.chunk(object{"role": "assistant", "content": ""}, nil) }

func (e *openAIEncoder) step(s Step) {
	switch s.kind {
	case stepText:
		e.chunk(object{"content": s.text}, nil)
	case stepThinking:
		e.chunk(object{"reasoning_content": s.text}, nil)
	case stepCall:
		e.call++
		e.chunk(object{"tool_calls": []any{object{"index": e.call, "id": s.id, "type": "function",
			"function": object{"name": s.name, "arguments": ""}}}}, nil)
	case stepArgs:
		e.chunk(object{"tool_calls": []any{object{"index": e.call, "function": object{"arguments": s.text}}}}, nil)
	case stepTell:
		e.usage()
	}
}

func (e *openAIEncoder) usage() {
	u := e.script.Usage
	prompt := u.Input + u.CacheRead + u.CacheWrite
	e.data(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": e.model, "choices": []any{},
		"usage": object{"prompt_tokens": prompt, "completion_tokens": u.Output, "total_tokens": prompt + u.Output,
			"prompt_tokens_details": object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite}}})
}

func (e *openAIEncoder) fail(kind, message string) {
	e.data(object{"error": object{"type": kind, "message": message, "code": nil}})
}

var finishReasons = map[string]string{"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}

func (e *openAIEncoder) end() {
	finish, ok := finishReasons[e.script.StopReason]
	if !ok {
		panic(fmt.Sprintf("stop reason %q has no OpenAI name", e.script.StopReason))
	}
	e.chunk(object{}, finish)
	if !e.script.NoUsage {
		e.usage()
	}
	if !e.script.NoDone {
		e.out.write("data: [DONE]\n\n")
	}
}
