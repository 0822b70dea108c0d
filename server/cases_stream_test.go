package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/server/wire"
)

// models contains a model of each wire format.
var models = map[upstream.Wire]string{upstream.Anthropic: "claude/test", upstream.OpenAI: "local/test"}

// overWires runs a test against a strict provider of each wire format.
func overWires(t *testing.T, test func(t *testing.T, ts *testServer, format upstream.Wire)) {
	for format, model := range models {
		t.Run(string(format), func(t *testing.T) {
			test(t, startStrict(t, model), format)
		})
	}
}

// startStrict starts a server whose provider refuses the same requests as real providers.
func startStrict(t *testing.T, model string) *testServer {
	t.Helper()
	return startServerOn(t, storeDefaults, upstream.Options{Strict: true}, func(o *Options) { o.Sessions.DefaultConfig.Model = model })
}

// checkShown fails if the received text of a reply differs from the stored text.
func checkShown(t *testing.T, frames testclient.Frames, stored []wire.Message) {
	t.Helper()
	shown := make(map[string]string)
	for _, f := range frames.Kind(testclient.AgentChunk) {
		shown[f.Message] += f.Text
	}
	for i := range stored {
		m := &stored[i]
		if m.Role != history.RoleAssistant {
			continue
		}
		if text := m.PlainText(); text != shown[m.ID] {
			t.Errorf("message %s: shown %d bytes %.60q, stored %d bytes %.60q", m.ID, len(shown[m.ID]), shown[m.ID], len(text), text)
		}
		delete(shown, m.ID)
	}
	for id, text := range shown {
		t.Errorf("message %s is shown as %.60q and not stored", id, text)
	}
}

func TestK6_01TwoPromptsAtOnce(t *testing.T) {
	t.Parallel()
	const rounds = 50
	ts := startStrict(t, "claude/test")
	witness, sid := attached(t, ts)
	a, b, c := ts.editor(), ts.editor(), ts.editor()
	for _, e := range []*testclient.Editor{a, b} { // before the first reply, which may be complete when the other prompt arrives
		if _, err := e.Attach(sid, testclient.Place{}); err != nil {
			t.Fatal(err)
		}
	}
	answered := 0
	for round := range rounds {
		turns := []*testclient.Turn{a.Start(sid, fmt.Sprintf("a%d", round)), b.Start(sid, fmt.Sprintf("b%d", round))}
		third := c.Go([]string{"_strata/history/compact", "_strata/history/clear"}[round/10%2], map[string]any{"sessionId": sid})
		for _, turn := range turns {
			reply, err := turn.Wait()
			if err != nil {
				wireFault(t, err, wire.CodeBusy)
				continue
			}
			answered++
			if reply.StopReason != "end_turn" {
				t.Errorf("round %d ended with %s", round, reply.StopReason)
			}
		}
		if err := third.Wait(nil); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
	stored := transcript(t, c, sid)
	if answered < rounds || len(stored) != 2*answered {
		t.Errorf("%d messages after %d prompts with a reply", len(stored), answered)
	}
	for i := range stored {
		if want := []history.Role{history.RoleUser, history.RoleAssistant}[i%2]; stored[i].Role != want {
			t.Fatalf("message %d is the %s's", i, stored[i].Role)
		}
		if i%2 == 1 && !strings.Contains(stored[i].PlainText(), " to: "+stored[i-1].PlainText()+".") {
			t.Errorf("the reply to %q is %q", stored[i-1].PlainText(), stored[i].PlainText())
		}
	}
	if err := witness.Call("_strata/debug/quiesce", nil, nil); err != nil {
		t.Fatal(err)
	}
	last := stored[len(stored)-1]
	witness.Expect(testclient.SeesTimes(sid, "turn_finished", answered), testclient.Says(sid, testclient.AgentChunk, last.PlainText()))
	for _, e := range []*testclient.Editor{witness, a, b} {
		checkShown(t, e.Frames().Of(sid), stored)
	}
	if faults := witness.Frames().Faults(sid); len(faults) > 0 {
		t.Errorf("events: %q", faults)
	}
}

func TestK6_02CancelWhileTheProviderIsDeaf(t *testing.T) {
	t.Parallel()
	overWires(t, func(t *testing.T, ts *testServer, _ upstream.Wire) {
		gate := make(chan struct{})
		t.Cleanup(func() { close(gate) })
		ts.upstream.Push(upstream.Script{Deaf: true, Steps: append(upstream.Texts("1", "2", "3", "4", "5"), upstream.Hold(gate), upstream.Text("late"))})
		e, sid := attached(t, ts)
		turn := e.Start(sid, "hello")
		e.Expect(testclient.Says(sid, testclient.AgentChunk, "12345"))
		if err := e.Cancel(sid); err != nil {
			t.Fatal(err)
		}
		if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
			t.Fatalf("ended with %q, error %v", reply.StopReason, err)
		}
		next := mustPrompt(t, e, sid, "next")
		if strings.Contains(e.Frames().Text(testclient.AgentChunk), "late") {
			t.Error("a chunk of the cancelled turn arrived after its end")
		}
		want := fmt.Sprintf("user complete \"hello\"\nassistant cancelled \"12345\"\nuser complete \"next\"\nassistant complete %q\n", next.Said())
		if got := chatOf(transcript(t, e, sid)); got != want {
			t.Errorf("the transcript is\n%s", got)
		}
		checkShown(t, e.Frames().Of(sid), transcript(t, e, sid))
	})
}

