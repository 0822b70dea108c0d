package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
	"strata/server/wire"
)

// info requests the server's info with a raw id.
func infoFrame(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"_strata/server/info"}`
}

// answersTo waits for a response with a raw id, and returns all that have arrived.
func answersTo(e *testclient.Editor, id string) []testclient.Frame {
	e.Expect(testclient.Answers(id))
	var found []testclient.Frame
	for _, f := range e.Frames() {
		if f.Method == "" && string(f.ID) == id {
			found = append(found, f)
		}
	}
	return found
}

// sendRaw sends frames unchanged.
func sendRaw(t *testing.T, e *testclient.Editor, frames ...string) {
	t.Helper()
	for _, f := range frames {
		if err := e.SendRaw(f); err != nil {
			t.Fatal(err)
		}
	}
}

// refusals sends frames that get an error without an id, and returns the codes.
func refusals(t *testing.T, e *testclient.Editor, frames ...string) []int {
	t.Helper()
	start := len(e.Frames())
	sendRaw(t, e, frames...)
	if err := e.Call("_strata/server/info", nil, nil); err != nil { // responses are in order
		t.Fatal(err)
	}
	var codes []int
	for _, f := range e.Frames()[start:] {
		if f.Method == "" && string(f.ID) == "null" && f.Error != nil {
			codes = append(codes, f.Error.Code)
		}
	}
	return codes
}

func TestK8_01IDs(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	for _, id := range []string{`7`, `"7"`, `"abc"`, `""`, `0`, `-1`, `9007199254740993`} {
		e := ts.editor()
		sendRaw(t, e, infoFrame(id))
		if a := answersTo(e, id); len(a) != 1 || a[0].Error != nil {
			t.Errorf("id %s has %d responses", id, len(a))
		}
	}
	e := ts.editor()
	for _, id := range []string{`1e3`, `7.5`, `null`, `true`, `{}`} {
		if codes := refusals(t, e, infoFrame(id)); fmt.Sprint(codes) != "[-32600]" {
			t.Errorf("the response to id %s is %v", id, codes)
		}
	}
	gates := []chan struct{}{make(chan struct{}), make(chan struct{})}
	for i, id := range []string{`700`, `"700"`} {
		ts.upstream.Push(held(gates[i], "first", id))
		sid := e.NewSession(ts.work)
		sendRaw(t, e, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}}`, id, sid))
		e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	}
	close(gates[1])
	if a := answersTo(e, `"700"`); len(a) != 1 || a[0].Error != nil {
		t.Errorf("the response to \"700\" is %+v", a)
	}
	close(gates[0])
	if a := answersTo(e, `700`); len(a) != 1 || a[0].Error != nil {
		t.Errorf("the response to 700 is %+v", a)
	}
}

func TestK8_02BrokenFrames(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	for frame, want := range map[string]int{
		`{"jsonrpc":"2.0","id":3,`: rpc.CodeParse,
		`xyz`:                      rpc.CodeParse,
		``:                         rpc.CodeParse,
		`5`:                        rpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","method":1,"params":"bar"}`: rpc.CodeInvalidRequest,
	} {
		if codes := refusals(t, e, frame); len(codes) != 1 || codes[0] != want {
			t.Errorf("the response to %q is %v", frame, codes)
		}
	}
	sendRaw(t, e, `{"jsonrpc":"2.0","id":"x","method":1}`)
	if a := answersTo(e, `"x"`); a[0].Error == nil || a[0].Error.Code != rpc.CodeInvalidRequest {
		t.Errorf("response %s", a[0].Raw)
	}
	c := dialRaw(t, ts)
	if err := c.conn.Write(t.Context(), websocket.MessageBinary, []byte("\x00\x01")); err != nil {
		t.Fatal(err)
	}
	c.call(1, "_strata/server/info", nil)
}

func TestK8_02FirstRequestMustBeInitialize(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal())
	wireFault(t, e.Call("session/list", map[string]any{}, nil), rpc.CodeInvalidRequest)
	<-e.Done()
	if closed, ok := e.Err().(*rpc.CloseError); !ok || closed.Code != closeProtocolError {
		t.Errorf("the connection ended with %v", e.Err())
	}
	e = ts.editor()
	wireFault(t, e.Call("initialize", map[string]any{"protocolVersion": 1}, nil), rpc.CodeInvalidRequest)
	mustPrompt(t, e, e.NewSession(ts.work), "hello")
}

