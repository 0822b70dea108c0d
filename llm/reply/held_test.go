package reply

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openAIText is an event of a stream with a delta of text.
func openAIText(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}` + "\n\n"
}

// tellingNow reads a stream and returns its events, in short.
func tellingNow(t *testing.T, body io.Reader, decoder func(*Answer) Decoder) (events []string) {
	t.Helper()
	a := &Answer{Tools: true, NewID: func() string { return "tc_1" }, On: func(e Event) {
		switch e.Kind {
		case EventText:
			events = append(events, "text "+e.Text)
		case EventThinking:
			events = append(events, "thinking "+e.Text)
		case EventToolCall:
			events = append(events, "call "+e.Call.Args)
		case EventUsage:
			events = append(events, "usage")
		}
	}}
	if err := Read(body, decoder(a), a); err != nil {
		t.Fatal(err)
	}
	return events
}

// Adjacent deltas that have arrived together are one event; anything between them separates them.
func TestAdjacentTextIsOneEvent(t *testing.T) {
	chunk := func(choice string) string { return `data: {"choices":[{` + choice + `}]}` + "\n\n" }
	openAI := openAIText("a") + openAIText("b") + ": ping\n\n" + openAIText("c") +
		chunk(`"delta":{"reasoning":"hm"}`) + chunk(`"delta":{"reasoning":"m"}`) +
		openAIText("d") + chunk(`"delta":{"content":["e"]}`) +
		`data: {"choices":[],"usage":{"prompt_tokens":3}}` + "\n\n" + openAIText("f") +
		chunk(`"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"g","arguments":"{"}}]}`) +
		chunk(`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`) +
		openAIText("g") + openAIText("h") + chunk(`"delta":{},"finish_reason":"stop"`) + "data: [DONE]\n\n"
	want := []string{"text abc", "thinking hmm", "text de", "usage", "text f", "call ", "call {", "call }", "text gh"}
	if diff := cmp.Diff(want, tellingNow(t, strings.NewReader(openAI), NewOpenAIStream)); diff != "" {
		t.Errorf("openai: %s", diff)
	}

	delta := func(index int, kind, text string) string {
		return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"%s_delta\",\"%s\":\"%s\"}}\n\n", index, kind, kind, text)
	}
	anthropic := delta(0, "thinking", "h") + delta(0, "thinking", "m") + delta(1, "text", "a") + "event: ping\ndata: {\"type\":\"ping\"}\n\n" + delta(1, "text", "b") +
		`data: {"type":"message_delta","usage":{"output_tokens":3}}` + "\n\n" + delta(1, "text", "c") + delta(1, "text", "d") + `data: {"type":"message_stop"}` + "\n\n"
	want = []string{"thinking hm", "text ab", "usage", "text cd"}
	if diff := cmp.Diff(want, tellingNow(t, strings.NewReader(anthropic), NewAnthropicStream)); diff != "" {
		t.Errorf("anthropic: %s", diff)
	}
}

// watchedReader returns part after part, and calls waits before each, with the bytes that it has returned.
type watchedReader struct {
	parts    []string
	returned string
	waits    func(returned string)
}

func (r *watchedReader) Read(p []byte) (int, error) {
	r.waits(r.returned)
	if len(r.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.parts[0])
	r.returned += r.parts[0][:n]
	if r.parts[0] = r.parts[0][n:]; r.parts[0] == "" {
		r.parts = r.parts[1:]
	}
	return n, nil
}

// Whenever the provider is waited for, all events that have arrived are told, however the network cuts the stream.
func TestNothingIsHeldBackWhileTheProviderIsWaitedFor(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 200 {
		var parts []string
		stream := ""
		for i := range 1 + random.IntN(60) {
			switch random.IntN(6) {
			case 0:
				stream += ": ping\n\n"
			case 1:
				stream += fmt.Sprintf(`data: {"choices":[{"delta":{"content":[" %d"]}}]}`, i) + "\n\n"
			default:
				stream += openAIText(fmt.Sprint(" ", i))
			}
		}
		for rest := stream + "data: [DONE]\n\n"; rest != ""; {
			n := min(len(rest), 1+random.IntN(1<<random.IntN(12)))
			parts = append(parts, rest[:n])
			rest = rest[n:]
		}
		told := ""
		a := &Answer{On: func(e Event) { told += e.Text }}
		in := &watchedReader{parts: parts, waits: func(returned string) {
			arrived := ""
			for event := range strings.SplitSeq(returned[:strings.LastIndex("\n\n"+returned, "\n\n")], "\n\n") {
				arrived += contentOf(event)
			}
			if told != arrived {
				t.Fatalf("round %d: after %q, %q is told, want %q", round, returned, told, arrived)
			}
		}}
		if err := Read(in, NewOpenAIStream(a), a); err != nil || told == "" && strings.Contains(stream, "content") {
			t.Fatalf("round %d: %v, %q", round, err, told)
		}
		if a.Result(true); len(in.parts) > 0 {
			t.Fatalf("round %d: %q was not read", round, in.parts)
		}
	}
}

// contentOf returns the text of an event of the test above.
func contentOf(event string) string {
	_, text, _ := strings.Cut(event, `"content":`)
	text, _, _ = strings.Cut(strings.TrimLeft(text, `["`), `"`)
	return text
}

// What is told as one event is bounded, but for a delta that is longer by itself.
func TestTextThatIsHeldIsBounded(t *testing.T) {
	var sizes []int
	told := ""
	a := &Answer{On: func(e Event) { sizes, told = append(sizes, len(e.Text)), told+e.Text }}
	a.held.reading = true
	want := ""
	for _, n := range []int{1, maxHeld - 1, 1, maxHeld + 5, 2, maxHeld, maxHeld - 3, 3, 1} {
		text := strings.Repeat("x", n)
		want += text
		a.tellText(EventText, text)
	}
	a.tellHeld()
	a.tellHeld()
	if diff := cmp.Diff([]int{maxHeld, 1, maxHeld + 5, 2, maxHeld, maxHeld, 1}, sizes); diff != "" || told != want {
		t.Errorf("%d bytes of %d: %s", len(told), len(want), diff)
	}
}

// What came before an error is told before it is returned.
func TestTextBeforeAnErrorIsTold(t *testing.T) {
	for name, rest := range map[string]string{"an error": `data: {"error":{"message":"boom"}}` + "\n\n", "damage": "data: {\"choices\"\n\n", "an end too early": "", "half an event": `data: {"cho`} {
		told := ""
		a := &Answer{On: func(e Event) { told += e.Text }}
		if err := Read(strings.NewReader(openAIText("a")+openAIText("b")+rest), NewOpenAIStream(a), a); err == nil || told != "ab" || !a.Shown {
			t.Errorf("%s: told %q, error %v", name, told, err)
		}
	}
}