func TestK6_02CancelWhileNothingRuns(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for range 3 {
		if err := e.Cancel(sid); err != nil {
			t.Fatal(err)
		}
		mustPrompt(t, e, sid, "hello")
	}
	if err := e.Cancel("sess_00000000000000000000000000"); err != nil {
		t.Fatal(err)
	}
	mustPrompt(t, e, sid, "hello")
}

func TestK6_02CancelRightBehindThePrompt(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.upstream.Choose(func(r *upstream.Request) upstream.Script {
		if strings.HasSuffix(r.LastText(), "hello") {
			return upstream.Script{Steps: upstream.Texts("fine")}
		}
		return held(nil, "never", "ending")
	})
	e := ts.editor()
	for range 10 {
		sid := e.NewSession(ts.work)
		for range 3 {
			turn := e.Start(sid, "talk for ever")
			if err := e.Cancel(sid); err != nil {
				t.Fatal(err)
			}
			if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
				t.Fatalf("ended with %q, error %v", reply.StopReason, err)
			}
		}
		mustPrompt(t, e, sid, "hello")
		checkShown(t, e.Frames().Of(sid), transcript(t, e, sid))
	}
}

func TestK6_02CancelFromAnotherClient(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	gate := make(chan struct{})
	t.Cleanup(func() { close(gate) })
	ts.upstream.Push(held(gate, "first", "rest"))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	turn := e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	other := ts.editor()
	if err := other.Call("session/resume", map[string]any{"sessionId": sid, "cwd": ts.work}, nil); err != nil {
		t.Fatal(err)
	}
	cancel := func(turnID string) {
		params := map[string]any{"sessionId": sid, "_meta": map[string]any{"strata": map[string]any{"turnId": turnID}}}
		if err := other.Notify("session/cancel", params); err != nil {
			t.Fatal(err)
		}
	}
	var info wire.SessionDetails
	cancel("turn_00000000000000000000000000") // another turn: no effect
	if err := other.Call("_strata/session/info", map[string]any{"sessionId": sid}, &info); err != nil || info.State != "running" {
		t.Fatalf("the session is %s, error %v", info.State, err)
	}
	cancel(info.Running)
	if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
		t.Errorf("ended with %q, error %v", reply.StopReason, err)
	}
	if m := lastMessage(t, other, sid); m.Status != history.StatusCancelled || m.PlainText() != "first" {
		t.Errorf("stored as %s: %q", m.Status, m.PlainText())
	}
}

func TestK6_02CancelOfTheRequest(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	gate := make(chan struct{})
	t.Cleanup(func() { close(gate) })
	ts.upstream.Push(held(gate, "first", "rest"))
	e := ts.editor()
	sid := e.NewSession(ts.work)
	turn := e.Start(sid, "hello")
	e.Expect(testclient.Says(sid, testclient.AgentChunk, "first"))
	if err := turn.Cancel(); err != nil {
		t.Fatal(err)
	}
	if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
		t.Errorf("ended with %q, error %v", reply.StopReason, err)
	}
	mustPrompt(t, e, sid, "next")
}

