package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/internal/upstream"
	"strata/llm/reply"
)

func TestStreamAnswers(t *testing.T) {
	for _, wire := range wires {
		t.Run(string(wire), func(t *testing.T) {
			up := newUpstream(t, upstream.Script{Steps: upstream.Texts("Hel", "lo"), Usage: upstream.Usage{Input: 10, Output: 2}})
			var rec recorder
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), rec.on)
			if err != nil {
				t.Fatal(err)
			}
			if answerText(res) != "Hello" || rec.text() != "Hello" || res.StopReason != reply.StopEndTurn || len(res.Blocks) != 1 {
				t.Errorf("reply %+v, shown %q", res, rec.text())
			}
			if !res.UsageReported || res.Usage.Input != 10 || res.Usage.Output != 2 || res.Model != models[wire] || res.Cost == 0 {
				t.Errorf("result %+v", res)
			}
		})
	}
}

func TestBlocksComeInOrderOfArrival(t *testing.T) {
	steps := []upstream.Step{upstream.Thinking("Let me ", ""), upstream.Thinking("see.", "seal"), upstream.Text("I "), upstream.Text("call.")}
	steps = append(steps, upstream.Call("call_1", "read", `{"path":`, `"/a"}`)...)
	steps = append(steps, upstream.Call("call_2", "list")...)
	want := []history.Block{
		{Type: history.BlockThinking, Text: "Let me see.", Signature: "seal"},
		{Type: history.BlockText, Text: "I call."},
		{Type: history.BlockToolCall, CallID: "tc_1", Name: "read", Args: `{"path":"/a"}`, Origin: &history.Origin{ID: "call_1"}},
		{Type: history.BlockToolCall, CallID: "tc_2", Name: "list", Args: `{}`, Origin: &history.Origin{ID: "call_2"}},
	}
	for _, wire := range wires {
		t.Run(string(wire), func(t *testing.T) {
			up := newUpstream(t, upstream.Script{Steps: steps})
			req := ask(wire, "hi")
			req.Tools = []Tool{{Name: "read"}}
			var rec recorder
			res, err := newClient(t, up).Stream(t.Context(), req, rec.on)
			if wire == upstream.OpenAI {
				want[0].Signature, want[0].Origin = "", &history.Origin{Field: "reasoning_content"}
			}
			if diff := cmp.Diff(want, res.Blocks); diff != "" || err != nil || res.StopReason != reply.StopToolUse {
				t.Errorf("stop reason %s, error %v: %s", res.StopReason, err, diff)
			}
			var calls []reply.ToolCallDelta
			for _, e := range rec.events {
				if e.Kind == reply.EventToolCall {
					calls = append(calls, *e.Call)
				}
			}
			if len(calls) != 4 || calls[0].Args != "" || calls[2] != (reply.ToolCallDelta{ID: "tc_1", Name: "read", Args: `"/a"}`}) {
				t.Errorf("emitted calls %+v", calls)
			}
		})
	}
}

func TestThinkingIsSentBackSealed(t *testing.T) {
	up := newUpstream(t, upstream.Script{Steps: []upstream.Step{upstream.Thinking("hm", "seal"), upstream.Redacted("opaque"), upstream.Text("yes")}})
	c := newClient(t, up)
	req := ask(upstream.Anthropic, "hi")
	res, err := c.Stream(t.Context(), req, func(reply.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	req.Entries = append(req.Entries, message(history.RoleAssistant, res.Blocks...), user("go on"))
	if _, err := c.Stream(t.Context(), req, func(reply.Event) {}); err != nil {
		t.Fatal(err)
	}
	body := string(up.Last().Body)
	for _, part := range []string{`{"signature":"seal","thinking":"hm","type":"thinking"}`, `{"data":"opaque","type":"redacted_thinking"}`} {
		if !strings.Contains(body, part) {
			t.Errorf("%s is missing in %s", part, body)
		}
	}
}

func TestStopReasons(t *testing.T) {
	for reason, want := range map[string]reply.StopReason{"end_turn": reply.StopEndTurn, "max_tokens": reply.StopMaxTokens, "refusal": reply.StopRefusal, "tool_use": reply.StopEndTurn} {
		for _, wire := range wires {
			up := newUpstream(t, upstream.Script{Steps: upstream.Texts("x"), StopReason: reason})
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), func(reply.Event) {})
			if err != nil || res.StopReason != want {
				t.Errorf("%s: %s became %s, error %v", wire, reason, res.StopReason, err)
			}
		}
	}
}

