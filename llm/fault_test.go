package llm

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"strata/history"
	"strata/internal/upstream"
	"strata/llm/reply"
)

// rawProvider responds to each request with the result of respond, and records the request bodies.
type rawProvider struct {
	client *Client
	bodies []string
}

// response is a status (0 means 200) and a body.
type response struct {
	status int
	body   string
}

// newRawProvider starts a provider that serves both wire formats, as "anthropic" and "openai".
func newRawProvider(t *testing.T, respond func(body string) response, change ...func(*Options)) *rawProvider {
	t.Helper()
	p := &rawProvider{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		p.bodies = append(p.bodies, string(body)) // one request at a time
		answer := respond(string(body))
		if answer.status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(answer.status)
		}
		io.WriteString(w, answer.body)
	}))
	t.Cleanup(server.Close)
	opt := Options{
		Providers: map[string]ProviderConfig{
			"anthropic": {Kind: Anthropic, BaseURL: server.URL},
			"openai":    {Kind: OpenAI, BaseURL: server.URL},
		},
		Sleep: noSleep,
	}
	for _, f := range change {
		f(&opt)
	}
	var err error
	if p.client, err = New(opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.client.Close)
	return p
}

// says is a complete reply in both wire formats: a decoder skips the events that it does not know.
func says(text string) string {
	return `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"` + text + `"},"choices":[{"delta":{"content":"` + text + `"},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
}

func constant(r response) func(string) response { return func(string) response { return r } }

func TestF01EmptyDataLines(t *testing.T) {
	for _, empty := range []string{"data: \n\n", "data:\n\n", "data\n\n", "data:  \n\n"} {
		p := newRawProvider(t, constant(response{body: empty + strings.Replace(says("hi"), "\n\n", "\n\n"+empty, 1)}))
		for _, wire := range wires {
			res, err := p.client.Stream(t.Context(), ask(wire, "x"), func(reply.Event) {})
			if err != nil || answerText(res) != "hi" {
				t.Errorf("%q, %s: %q, error %v", empty, wire, answerText(res), err)
			}
		}
	}
}

func TestF02TextInParts(t *testing.T) {
	p := newRawProvider(t, constant(response{body: `data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"},{"type":"reference","reference_ids":[1]}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":""}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":"7","completion_tokens":2.0,"prompt_tokens_details":[]}}` + "\n\n"}))
	res, err := p.client.Stream(t.Context(), ask(upstream.OpenAI, "x"), func(reply.Event) {})
	if err != nil || len(res.Blocks) != 2 || res.Blocks[0].Type != history.BlockThinking || res.Blocks[0].Text != "hm" || res.Blocks[1].Text != "hi" {
		t.Errorf("blocks %+v, error %v", res.Blocks, err)
	}
	if res.Usage != (history.Usage{Input: 7, Output: 2}) {
		t.Errorf("usage %+v", res.Usage)
	}
}

func TestF03ErrorsInTheirOwnWords(t *testing.T) {
	for _, body := range []string{
		`{"error":"boom"}`, `{"error":{"message":"boom"}}`, `[{"error":{"message":"boom"}}]`, `{"object":"error","message":"boom"}`,
		`{"detail":"boom"}`, `{"detail":[{"loc":["body"],"msg":"boom"}]}`, `{"message":"boom"}`, "boom",
	} {
		refused := newRawProvider(t, constant(response{status: 400, body: body}))
		streamed := newRawProvider(t, constant(response{body: "data: " + body + "\n\n"}))
		for _, wire := range wires {
			_, err := refused.client.Stream(t.Context(), ask(wire, "x"), func(reply.Event) {})
			if e := failureOf(t, err); e.Status != 400 || !strings.HasSuffix(e.Error(), ": boom") {
				t.Errorf("%s, %s: %v", body, wire, err)
			}
			_, err = streamed.client.Stream(t.Context(), ask(wire, "x"), func(reply.Event) {})
			if e := failureOf(t, err); e.Status != 500 || !strings.HasSuffix(e.Error(), ": boom") {
				t.Errorf("%s in a stream, %s: %v", body, wire, err)
			}
		}
		if n := len(refused.bodies); n != 2 {
			t.Errorf("%s: %d requests, 2 are enough", body, n)
		}
	}
}

