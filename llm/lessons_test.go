package llm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/llm/reply"
)

// If a provider's refusals contradict each other, the number of attempts is limited.
func TestRefusalsThatContradictEachOther(t *testing.T) {
	words := []string{"messages.1: reasoning_content is missing", "reasoning_content is not allowed here"}
	n := 0
	p := newRawProvider(t, func(string) response {
		if n++; n > 100 { // a client without a limit
			return response{body: says("hi")}
		}
		return response{status: 400, body: fmt.Sprintf(`{"error":{"message":%q}}`, words[(n-1)%2])}
	})
	_, err := p.client.Stream(t.Context(), Request{Model: "openai/unheard-of", Entries: []Entry{user("hi")}}, func(reply.Event) {})
	if err == nil || failureOf(t, err).Kind != KindInvalid || n != maxLessons+1 {
		t.Errorf("error %v after %d requests, want %d", err, n, maxLessons+1)
	}
}

// The other name of the output limit is tried once, then no limit is sent. Configured parameters are always sent.
func TestTheNamesOfTheOutputLimit(t *testing.T) {
	for first, second := range map[string]string{outputMaxTokens: outputMaxCompletionTokens, outputMaxCompletionTokens: outputMaxTokens} {
		d := dialect{outputName: first}
		for _, want := range []string{second, ""} {
			if !learnOutputName(&d, ModelConfig{}) || d.outputName != want {
				t.Errorf("after %s follows %q, want %q", first, d.outputName, want)
			}
		}
		if learnOutputName(&d, ModelConfig{}) {
			t.Errorf("after no limit follows %q", d.outputName)
		}
		d = dialect{outputName: first}
		if learnOutputName(&d, ModelConfig{OutputName: first}) || d.outputName != first {
			t.Errorf("the demanded name is %q", d.outputName)
		}
	}
}

func TestThinkingThatTheConfigurationDemands(t *testing.T) {
	for _, tt := range []struct {
		now, demanded, learned, want ThinkingBack
		changed                      bool
	}{
		{ThinkingNone, "", ThinkingOfTurn, ThinkingOfTurn, true},
		{ThinkingOfTurn, "", ThinkingOfTurn, ThinkingOfTurn, false},
		{ThinkingAlways, ThinkingAlways, ThinkingNone, ThinkingAlways, false},
	} {
		d := dialect{thinkingBack: tt.now}
		if changed := learnThinking(tt.learned)(&d, ModelConfig{ThinkingBack: tt.demanded}); changed != tt.changed || d.thinkingBack != tt.want {
			t.Errorf("%+v: %s, changed %t", tt, d.thinkingBack, changed)
		}
	}
}

// The limit in a refusal is the largest plausible number below the refused one.
func TestOutputLimitsInRefusals(t *testing.T) {
	for text, want := range map[string]int{
		"max_tokens is too large: 5000. This model supports at most 4096 completion tokens.": 4096,
		"max_tokens must be between 64 and 5,000":                                            64,
		"max_tokens: 5000 > 64, see line 12":                                                 64,
		"max_tokens: 5000 exceeds 63":                                                        0, // too small for a model's output
		"max_tokens: 5000 exceeds 8192":                                                      0,
		"max_tokens: 5_000 exceeds 4_096":                                                    4096,
		"max_tokens is not supported: 5000, 4096":                                            0,
		"temperature 5000 exceeds 4096":                                                      0,
		"max_tokens of 700 exceeds 600":                                                      0, // not the requested limit
	} {
		if got := outputLimitIn(text, 5000); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// If a provider gives two calls the same id, the calls get different ids, and each result is sent with its call.
func TestTwoCallsWithOneIDOfTheirProvider(t *testing.T) {
	of := func(id, origin string) Entry {
		b := call(id)
		b.Origin = &history.Origin{ID: origin}
		e := message(history.RoleAssistant, b)
		e.Model = "openai/other"
		return e
	}
	c := newConversation([]Entry{
		user("a"), of("tc_1", "call_0"), message(history.RoleTool, result("tc_1", "one")),
		of("tc_2", "call_0"), message(history.RoleTool, result("tc_2", "two")),
		of("tc_3", "tc_4"), message(history.RoleTool, result("tc_3", "three")),
		of("tc_4", ""), message(history.RoleTool, result("tc_4", "four")), user("b"),
	}, shape{model: "openai/model", tools: true})
	var got []string
	for _, turn := range c.turns {
		for _, p := range turn.parts {
			switch p.kind {
			case partCall:
				got = append(got, p.block.Name+" is "+p.id)
			case partResult:
				got = append(got, p.id+" gave "+joined(p.content))
			case partText:
				got = append(got, p.text)
			}
		}
	}
	want := []string{
		"a", "tool_tc_1 is call_0", "call_0 gave one", "tool_tc_2 is tc_2", "tc_2 gave two", "tool_tc_3 is tc_4", "tc_4 gave three",
	}
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Error(diff)
	}
	if all := strings.Join(got, "\n"); !strings.Contains(all, "four") || got[len(got)-1] != "b" {
		t.Errorf("the last call and its result are missing: %s", all)
	}
}
