package llm

import (
	"strings"
	"testing"

	"strata/history"
	"strata/internal/upstream"
	"strata/llm/reply"
)

// runningSteps is a finished turn with a call, and a running turn with two steps and an update of the context.
func runningSteps(model string) []Entry {
	thought := func(s, field string) history.Block {
		return history.Block{Type: history.BlockThinking, Text: s, Signature: "seal of " + s, Origin: &history.Origin{Field: field}}
	}
	call := func(id, theirs, args, extra string) history.Block {
		return history.Block{Type: history.BlockToolCall, CallID: id, Name: "read", Args: args, Origin: &history.Origin{ID: theirs, Extra: []byte(extra)}}
	}
	entries := []Entry{
		{Kind: EntrySystem, Blocks: []history.Block{text("Be brief.")}, Mark: Mark1h},
		user("Read <a>."),
		message(history.RoleAssistant, thought("old", "reasoning_content"), call("tc_1", "call_0", `{"path": "<a>"}`, `{"extra_content":{"google":{"thought_signature":"c2ln+/=="}}}`)),
		message(history.RoleTool, result("tc_1", "content of a")),
		message(history.RoleAssistant, text("It is a.")),
		user("Read b and c."),
		message(history.RoleAssistant, thought("first", "reasoning_content"), text("Both."),
			call("tc_2", "call_0", `{"path":"b"}`, `{"function":{"sig":1},"x":"y"}`), call("tc_3", "call_0", `{"path":"c"}`, ""), call("tc_4", "", ``, "")),
		message(history.RoleTool, result("tc_3", "content of c"), result("tc_2", "content of b")),
		message(history.RoleAssistant, thought("second", "reasoning"), call("tc_5", "call_1", `{"path":`, "")),
		{Kind: EntryContext, Blocks: []history.Block{text("c has changed")}, Mark: Mark5m},
	}
	entries[8].Blocks[1].Incomplete = true
	for i := range entries {
		if entries[i].Role == history.RoleAssistant {
			entries[i].Model = model
		}
	}
	return entries
}

// TestGoldenSteps pins the bytes of requests between the steps of a turn: calls with ids and unknown members of their
// provider, results in order, thinking of the running turn, and the same as text.
func TestGoldenSteps(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name   string
		kind   Kind
		writer string // of the earlier replies
		wants  ModelConfig
		prompt string // after the results; empty for none
	}{
		{"anthropic-steps", Anthropic, "anthropic/claude-sonnet-4-5", ModelConfig{}, ""},
		{"anthropic-steps-of-turn", Anthropic, "anthropic/claude-sonnet-4-5", ModelConfig{ThinkingBack: ThinkingOfTurn}, ""},
		{"anthropic-steps-foreign", Anthropic, "openai/gpt-4o", ModelConfig{}, ""},
		{"openai-steps", OpenAI, "openai/deep", ModelConfig{}, ""},
		{"openai-steps-of-turn", OpenAI, "openai/deep", ModelConfig{ThinkingBack: ThinkingOfTurn}, ""},
		{"openai-steps-always", OpenAI, "openai/deep", ModelConfig{ThinkingBack: ThinkingAlways, Tools: &yes}, ""},
		{"openai-steps-foreign", OpenAI, "anthropic/claude-sonnet-4-5", ModelConfig{ThinkingBack: ThinkingAlways}, ""},
		{"openai-steps-mistral", OpenAI, "openai/deep", ModelConfig{UserAfterTool: &no}, "Go on."},
		{"openai-steps-no-tools", OpenAI, "openai/deep", ModelConfig{Tools: &no}, "Go on."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := Request{Model: map[Kind]string{Anthropic: "anthropic/claude-sonnet-4-5", OpenAI: "openai/deep"}[tt.kind],
				Thought: ThoughtLow, MaxOutput: 4096, Tools: []Tool{{Name: "read", Schema: []byte(`{"properties":{"path":{"type":"string"}}}`)}},
				Entries: runningSteps(tt.writer)}
			if tt.prompt != "" {
				req.Entries = append(req.Entries, user(tt.prompt))
			}
			body := recordedBody(t, tt.kind, req, func(o *Options) { o.Models = map[string]ModelConfig{req.Model: tt.wants} })
			golden(t, tt.name+".golden", body)
		})
	}
}

