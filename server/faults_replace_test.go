package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
	"strata/server/wire"
)

// replaceWith replaces the history and returns the number of ids in the result.
func replaceWith(ts *testServer, e caller, sid string, messages []any) int {
	ts.t.Helper()
	replaced := call[struct {
		Seq        int64
		MessageIDs *[]string
	}](ts, e, "_strata/history/replace", sid, map[string]any{"messages": messages})
	if replaced.Seq == 0 || replaced.MessageIDs == nil {
		ts.t.Fatalf("replaced: %+v", replaced)
	}
	return len(*replaced.MessageIDs)
}

// A history can be replaced by nothing, and by more messages than an append takes; both can be restored, and a prompt
// follows either.
func TestP18AHistoryIsReplacedByAnyNumberOfMessages(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	ts.talk(e, sid, 3)
	many := make([]any, 0, 3000)
	for i := range 1500 {
		many = append(many, message("user", fmt.Sprint("question ", i)), message("assistant", fmt.Sprint("answer ", i)))
	}
	all := 6
	for _, n := range []int{0, 501, 0, 3000} {
		before := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil)
		got := replaceWith(ts, e, sid, many[:n])
		all += n
		info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil)
		if got != n || info.InView != n || info.Messages != all {
			t.Errorf("%d ids of %d; %d of %d in view, want %d of %d", got, n, info.InView, info.Messages, n, all)
		}
		counted := call[struct{ Tokens int }](ts, e, "_strata/context/count", sid, map[string]any{"messages": many[:n], "text": "a"})
		one := call[struct{ Tokens int }](ts, e, "_strata/context/count", sid, map[string]any{"text": "a"})
		if counted.Tokens-one.Tokens != info.Tokens {
			t.Errorf("%d messages: %d tokens counted, the history has %d", n, counted.Tokens-one.Tokens, info.Tokens)
		}
		edits := call[wire.EditPage](ts, e, "_strata/history/edits", sid, map[string]any{"limit": 1})
		call[map[string]any](ts, e, "_strata/checkpoint/restore", sid, map[string]any{"seq": edits.Edits[0].Seq - 1})
		if back := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil); back.InView != before.InView {
			t.Errorf("%d messages are back, want %d", back.InView, before.InView)
		}
		call[map[string]any](ts, e, "_strata/checkpoint/undo", sid, nil)
	}
	ts.close()
	ts.start()
	e = ts.editor()
	if info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil); info.InView != 3000 || info.Messages != all {
		t.Errorf("after the restart %d of %d in view", info.InView, info.Messages)
	}
	replaceWith(ts, e, sid, many[:0])
	mustPrompt(t, e, sid, "Begin.")
	if sent := lastSent(ts); strings.Contains(sent, "question") || !strings.Contains(sent, "Begin.") {
		t.Errorf("sent: %.200s", sent)
	}
}

// A replacement without a list, or with a message that nobody can read, changes nothing.
func TestP18AReplacementIsChecked(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.talk(e, sid, 1)
	late := []any{message("user", "go")}
	for i := range 501 {
		late = append(late, message("assistant", []any{map[string]any{"type": "tool_call", "callId": fmt.Sprint("c", i), "name": "look", "args": "{}"}}), message("user", "and"))
	}
	for i := range 501 {
		result := map[string]any{"type": "tool_result", "callId": fmt.Sprint("c", i), "content": []any{map[string]any{"type": "text", "text": "x"}}}
		late = append(late, message("tool", []any{result}))
	}
	for name, tt := range map[string]struct {
		params map[string]any
		want   string
	}{
		"no list":              {map[string]any{}, "messages"},
		"null":                 {map[string]any{"messages": nil}, "messages"},
		"an object":            {map[string]any{"messages": map[string]any{}}, "messages"},
		"a role":               {map[string]any{"messages": []any{message("user", "a"), message("system", "b")}}, "messages[1].role"},
		"too many late":        {map[string]any{"messages": late}, "more than 500 results do not directly follow their calls"},
		"too many":             {map[string]any{"messages": slices.Repeat([]any{message("user", "a")}, 50_001)}, "at most 50000"},
		"a result of no calls": {map[string]any{"messages": []any{late[len(late)-1]}}, "messages[0]"},
	} {
		tt.params["sessionId"] = sid
		err := e.Call("_strata/history/replace", tt.params, nil)
		if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, tt.want) {
			t.Errorf("%s: %s, want %s", name, fault.Message, tt.want)
		}
	}
	if info := call[wire.SessionDetails](ts, e, "_strata/session/info", sid, nil); info.InView != 2 || info.Messages != 2 {
		t.Errorf("%d of %d in view", info.InView, info.Messages)
	}
	if n := replaceWith(ts, e, sid, late[:len(late)-1]); n != len(late)-1 { // 500 are late
		t.Errorf("%d messages", n)
	}
}

// Clients learn why a compaction removed messages: in the response, in the event and in the timeline.
func TestP18TheReasonOfACompactionIsTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ reply, want string }{
		"a reason": {`{"boundary": 38, "confidence": 0.9, "reason": "the cache is next"}`, "a new topic began: the cache is next"},
		"none":     {`{"boundary": 38, "confidence": 0.9}`, "a new topic began with message 39, found by model"},
		"no topic": {`{"boundary": null}`, "all but the last "},
	} {
		t.Run(name, func(t *testing.T) {
			ts, s := startCompacting(t, 200_000, upstream.Options{}, withCompaction(t))
			ts.upstream.Choose(func(req *upstream.Request) upstream.Script {
				if mentions(req, "You determine where the newest topic") {
					return upstream.Script{Steps: upstream.Texts(tt.reply)}
				}
				return s.answer(req)
			})
			e, sid := attached(t, ts)
			ts.talk(e, sid, 20)
			c := compactNow(ts, e, sid, "topic", "compacted")
			edits := call[wire.EditPage](ts, e, "_strata/history/edits", sid, nil)
			if !strings.HasPrefix(c.Reason, tt.want) || len(edits.Edits) != 1 || edits.Edits[0].Reason != c.Reason {
				t.Errorf("told %q, want %q; edits: %+v", c.Reason, tt.want, edits.Edits)
			}
			e.Expect(testclient.SeesTimes(sid, "compaction", 2))
			var told string
			for _, f := range e.Frames().Of(sid).Kind("compaction") {
				told += string(f.Params)
			}
			if !strings.Contains(told, `"reason":"`+tt.want) {
				t.Errorf("the event: %s", told)
			}
		})
	}
}

// The error of an edit that is refused says what to do, and doing it helps.
func TestP18ARefusedEditTellsTheRemedy(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("a.md", "one\n")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	refused := func(remedy string) {
		t.Helper()
		err := e.Call("_strata/files/check_edit", map[string]any{"sessionId": sid, "path": "a.md"}, nil)
		if fault := wireFault(t, err, wire.CodeEditRefused); !strings.Contains(fault.Message, remedy) {
			t.Errorf("%s, want %s", fault.Message, remedy)
		}
	}
	refused("add the file, and send a prompt with it")
	addTo(ts, e, sid, "a.md", map[string]any{"state": "summary"})
	refused("add the whole file, and send a prompt")
	addTo(ts, e, sid, "a.md")
	mustPrompt(t, e, sid, "look")
	if got := editRefusal(ts, e, sid, "a.md", ""); got != "" {
		t.Errorf("refused: %s", got)
	}
}