// burst returns a reply of n deltas without pauses, and its text.
func burst(n int, word string) (upstream.Script, string) {
	var sse, said strings.Builder
	for i := range n {
		text := fmt.Sprintf("%s%d ", word, i)
		said.WriteString(text)
		fmt.Fprintf(&sse, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", text)
	}
	return upstream.Script{Steps: []upstream.Step{upstream.Raw(sse.String())}}, said.String()
}

func TestK6_04ChunksComeBeforeTheResult(t *testing.T) {
	t.Parallel()
	for _, sessions := range []int{1, 50} {
		t.Run(fmt.Sprint(sessions, " sessions"), func(t *testing.T) {
			ts := startServer(t)
			script, want := burst(2000, "w")
			ts.upstream.Choose(func(*upstream.Request) upstream.Script { return script })
			e := ts.editor()
			turns := make(map[string]*testclient.Turn)
			for range sessions {
				sid := e.NewSession(ts.work)
				turns[sid] = e.Start(sid, "go")
			}
			for sid, turn := range turns {
				reply, err := turn.Wait()
				if err != nil {
					t.Fatal(err)
				}
				if said := reply.Said(); said != want {
					t.Errorf("%d of %d bytes arrived before the result", len(said), len(want))
				}
				if m := lastMessage(t, e, sid); m.PlainText() != want || m.Status != history.StatusComplete {
					t.Errorf("stored as %s with %d bytes", m.Status, len(m.PlainText()))
				}
			}
			for sid := range turns {
				if said := e.Frames().Of(sid).Text(testclient.AgentChunk); said != want {
					t.Errorf("shown %d of %d bytes", len(said), len(want))
				}
			}
		})
	}
}

func TestK6_06ErrorInsideTheStream(t *testing.T) {
	t.Parallel()
	type data struct {
		Status  int
		Partial bool
	}
	overloaded := upstream.Fail("overloaded_error", "Overloaded")
	overWires(t, func(t *testing.T, ts *testServer, format upstream.Wire) {
		for _, test := range []struct {
			name   string
			script upstream.Script
		}{
			{"error after text", upstream.Script{Steps: append(upstream.Texts("a", "b", "c"), overloaded)}},
			{"no end", upstream.Script{Steps: upstream.Texts("a", "b", "c"), NoEnd: true}},
		} {
			t.Run(test.name, func(t *testing.T) {
				e, sid := attached(t, ts)
				asked := len(ts.upstream.Requests())
				ts.upstream.Push(test.script)
				turn := e.Start(sid, "hello")
				_, err := turn.Wait()
				if d := faultData[data](t, wireFault(t, err, wire.CodeProvider)); !d.Partial {
					t.Errorf("error %+v", d)
				}
				if n := len(ts.upstream.Requests()) - asked; n != 1 {
					t.Errorf("called %d times", n)
				}
				if m := lastMessage(t, e, sid); m.PlainText() != "abc" || m.Status != history.StatusFailed {
					t.Errorf("stored as %s: %q", m.Status, m.PlainText())
				}
				mustPrompt(t, e, sid, "next")
				checkShown(t, e.Frames().Of(sid), transcript(t, e, sid))
			})
		}
		for name, script := range map[string]upstream.Script{
			"error before text": {Steps: []upstream.Step{overloaded}},
			"empty and no end":  {NoEnd: true},
		} {
			t.Run(name, func(t *testing.T) {
				e, sid := attached(t, ts)
				ts.upstream.Push(script, upstream.Script{Steps: upstream.Texts("fine")})
				if reply := mustPrompt(t, e, sid, "hello"); reply.Said() != "fine" || len(reply.Frames.Kind("retrying")) != 1 {
					t.Errorf("text %q after %d retries", reply.Said(), len(reply.Frames.Kind("retrying")))
				}
				if got := len(transcript(t, e, sid)); got != 2 {
					t.Errorf("%d messages", got)
				}
			})
		}
	})
}

func TestK6_07DroppedConnection(t *testing.T) {
	t.Parallel()
	overWires(t, func(t *testing.T, ts *testServer, _ upstream.Wire) {
		e, sid := attached(t, ts)
		ts.upstream.Push(upstream.Script{Steps: append(upstream.Texts("1 ", "2 ", "3 ", "4 ", "5 "), upstream.Cut())})
		_, err := e.Prompt(sid, "hello")
		wireFault(t, err, wire.CodeProvider)
		if n := len(ts.upstream.Requests()); n != 1 {
			t.Errorf("called %d times", n)
		}
		if m := lastMessage(t, e, sid); m.PlainText() != "1 2 3 4 5 " || m.Status != history.StatusFailed {
			t.Errorf("stored as %s: %q", m.Status, m.PlainText())
		}
		ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Cut()}}, upstream.Script{Steps: upstream.Texts("fine")})
		if reply := mustPrompt(t, e, sid, "again"); reply.Said() != "fine" || len(ts.upstream.Requests()) != 3 {
			t.Errorf("text %q after %d calls", reply.Said(), len(ts.upstream.Requests()))
		}
		checkShown(t, e.Frames().Of(sid), transcript(t, e, sid))
	})
}