// The strict upstream takes the requests of running turns on both wires.
func TestRequestsBetweenStepsAreValid(t *testing.T) {
	for _, wire := range wires {
		for _, writer := range []string{models[wire], "other/model"} {
			for _, tools := range [][]Tool{nil, {{Name: "read"}}} {
				req := Request{Model: models[wire], Tools: tools, Entries: runningSteps(writer)}
				if _, err := newClient(t, newUpstream(t)).Stream(t.Context(), req, func(reply.Event) {}); err != nil {
					t.Errorf("%s, written by %s, %d tools: %v", wire, writer, len(tools), err)
				}
			}
		}
	}
}

// Mistral takes ids of nine letters, and no message of the user after a result. Both are learned from its refusals; its own
// ids go back to it, and those of another model of the same provider do not.
func TestMistralsOrder(t *testing.T) {
	up := upstream.Start(upstream.Options{Strict: true, Mistral: true})
	t.Cleanup(up.Close)
	own := upstream.Call("D681PevKs", "read", `{"path":"b"}`)
	up.Choose(func(*upstream.Request) upstream.Script { return upstream.Script{Steps: own} })
	sees := true
	c := newClient(t, up, func(o *Options) { o.Models = map[string]ModelConfig{"openai/mistral-x": {Vision: &sees}} })
	picture := history.Block{Type: history.BlockImage, MIME: "image/png", Data: []byte("picture")}
	req := Request{Model: "openai/mistral-x", Tools: []Tool{{Name: "read"}}, Entries: []Entry{
		user("a"), message(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: "tc_1", Name: "read", Args: "{}", Origin: &history.Origin{ID: "call_of_another_model"}}),
		message(history.RoleTool, result("tc_1", "one")),
	}}
	req.Entries[1].Model = "openai/gpt-4o"
	add := func(entries ...Entry) { req.Entries = append(req.Entries, entries...) }
	for step, want := range []int{2, 1, 2, 1} { // requests: with what is refused, and without
		before := len(up.Requests())
		res, err := c.Stream(t.Context(), req, func(reply.Event) {})
		if err != nil || len(up.Requests()) != before+want {
			t.Fatalf("step %d: error %v after %d requests, want %d: %s", step, err, len(up.Requests())-before, want, up.Last().Body)
		}
		said := message(history.RoleAssistant, res.Blocks...)
		said.Model = req.Model
		id := res.Blocks[0].CallID
		switch step {
		case 0: // the next step, with an update of the context, which is no message of the user
			add(said, message(history.RoleTool, result(id, "two")), note("b has changed"))
		case 1: // the turn failed: a prompt after the result
			add(said, message(history.RoleTool, result(id, "three")), user("Go on."))
		case 2: // a result with a picture, which is a message of the user
			shown := result(id, "four")
			shown.Content = append(shown.Content, picture)
			add(said, message(history.RoleTool, shown))
		}
	}
	body := string(up.Last().Body)
	if strings.Count(body, `"D681PevKs"`) != 2 || strings.Contains(body, "call_of_another_model") || strings.Count(body, understood) != 2 {
		t.Errorf("the last request: %s", body)
	}
}

