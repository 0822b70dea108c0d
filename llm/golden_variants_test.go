package llm

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"strata/history"
	"strata/llm/reply"
)

// recordedBody returns the body that a client sends for req to the default address of the kind.
func recordedBody(t *testing.T, kind Kind, req Request, change ...func(*Options)) []byte {
	t.Helper()
	transport := &bodyRecorder{}
	opt := Options{
		Providers: map[string]ProviderConfig{string(kind): {Kind: kind}},
		Transport: transport,
		Sleep:     noSleep,
	}
	for _, f := range change {
		f(&opt)
	}
	c, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stream(t.Context(), req, func(reply.Event) {}); err == nil {
		t.Fatal("a reply without a server")
	}
	return transport.body
}

// bodyRecorder records the body of the newest request and never responds.
type bodyRecorder struct{ body []byte }

func (r *bodyRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.body, _ = io.ReadAll(req.Body)
	return nil, errors.New("no network")
}

// TestGoldenVariants compares the bytes of requests for models that need other parameters than those of
// TestGoldenRequest.
func TestGoldenVariants(t *testing.T) {
	temperature := 0.0
	result := history.Block{Type: history.BlockToolResult, CallID: "c1", IsError: true, Content: []history.Block{text("no such file")}}
	call := history.Block{Type: history.BlockToolCall, CallID: "c1", Name: "list", Args: `{ "deep": {"a": [1, 2.50, "<&>"]}, "z": null }`}
	tools := []Tool{{Name: "list", Description: "Lists <files> & folders.", Schema: []byte(`{"type":"object","properties":{"deep":{"type":"object","enum":[1000]}},"additionalProperties":false}`)}}
	talk := []Entry{
		{Kind: EntrySystem, Blocks: []history.Block{text("Be brief.")}},
		user("List\u2028the files, <please>."), message(history.RoleAssistant, call), message(history.RoleTool, result), user("Again."),
	}
	for _, test := range []struct {
		name string
		kind Kind
		req  Request
	}{
		{"anthropic-adaptive", Anthropic, Request{Model: "anthropic/claude-opus-4-6", Thought: ThoughtHigh, Temperature: &temperature, Tools: tools, Entries: talk}},
		{"anthropic-plain", Anthropic, Request{Model: "anthropic/claude-haiku-4-5", MaxOutput: 100, Entries: []Entry{user("hi")}}},
		{"anthropic-no-tools", Anthropic, Request{Model: "anthropic/claude-sonnet-4-5", Entries: talk}},
		{"openai-official", OpenAI, Request{Model: "openai/gpt-4o", Temperature: &temperature, Tools: tools, Entries: talk}},
		{"openai-effort", OpenAI, Request{Model: "openai/gpt-5.1", Thought: ThoughtLow, Temperature: &temperature, MaxOutput: 100, Entries: talk}},
		{"openai-no-effort", OpenAI, Request{Model: "openai/gpt-5.1", Entries: []Entry{user("hi")}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			golden(t, test.name+".golden", recordedBody(t, test.kind, test.req))
		})
	}
}