// splitPair is an SSE stream for each wire format whose deltas split an emoji's surrogate pair.
var splitPair = map[upstream.Wire][]upstream.Step{
	upstream.Anthropic: {
		upstream.Raw(`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"),
		upstream.Raw(`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}` + "\n\n"),
		upstream.Raw(`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00b"}}` + "\n\n"),
	},
	upstream.OpenAI: {
		upstream.Raw(`data: {"choices":[{"index":0,"delta":{"content":"a\ud83d"},"finish_reason":null}]}` + "\n\n"),
		upstream.Raw(`data: {"choices":[{"index":0,"delta":{"content":"\ude00b"},"finish_reason":null}]}` + "\n\n"),
	},
}

func TestK6_08CharactersSplitBetweenChunks(t *testing.T) {
	t.Parallel()
	text := "汉字 العربية 😀👩‍👩‍👧 e\u0301 \U0001D11E"
	overWires(t, func(t *testing.T, ts *testServer, format upstream.Wire) {
		e, sid := attached(t, ts)
		ts.upstream.Push(
			upstream.Script{Steps: upstream.Texts(text[:len("汉字 العربية 😀")], text[len("汉字 العربية 😀"):]), ByteAtATime: true},
			upstream.Script{Steps: splitPair[format]},
		)
		for _, want := range []string{text, "a😀b"} {
			if said := mustPrompt(t, e, sid, "hello").Said(); said != want {
				t.Errorf("text %q", said)
			}
			if m := lastMessage(t, e, sid); m.PlainText() != want {
				t.Errorf("stored %q", m.PlainText())
			}
		}
	})
}

// oddStreams are streams with the reply "full answer" in unusual forms that the SSE rules allow.
var oddStreams = map[upstream.Wire]string{
	upstream.Anthropic: ": keep-alive\n\n:\n\n" +
		"event: message_start\r\ndata:{\"type\":\"message_start\",\r\ndata: \"message\":{\"usage\":{\"input_tokens\":3}}}\r\n\r\n" +
		"event: ping\ndata: {\"type\": \"ping\"}\n\n" +
		"data:{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"full\"}}\n\n" +
		": keep-alive\ndata: {\"type\":\"content_block_delta\",\"index\":0,\ndata: \"delta\":{\"type\":\"text_delta\",\"text\":\" answer\"}}\n\n" +
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}",
	upstream.OpenAI: ": keep-alive\n\n:\n\n" +
		"data:{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"full\"},\r\ndata: \"finish_reason\":null}]}\r\n\r\n" +
		": keep-alive\n\nevent: ping\ndata: {}\n\n" +
		"data: {\"choices\":[{\"delta\":{\"content\":\" answer\"}}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" +
		"data: [DONE]\n\ndata: and more bytes\n\n",
}

func TestK6_09EventStreamRules(t *testing.T) {
	t.Parallel()
	overWires(t, func(t *testing.T, ts *testServer, format upstream.Wire) {
		ts.upstream.Push(upstream.Script{Bare: true, Steps: []upstream.Step{upstream.Raw(oddStreams[format])}})
		e, sid := attached(t, ts)
		if said := mustPrompt(t, e, sid, "hello").Said(); said != "full answer" {
			t.Errorf("text %q", said)
		}
	})
}

