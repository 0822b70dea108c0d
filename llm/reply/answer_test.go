package reply

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"strata/history"
)

// told is the text that an answer has told.
type told struct{ text string }

func (t *told) on(e Event) {
	if e.Kind == EventText {
		t.text += e.Text
	}
}

func TestAnswerBounds(t *testing.T) {
	a := &Answer{On: func(Event) {}}
	b, _ := a.open(history.Block{Type: history.BlockText})
	for range MaxAnswer / (1 << 20) {
		if err := a.addText(b, strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.addText(b, "x"); !errors.Is(err, ErrTooLarge) || b.text.Len() != MaxAnswer {
		t.Errorf("text above the bound: %v, %d bytes are kept", err, b.text.Len())
	}
	a = &Answer{On: func(Event) {}}
	for range maxBlocks {
		if _, err := a.open(history.Block{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.open(history.Block{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a block above the bound: %v", err)
	}
}

func TestUsageNumbers(t *testing.T) {
	for in, want := range map[string]count{"7": 7, "7.9": 7, "-3": 0, "null": 0, `"x"`: 0, "1e300": 1 << 40, "{}": 0} {
		var c count = 99
		if err := json.Unmarshal([]byte(in), &c); err != nil || c != want {
			t.Errorf("%s: %d, want %d, error %v", in, c, want, err)
		}
	}
	odd := openAIUsage{Prompt: 10}
	odd.Details.value.Cached, odd.Details.value.Written = 50, 50
	if u := odd.usage(); u != (history.Usage{CacheRead: 10}) {
		t.Errorf("more cached than sent: %+v", u)
	}
	var a Answer
	a.On = func(Event) {}
	s := anthropicStream{Answer: &a}
	s.report(anthropicUsage{Input: 20, CacheRead: 500, Output: 1})
	s.report(anthropicUsage{Output: 30}) // the later event has no input
	s.report(anthropicUsage{Input: 21, Output: 40, CacheWrite: 7})
	if a.usage != (history.Usage{Input: 21, Output: 40, CacheRead: 500, CacheWrite: 7}) {
		t.Errorf("usage in three events: %+v", a.usage)
	}
}

// The end marker ends a reply, whatever follows it.
func TestTheEndMarkerWithSomethingBehind(t *testing.T) {
	const delta = `data: {"choices":[{"delta":{"content":"hi"}}]}` + "\n\n"
	for marker, complete := range map[string]bool{"[DONE]": true, "[DONE] ": true, "[DONE]bye": true, "[DONE]]": true, "[DONT]": false, "": false} {
		var told told
		a := &Answer{On: told.on, NewID: func() string { return "tc_1" }}
		err := Read(strings.NewReader(delta+"data: "+marker+"\n\n"), NewOpenAIStream(a), a)
		if (err == nil) != complete || told.text != "hi" {
			t.Errorf("%q: %q, %v", marker, told.text, err)
		}
	}
}

// Members that are null have no meaning, so they are not kept.
func TestMembersThatAreKept(t *testing.T) {
	for object, want := range map[string]string{
		`{"id":"a","extra":1,"none":null}`: `{"extra":1}`,
		`{"id":"a","none":null}`:           ``,
		`{"extra":{"none":null}}`:          `{"extra":{"none":null}}`,
		`{}`:                               ``,
	} {
		all := Members(json.RawMessage(object))
		n := len(all)
		if got := string(Without(all, "id", "absent")); got != want || len(all) != n {
			t.Errorf("%s: %s, want %s; %d members of %d are left", object, got, want, len(all), n)
		}
	}
}

// Implausible context sizes are ignored, and the first plausible number counts.
func TestContextNumbersThatAreBelieved(t *testing.T) {
	for text, want := range map[string][2]int{ // limit, counted
		"maximum context length is 255 tokens":                                                                       {0, 0},
		"maximum context length is 256 tokens":                                                                       {256, 0},
		"maximum context length is 100000000 tokens":                                                                 {100_000_000, 0},
		"maximum context length is 100000001 tokens":                                                                 {0, 0},
		"maximum context length is 99999999999999999999999 tokens":                                                   {0, 0},
		"prompt is too long: 255 tokens > 1_000_000":                                                                 {1_000_000, 0},
		"prompt is too long: 1,000,001 tokens > 1,000,000 maximum":                                                   {1_000_000, 1_000_001},
		"maximum context length is 8192 tokens, requested 9000 tokens (8500 in the messages, 500 in the completion)": {8192, 8500},
	} {
		f := Failure{Message: text}
		f.readLimits()
		if f.Limit != want[0] || f.Counted != want[1] {
			t.Errorf("%s: limit %d, counted %d, want %v", text, f.Limit, f.Counted, want)
		}
	}
}

// BenchmarkStream measures reading a reply of 5,000 deltas of 20 bytes, in the words of each wire format as it is recorded
// from its provider.
//
// Yardstick: 1 µs for each delta.
func BenchmarkStream(b *testing.B) {
	const deltas = 5000
	for _, wire := range []struct {
		name, delta, end string
		decoder          func(*Answer) Decoder
	}{
		{"openai", `data: {"id":"chatcmpl-A1b2C3d4","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" twenty bytes of text"},"logprobs":null,"finish_reason":null}]}` + "\n\n",
			"data: [DONE]\n\n", NewOpenAIStream},
		{"anthropic", "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" twenty bytes of text"}      }` + "\n\n",
			`data: {"type":"message_stop"}` + "\n\n", NewAnthropicStream},
	} {
		b.Run(wire.name, func(b *testing.B) {
			stream := []byte(strings.Repeat(wire.delta, deltas) + wire.end)
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			events := 0
			for b.Loop() {
				a := &Answer{On: func(Event) { events++ }}
				if err := Read(bytes.NewReader(stream), wire.decoder(a), a); err != nil {
					b.Fatal(err)
				}
				a.Result(true)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*deltas), "ns/delta")
			b.ReportMetric(float64(events)/float64(b.N), "events/op")
		})
	}
}
