package llm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
	"strata/internal/upstream"
	"strata/llm/reply"
)

// failureOf returns err as *Error, the type of all errors of Stream.
func failureOf(t *testing.T, err error) *Error {
	t.Helper()
	var out *Error
	if !errors.As(err, &out) {
		t.Fatalf("error %v is no *Error", err)
	}
	return out
}

func TestK6_06ErrorInsideStream(t *testing.T) {
	three := upstream.Texts("one ", "two ", "three")
	good := upstream.Script{Steps: upstream.Texts("fine")}
	for _, wire := range wires {
		t.Run(string(wire)+" after text", func(t *testing.T) {
			up := newUpstream(t, upstream.Script{Steps: append(three, upstream.Fail("overloaded_error", "Overloaded"))}, good)
			var rec recorder
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), rec.on)
			if e := failureOf(t, err); !e.Partial || e.Status != 529 || e.Kind != KindOverloaded {
				t.Errorf("error %+v", e)
			}
			if answerText(res) != "one two three" || rec.text() != "one two three" || res.StopReason != "" {
				t.Errorf("kept %+v, shown %q", res, rec.text())
			}
			if n := len(up.Requests()); n != 1 {
				t.Errorf("%d requests after visible text", n)
			}
		})
		t.Run(string(wire)+" before text", func(t *testing.T) {
			up := newUpstream(t, upstream.Script{Steps: []upstream.Step{upstream.Fail("overloaded_error", "Overloaded")}}, good)
			var rec recorder
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), rec.on)
			if err != nil || answerText(res) != "fine" {
				t.Fatalf("reply %+v, error %v", res, err)
			}
			if r := rec.retries(); len(r) != 1 || r[0].Status != 529 {
				t.Errorf("retries %+v", r)
			}
		})
		t.Run(string(wire)+" without its end", func(t *testing.T) {
			up := newUpstream(t, upstream.Script{Steps: three, NoEnd: true}, good)
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), func(reply.Event) {})
			if e := failureOf(t, err); !e.Partial || e.Kind != KindTruncated || answerText(res) != "one two three" {
				t.Errorf("error %+v, kept %+v", e, res)
			}
		})
		t.Run(string(wire)+" empty and without its end", func(t *testing.T) {
			up := newUpstream(t, upstream.Script{NoEnd: true}, good)
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), func(reply.Event) {})
			if err != nil || answerText(res) != "fine" {
				t.Errorf("reply %+v, error %v", res, err)
			}
		})
	}
}

func TestK6_06FinishReasonWithoutDone(t *testing.T) {
	up := newUpstream(t, upstream.Script{Steps: upstream.Texts("fine"), NoDone: true})
	res, err := newClient(t, up).Stream(t.Context(), ask(upstream.OpenAI, "hi"), func(reply.Event) {})
	if err != nil || answerText(res) != "fine" || res.StopReason != reply.StopEndTurn {
		t.Errorf("reply %+v, error %v", res, err)
	}
}

func TestK6_07DroppedConnection(t *testing.T) {
	var steps []upstream.Step
	for i := range 5 {
		steps = append(steps, upstream.Text(fmt.Sprint(i, " ")))
	}
	good := upstream.Script{Steps: upstream.Texts("fine")}
	for _, wire := range wires {
		t.Run(string(wire)+" after text", func(t *testing.T) {
			up := newUpstream(t, upstream.Script{Steps: append(steps, upstream.Cut())}, good)
			var rec recorder
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), rec.on)
			if e := failureOf(t, err); !e.Partial || e.Kind != KindNetwork {
				t.Errorf("error %+v", e)
			}
			if shown := rec.text(); shown != "0 1 2 3 4 " || shown != answerText(res) || len(up.Requests()) != 1 {
				t.Errorf("shown %q, kept %q, %d requests", shown, answerText(res), len(up.Requests()))
			}
		})
		t.Run(string(wire)+" before text", func(t *testing.T) {
			up := newUpstream(t, upstream.Script{Steps: []upstream.Step{upstream.Cut()}}, good)
			var rec recorder
			_, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), rec.on)
			if err != nil || rec.text() != "fine" || len(rec.retries()) != 1 {
				t.Errorf("shown %q, retries %v, error %v", rec.text(), rec.retries(), err)
			}
		})
	}
}

const manyScripts = "汉字 العربية 😀👩‍👩‍👧 e\u0301 \U0001D11E"

