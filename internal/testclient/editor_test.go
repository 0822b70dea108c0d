package testclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/internal/leak"
	"strata/rpc"
)

func TestMain(m *testing.M) { leak.Main(m) }

// agent is the other end of an editor's connection: it responds to each frame with the frames returned by answer, and ends
// the connection if there are none.
func agent(t *testing.T, answer func(method, id string) []string) *Editor {
	t.Helper()
	here, there := net.Pipe()
	stream := rpc.NewLineStream(there, there, there, rpc.Limits{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer there.Close()
		for {
			var frame struct {
				Method string
				ID     json.RawMessage
			}
			if stream.ReadFrame(func(raw []byte) error { return json.Unmarshal(raw, &frame) }) != nil {
				return
			}
			frames := answer(frame.Method, string(frame.ID))
			if frames == nil {
				return
			}
			for _, f := range frames {
				if stream.WriteFrame([]byte(f)) != nil {
					return
				}
			}
		}
	}()
	t.Cleanup(func() { <-done })
	return New(t, rpc.NewLineStream(here, here, here, rpc.Limits{}))
}

func update(session, kind, text string, first, seq int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":%q,"messageId":"m","content":{"type":"text","text":%q}},"_meta":{"strata":{"epoch":"e","first":%d,"seq":%d}}}}`,
		session, kind, text, first, seq)
}

func event(session, kind string, seq int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"_strata/event","params":{"sessionId":%q,"epoch":"e","seq":%d,"type":%q}}`, session, seq, kind)
}

func result(id, value string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, value)
}

func TestPromptReturnsWhatCameBeforeItsAnswer(t *testing.T) {
	e := agent(t, func(method, id string) []string {
		switch method {
		case "initialize":
			return []string{result(id, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)}
		case "session/new":
			return []string{result(id, `{"sessionId":"s"}`)}
		}
		return []string{
			update("s", AgentChunk, "Hello", 1, 1),
			update("other", AgentChunk, "no", 1, 1),
			update("s", ThoughtChunk, "hm", 2, 2),
			update("s", AgentChunk, ", world", 3, 5),
			event("s", "turn_finished", 6),
			result(id, `{"stopReason":"end_turn"}`),
			update("s", AgentChunk, " too late", 7, 7),
		}
	})
	if got := string(e.Initialize()); got != `{"loadSession":true}` {
		t.Errorf("capabilities %s", got)
	}
	session := e.NewSession("/project")
	reply, err := e.Prompt(session, "hello")
	if err != nil {
		t.Fatal(err)
	}
	if reply.StopReason != "end_turn" || reply.Said() != "Hello, world" || len(reply.Frames) != 4 {
		t.Errorf("reply %q, %q, %d frames", reply.StopReason, reply.Said(), len(reply.Frames))
	}

	e.Expect(Says(session, AgentChunk, "too late"), Sees(session, "turn_finished"), Any(Sees("s", "never"), SeesTimes("s", AgentChunk, 3)))
	if got, want := e.Frames().Place(session), (Place{"e", 7, 7}); got != want {
		t.Errorf("place %+v, want %+v", got, want)
	}
	if faults := e.Frames().Faults(session); faults != nil {
		t.Errorf("faults %v", faults)
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	e := agent(t, func(_, id string) []string {
		return []string{`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32010,"message":"busy","data":{"turnId":"t"}}}`}
	})
	_, err := e.Prompt("s", "hello")
	var refused *rpc.Error
	if !errors.As(err, &refused) || refused.Code != -32010 || string(refused.Data.(json.RawMessage)) != `{"turnId":"t"}` {
		t.Errorf("Prompt = %v", err)
	}
}

func TestWaitingEndsWithTheConnection(t *testing.T) {
	e := agent(t, func(string, string) []string { return nil })
	err := e.Call("session/list", map[string]any{}, nil)
	if !errors.Is(err, io.EOF) || !errors.Is(e.Err(), io.EOF) {
		t.Errorf("Call = %v, the connection ended with %v", err, e.Err())
	}
	err = e.Await(Sees("s", "turn_finished"), Answers("9"))
	if err == nil || !strings.Contains(err.Error(), "1 turn_finished of s and an answer to 9") {
		t.Errorf("Await = %v", err)
	}
}

func TestRawFramesAreAnsweredByTheirID(t *testing.T) {
	e := agent(t, func(_, id string) []string { return []string{result(id, "{}")} })
	if err := e.SendRaw(`{"jsonrpc":"2.0","id":"7","method":"x"}`); err != nil {
		t.Fatal(err)
	}
	e.Expect(Answers(`"7"`))
	later := e.After(Answers(`"7"`))
	if later.Met(e.Frames()) {
		t.Errorf("%s matches earlier frames", later.Name)
	}
	if err := e.SendRaw(`{"jsonrpc":"2.0","id":"7","method":"x"}`); err != nil {
		t.Fatal(err)
	}
	e.Expect(later)
}

func TestFaultsOfSequences(t *testing.T) {
	at := func(epoch string, first, seq uint64) Frame {
		return Frame{Method: "session/update", Session: "s", Kind: "k", Place: Place{epoch, first, seq}}
	}
	replayed := Frame{Method: "session/update", Session: "s", Kind: "k", Place: Place{Epoch: "a"}, Replay: true}
	tests := []struct {
		name   string
		frames Frames
		want   []string
	}{
		{"in order, merged, replayed", Frames{at("a", 4, 4), replayed, at("a", 5, 9), at("a", 10, 10)}, nil},
		{"a new epoch", Frames{at("a", 4, 4), at("b", 1, 1)}, nil},
		{"a gap", Frames{at("a", 1, 1), at("a", 3, 3)}, []string{"gap: k 3 to 3 follows 1"}},
		{"a duplicate", Frames{at("a", 1, 1), at("a", 1, 1)}, []string{"duplicate: k 1 to 1 follows 1"}},
		{"an overlap", Frames{at("a", 1, 5), at("a", 4, 8)}, []string{"duplicate: k 4 to 8 follows 5"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.frames.Faults("s")); diff != "" {
			t.Errorf("%s: faults (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDecodeBearsAnything(t *testing.T) {
	for _, raw := range []string{"", "nope", "[]", "5", "null", `{"method":5}`, `{"method":"session/update","params":[1]}`,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","content":[{"type":"content"}]}}}`} {
		if f := decode([]byte(raw)); string(f.Raw) != raw {
			t.Errorf("decode(%q) keeps %q", raw, f.Raw)
		}
	}
	tool := decode([]byte(`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","content":[{}]}}}`))
	if tool.Kind != "tool_call" || tool.Session != "s" {
		t.Errorf("a tool call decodes as %+v", tool)
	}
}