// maxSessionFrame is the maximum size of a frame with a session's text, in bytes.
const maxSessionFrame = 256 << 10

func TestK6_10LargeDataLines(t *testing.T) {
	long(t)
	t.Parallel()
	overWires(t, func(t *testing.T, ts *testServer, format upstream.Wire) {
		e := ts.editor()
		texts := map[string]string{
			"70 KB":            strings.Repeat("seventy ", 70_000/8),
			"1.2 MB":           strings.Repeat("megabyte 😀 ", 1_200_000/14),
			"500 KB to escape": strings.Repeat("\x01\x02", 250_000),
		}
		if format == upstream.OpenAI { // counting its tokens takes long
			texts["1.9 MB"] = strings.Repeat("several ", 1_900_000/8)
		}
		for name, text := range texts {
			sid := e.NewSession(ts.work)
			ts.upstream.Push(upstream.Script{Steps: upstream.Texts(text, "end")})
			reply := mustPrompt(t, e, sid, "hello")
			if said := reply.Said(); said != text+"end" {
				t.Errorf("%s: text has %d of %d bytes", name, len(said), len(text)+3)
			}
			if m := lastMessage(t, e, sid); m.PlainText() != text+"end" || m.Status != history.StatusComplete {
				t.Errorf("%s: stored as %s with %d bytes", name, m.Status, len(m.PlainText()))
			}
			for _, f := range reply.Frames {
				if len(f.Raw) > maxSessionFrame {
					t.Errorf("%s: a frame of %d bytes", name, len(f.Raw))
				}
			}
		}
	})
}

func TestK6_10LargeToolArguments(t *testing.T) {
	long(t)
	t.Parallel()
	args := `{"text":"` + strings.Repeat("megabyte ", 1_200_000/9) + `"}`
	overWires(t, func(t *testing.T, ts *testServer, _ upstream.Wire) {
		e, sid := attached(t, ts)
		ts.upstream.Push(upstream.Script{Steps: upstream.Call("call_1", "write", args)})
		if _, err := e.Prompt(sid, "hello"); err != nil {
			t.Fatal(err)
		}
		if b := lastReply(t, e, sid).Blocks[0]; b.Args != args || b.Incomplete {
			t.Errorf("stored %d bytes of arguments, incomplete %v", len(b.Args), b.Incomplete)
		}
		mustPrompt(t, e, sid, "next")
	})
}

func TestK6_11CutToolArguments(t *testing.T) {
	t.Parallel()
	overWires(t, func(t *testing.T, ts *testServer, _ upstream.Wire) {
		for _, reported := range []string{"max_tokens", "tool_use"} {
			t.Run(reported, func(t *testing.T) {
				e, sid := attached(t, ts)
				call := upstream.Call("call_1", "write", `{"path":"/a",`, `"text":"hel`)
				ts.upstream.Push(upstream.Script{StopReason: reported, Steps: append(upstream.Texts("Writing. "), call...)})
				reply, err := e.Prompt(sid, "write")
				want := map[string]string{"max_tokens": "max_tokens", "tool_use": "end_turn"}[reported]
				if err != nil || reply.StopReason != want {
					t.Errorf("ended with %q, error %v", reply.StopReason, err)
				}
				m := lastReply(t, e, sid)
				if b := m.Blocks[len(m.Blocks)-1]; b.Type != history.BlockToolCall || !b.Incomplete {
					t.Errorf("stored as %+v", b)
				}
				mustPrompt(t, e, sid, "go on")
				if body := string(ts.upstream.Last().Body); strings.Contains(body, `hel`) {
					t.Errorf("the cut arguments were sent back: %s", body)
				}
				other := ts.editor()
				if err := other.Call("session/load", map[string]any{"sessionId": sid, "cwd": ts.work}, nil); err != nil {
					t.Fatal(err)
				}
				for _, f := range other.Frames().Of(sid).Kind("tool_call") {
					if !strings.Contains(string(f.Raw), `"status":"failed"`) {
						t.Errorf("the call is shown as %s", f.Raw)
					}
				}
			})
		}
	})
}