func TestK6_08OneByteAtATime(t *testing.T) {
	for _, wire := range wires {
		t.Run(string(wire), func(t *testing.T) {
			half := len("汉字 العربية 😀")
			up := newUpstream(t, upstream.Script{Steps: upstream.Texts(manyScripts[:half], manyScripts[half:]), ByteAtATime: true})
			var rec recorder
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), rec.on)
			if err != nil || answerText(res) != manyScripts || rec.text() != manyScripts {
				t.Errorf("kept %q, shown %q, error %v", answerText(res), rec.text(), err)
			}
		})
	}
}

func TestK6_08PairSplitOverDeltas(t *testing.T) {
	for wire, events := range map[upstream.Wire][2]string{
		upstream.Anthropic: {
			`event: content_block_start` + "\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}`,
		},
		upstream.OpenAI: {
			`: nothing to begin with`,
			`data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}`,
		},
	} {
		t.Run(string(wire), func(t *testing.T) {
			raw := func(delta string) upstream.Step {
				return upstream.Raw(strings.Replace(events[1], "%s", delta, 1) + "\n\n")
			}
			up := newUpstream(t, upstream.Script{Steps: []upstream.Step{upstream.Raw(events[0] + "\n\n"), raw(`a\ud83d`), raw(`\ude00b`), raw(`\ud83d`), raw(`\ude00`)}})
			var rec recorder
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), rec.on)
			if want := "a😀b😀"; err != nil || answerText(res) != want || rec.text() != want {
				t.Errorf("kept %q, shown %q, error %v", answerText(res), rec.text(), err)
			}
		})
	}
}

// rawStreams are streams with the reply "full answer" in all forms that the SSE rules allow.
var rawStreams = map[upstream.Wire]string{
	upstream.Anthropic: ": keep-alive\n\n:\n\n" +
		"event: message_start\r\ndata:{\"type\":\"message_start\",\r\ndata: \"message\":{\"usage\":{\"input_tokens\":3}}}\r\n\r\n" +
		"event: ping\ndata: {\"type\": \"ping\"}\n\n" +
		"data:{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"full\"}}\n\n" +
		": keep-alive\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\ndata: \"delta\":{\"type\":\"text_delta\",\"text\":\" answer\"}}\n\n" +
		"event: something_new\ndata: {\"type\":\"something_new\"}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}",
	upstream.OpenAI: ": keep-alive\n\n:\n\n" +
		"data:{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"full\"},\r\ndata: \"finish_reason\":null}],\"error\":null}\r\n\r\n" +
		": OPENROUTER PROCESSING\n\nevent: ping\ndata: {}\n\n" +
		"data: {\"choices\":[{\"delta\":{\"content\":\" answer\"}}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n" +
		"data: [DONE]\n\ndata: and more bytes\n\n",
}

func TestK6_09EventStreamRules(t *testing.T) {
	for _, wire := range wires {
		t.Run(string(wire), func(t *testing.T) {
			up := newUpstream(t)
			up.Choose(func(*upstream.Request) upstream.Script {
				return upstream.Script{Bare: true, Steps: []upstream.Step{upstream.Raw(rawStreams[wire])}}
			})
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), func(reply.Event) {})
			if err != nil || answerText(res) != "full answer" || res.StopReason != reply.StopEndTurn || res.Usage != (history.Usage{Input: 3, Output: 2}) {
				t.Errorf("reply %+v, error %v", res, err)
			}
		})
	}
}

func TestK6_10LargeDataLines(t *testing.T) {
	for _, wire := range wires {
		t.Run(fmt.Sprint(wire, " beyond the bound of an answer"), func(t *testing.T) {
			long := strings.Repeat("0123456789abcdef", 8<<20/16)
			up := newUpstream(t, upstream.Script{Steps: upstream.Texts(long, "end")})
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), func(reply.Event) {})
			if !errors.Is(err, reply.ErrTooLarge) || answerText(res) != long[:reply.MaxAnswer] {
				t.Errorf("%d bytes of text, error %v", len(answerText(res)), err)
			}
		})
		for _, size := range []int{70 << 10, 1_000_000} {
			t.Run(fmt.Sprint(wire, size), func(t *testing.T) {
				long := strings.Repeat("0123456789abcdef", size/16)
				steps := append(upstream.Texts(long, "end"), upstream.Call("call_1", "write", `{"text":"`+long+`"}`)...)
				up := newUpstream(t, upstream.Script{Steps: steps})
				res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), func(reply.Event) {})
				if err != nil || answerText(res) != long+"end" {
					t.Fatalf("%d bytes of text, error %v", len(answerText(res)), err)
				}
				if call := res.Blocks[len(res.Blocks)-1]; call.Incomplete || call.Args != `{"text":"`+long+`"}` {
					t.Errorf("%d bytes of arguments, incomplete %v", len(call.Args), call.Incomplete)
				}
			})
		}
	}
}

