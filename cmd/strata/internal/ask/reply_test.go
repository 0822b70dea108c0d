package ask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"strata/rpc"
)

// turn shows a turn with two chunks, a notice and an ending.
func turn(a *reply, end string) {
	a.begin("sess_1")
	for _, update := range []string{
		`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello"}}`,
		`{"sessionUpdate":"notice","title":"a.txt was left out"}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":" \u001b[31mworld"}}`,
		`{"sessionUpdate":"tool_call_update","content":[]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"a","title":"Read a.go","status":"in_progress"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"a","title":"Read a.go","status":"completed"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"b","title":"Search","status":"failed"}`,
	} {
		a.notified("session/update", json.RawMessage(`{"sessionId":"sess_1","update":`+update+`}`))
	}
	for _, event := range []string{
		`{"type":"saved"}`,
		`{"type":"left_out","leftOut":[{"key":"file:b.txt","reason":"binary"}]}`,
		`{"type":"retrying","attempt":1,"of":4,"delayMs":1500,"reason":"overloaded"}`,
		`{"type":[]}`,
	} {
		a.notified("_strata/event", json.RawMessage(event))
	}
	a.end(json.RawMessage(`{"stopReason":"` + end + `"}`))
}

func TestReplyGoesToStandardOutputAndRemarksDoNot(t *testing.T) {
	var out, notes bytes.Buffer
	turn(&reply{out: &out, notes: &notes, terminal: true}, "max_tokens")
	if got, want := out.String(), "Hello\n [31mworld\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := notes.String(), "session sess_1\n[a.txt was left out]\n[Read a.go]\n[Search: failed]\n[omitted: b.txt is binary]\n[overloaded: attempt 1 of 4 failed; next attempt in 1.5s]\n[the reply was truncated at the model's output limit]\n"; got != want {
		t.Errorf("got notes %q, want %q", got, want)
	}
}

// The messages of a reply with steps are paragraphs, and a call is one line, with a second one only if it fails.
func TestAReplyWithSteps(t *testing.T) {
	var out, notes bytes.Buffer
	a := &reply{out: &out, notes: &notes}
	for _, update := range []string{
		`{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"text","text":"On"}}`,
		`{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"text","text":"e."}}`,
		`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"read_file","status":"pending"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c1","title":"Read a.go","status":"in_progress","rawInput":{"path":"a.go"}}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c1","title":"Read a.go","status":"in_progress","content":[]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c2","title":"Read b.go","status":"in_progress"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c1","title":"Read a.go","status":"completed","content":[{"type":"content","content":{"type":"text","text":"x"}}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c2","title":"Read b.go","status":"failed","content":[{"type":"content","content":{"type":"text","text":"x"}}]}`,
		`{"sessionUpdate":"plan","entries":[]}`,
		`{"sessionUpdate":"agent_message_chunk","messageId":"m3","content":{"type":"text","text":"Three.\n"}}`,
		`{"sessionUpdate":"agent_message_chunk","messageId":"m4","content":{"type":"text","text":"Four."}}`,
	} {
		a.notified("session/update", json.RawMessage(`{"sessionId":"sess_1","update":`+update+`}`))
	}
	a.end(json.RawMessage(`{"stopReason":"max_turn_requests"}`))
	if got, want := out.String(), "One.\n\nThree.\n\nFour.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const lines = "[Read a.go]\n[Read b.go]\n[Read b.go: failed]\n[the reply ended: the maximum number of steps was reached]\n"
	if got := notes.String(); got != lines {
		t.Errorf("got notes %q, want %q", got, lines)
	}
}

func TestDescriptionsOfOmittedItems(t *testing.T) {
	for _, c := range []struct{ key, reason, want string }{
		{"file:a b.go", "too_large", "a b.go exceeds the size limit"},
		{"file:///x/a%20b%23.go", "outside", "/x/a b#.go is outside the session's folders"},
		{"file:///x/%zz", "bad_uri", "file:///x/%zz is not a file: URI of this machine"},
		{"doc:rules", "encoding", "document rules is not UTF-8; convert it first"},
		{"msg:msg_1", "over_budget", "message msg_1 does not fit into the model's window"},
		{"msg:msg_1", "no_vision", "the pictures of message msg_1 are not shown: the model has no vision"},
		{"msg:msg_1", "picture_too_large", "a picture of message msg_1 exceeds the model's limit"},
		{"msg:msg_1", "request_too_large", "a picture of message msg_1 is omitted: the request would be too large"},
		{"msg:msg_1", "picture_refused", "a picture of message msg_1 is omitted: the provider refused it"},
		{"file:a.go", "cut_to_fit", "a.go is truncated to fit into the model's window"},
		{"file:a.go", "deleted", "a.go no longer exists"},
		{"https://example.org/a", "not_a_file", "https://example.org/a is not a file: URI; only the address is sent"},
		{"", "", ": "},
	} {
		if got := leftOut(c.key, c.reason); got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.key, c.reason, got, c.want)
		}
	}
}

func TestReplyReportsProblemsAndAnEmptyText(t *testing.T) {
	var out, notes bytes.Buffer
	a := &reply{out: &out, notes: &notes}
	a.notified("_strata/event", json.RawMessage(`{"type":"save_failed","turnId":"turn_1","reason":"the disk is full"}`))
	a.end(json.RawMessage(`{"stopReason":"end_turn"}`))
	if got, want := notes.String(), "[the reply is not stored yet; retrying: the disk is full]\n[the reply is empty]\n"; got != want || out.Len() > 0 {
		t.Errorf("got %q and %q, want %q", got, &out, want)
	}
}

func TestReplyInAFileIsUnchanged(t *testing.T) {
	var out bytes.Buffer
	turn(&reply{out: &out, notes: &bytes.Buffer{}}, "end_turn")
	if got, want := out.String(), "Hello\n \x1b[31mworld\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReplyAsJSONIsOneObjectPerLine(t *testing.T) {
	var out, notes bytes.Buffer
	a := &reply{out: &out, notes: &notes, json: true}
	turn(a, "end_turn")
	a.failed(fmt.Errorf("ask: %w", &rpc.Error{Code: -32012, Message: "provider failed", Data: json.RawMessage(`{"status":529}`)}))
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(lines) != 10 || notes.Len() != 0 {
		t.Fatalf("got %d lines and notes %q", len(lines), &notes)
	}
	for _, line := range lines {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil || v["sessionId"] != "sess_1" {
			t.Errorf("%s: %v", line, err)
		}
	}
	if got, want := string(lines[9]), `{"error":{"code":-32012,"data":{"status":529},"message":"provider failed"},"sessionId":"sess_1"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