func TestK8_03Batches(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	notification := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"sess_00000000000000000000000000"}}`
	for _, batch := range []string{
		`[]`, `[1,2]`, `[` + notification + `,` + notification + `,` + notification + `]`,
		`[` + infoFrame("70") + `,1,` + notification + `]`,
		`[` + strings.Repeat(notification+",", 9_999) + notification + `]`,
		`[[` + infoFrame("71") + `]]`,
	} {
		start := len(e.Frames())
		if codes := refusals(t, e, batch); fmt.Sprint(codes) != "[-32600]" {
			t.Errorf("the response to %.60q is %v", batch, codes)
		}
		if f := e.Frames()[start]; f.Error == nil || !strings.Contains(f.Error.Message, "batch") {
			t.Errorf("the response to %.60q does not mention batches: %s", batch, f.Raw)
		}
	}
}

func TestK8_05IDInFlight(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	gate := make(chan struct{})
	t.Cleanup(func() { close(gate) })
	ts.upstream.Choose(func(*upstream.Request) upstream.Script { return held(gate, "first", "rest") })
	a, b := ts.editor(), ts.editor()
	prompt := func(sid string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":500,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hi"}]}}`, sid)
	}
	first, second, other := a.NewSession(ts.work), a.NewSession(ts.work), b.NewSession(ts.work)
	sendRaw(t, a, prompt(first))
	sendRaw(t, b, prompt(other))
	a.Expect(testclient.Says(first, testclient.AgentChunk, "first"))
	b.Expect(testclient.Says(other, testclient.AgentChunk, "first"))
	if codes := refusals(t, a, prompt(second)); fmt.Sprint(codes) != "[-32600]" {
		t.Errorf("the response to the second is %v", codes)
	}
	if n := len(transcript(t, a, second)); n != 0 {
		t.Errorf("the refused prompt stored %d messages", n)
	}
	cancelled := func(e *testclient.Editor, times int) {
		t.Helper()
		sendRaw(t, e, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":500}}`)
		e.Expect(testclient.Condition{Name: fmt.Sprint(times, " answers to 500"), Met: func(fs testclient.Frames) bool {
			n := 0
			for _, f := range fs {
				if string(f.ID) == "500" && strings.Contains(string(f.Result), `"stopReason":"cancelled"`) {
					n++
				}
			}
			return n == times
		}})
	}
	cancelled(a, 1)
	var info wire.SessionDetails
	if err := b.Call("_strata/session/info", map[string]any{"sessionId": other}, &info); err != nil || info.State != "running" {
		t.Errorf("the other connection's session is %s, error %v", info.State, err)
	}
	sendRaw(t, a, prompt(second)) // the id can be used again
	a.Expect(testclient.Says(second, testclient.AgentChunk, "first"))
	cancelled(a, 2)
	cancelled(b, 1)
}