func TestK6_11CutArguments(t *testing.T) {
	for _, wire := range wires {
		for _, reason := range []string{"max_tokens", "tool_use"} {
			t.Run(string(wire)+" "+reason, func(t *testing.T) {
				up := newUpstream(t, upstream.Script{StopReason: reason, Steps: upstream.Call("call_1", "write", `{"path":"/a",`, `"text":"hel`)})
				c := newClient(t, up)
				req := ask(wire, "write")
				req.Tools = []Tool{{Name: "write"}}
				res, err := c.Stream(t.Context(), req, func(reply.Event) {})
				if err != nil {
					t.Fatal(err)
				}
				call := res.Blocks[0]
				if !call.Incomplete || call.Args != `{"path":"/a","text":"hel` || string(res.StopReason) != reason {
					t.Errorf("call %+v, stop reason %s", call, res.StopReason)
				}
				req.Entries = append(req.Entries, message(history.RoleAssistant, res.Blocks...), user("go on"))
				if _, err := c.Stream(t.Context(), req, func(reply.Event) {}); err != nil {
					t.Errorf("the next turn: %v", err)
				}
				if body := string(up.Last().Body); !strings.Contains(body, cutOff) || strings.Contains(body, "hel") {
					t.Errorf("the next turn's request: %s", body)
				}
			})
		}
	}
}

func TestK6_11CallBeforeTheCutIsWhole(t *testing.T) {
	steps := append(upstream.Call("call_1", "read", `{"path":"/a"}`), upstream.Call("call_2", "read", `{}`)...)
	for _, wire := range wires {
		up := newUpstream(t, upstream.Script{StopReason: "max_tokens", Steps: steps})
		res, err := newClient(t, up).Stream(t.Context(), ask(wire, "read"), func(reply.Event) {})
		if err != nil || res.Blocks[0].Incomplete || !res.Blocks[1].Incomplete {
			t.Errorf("%s: blocks %+v, error %v", wire, res.Blocks, err)
		}
	}
}

