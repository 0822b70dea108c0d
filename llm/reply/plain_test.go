package reply

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plainWire is a wire format with its small reader.
type plainWire struct {
	name    string
	decoder func(*Answer) Decoder
	plain   func([]byte) (plainText, bool)
	open    []string // events before the one that is compared
	pool    pool
}

var plainWires = []plainWire{
	{"openai", NewOpenAIStream, openAIPlain, []string{
		"",
		`{"choices":[{"delta":{"content":"before"}}]}`,
		`{"choices":[{"delta":{"content":"half \ud83d"}}]}`,
		`{"choices":[{"delta":{"reasoning":"hm"}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
	}, openAIPool},
	{"anthropic", NewAnthropicStream, anthropicPlain, []string{
		"",
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"before"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half \ud83d"}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
	}, anthropicPool},
}

// recorded are chunks as providers send them, with the text in each.
var recorded = map[string]map[string]plainText{
	"openai": {
		`{"id":"chatcmpl-A1","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" words"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x7"}`: {text: " words"},
		`{"choices":[{"delta":{"content":"a \"b\"\n\u003cc\u003e"},"finish_reason":null,"index":0}],"created":1,"id":"chatcmpl-1","model":"m","object":"chat.completion.chunk"}`:                                                                                                                {text: "a \"b\"\n<c>"},
		`{"id": "1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "\u00e4\t"}, "finish_reason": null}]}`:                                                                                                                                                                  {text: "ä\t"},
		`{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"hm"},"finish_reason":null}]}`:                                                                                                                                                                                      {text: "hm", thinking: true, field: "reasoning_content"},
		`{"provider":"P","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"hm"},"finish_reason":null,"native_finish_reason":null}]}`:                                                                                                                                  {text: "hm", thinking: true, field: "reasoning"},
		"{\"choices\":[{\n\"delta\":{\"content\":\"two lines\"}\n}]}":                                                                                                                                                                                                                           {text: "two lines"},
		`{"choices":[{"delta":{"content":"😀\/\\\b\f\r"}}]}`:                                                                                                                                                                                                                                     {text: "😀/\\\b\f\r"},
	},
	"anthropic": {
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" words"}         }`:    {text: " words"},
		`{"delta":{"text":"a\u0026b","type":"text_delta"},"index":12,"type":"content_block_delta"}`:          {text: "a&b", index: 12},
		`{"type": "content_block_delta", "index": 1, "delta": {"type": "thinking_delta", "thinking": "hm"}}`: {text: "hm", thinking: true, index: 1},
	},
}

func TestPlainTextIsRecognized(t *testing.T) {
	for _, wire := range plainWires {
		for event, want := range recorded[wire.name] {
			if got, ok := wire.plain([]byte(event)); !ok || got != want {
				t.Errorf("%s: %+v, %t, want %+v", event, got, ok, want)
			}
		}
	}
}

// The small readers leave everything that is not certain to be a piece of text to the full decoder.
func TestOtherEventsAreNotPlain(t *testing.T) {
	for _, event := range []string{
		`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`,
		`{"choices":[{"delta":{"content":"x"},"finish_reason":""}]}`,
		`{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":1}}`,
		`{"choices":[{"delta":{"content":"x"}}],"error":null}`,
		`{"choices":[{"delta":{"content":"x"}},{"index":1,"delta":{"content":"y"}}]}`,
		`{"choices":[{"index":1,"delta":{"content":"x"}}]}`,
		`{"choices":[{"index":-0,"delta":{"content":"x"}}]}`,
		`{"choices":[{"index":00,"delta":{"content":"x"}}]}`,
		`{"choices":[{"delta":{"content":"x","tool_calls":[]}}]}`,
		`{"choices":[{"delta":{"content":"x","content":"y"}}]}`,
		`{"choices":[{"delta":{"content":"x"}}],"choices":[]}`,
		`{"choices":[{"delta":{"content":"x","Content":"y"}}]}`,
		`{"choices":[{"delta":{"content":"x","reasoning":"y"}}]}`,
		`{"choices":[{"delta":{"content":["x"]}}]}`,
		`{"choices":[{"delta":{"content":7}}]}`,
		`{"choices":[{"delta":{"content":""}}]}`,
		`{"choices":[{"delta":{"content":"\ud83d"}}]}`,
		`{"choices":[{"delta":{"content":"\ud83d\ude00"}}]}`,
		`{"choices":[{"delta":{"content":"\x"}}]}`,
		`{"choices":[{"delta":{"content":"\u12"}}]}`,
		`{"choices":[{"delta":{"content":"\u00zz"}}]}`,
		`{"choices":[{"delta":{"c\u006fntent":"x"}}]}`,
		"{\"choices\":[{\"delta\":{\"content\":\"a\nb\"}}]}",
		"{\"choices\":[{\"delta\":{\"content\":\"\xc3\x28\"}}]}",
		`{"choices":[{"delta":{"content":"x"},}]}`,
		`{"choices":[{"delta":{"content":"x"}},]}`,
		`{"choices":[{"delta":{"content":"x"}}]`,
		`{"choices":[{"delta":{"content":"x"}}]} {}`,
		`{"choices":[{"delta":{"content":"x`,
		`{"choices":[{"delta":{"content":"x\`,
		`{"choices":[{"message":{"content":"x"}}]}`,
		`{"choices":[],"id":"x"}`, `[DONE]`, `{}`, `{`, `"x"`, ``,
	} {
		if got, ok := openAIPlain([]byte(event)); ok {
			t.Errorf("%s: %+v", event, got)
		}
	}
	for _, event := range []string{
		`{"type":"content_block_start","index":0,"delta":{"type":"text_delta","text":"x"}}`,
		`{"index":0,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"},"usage":{"output_tokens":1}}`,
		`{"type":"content_block_delta","index":0,"delta":{"text":"x","thinking":"y"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"text":"x","text":"y"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"text":""}}`,
		`{"type":"content_block_delta","index":-1,"delta":{"text":"x"}}`,
		`{"type":"content_block_delta","index":1.0,"delta":{"text":"x"}}`,
		`{"type":"content_block_delta","index":9999999999999999999,"delta":{"text":"x"}}`,
		`{"type":"content_block_delta","index":0}`,
	} {
		if got, ok := anthropicPlain([]byte(event)); ok {
			t.Errorf("%s: %+v", event, got)
		}
	}
}

// fullDecoder is a decoder without its small reader.
type fullDecoder struct{ Decoder }

func (fullDecoder) takePlain([]byte) (bool, error) { return false, nil }

// outcome is all that a stream leads to.
type outcome struct {
	Events []Event
	Result Result
	Shown  bool
	Err    string
}

func (w *plainWire) read(body string, full bool) (out outcome) {
	calls := 0
	a := &Answer{Tools: true, On: func(e Event) { out.Events = append(out.Events, e) }, NewID: func() string {
		calls++
		return fmt.Sprint("tc_", calls)
	}}
	d := w.decoder(a)
	if full {
		d = fullDecoder{d}
	}
	err := Read(strings.NewReader(body), d, a)
	out.Result, out.Shown = a.Result(err == nil), a.Shown
	if err != nil {
		out.Err = err.Error()
	}
	return out
}

// compare reads an event, twice, with and without the small reader, at each point of a reply.
func (w *plainWire) compare(t *testing.T, event string) {
	t.Helper()
	for _, before := range w.open {
		body := "data: " + before + "\n\ndata: " + event + "\n\ndata: " + event + "\n\n"
		if diff := cmp.Diff(w.read(body, true), w.read(body, false)); diff != "" {
			t.Fatalf("after %s, the event %s is read in two ways: %s", before, event, diff)
		}
	}
}

// pool holds what random events are made of: the values for the names of members, the most frequent one first.
type pool map[string][]string

var (
	strange = []string{`null`, `0`, `1`, `-1`, `01`, `1.5`, `"x"`, `""`, `"\n"`, `"\ud83d"`, "\"\xff\"", `[]`, `{}`, `[{}]`, `true`, `"x`, ``}
	texts   = []string{`"text"`, `" \"quoted\" "`, `"\u00e4\u000a\/"`, `"ä😀"`, `"\ud83d"`, `"\ude00 end"`, `"\ud83d\ude00"`, "\"\xc3\x28\"", "\"\t\"", `""`, `"\q"`, `null`, `["a","b"]`, `[{"type":"thinking","thinking":"hm"}]`, `3`}
)

var openAIPool = pool{
	"": {"{choices,id,object,created,model}", "{id,choices,usage,obfuscation}", "{choices}", "{choices,error}", "{choices,x_groq}", "{choices,choices}", "{Choices}", "{usage,choices,type}"},
	"choices": {"[{index,delta,finish_reason}]", "[{delta,finish_reason,logprobs}]", "[{delta}]", "[{index,delta},{index,delta}]", "[{delta,message}]",
		"[{delta,text}]", "[]", "[{index,delta,usage,error}]", "{delta}", "[{delta,delta}]"},
	"delta":             {"{content}", "{role,content}", "{content,reasoning_content}", "{reasoning}", "{role,content,refusal,tool_calls,function_call}", "{content,content}", "{Content}", "{}", "{content,Reasoning}", "{content,unknown}"},
	"content":           texts,
	"reasoning_content": {`null`, `"hm"`, `""`, `"\ud83d"`},
	"reasoning":         {`null`, `"hm"`, `""`},
	"refusal":           {`null`, `"no"`},
	"tool_calls":        {`null`, `[]`, `[{"index":0,"id":"d","function":{"name":"g","arguments":"{}"}}]`},
	"function_call":     {`null`, `{"name":"g"}`},
	"index":             {`0`, `1`, `-0`, `00`, `null`, `"0"`},
	"finish_reason":     {`null`, `""`, `"stop"`, `"error"`},
	"usage":             {`null`, `{"prompt_tokens":3}`},
	"error":             {`null`, `"boom"`, `{"message":"boom"}`},
	"role":              {`"assistant"`, `null`, `1`},
	"logprobs":          {`null`, `{"content":[]}`},
	"id":                {`"a"`, `"\\"`, `7`},
	"object":            {`"chat.completion.chunk"`, `"error"`, "\"\xc3\x28\""},
	"created":           {`1760000000`, `0`, `1760000000.25`},
	"model":             {`"m"`, `null`, `"modèle"`},
	"obfuscation":       {`"x7"`},
}

var anthropicPool = pool{
	"":         {"{type,index,delta}", "{delta,type}", "{type,index,delta,usage}", "{type,delta,error}", "{type,type,delta}", "{type,index,delta,content_block}", "{Type,delta}"},
	"type":     {`"content_block_delta"`, `"content_block_start"`, `"text_delta"`, `"error"`, `null`},
	"index":    {`0`, `1`, `2`, `01`, `-1`, `1e0`, `null`, `999999999999`},
	"delta":    {"{type,text}", "{text}", "{type,thinking}", "{thinking,text}", "{type,text,text}", "{type,partial_json}", "{Text}", "{}", "{type,text,signature}", "{text,stop_reason}"},
	"text":     texts,
	"thinking": texts,
	"usage":    {`null`, `{"output_tokens":3}`},
	"error":    {`null`, `{"message":"boom"}`},
}

// value returns a random value of the member. A template {a,b} is an object with these members, in any order.
func (p pool) value(random *rand.Rand, name string) string {
	values := p[name]
	if values == nil || random.IntN(60) == 0 {
		values = strange
	}
	template := values[0]
	if random.IntN(4) == 0 {
		template = values[random.IntN(len(values))]
	}
	if strings.Contains(template, `"`) || !strings.Contains(template, "{") {
		return template
	}
	var out strings.Builder
	for rest := template; rest != ""; {
		before, inner, ok := strings.Cut(rest, "{")
		out.WriteString(before)
		if !ok {
			break
		}
		inner, rest, _ = strings.Cut(inner, "}")
		out.WriteString(p.object(random, inner))
	}
	return out.String()
}

func (p pool) object(random *rand.Rand, names string) string {
	members := strings.Split(names, ",")
	random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	blank := func() string {
		switch random.IntN(200) {
		case 0:
			return "\u00a0" // none in JSON
		case 1, 2, 3, 4, 5:
			return " \t "[:1+random.IntN(3)]
		}
		return ""
	}
	for i, name := range members {
		if name == "" {
			return "{}"
		}
		members[i] = blank() + `"` + name + `"` + blank() + ":" + blank() + p.value(random, name) + blank()
	}
	return "{" + strings.Join(members, ",") + "}"
}

// Random events, most of them close to a piece of text, are read in the same way with and without the small reader.
func TestPlainTextIsReadAsInFull(t *testing.T) {
	for _, wire := range plainWires {
		t.Run(wire.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			plain := 0
			const events = 1000
			for range events {
				event := wire.pool.value(random, "")
				if _, ok := wire.plain([]byte(event)); ok {
					plain++
				}
				wire.compare(t, event)
			}
			if plain < events/20 || plain > events*9/10 {
				t.Errorf("%d of %d events are plain: the comparison says little", plain, events)
			}
		})
	}
}

func FuzzPlainText(f *testing.F) {
	for _, events := range recorded {
		for event := range events {
			f.Add(event)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, wire := range plainWires {
		for range 20 {
			f.Add(wire.pool.value(random, ""))
		}
	}
	f.Fuzz(func(t *testing.T, event string) {
		for _, wire := range plainWires {
			wire.compare(t, event)
		}
	})
}
