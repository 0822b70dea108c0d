package upstream

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// client keeps no idle connections, so that none outlives its server.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

var paths = map[Wire]string{Anthropic: "/v1/messages", OpenAI: "/v1/chat/completions"}

func start(t *testing.T, opt Options) *Server {
	t.Helper()
	s := Start(opt)
	t.Cleanup(s.Close)
	return s
}

func post(t *testing.T, s *Server, wire Wire, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+paths[wire], strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func prompt(text string) string {
	return fmt.Sprintf(`{"model":"m","max_tokens":10,"messages":[{"role":"user","content":%q}]}`, text)
}

func TestEndlessEndsWithItsGate(t *testing.T) {
	s := start(t, Options{})
	gate := make(chan struct{})
	number := func(n int) string { return fmt.Sprintf("part %d. ", n) }
	s.Push(Script{Steps: []Step{Endless(gate, 0, number), Text("The end.")}})
	lines := bufio.NewScanner(post(t, s, OpenAI, prompt("hello")).Body)
	var next int
	var ended, done bool
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.Contains(line, fmt.Sprintf("part %d. ", next)):
			if next++; next == 100 {
				close(gate)
			}
		case strings.Contains(line, "part "):
			t.Fatalf("%s follows part %d", line, next-1)
		case strings.Contains(line, "The end."):
			ended = true
		case strings.Contains(line, "[DONE]"):
			done = true
		}
	}
	if next < 100 || !ended || !done {
		t.Errorf("%d parts, end %t, done %t, error %v", next, ended, done, lines.Err())
	}
}

func TestDefaultEchoes(t *testing.T) {
	for wire, end := range map[Wire]string{Anthropic: "message_stop", OpenAI: "[DONE]"} {
		s := start(t, Options{Strict: true})
		res := post(t, s, wire, prompt("hello"))
		body, err := io.ReadAll(res.Body)
		if text := string(body); err != nil || res.StatusCode != 200 || !strings.Contains(text, "hello") || !strings.Contains(text, end) {
			t.Errorf("%s: status %d, error %v: %s", wire, res.StatusCode, err, text)
		}
		if r := s.Last(); r.Wire != wire || r.Model != "m" || r.MaxTokens != 10 || r.LastText() != "hello" || r.N != 1 {
			t.Errorf("%s: recorded %+v", wire, r)
		}
	}
}

func TestDefaultCounts(t *testing.T) {
	script := Default(&Request{Messages: []Message{{Role: "user", Blocks: []Block{{Type: "text", Text: "Count slowly from 1 to 400, please"}}}}})
	if n := len(script.Steps); n != 400 || script.Steps[399].text != "400\n" || script.Gap == 0 {
		t.Errorf("%d steps", n)
	}
}

func TestQueueGoesBeforeTheFunction(t *testing.T) {
	s := start(t, Options{})
	s.Push(Script{Status: 529}, Script{Status: 429, Body: "busy", Header: map[string]string{"Retry-After": "3"}})
	s.Choose(func(r *Request) Script { return Script{Status: 400 + r.N} })
	for _, want := range []int{529, 429, 403} {
		if res := post(t, s, OpenAI, prompt("x")); res.StatusCode != want {
			t.Errorf("status %d, want %d", res.StatusCode, want)
		}
	}
	if len(s.Requests()) != 3 {
		t.Errorf("%d requests", len(s.Requests()))
	}
}

func TestCutIsNoEnd(t *testing.T) {
	s := start(t, Options{})
	s.Push(Script{Steps: []Step{Text("a"), Cut()}})
	body, err := io.ReadAll(post(t, s, Anthropic, prompt("x")).Body)
	if err == nil || !strings.Contains(string(body), `"text":"a"`) {
		t.Errorf("error %v: %s", err, body)
	}
}

func TestHoldEndsWithTheClient(t *testing.T) {
	s := start(t, Options{})
	s.Push(Script{Steps: []Step{Text("a"), Hold(nil)}})
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+paths[OpenAI], strings.NewReader(prompt("x")))
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data:") {
		t.Errorf("got %q, error %v", line, err)
	}
	cancel() // otherwise the server's Close would wait forever
}

func TestRecordIsBounded(t *testing.T) {
	s := &Server{}
	for range maxRecorded + 5 {
		s.record(&Request{})
	}
	if all := s.Requests(); len(all) != maxRecorded || all[0].N != 6 || s.Last().N != maxRecorded+5 {
		t.Errorf("%d recorded, from %d", len(all), all[0].N)
	}
}

func TestKey(t *testing.T) {
	s := start(t, Options{Key: "right"})
	if res := post(t, s, OpenAI, prompt("x")); res.StatusCode != 401 {
		t.Errorf("status %d without a key", res.StatusCode)
	}
}