// startClient starts a server on a strict provider, with options for the model client.
func startClient(t *testing.T, model string, opt llm.Options) *testServer {
	t.Helper()
	up := upstream.Start(upstream.Options{Strict: true})
	t.Cleanup(up.Close)
	opt.Providers = map[string]llm.ProviderConfig{
		"claude": {Kind: llm.Anthropic, BaseURL: up.URL}, "local": {Kind: llm.OpenAI, BaseURL: up.OpenAIURL()},
	}
	client, err := llm.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	ts := &testServer{t: t, upstream: up, dir: t.TempDir(), work: t.TempDir()}
	ts.start(func(o *Options) {
		o.Models = newModels(client)
		o.Sessions.DefaultConfig.Model = model
	})
	return ts
}

// withSleep starts a server that calls sleep between attempts.
func withSleep(t *testing.T, sleep func(context.Context, time.Duration) error) *testServer {
	t.Helper()
	return startClient(t, "claude/test", llm.Options{Sleep: sleep})
}

func TestK6_13CancelWhileTheProviderWantsAWait(t *testing.T) {
	t.Parallel()
	ts := withSleep(t, func(ctx context.Context, _ time.Duration) error {
		<-ctx.Done()
		return ctx.Err()
	})
	ts.upstream.Push(upstream.Script{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "30"}})
	e, sid := attached(t, ts)
	turn := e.Start(sid, "hello")
	e.Expect(testclient.Sees(sid, "retrying"))
	shown := string(e.Frames().Of(sid).Kind("retrying")[0].Params)
	if !strings.Contains(shown, `"delayMs":30000`) || !strings.Contains(shown, `"status":429`) {
		t.Errorf("the wait is shown as %s", shown)
	}
	other := ts.editor()
	mustPrompt(t, other, other.NewSession(ts.work), "beside it")
	if err := e.Cancel(sid); err != nil {
		t.Fatal(err)
	}
	if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
		t.Errorf("ended with %q, error %v", reply.StopReason, err)
	}
	mustPrompt(t, e, sid, "next")
}

func TestK6_13TriesAreBounded(t *testing.T) {
	t.Parallel()
	refuse := func(status, times int, header map[string]string) []upstream.Script {
		scripts := make([]upstream.Script, times)
		for i := range scripts {
			scripts[i] = upstream.Script{Status: status, Header: header}
		}
		return scripts
	}
	in := func(d time.Duration) map[string]string {
		return map[string]string{"Retry-After": time.Now().Add(d).UTC().Format(http.TimeFormat)}
	}
	for _, test := range []struct {
		name    string
		scripts []upstream.Script
		retries int
		status  int // of the error; 0 for success
	}{
		{"529 twelve times", refuse(529, 12, nil), 4, 529},
		{"500 twice", refuse(500, 2, nil), 2, 0},
		{"401", refuse(401, 1, nil), 0, 401},
		{"a date", refuse(429, 1, in(20*time.Second)), 1, 0},
		{"a date in the past", refuse(429, 1, in(-time.Hour)), 1, 0},
		{"a day", refuse(503, 1, map[string]string{"Retry-After": "86400"}), 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var longest time.Duration
			ts := withSleep(t, func(_ context.Context, d time.Duration) error {
				longest = max(longest, d)
				return nil
			})
			ts.upstream.Push(test.scripts...)
			e, sid := attached(t, ts)
			turn := e.Start(sid, "hello")
			reply, err := turn.Wait()
			switch {
			case test.status == 0 && err != nil:
				t.Fatal(err)
			case test.status != 0:
				if d := faultData[struct{ Status int }](t, wireFault(t, err, wire.CodeProvider)); d.Status != test.status {
					t.Errorf("the error has the status %d", d.Status)
				}
			case reply.StopReason != "end_turn":
				t.Errorf("ended with %s", reply.StopReason)
			}
			if n := len(e.Frames().Of(sid).Kind("retrying")); n != test.retries {
				t.Errorf("%d retries were shown", n)
			}
			if longest > time.Minute {
				t.Errorf("waited %s", longest)
			}
		})
	}
}
