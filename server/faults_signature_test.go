package server

import (
	"strings"
	"testing"

	"strata/internal/upstream"
	"strata/llm"
	"strata/session/choices"
)

// startTwoProviders starts a server with two providers that refuse each other's signatures.
func startTwoProviders(t *testing.T) (ts *testServer, first, second *upstream.Server) {
	t.Helper()
	first, second = upstream.Start(upstream.Options{Strict: true}), upstream.Start(upstream.Options{Strict: true})
	t.Cleanup(first.Close)
	t.Cleanup(second.Close)
	client, err := llm.New(llm.Options{Providers: map[string]llm.ProviderConfig{
		"first": {Kind: llm.Anthropic, BaseURL: first.URL}, "second": {Kind: llm.Anthropic, BaseURL: second.URL},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ts = &testServer{t: t, upstream: first, dir: t.TempDir(), work: t.TempDir()}
	ts.start(func(o *Options) {
		o.Models = newModels(client)
		o.Sessions.DefaultConfig.Model = "first/claude-sonnet-4-5"
	})
	return ts, first, second
}

// After thinking signed by one provider, the session continues with a model of another family, and then returns.
func TestF11ThinkingOfAnotherProvider(t *testing.T) {
	t.Parallel()
	ts, first, second := startTwoProviders(t)
	thinks := func(signature string) upstream.Script {
		steps := []upstream.Step{upstream.Thinking("hm", signature), upstream.Redacted("sealed " + signature)}
		return upstream.Script{Steps: append(steps, upstream.Texts("said")...)}
	}
	first.Push(thinks("by first"))
	second.Push(thinks("by second"))
	e, sid := attached(t, ts)
	choose := func(model string) {
		call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": choices.OptionModel, "value": model})
	}
	mustPrompt(t, e, sid, "one")
	choose("second/kimi-k2-thinking")
	mustPrompt(t, e, sid, "two")
	mustPrompt(t, e, sid, "three")
	choose("first/claude-sonnet-4-5")
	mustPrompt(t, e, sid, "four")
	if n, m := len(first.Requests()), len(second.Requests()); n != 2 || m != 2 {
		t.Errorf("%d and %d requests: some were refused", n, m)
	}
	if sent := string(second.Last().Body); strings.Contains(sent, "by first") || !strings.Contains(sent, "by second") {
		t.Errorf("the second provider was sent %s", sent)
	}
	if sent := string(first.Last().Body); strings.Contains(sent, "by second") || !strings.Contains(sent, "by first") {
		t.Errorf("the first provider was sent %s", sent)
	}
}