func TestBadRequests(t *testing.T) {
	s := start(t, Options{})
	for wire := range paths {
		if res := post(t, s, wire, "{"); res.StatusCode != 400 {
			t.Errorf("%s: status %d", wire, res.StatusCode)
		}
	}
}

func TestRefusals(t *testing.T) {
	const u = `{"role":"user","content":"hi"}`
	tools := `"tools":[{"name":"f","input_schema":{"type":"object"},"function":{"name":"f"}}],`
	use := `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"ok"}]}`
	calls := `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]}`
	answer := `{"role":"tool","tool_call_id":"1","content":"ok"}`
	mark := `"cache_control":{"type":"ephemeral","ttl":"5m"}`
	marked := func(n int) string {
		return `{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x",`+mark+`},`, n), ",") + `]}`
	}
	for _, test := range []struct {
		wire           Wire
		head, messages string
		want           string // part of the refusal; empty: accepted
	}{
		{Anthropic, "", u, ""},
		{Anthropic, tools, u + "," + use + "," + result, ""},
		{Anthropic, "", marked(4), ""},
		{Anthropic, "", "", "at least one message"},
		{Anthropic, "", `{"role":"user","content":[]}`, "must not be empty"},
		{Anthropic, "", `{"role":"user","content":" \n"}`, "non-whitespace"},
		{Anthropic, "", `{"role":"user","content":[{"type":"text","text":"",` + mark + `}]}`, "cache_control cannot be set for empty"},
		{Anthropic, `"system":[{"type":"text","text":" "}],`, u, "system: "},
		{Anthropic, "", marked(5), "maximum of 4"},
		{Anthropic, "", `{"role":"user","content":[{"type":"text","text":"x",` + mark + `},{"type":"text","text":"x","cache_control":{"ttl":"1h"}}]}`, "must not come after"},
		{Anthropic, `"tools":[{"name":"f","input_schema":{"type":"object"},` + mark + `}],`, marked(4), "maximum of 4"},
		{Anthropic, "", `{"role":"user","content":[{"type":"text","text":"x","cache_control":{"ttl":"2h"}}]}`, "neither 5m nor 1h"},
		{Anthropic, `"tools":[{"name":"f","input_schema":{}}],`, u, "should be 'object'"},
		{Anthropic, `"tools":[{"name":"f g","input_schema":{"type":"object"}}],`, u, "malformed"},
		{Anthropic, strings.Replace(tools, "}}]", "}},"+tools[9:len(tools)-2]+"]", 1), u, "must be unique"},
		{Anthropic, `"thinking":{"type":"enabled","budget_tokens":10},`, u, "between 1024 and max_tokens"},
		{Anthropic, "", u + "," + u, "alternate"},
		{Anthropic, "", `{"role":"system","content":"x"}`, "alternate"},
		{Anthropic, "", u + `,{"role":"assistant","content":"x"}`, "end with a user"},
		{Anthropic, "", u + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]},` + u, "cannot be thinking"},
		{Anthropic, "", u + "," + use + "," + result, "tools must be declared"},
		{Anthropic, tools, u + "," + use + "," + u, "without tool_result"},
		{Anthropic, tools, result, "unexpected tool_use_id"},
		{Anthropic, tools, u + "," + use + `,{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"1","content":"ok"}]}`, "must come first"},
		{Anthropic, tools, u + `,{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":7}]},` + result, "must be an object"},
		{OpenAI, "", `{"role":"system","content":"x"},` + u, ""},
		{OpenAI, tools, u + "," + calls + "," + answer + "," + u, ""},
		{OpenAI, "", u + `,{"role":"system","content":"x"}`, "must come first"},
		{OpenAI, "", u + "," + calls + "," + answer, "without tools"},
		{OpenAI, tools, u + "," + calls + "," + u, "followed by tool messages"},
		{OpenAI, tools, u + "," + calls, "followed by tool messages"},
		{OpenAI, tools, u + "," + answer, "without a preceding call"},
		{OpenAI, "", u + `,{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`, "no pictures"},
	} {
		req, err := parse(test.wire, []byte(`{"model":"m","max_tokens":10,`+test.head+`"messages":[`+test.messages+`]}`))
		if err != nil {
			t.Fatalf("%s: %v", test.messages, err)
		}
		if got := Refusal(req, 0); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s %s%s: %q, want %q", test.wire, test.head, test.messages, got, test.want)
		}
	}
}

func TestWindow(t *testing.T) {
	req, _ := parse(OpenAI, []byte(prompt(strings.Repeat("word", 100))))
	if Refusal(req, 110) != "" || !strings.Contains(Refusal(req, 109), "exceed context limit: 100 + 10 > 109") {
		t.Errorf("at 110: %q, at 109: %q", Refusal(req, 110), Refusal(req, 109))
	}
}