func TestK8_06DeepNesting(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for _, depth := range []int{9_900, 10_001, 500_000} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		for i, params := range []string{
			`{"sessionId":"` + sid + `","prompt":` + deep + `}`,
			`{"sessionId":"` + sid + `","unknown":` + deep + `}`,
			`{"sessionId":"` + sid + `","messages":[{"role":"tool","content":[{"type":"tool_result","callId":"c","content":` + deep + `}]}]}`,
			`{"sessionId":"` + sid + `","messages":[{"role":"user","content":"x","meta":` + deep + `}]}`,
		} {
			method := []string{"session/prompt", "_strata/session/info", "_strata/history/append", "_strata/history/append"}[i]
			id := fmt.Sprintf(`"%d %d"`, depth, i)
			sendRaw(t, e, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`)
			if a := answersTo(e, id); a[0].Error == nil || a[0].Error.Code != rpc.CodeInvalidRequest {
				t.Errorf("%d levels in %s: %.200s", depth, method, a[0].Raw)
			}
		}
	}
	// The maximum depth is accepted: the value is stored, sent, listed and replayed.
	deep := strings.Repeat("[", 190) + strings.Repeat("]", 190)
	deeper := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	messages := []json.RawMessage{
		json.RawMessage(`{"role":"user","content":"x","meta":` + deep + `}`),
		json.RawMessage(`{"role":"assistant","content":[{"type":"tool_call","callId":"c","name":"n","args":"` + deep + `"}]}`),
		json.RawMessage(`{"role":"tool","content":[{"type":"tool_result","callId":"c","content":[{"type":"text","text":"` + deeper + `"}]}]}`),
	}
	if err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": messages}, nil); err != nil {
		t.Error(err)
	}
	messages[1] = json.RawMessage(`{"role":"assistant","content":[{"type":"tool_call","callId":"c","name":"n","args":"` + deeper + `"}]}`)
	if err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": messages}, nil); err != nil {
		wireFault(t, err, rpc.CodeInvalidParams)
	}
	transcript(t, e, sid)
	mustPrompt(t, e, sid, "hello")
	if err := ts.editor().Call("session/load", map[string]any{"sessionId": sid, "cwd": ts.work}, nil); err != nil {
		t.Error(err)
	}
}

func TestK8_07HalfCharacters(t *testing.T) {
	t.Parallel()
	overWires(t, func(t *testing.T, ts *testServer, _ upstream.Wire) {
		e := ts.editor()
		sid := e.NewSession(ts.work)
		prompt := func(id, text string) {
			t.Helper()
			sendRaw(t, e, `{"jsonrpc":"2.0","id":"`+id+`","method":"session/prompt","params":{"sessionId":"`+sid+`","prompt":[{"type":"text","text":"`+text+`"}]}}`)
			if a := answersTo(e, `"`+id+`"`); a[0].Error != nil {
				t.Fatalf("the reply to prompt %s is %s", text, a[0].Raw)
			}
		}
		prompt("lone", `a\ud83d`)
		prompt("low", `\ude00b`)
		prompt("pair", `\ud83d\ude00`)
		prompt("zero", `a\u0000b`)
		var users []string
		for _, m := range transcript(t, e, sid) {
			if m.Role == "user" {
				users = append(users, m.PlainText())
			}
		}
		if got, want := fmt.Sprintf("%q", users), `["a�" "�b" "😀" "a\x00b"]`; got != want {
			t.Errorf("stored as %s", got)
		}
		long := strings.Repeat("x", wire.MaxToolText-2) + strings.Repeat("😀", 3)
		for cut := range 4 {
			id := fmt.Sprint("call_", cut)
			messages := []any{
				map[string]any{"role": "user", "content": "look"},
				map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_call", "callId": id, "name": "read", "args": "{}"}}},
				map[string]any{"role": "tool", "content": []any{map[string]any{"type": "tool_result", "callId": id, "content": []any{map[string]any{"type": "text", "text": long[cut:]}}}}},
			}
			if err := e.Call("_strata/history/append", map[string]any{"sessionId": sid, "messages": messages}, nil); err != nil {
				t.Fatal(err)
			}
		}
		mustPrompt(t, e, sid, "hello")

		bad := dialRaw(t, ts)
		bad.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}")
		if err := bad.drain(); websocket.CloseStatus(err) != websocket.StatusInvalidFramePayloadData {
			t.Errorf("invalid UTF-8 ended the connection with %v", err)
		}

		other := ts.editor()
		if err := other.Call("session/load", map[string]any{"sessionId": sid, "cwd": ts.work}, nil); err != nil {
			t.Fatal(err)
		}
		for _, f := range other.Frames().Of(sid).Kind("tool_call_update") {
			if strings.Contains(string(f.Raw), "\uFFFD") || !utf8.Valid(f.Raw) {
				t.Errorf("a result that was cut shows half a character: …%s", f.Raw[len(f.Raw)-200:])
			}
		}
		if err := e.Call("_strata/history/clear", map[string]any{"sessionId": sid}, nil); err != nil {
			t.Fatal(err)
		}
		mustPrompt(t, e, sid, "hello")
		for _, r := range ts.upstream.Requests() {
			if !utf8.Valid(r.Body) {
				t.Errorf("request %d is no valid UTF-8", r.N)
			}
		}
	})
}

func TestK8_07HalfCharactersAfterARestart(t *testing.T) {
	t.Parallel()
	ts := startStrict(t, "claude/test")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	sendRaw(t, e, `{"jsonrpc":"2.0","id":"lone","method":"session/prompt","params":{"sessionId":"`+sid+`","prompt":[{"type":"text","text":"a\ud83d"}]}}`)
	answersTo(e, `"lone"`)
	ts.close()
	ts.start(func(o *Options) { o.Sessions.DefaultConfig.Model = "claude/test" })
	mustPrompt(t, ts.editor(), sid, "hello")
}