// A model that takes no tools is known as such: by its configuration, or after a refusal. Its past calls go as text, and a
// call that it makes all the same ends no reply.
func TestModelsWithoutTools(t *testing.T) {
	no := false
	request := func(model string) Request {
		return Request{Model: model, Tools: []Tool{{Name: "read"}}, Entries: runningSteps(model)}
	}
	callAnyway := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n" +
		inCallMessage(callStart, callArgs, blockStop) // in both wire formats
	p := newRawProvider(t, func(body string) response {
		if strings.Contains(body, `"tools"`) {
			return response{status: 400, body: `{"error":{"message":"registry.ollama.ai/library/phi does not support tools"}}`}
		}
		return response{body: callAnyway}
	}, func(o *Options) {
		o.Models = map[string]ModelConfig{"openai/configured": {Tools: &no}, "anthropic/configured": {Tools: &no}}
	})
	for _, tt := range []struct {
		model           string
		before          bool
		requests, after int // of the first and the second call
	}{{"openai/configured", true, 1, 2}, {"openai/unheard-of", false, 2, 3}, {"anthropic/configured", true, 1, 2}, {"anthropic/unheard-of", false, 2, 3}} {
		p.bodies = nil
		if m, _ := p.client.Model(tt.model); m.NoTools != tt.before {
			t.Errorf("%s before: NoTools %t", tt.model, m.NoTools)
		}
		for _, want := range []int{tt.requests, tt.after} {
			res, err := p.client.Stream(t.Context(), request(tt.model), func(reply.Event) {})
			if err != nil || res.StopReason != reply.StopEndTurn || len(p.bodies) != want {
				t.Errorf("%s: %+v, error %v, after %d requests, want %d", tt.model, res, err, len(p.bodies), want)
			}
		}
		last := p.bodies[len(p.bodies)-1]
		for _, part := range []string{`"tools"`, `"tool_calls"`, `"role":"tool"`, "tool_use", "tool_result", "tc_", "call_0"} {
			if strings.Contains(last, part) {
				t.Errorf("%s: %s in %s", tt.model, part, last)
			}
		}
		for _, part := range []string{`[called tool read with {\"path\":\"b\"}]`, `[result of tool read]\ncontent of b`, "its arguments were cut off"} {
			if !strings.Contains(last, part) {
				t.Errorf("%s: no %s in %s", tt.model, part, last)
			}
		}
		if m, _ := p.client.Model(tt.model); !m.NoTools {
			t.Errorf("%s afterwards: it takes tools", tt.model)
		}
	}
	for _, m := range p.client.Models() {
		if m.NoTools != strings.HasSuffix(m.Name, "/configured") {
			t.Errorf("%s is listed with NoTools %t", m.Name, m.NoTools)
		}
	}
}

// Anthropic refuses to think in a turn whose step has no thinking, as after a change of the level or of the model. The
// request is repeated without thinking; earlier thinking stays in it, and the next turn thinks again.
func TestATurnWithoutThinkingGoesOnWithoutIt(t *testing.T) {
	const words = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
	p := newRawProvider(t, func(body string) response {
		if strings.Contains(body, `"thinking":{"budget_tokens"`) && strings.HasSuffix(messagesOf(body), `"type":"tool_result"}],"role":"user"}]`) {
			return response{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"` + words + `"}}`}
		}
		return response{body: says("hi")}
	})
	old := message(history.RoleAssistant, history.Block{Type: history.BlockThinking, Text: "hm", Signature: "old seal"}, text("A"))
	req := ask(upstream.Anthropic, "a")
	req.Thought, req.Tools = ThoughtLow, []Tool{{Name: "look"}}
	req.MaxOutput = 8000
	req.Entries = append(req.Entries, old, user("b"), message(history.RoleAssistant, call("1")), message(history.RoleTool, result("1", "x")))
	for n := 1; n <= 2; n++ {
		res, err := p.client.Stream(t.Context(), req, func(reply.Event) {})
		if err != nil || answerText(res) != "hi" || len(p.bodies) != 2*n || !strings.Contains(p.bodies[2*n-1], "old seal") {
			t.Fatalf("%+v, error %v, requests %s", res, err, p.bodies)
		}
	}
	req.Entries = append(req.Entries, assistant("hi"), user("c"))
	if _, err := p.client.Stream(t.Context(), req, func(reply.Event) {}); err != nil || len(p.bodies) != 5 {
		t.Errorf("the next turn: error %v after %d requests", err, len(p.bodies))
	}
}

// messagesOf returns the messages of a request to Anthropic.
func messagesOf(body string) string {
	_, rest, _ := strings.Cut(body, `"messages":`)
	messages, _, _ := strings.Cut(rest, `,"model":`)
	return messages
}