func TestF04FinishReasons(t *testing.T) {
	for reason, want := range map[string]reply.StopReason{
		"SAFETY": reply.StopRefusal, "sensitive": reply.StopRefusal, "max_tokens": reply.StopMaxTokens,
		"abort": "", "network_error": "", "MALFORMED_FUNCTION_CALL": "",
	} {
		p := newRawProvider(t, constant(response{body: `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"` + reason + `"}]}` + "\n\ndata: [DONE]\n\n"}))
		res, err := p.client.Stream(t.Context(), ask(upstream.OpenAI, "x"), func(reply.Event) {})
		if res.StopReason != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, error %v", reason, res.StopReason, err)
		}
	}
}

func TestF05NullStopReason(t *testing.T) {
	p := newRawProvider(t, constant(response{body: `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":null}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"}))
	if res, err := p.client.Stream(t.Context(), ask(upstream.Anthropic, "x"), func(reply.Event) {}); err != nil || res.StopReason != reply.StopEndTurn {
		t.Errorf("%q, error %v", res.StopReason, err)
	}
}

func TestF06EndWithoutMessageStop(t *testing.T) {
	p := newRawProvider(t, constant(response{body: strings.TrimSuffix(says("hi"), `data: {"type":"message_stop"}`+"\n\n")}))
	if res, err := p.client.Stream(t.Context(), ask(upstream.Anthropic, "x"), func(reply.Event) {}); err != nil || answerText(res) != "hi" {
		t.Errorf("%q, error %v", answerText(res), err)
	}
}

func TestF07JSONWithStatus200(t *testing.T) {
	whole := map[upstream.Wire]string{
		upstream.OpenAI:    `{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`,
		upstream.Anthropic: `{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}`,
	}
	for _, wire := range wires {
		p := newRawProvider(t, constant(response{status: 200, body: whole[wire]}))
		res, err := p.client.Stream(t.Context(), ask(wire, "x"), func(reply.Event) {})
		if err != nil || answerText(res) != "hi" || res.Usage != (history.Usage{Input: 3, Output: 1}) || res.StopReason != reply.StopEndTurn {
			t.Errorf("%s: %+v, error %v", wire, res, err)
		}
		p = newRawProvider(t, constant(response{status: 200, body: `{"error":{"message":"boom","code":"404"}}`}))
		_, err = p.client.Stream(t.Context(), ask(wire, "x"), func(reply.Event) {})
		if e := failureOf(t, err); e.Status != 404 || !strings.HasSuffix(e.Error(), ": boom") || len(p.bodies) != 1 {
			t.Errorf("%s: %v after %d requests", wire, err, len(p.bodies))
		}
	}
}

func TestF08StatusesThatPass(t *testing.T) {
	attempts := func(status int, change ...func(*Options)) int {
		p := newRawProvider(t, constant(response{status: status, body: `{"error":"later"}`}), change...)
		if _, err := p.client.Stream(t.Context(), ask(upstream.OpenAI, "x"), func(reply.Event) {}); failureOf(t, err).Status != status {
			t.Errorf("status %d: %v", status, err)
		}
		return len(p.bodies)
	}
	for _, status := range []int{408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530} {
		if n := attempts(status); n != maxTries {
			t.Errorf("status %d: %d attempts", status, n)
		}
	}
	for _, status := range []int{400, 401, 402, 403, 404, 413, 422, 501} {
		if n := attempts(status); n != 1 {
			t.Errorf("status %d: %d attempts", status, n)
		}
	}
	only503 := func(o *Options) {
		p := o.Providers["openai"]
		p.RetryStatuses = []int{503}
		o.Providers["openai"] = p
	}
	if n, m := attempts(503, only503), attempts(529, only503); n != maxTries || m != 1 {
		t.Errorf("the configured statuses: %d and %d attempts", n, m)
	}
}

// refuses responds with status 400 and the given text to a request that contains part, and with a reply to any other.
func refuses(part, words string) func(string) response {
	return func(body string) response {
		if strings.Contains(body, part) {
			return response{status: 400, body: `{"error":{"message":` + fmt.Sprintf("%q", words) + `}}`}
		}
		return response{body: says("hi")}
	}
}

func TestF09RefusedParametersAreLeftOut(t *testing.T) {
	temperature := 0.1
	full := func(model string) Request {
		return Request{Model: model, Temperature: &temperature, MaxOutput: 5000, Thought: ThoughtHigh,
			Tools: []Tool{{Name: "look"}},
			Entries: []Entry{
				{Kind: EntrySystem, Blocks: []history.Block{text("Be brief.")}, Mark: Mark5m}, user("a"),
				message(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: "tc_1", Name: "look", Args: "{}"}),
				message(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: "tc_1", Content: []history.Block{text("r")}}), user("b"),
			}}
	}
	for _, test := range []struct{ name, model, part, words, instead string }{
		{"the name of the output limit", "openai/unheard-of", `"max_tokens"`, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", `"max_completion_tokens":5000`},
		{"stream options", "openai/unheard-of", `"stream_options"`, "Extra inputs are not permitted: stream_options", `"stream":true`},
		{"temperature", "openai/unheard-of", `"temperature"`, "Unsupported value: 'temperature' does not support 0.1 with this model.", `"max_tokens":5000`},
		{"reasoning effort", "openai/gpt-5", `"reasoning_effort"`, "Unrecognized request argument supplied: reasoning_effort", `"stream":true`},
		{"tools", "openai/unheard-of", `"tools"`, "registry.ollama.ai/library/phi does not support tools", `[called tool look with {}]`},
		{"a user message behind a result", "openai/unheard-of", `"role":"tool"},{"content":"b","role":"user"}`, "Unexpected role 'user' after role 'tool'", understood},
		{"a system message", "openai/unheard-of", `"role":"system"`, "System role not supported", `"content":"Be brief.\n\na"`},
		{"ids of calls", "openai/unheard-of", `"tc_1"`, "Tool call id was tc_1 but must be a-z, A-Z, 0-9, with a length of 9.", `"tool_call_id":"`},
		{"an output limit", "openai/unheard-of", `:5000`, "max_tokens is too large: 5000. This model supports at most 4096 completion tokens.", `"max_tokens":4096`},
		{"lifetimes of marks", "anthropic/claude-x", `"ttl"`, "system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted", `"cache_control":{"type":"ephemeral"}`},
		{"marks", "anthropic/claude-x", `"cache_control"`, "system.0.cache_control: Extra inputs are not permitted", `"max_tokens":5000`},
		{"thinking", "anthropic/claude-sonnet-4-5", `"thinking"`, "thinking.type: this model does not support thinking", `"max_tokens":5000`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newRawProvider(t, refuses(test.part, test.words))
			for range 2 {
				res, err := p.client.Stream(t.Context(), full(test.model), func(reply.Event) {})
				if err != nil || answerText(res) != "hi" {
					t.Fatalf("%q, error %v; sent %s", answerText(res), err, p.bodies)
				}
			}
			refused := 0
			for _, body := range p.bodies {
				if strings.Contains(body, test.part) {
					refused++
				}
			}
			last := p.bodies[len(p.bodies)-1]
			if refused > 2 || !strings.Contains(last, test.instead) || strings.Contains(p.bodies[len(p.bodies)-2], test.part) {
				t.Errorf("%d requests were refused; the last is %s", refused, last)
			}
		})
	}
	t.Run("what the configuration demands stays", func(t *testing.T) {
		yes := true
		p := newRawProvider(t, refuses(`"temperature"`, "temperature is not supported"), func(o *Options) {
			o.Models = map[string]ModelConfig{"openai/unheard-of": {Temperature: &yes}}
		})
		if _, err := p.client.Stream(t.Context(), full("openai/unheard-of"), func(reply.Event) {}); failureOf(t, err).Kind != KindInvalid || len(p.bodies) != 1 {
			t.Errorf("error %v after %d requests", err, len(p.bodies))
		}
	})
	t.Run("a refusal without end is told", func(t *testing.T) {
		p := newRawProvider(t, constant(response{status: 400, body: `{"error":"temperature, stream_options, max_tokens, tools not supported"}`}))
		_, err := p.client.Stream(t.Context(), full("openai/unheard-of"), func(reply.Event) {})
		if failureOf(t, err).Kind != KindInvalid || len(p.bodies) > maxLessons+1 {
			t.Errorf("error %v after %d requests", err, len(p.bodies))
		}
	})
}

func TestF11SignedThinkingGoesToItsFamilyOnly(t *testing.T) {
	thinking := history.Block{Type: history.BlockThinking, Text: "hm", Signature: "seal-of-b"}
	ours, theirs := "anthropic/claude-sonnet-4-5", "other/minimax-m2"
	for _, test := range []struct {
		writer, asked string
		goes          bool
	}{{ours, ours, true}, {"bedrock/us.anthropic.claude-sonnet-4", ours, true}, {theirs, ours, false}, {ours, "anthropic/minimax-m2", false}} {
		p := newRawProvider(t, constant(response{body: says("hi")}))
		spoken := message(history.RoleAssistant, thinking, text("yes"))
		spoken.Model = test.writer
		if _, err := p.client.Stream(t.Context(), Request{Model: test.asked, Entries: []Entry{user("a"), spoken, user("b")}}, func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(p.bodies[0], "seal-of-b") != test.goes {
			t.Errorf("%s to %s: %s", test.writer, test.asked, p.bodies[0])
		}
	}
	// If a provider refuses its own signature, the request is repeated without signatures; later requests contain
	// theirs.
	p := newRawProvider(t, refuses("seal-of-b", "messages.1.content.0: Invalid `signature` in `thinking` block"))
	spoken := message(history.RoleAssistant, thinking, text("yes"))
	if res, err := p.client.Stream(t.Context(), Request{Model: ours, Entries: []Entry{user("a"), spoken, user("b")}}, func(reply.Event) {}); err != nil || answerText(res) != "hi" {
		t.Errorf("%q, error %v", answerText(res), err)
	}
}

func TestThinkingGoesBackAsTheModelWantsIt(t *testing.T) {
	thought := func(s, field string) history.Block {
		return history.Block{Type: history.BlockThinking, Text: s, Origin: &history.Origin{Field: field}}
	}
	call := history.Block{Type: history.BlockToolCall, CallID: "tc_1", Name: "look", Args: "{}"}
	result := history.Block{Type: history.BlockToolResult, CallID: "tc_1", Content: []history.Block{text("r")}}
	entries := []Entry{
		user("a"), message(history.RoleAssistant, thought("first", "reasoning"), text("A")),
		user("b"), message(history.RoleAssistant, thought("second", "reasoning_content"), call), message(history.RoleTool, result),
	}
	for i := range entries {
		entries[i].Model = "openai/deep"
	}
	const first, second = `"reasoning":"first"`, `"reasoning_content":"second"`
	for back, want := range map[ThinkingBack][2]bool{"": {}, ThinkingNone: {}, ThinkingOfTurn: {false, true}, ThinkingAlways: {true, true}} {
		p := newRawProvider(t, constant(response{body: says("hi")}), func(o *Options) {
			o.Models = map[string]ModelConfig{"openai/deep": {ThinkingBack: back}}
		})
		if _, err := p.client.Stream(t.Context(), Request{Model: "openai/deep", Tools: []Tool{{Name: "look"}}, Entries: entries}, func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{strings.Contains(p.bodies[0], first), strings.Contains(p.bodies[0], second)}; got != want {
			t.Errorf("thinking_back %q: %v in %s", back, got, p.bodies[0])
		}
	}
	p := newRawProvider(t, func(body string) response {
		if !strings.Contains(body, second) {
			return response{status: 400, body: `{"error":{"message":"Missing reasoning_content field in the assistant message at message index 3"}}`}
		}
		return response{body: says("hi")}
	})
	if _, err := p.client.Stream(t.Context(), Request{Model: "openai/deep", Tools: []Tool{{Name: "look"}}, Entries: entries}, func(reply.Event) {}); err != nil {
		t.Errorf("a model that demands its thinking: %v", err)
	}
}

func TestProvidersGetTheirOwnCallsBack(t *testing.T) {
	call := response{body: `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"theirs","type":"function","extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"name":"look","arguments":"{\"a\":\"<1>\"}","sig":1}}]},"finish_reason":"tool_calls"}]}` + "\n\n"}
	p := newRawProvider(t, func(body string) response {
		if strings.Contains(body, "tool_use") {
			return response{body: says("hi")}
		}
		return call
	})
	req := ask(upstream.OpenAI, "x")
	req.Tools = []Tool{{Name: "look"}}
	res, err := p.client.Stream(t.Context(), req, func(reply.Event) {})
	if err != nil || len(res.Blocks) != 1 || !strings.HasPrefix(res.Blocks[0].CallID, "tc_") {
		t.Fatalf("%+v, error %v", res, err)
	}
	spoken := message(history.RoleAssistant, res.Blocks...)
	spoken.Model = req.Model
	result := message(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: res.Blocks[0].CallID, Content: []history.Block{text("r")}})
	req.Entries = append(req.Entries, spoken, result)
	for _, model := range []string{req.Model, "anthropic/claude-sonnet-4-5"} {
		req.Model = model
		if _, err := p.client.Stream(t.Context(), req, func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
	}
	own, other := p.bodies[1], p.bodies[2]
	for _, part := range []string{`"id":"theirs"`, `"tool_call_id":"theirs"`, `"type":"function","extra_content":{"google":{"thought_signature":"c2ln"}}`, `"name":"look","sig":1}`, `"arguments":"{\"a\":\"<1>\"}"`} {
		if !strings.Contains(own, part) {
			t.Errorf("%s is missing in %s", part, own)
		}
	}
	for _, part := range []string{"theirs", "extra_content", "sig"} {
		if strings.Contains(other, part) {
			t.Errorf("%s went to another provider: %s", part, other)
		}
	}
	if n := strings.Count(other, res.Blocks[0].CallID); n != 2 {
		t.Errorf("our id occurs %d times in %s", n, other)
	}
}

// Members of a call that Strata does not know go back to the provider that sent them, and only to it.
func TestUnknownMembersGoBackOnTheOtherWire(t *testing.T) {
	p := newRawProvider(t, func(body string) response {
		if strings.Contains(body, "tool_calls") {
			return response{body: says("hi")}
		}
		return response{body: inCallMessage(blockStart(`{"type":"tool_use","id":"toolu_1","name":"look","input":{},"caller":{"type":"direct"},"thought_signature":"c2ln"}`), callArgs, blockStop)}
	})
	req := ask(upstream.Anthropic, "x")
	req.Tools = []Tool{{Name: "look"}}
	res, err := p.client.Stream(t.Context(), req, func(reply.Event) {})
	if err != nil || len(res.Blocks) != 1 {
		t.Fatalf("%+v, error %v", res, err)
	}
	spoken := message(history.RoleAssistant, res.Blocks...)
	spoken.Model = req.Model
	req.Entries = append(req.Entries, spoken, message(history.RoleTool, result(res.Blocks[0].CallID, "r")))
	for _, model := range []string{req.Model, "openai/gpt-4o"} {
		req.Model = model
		if _, err := p.client.Stream(t.Context(), req, func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{`"id":"toolu_1"`, `"tool_use_id":"toolu_1"`, `"caller":{"type":"direct"}`, `"thought_signature":"c2ln"`, `"input":{"path":"/a"}`} {
		if !strings.Contains(p.bodies[1], part) {
			t.Errorf("%s is missing in %s", part, p.bodies[1])
		}
	}
	for _, part := range []string{"toolu_1", "caller", "thought_signature"} {
		if strings.Contains(p.bodies[2], part) {
			t.Errorf("%s went to another provider: %s", part, p.bodies[2])
		}
	}
}

// Signed thinking goes back before the calls that it led to, as the configuration of the model says.
func TestSignedThinkingGoesBackWithItsCalls(t *testing.T) {
	thought := func(s string) history.Block {
		return history.Block{Type: history.BlockThinking, Text: s, Signature: "seal of " + s}
	}
	hidden := history.Block{Type: history.BlockThinking, Data: []byte("hidden")}
	entries := []Entry{
		user("a"), message(history.RoleAssistant, thought("first"), call("1")), message(history.RoleTool, result("1", "r")), message(history.RoleAssistant, text("A")),
		user("b"), message(history.RoleAssistant, thought("second"), hidden, call("2")), message(history.RoleTool, result("2", "r")),
	}
	const model = "anthropic/claude-sonnet-4-5"
	for i := range entries {
		entries[i].Model = model
	}
	for back, want := range map[ThinkingBack][2]bool{"": {true, true}, ThinkingNone: {}, ThinkingOfTurn: {false, true}, ThinkingAlways: {true, true}} {
		p := newRawProvider(t, constant(response{body: says("hi")}), func(o *Options) { o.Models = map[string]ModelConfig{model: {ThinkingBack: back}} })
		if _, err := p.client.Stream(t.Context(), Request{Model: model, Tools: []Tool{{Name: "tool_1"}}, Entries: entries}, func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
		body := messagesOf(p.bodies[0])
		at := func(part string) int { return strings.Index(body, part) }
		if got := [2]bool{at("seal of first") > 0, at("seal of second") > 0}; got != want || at(`"data":"hidden"`) > 0 != want[1] {
			t.Errorf("thinking_back %q: %v in %s", back, got, body)
		}
		if want[1] && !(at("seal of second") < at(`"data":"hidden"`) && at(`"data":"hidden"`) < at(`"name":"tool_2"`)) {
			t.Errorf("thinking_back %q: another order in %s", back, body)
		}
	}
}

func TestContextLengthErrors(t *testing.T) {
	for _, test := range []struct {
		body           string
		limit, counted int
	}{
		{`{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":9213,"n_ctx":8192}}`, 8192, 9213},
		{`{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, 8192, 9001},
		{`{"error":{"message":"This model's maximum context length is 4097 tokens. However, you requested 5360 tokens (1360 in the messages, 4000 in the completion)."}}`, 4097, 1360},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`, 200000, 208310},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 190000 + 64000 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"}}`, 200000, 190000},
		{`[{"error":{"code":400,"message":"The input token count (1050000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, 1048576, 1050000},
		{`{"error":"This model's maximum prompt length is 131072 but the request contains 150000 tokens."}`, 131072, 150000},
		{`{"error":{"message":"Input validation error: ` + "`inputs` tokens + `max_new_tokens`" + ` must be <= 4096. Given: 3900 ` + "`inputs` tokens and 1000 `max_new_tokens`" + `","type":"Input validation error"}}`, 4096, 3900},
		{`{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4,096 tokens, which is not enough."}`, 4096, 9000},
		{`{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}`, 8192, 0},
		{`{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","code":"3051"}`, 32768, 40000},
		{`{"error":{"message":"Please reduce the length of the messages or completion.","code":"context_length_exceeded"}}`, 0, 0},
		{`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This endpoint's maximum context length is 65536 tokens.\"}}","provider_name":"X"}}}`, 65536, 0},
		{`{"error":{"code":"InvalidParameter","message":"Range of input length should be [1, 6000]"}}`, 6000, 0},
	} {
		p := newRawProvider(t, constant(response{status: 400, body: test.body}))
		for _, wire := range wires {
			before, _ := p.client.Model(models[wire])
			_, err := p.client.Stream(t.Context(), ask(wire, "x"), func(reply.Event) {})
			e := failureOf(t, err)
			if e.Kind != KindContext || e.Limit != test.limit || e.Counted != test.counted {
				t.Errorf("%s: kind %s, limit %d, counted %d", test.body, e.Kind, e.Limit, e.Counted)
			}
			after, _ := p.client.Model(models[wire])
			want := before.Window
			if test.limit > 0 {
				want = min(want, test.limit)
			}
			if after.Window != want || after.MaxOutput > after.Window {
				t.Errorf("%s: the window is %d, its output %d", test.body, after.Window, after.MaxOutput)
			}
		}
		if n := len(p.bodies); n != 2 {
			t.Errorf("%s: %d requests", test.body, n)
		}
	}
	for _, other := range []string{"temperature must be at most 2", "model not found", "Rate limit reached: too many tokens per minute", "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"} {
		p := newRawProvider(t, constant(response{status: 400, body: other}))
		_, err := p.client.Stream(t.Context(), ask(upstream.OpenAI, "x"), func(reply.Event) {})
		if e := failureOf(t, err); e.Kind == KindContext {
			t.Errorf("%q was classified as a context-length error", other)
		}
	}
}

func TestWindowsOnlyShrink(t *testing.T) {
	c := newClient(t, newUpstream(t))
	const name = "openai/unheard-of"
	for _, step := range []struct{ limit, want int }{{0, DefaultWindow}, {-5, DefaultWindow}, {8192, 8192}, {16384, 8192}, {4096, 4096}} {
		c.LimitWindow(name, step.limit)
		if m, _ := c.Model(name); m.Window != step.want {
			t.Errorf("after %d the window is %d, want %d", step.limit, m.Window, step.want)
		}
	}
	for i := range 3 * maxLearned {
		c.LimitWindow(fmt.Sprintf("openai/%d", i), 1000)
		c.learn(fmt.Sprintf("openai/%d", i), dialect{})
	}
	if len(c.windows) > maxLearned || len(c.dialects) > maxLearned {
		t.Errorf("%d windows and %d dialects are kept", len(c.windows), len(c.dialects))
	}
}

func TestRefusedPictures(t *testing.T) {
	picture := history.Block{Type: history.BlockImage, MIME: "image/png", Data: []byte("\x89PNG…")}
	for _, words := range []string{"image exceeds 5 MB maximum", "Could not process image", "The image data you provided does not represent a valid image",
		"image input is not supported - hint: you may need to provide the mmproj", "At most 1 image(s) may be provided in one request"} {
		p := newRawProvider(t, constant(response{status: 400, body: `{"error":{"message":"` + words + `"}}`}))
		req := Request{Model: models[upstream.OpenAI], Entries: []Entry{message(history.RoleUser, text("x"), picture)}}
		if _, err := p.client.Stream(t.Context(), req, func(reply.Event) {}); failureOf(t, err).Kind != KindPicture {
			t.Errorf("%s: %v", words, err)
		}
		if _, err := p.client.Stream(t.Context(), ask(upstream.OpenAI, "x"), func(reply.Event) {}); failureOf(t, err).Kind != KindInvalid {
			t.Errorf("%s without a picture: %v", words, err)
		}
	}
}

func TestF15ARequestAboveTheLimitOfBytesIsNotSent(t *testing.T) {
	p := newRawProvider(t, constant(response{body: says("hi")}), func(o *Options) {
		config := o.Providers["openai"]
		config.MaxRequestBytes = 1000
		o.Providers["openai"] = config
	})
	_, err := p.client.Stream(t.Context(), ask(upstream.OpenAI, strings.Repeat("x", 1000)), func(reply.Event) {})
	if e := failureOf(t, err); e.Status != http.StatusRequestEntityTooLarge || !strings.Contains(e.Error(), "exceeds the limit of 1000") || len(p.bodies) != 0 {
		t.Errorf("error %v after %d requests", err, len(p.bodies))
	}
	if _, err := p.client.Stream(t.Context(), ask(upstream.OpenAI, "x"), func(reply.Event) {}); err != nil {
		t.Error(err)
	}
}

// TestConnectionsAreReused counts the connections of many calls whose bodies continue after the end of the reply.
func TestConnectionsAreReused(t *testing.T) {
	for name, rest := range map[string]string{"nothing": "", "a marker": "data: [DONE]\n\n", "more": "data: [DONE]\n\n: bye\n\n" + strings.Repeat(":\n", 1000)} {
		var opened atomic.Int64
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, says("hi")+rest)
		}))
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				opened.Add(1)
			}
		}
		server.Start()
		c, err := New(Options{Providers: map[string]ProviderConfig{"openai": {Kind: OpenAI, BaseURL: server.URL}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, err := c.Stream(t.Context(), ask(upstream.OpenAI, "x"), func(reply.Event) {}); err != nil {
				t.Fatal(err)
			}
			c.transport.drains.Wait()
		}
		c.Close()
		server.Close()
		if n := opened.Load(); n != 1 {
			t.Errorf("%s after the reply: %d connections for 20 calls", name, n)
		}
	}
}

// TestConnectionsOutliveTheirCallers counts the connections of calls whose caller ends the context as soon as it has the
// reply, before the provider has ended the body.
func TestConnectionsOutliveTheirCallers(t *testing.T) {
	var opened atomic.Int64
	end := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, says("hi")+"data: [DONE]\n\n")
		w.(http.Flusher).Flush()
		<-end
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c := matrixClient(t, server.URL, nil)
	defer c.Close()
	for i := range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := c.Stream(ctx, matrixRequest([]Kind{Anthropic, OpenAI}[i%2], false), func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
		cancel()
		end <- struct{}{}
		c.transport.drains.Wait()
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 10 calls", n)
	}
}

// A provider that goes on after the end of its reply costs its connection, not more: what is read of it is bounded.
func TestTheRestOfABodyIsBounded(t *testing.T) {
	rest := &endlessBody{}
	c := matrixClient(t, "http://provider.invalid", roundTrip(func(*http.Request) *http.Response {
		rest = &endlessBody{start: strings.NewReader(says("hi"))}
		return &http.Response{StatusCode: http.StatusOK, Body: rest, ContentLength: -1}
	}))
	if res, err := c.Stream(t.Context(), matrixRequest(Anthropic, false), func(reply.Event) {}); err != nil || answerText(res) != "hi" {
		t.Fatalf("%+v, error %v", res, err)
	}
	c.Close()
	if rest.read != maxDrain || !rest.closed {
		t.Errorf("read %d bytes after the reply, want %d; closed: %t", rest.read, maxDrain, rest.closed)
	}
}

// endlessBody has a start, then bytes without an end.
type endlessBody struct {
	start  io.Reader
	read   int // after start
	closed bool
}

func (b *endlessBody) Read(p []byte) (int, error) {
	if n, _ := b.start.Read(p); n > 0 {
		return n, nil
	}
	b.read += len(p)
	return len(p), nil
}

func (b *endlessBody) Close() error {
	b.closed = true
	return nil
}

func TestFamilies(t *testing.T) {
	for name, want := range map[string]string{
		"anthropic/claude-sonnet-4-5": "claude", "openrouter/anthropic/claude-3.7-sonnet": "claude", "bedrock/us.anthropic.claude-opus-4-20250514-v1:0": "claude",
		"openai/gpt-4o": "gpt", "google/gemini-2.5-pro": "gemini", "mine/abc": "mine/abc",
	} {
		if got := family(name); got != want {
			t.Errorf("%s is of family %s, want %s", name, got, want)
		}
	}
	if !slices.Contains(families, family("x/deepseek-r1-distill-llama-70b")) {
		t.Error("a model of two families is of none")
	}
}