func TestThoughtLevelIsSent(t *testing.T) {
	for _, test := range []struct {
		model string
		level ThoughtLevel
		want  string // part of the body
	}{
		{"anthropic/claude-sonnet-4-5", ThoughtHigh, `"thinking":{"budget_tokens":16384,"type":"enabled"}`},
		{"anthropic/claude-opus-4-6", ThoughtMedium, `"output_config":{"effort":"medium"}`},
		{"anthropic/claude-opus-4-6", ThoughtMedium, `"thinking":{"display":"summarized","type":"adaptive"}`},
		{"openai/gpt-5", ThoughtLow, `"reasoning_effort":"low"`},
		{"openai/gpt-5.6-sol", ThoughtOff, `"reasoning_effort":"none"`},
	} {
		up := newUpstream(t)
		req := Request{Model: test.model, Entries: []Entry{user("hi")}, Thought: test.level}
		if _, err := newClient(t, up).Stream(t.Context(), req, func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
		if body := string(up.Last().Body); !strings.Contains(body, test.want) {
			t.Errorf("%s: %s is missing in %s", test.model, test.want, body)
		}
	}
	for _, model := range []string{"anthropic/claude-sonnet-4-5", "openai/gpt-5", "openai/gpt-4o", "openai/unheard-of"} {
		up := newUpstream(t)
		req := Request{Model: model, Entries: []Entry{user("hi")}}
		if strings.HasSuffix(model, "4o") || strings.HasSuffix(model, "of") {
			req.Thought = ThoughtHigh // neither exists in these streams
		}
		if _, err := newClient(t, up).Stream(t.Context(), req, func(reply.Event) {}); err != nil {
			t.Fatal(err)
		}
		if body := string(up.Last().Body); strings.Contains(body, "thinking") || strings.Contains(body, "effort") {
			t.Errorf("%s: %s", model, body)
		}
	}
}

func TestOnlyOpenAIItselfHasItsNameForTheOutputLimit(t *testing.T) {
	for address, want := range map[string]bool{"": true, "https://api.openai.com/v1": true, "https://example.org/v1": false} {
		model := Model{ID: "m", MaxOutput: 7}
		body, err := openAIBody(ask(upstream.OpenAI, "hi"), model, dialectOf(ProviderConfig{Kind: OpenAI, BaseURL: address}, model))
		if err != nil || strings.Contains(string(body), `"max_completion_tokens":7`) != want || strings.Contains(string(body), `"max_tokens":7`) == want {
			t.Errorf("%q: %s, error %v", address, body, err)
		}
	}
}

func TestSchemasAreWrittenInOneOrder(t *testing.T) {
	a := Tool{Name: "f", Schema: json.RawMessage(`{"type":"object", "properties":{"b":{"maximum":10000000000000001},"a":{}}}`)}
	b := Tool{Name: "f", Schema: json.RawMessage(`{"properties":{"a":{},"b":{"maximum":10000000000000001}},"type":"object"}`)}
	if x, y := string(schemaOf(a)), string(schemaOf(b)); x != y || !strings.Contains(x, "10000000000000001") {
		t.Errorf("%s and %s", x, y)
	}
	for _, bad := range []string{"", "null", "[1]", "{", `"x"`} {
		if got := string(schemaOf(Tool{Schema: json.RawMessage(bad)})); got != `{"properties":{},"type":"object"}` {
			t.Errorf("%q became %s", bad, got)
		}
	}
}

func TestLongLivedWritesCostMore(t *testing.T) {
	up := newUpstream(t, upstream.Script{Steps: upstream.Texts("x"), Usage: upstream.Usage{Output: 1, CacheWrite: 1_000_000, CacheWrite1h: 400_000}})
	res, err := newClient(t, up).Stream(t.Context(), ask(upstream.Anthropic, "hi"), func(reply.Event) {})
	if want := 0.6*3.75 + 0.4*6 + 15e-6; err != nil || !near(res.Cost, want) {
		t.Errorf("cost %v, want %v, error %v", res.Cost, want, err)
	}
}

func TestOddOpenAIServers(t *testing.T) {
	for _, test := range []struct {
		name, stream string
		want         []history.Block
		fails        bool
	}{
		{"calls that all have index 0",
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n",
			[]history.Block{{Type: history.BlockToolCall, CallID: "tc_1", Name: "f", Args: "{}", Origin: &history.Origin{ID: "a"}},
				{Type: history.BlockToolCall, CallID: "tc_2", Name: "g", Args: `{"x":1}`, Origin: &history.Origin{ID: "b"}}}, false},
		{"a call without an id",
			`data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}` + "\n\n",
			[]history.Block{{Type: history.BlockToolCall, CallID: "tc_1", Name: "f", Args: "{}", Origin: &history.Origin{}}}, false},
		{"thinking under another name",
			`data: {"choices":[{"delta":{"reasoning":"hm","content":"yes"},"finish_reason":"stop"}]}` + "\n\n",
			[]history.Block{{Type: history.BlockThinking, Text: "hm", Origin: &history.Origin{Field: "reasoning"}}, {Type: history.BlockText, Text: "yes"}}, false},
		{"an error as finish reason",
			`data: {"choices":[{"delta":{"content":"yes"},"finish_reason":"error"}]}` + "\n\n",
			[]history.Block{{Type: history.BlockText, Text: "yes"}}, true},
		{"a status as code",
			`data: {"choices":[{"delta":{"content":"yes"}}]}` + "\n\n" + `data: {"error":{"code":502,"message":"bad gateway"}}` + "\n\n",
			[]history.Block{{Type: history.BlockText, Text: "yes"}}, true},
		{"no JSON",
			`data: {"choices":[{"delta":{"content":"yes"}}]}` + "\n\n" + "data: oops\n\n",
			[]history.Block{{Type: history.BlockText, Text: "yes"}}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			up := newUpstream(t, upstream.Script{Bare: true, Steps: []upstream.Step{upstream.Raw(test.stream)}})
			res, err := newClient(t, up).Stream(t.Context(), ask(upstream.OpenAI, "hi"), func(reply.Event) {})
			if diff := cmp.Diff(test.want, res.Blocks); diff != "" || (err != nil) != test.fails {
				t.Errorf("error %v: %s", err, diff)
			}
		})
	}
}

func TestAnAnswerThatIsTooLargeIsNotAskedForAgain(t *testing.T) {
	if e := failure(t.Context(), "p", "", reply.ErrTooLarge); e.Kind != KindInvalid || e.retryable(DefaultRetryStatuses) {
		t.Errorf("%+v", e)
	}
}