func TestK6_13RetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	refuse := func(status int, header ...string) upstream.Script {
		s := upstream.Script{Status: status, Header: map[string]string{}}
		for i := 0; i < len(header); i += 2 {
			s.Header[header[i]] = header[i+1]
		}
		return s
	}
	good := upstream.Script{Steps: upstream.Texts("fine")}
	for _, test := range []struct {
		name    string
		scripts []upstream.Script
		delays  []time.Duration
		status  int // of the final error; 0 for success
	}{
		{"seconds", []upstream.Script{refuse(429, "Retry-After", "30"), good}, []time.Duration{30 * time.Second}, 0},
		{"date", []upstream.Script{refuse(429, "Retry-After", now.Add(7*time.Second).Format(http.TimeFormat)), good}, []time.Duration{7 * time.Second}, 0},
		{"milliseconds", []upstream.Script{refuse(429, "Retry-After-Ms", "1500", "Retry-After", "9"), good}, []time.Duration{1500 * time.Millisecond}, 0},
		{"capped", []upstream.Script{refuse(503, "Retry-After", "86400"), good}, []time.Duration{time.Minute}, 0},
		{"500 twice", []upstream.Script{refuse(500), refuse(500), good}, []time.Duration{500 * time.Millisecond, time.Second}, 0},
		{"529 for ever", []upstream.Script{refuse(529), refuse(529), refuse(529), refuse(529), refuse(529), good},
			[]time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}, 529},
		{"401", []upstream.Script{refuse(401), good}, nil, 401},
		{"403", []upstream.Script{refuse(403), good}, nil, 403},
		{"400", []upstream.Script{refuse(400), good}, nil, 400},
		{"404", []upstream.Script{refuse(404), good}, nil, 404},
	} {
		for _, wire := range wires {
			t.Run(test.name+" "+string(wire), func(t *testing.T) {
				up := newUpstream(t, test.scripts...)
				c := newClient(t, up, func(o *Options) { o.Now = func() time.Time { return now } })
				var rec recorder
				_, err := c.Stream(t.Context(), ask(wire, "hi"), rec.on)
				var delays []time.Duration
				for _, r := range rec.retries() {
					delays = append(delays, r.Delay)
				}
				if fmt.Sprint(delays) != fmt.Sprint(test.delays) {
					t.Errorf("delays %v, want %v", delays, test.delays)
				}
				if test.status == 0 && err != nil {
					t.Error(err)
				}
				if test.status != 0 && failureOf(t, err).Status != test.status {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}

func TestK6_13CancelWhileWaiting(t *testing.T) {
	up := newUpstream(t, upstream.Script{Status: 429, Header: map[string]string{"Retry-After": "30"}})
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan struct{})
	var waits atomic.Int32
	c := newClient(t, up, func(o *Options) {
		o.Sleep = func(ctx context.Context, d time.Duration) error {
			waits.Add(1)
			close(waiting)
			return sleep(ctx, d)
		}
	})
	ended := make(chan error)
	go func() {
		_, err := c.Stream(ctx, ask(upstream.Anthropic, "hi"), func(reply.Event) {})
		ended <- err
	}()
	<-waiting
	if _, err := c.Stream(t.Context(), ask(upstream.Anthropic, "another session"), func(reply.Event) {}); err != nil {
		t.Errorf("another session during the wait: %v", err)
	}
	cancel()
	err := <-ended
	if e := failureOf(t, err); e.Kind != KindCancelled || e.Partial || !errors.Is(err, context.Canceled) || waits.Load() != 1 {
		t.Errorf("error %+v after %d waits", e, waits.Load())
	}
}

func TestK6_02CancelWhileUpstreamIsDeaf(t *testing.T) {
	for _, wire := range wires {
		t.Run(string(wire), func(t *testing.T) {
			gate := make(chan struct{})
			up := newUpstream(t)
			t.Cleanup(func() { close(gate) }) // runs before the upstream is closed
			up.Push(upstream.Script{Deaf: true, Steps: append(upstream.Texts("1", "2", "3", "4", "5"), upstream.Hold(gate), upstream.Text("late"))})
			c := newClient(t, up)
			ctx, cancel := context.WithCancel(t.Context())
			seen := ""
			res, err := c.Stream(ctx, ask(wire, "hi"), func(e reply.Event) {
				if seen += e.Text; seen == "12345" {
					cancel()
				}
			})
			if e := failureOf(t, err); e.Kind != KindCancelled || !e.Partial || answerText(res) != "12345" {
				t.Errorf("error %+v, kept %q", e, answerText(res))
			}
			if _, err := c.Stream(t.Context(), ask(wire, "next"), func(reply.Event) {}); err != nil {
				t.Errorf("the next prompt: %v", err)
			}
		})
	}
}

func TestK3_01PictureWithoutWords(t *testing.T) {
	picture := history.Block{Type: history.BlockImage, MIME: "image/png", Data: []byte("picture")}
	for _, wire := range wires {
		up := newUpstream(t)
		c := newClient(t, up)
		req := Request{Model: models[wire], Entries: []Entry{{Kind: EntryMessage, Role: history.RoleUser, Blocks: []history.Block{picture, text("")}, Mark: Mark5m}}}
		res, err := c.Stream(t.Context(), req, func(reply.Event) {})
		if err != nil {
			t.Fatalf("%s: %v", wire, err)
		}
		blocks := up.Last().Messages[0].Blocks
		if len(blocks) != 1 || blocks[0].Type != "image" || (wire == upstream.Anthropic) != (blocks[0].CacheControl != nil) {
			t.Errorf("%s: blocks %+v", wire, blocks)
		}
		req.Entries = append(req.Entries, message(history.RoleAssistant, res.Blocks...), user("hello"))
		if _, err := c.Stream(t.Context(), req, func(reply.Event) {}); err != nil {
			t.Errorf("%s: hello: %v", wire, err)
		}
	}
}

func TestK3_02BlankAnswers(t *testing.T) {
	for _, wire := range wires {
		up := newUpstream(t, upstream.Script{Steps: upstream.Texts("\n")}, upstream.Script{})
		c := newClient(t, up)
		req := Request{Model: models[wire]}
		for _, prompt := range []string{"first", "second", "   ", "hello"} {
			req.Entries = append(req.Entries, user(prompt))
			res, err := c.Stream(t.Context(), req, func(reply.Event) {})
			if err != nil {
				t.Fatalf("%s: %q: %v", wire, prompt, err)
			}
			// An empty reply is stored with an empty text block, as in a session.
			req.Entries = append(req.Entries, message(history.RoleAssistant, append(res.Blocks, text(""))...))
		}
		messages := up.Last().Messages
		if n := len(messages); n != 7 || messages[1].Text() != noAnswer || messages[3].Text() != noAnswer || messages[4].Text() != noText {
			t.Errorf("%s: messages %+v", wire, messages)
		}
	}
}

func TestK2_04PictureForwardedUnchanged(t *testing.T) {
	data := make([]byte, 1_900_000)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	picture := history.Block{Type: history.BlockImage, MIME: "image/png", Data: data}
	result := history.Block{Type: history.BlockToolResult, CallID: "call_1", Content: []history.Block{picture}}
	call := history.Block{Type: history.BlockToolCall, CallID: "call_1", Name: "look", Args: "{}"}
	for _, wire := range wires {
		up := newUpstream(t)
		req := Request{Model: models[wire], Tools: []Tool{{Name: "look"}}, Entries: []Entry{
			message(history.RoleUser, text("what is this picture that I have here, please?"), picture),
			message(history.RoleAssistant, call), message(history.RoleTool, result),
		}}
		if _, err := newClient(t, up).Stream(t.Context(), req, func(reply.Event) {}); err != nil {
			t.Fatalf("%s: %v", wire, err)
		}
		found := 0
		for _, m := range up.Last().Messages {
			for _, b := range append(m.Blocks, contents(m.Blocks)...) {
				if b.Source.Data == base64.StdEncoding.EncodeToString(data) && b.Source.MediaType == "image/png" {
					found++
				}
			}
		}
		if found != 2 {
			t.Errorf("%s: %d of 2 pictures arrived unchanged", wire, found)
		}
	}
}

func contents(blocks []upstream.Block) (out []upstream.Block) {
	for _, b := range blocks {
		out = append(out, b.Content...)
	}
	return out
}

func TestK2_05OutputLimitIsSent(t *testing.T) {
	for _, wire := range wires {
		up := upstream.Start(upstream.Options{Strict: true, Window: 200_000})
		t.Cleanup(up.Close)
		req := ask(wire, strings.Repeat("x", 4*196_750))
		req.MaxOutput = 3_000
		if _, err := newClient(t, up).Stream(t.Context(), req, func(reply.Event) {}); err != nil || up.Last().MaxTokens != 3_000 {
			t.Errorf("%s: max_tokens %d, error %v", wire, up.Last().MaxTokens, err)
		}
		req.MaxOutput = 8_192
		_, err := newClient(t, up).Stream(t.Context(), req, func(reply.Event) {})
		if e := failureOf(t, err); e.Kind != KindContext || e.Status != 400 || e.Limit != 200_000 || e.Counted != 196_750 {
			t.Errorf("%s: error %+v", wire, e)
		}
	}
}

func TestK9_03UsageNumbers(t *testing.T) {
	want := history.Usage{Input: 20_000, CacheRead: 580_000, Output: 500}
	for _, wire := range wires {
		up := newUpstream(t, upstream.Script{Usage: upstream.Usage{Input: 20_000, CacheRead: 580_000, Output: 500}, Steps: append(upstream.Texts("a"), upstream.Tell())})
		var rec recorder
		res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), rec.on)
		if err != nil || res.Usage != want || res.Usage.Context() != 600_000 {
			t.Errorf("%s: usage %+v, error %v", wire, res.Usage, err)
		}
		var told []history.Usage
		for _, e := range rec.events {
			if e.Kind == reply.EventUsage {
				told = append(told, *e.Usage)
			}
		}
		if len(told) < 2 || told[len(told)-1] != want {
			t.Errorf("%s: emitted %+v", wire, told)
		}
	}
}

func TestK8_07EveryBodyIsValid(t *testing.T) {
	for _, wire := range wires {
		up := newUpstream(t)
		for _, bad := range []string{"\xc3\x28", "a\x00b", "\xf0\x9f\x98", "\xed\xa0\xbd"} {
			if _, err := newClient(t, up).Stream(t.Context(), ask(wire, bad), func(reply.Event) {}); err != nil {
				t.Errorf("%s: %q: %v", wire, bad, err)
			}
		}
	}
}
