package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/server/wire"
	"strata/session/assembly"
	"strata/session/fit"
)

// smallWindow is the window of the model in these tests, in tokens; a quarter of it is reserved for the reply.
const (
	smallWindow = 8000
	smallRoom   = smallWindow * 3 / 4
)

// startSmall starts a server whose models have a small window.
func startSmall(t *testing.T) *testServer {
	t.Helper()
	return startServer(t, withSmallWindow)
}

func withSmallWindow(o *Options) {
	adjustModels(o, func(m *llm.Model) { m.Window, m.MaxOutput = smallWindow, smallWindow/4 })
}

func (ts *testServer) restartSmall() {
	ts.t.Helper()
	ts.close()
	ts.start(withSmallWindow)
}

// appendTo adds messages to a session; roles and texts alternate.
func appendTo(ts *testServer, e caller, sid string, turns ...string) {
	ts.t.Helper()
	var messages []any
	for i := 0; i < len(turns); i += 2 {
		messages = append(messages, map[string]any{"role": turns[i], "content": turns[i+1]})
	}
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": messages})
}

// chat returns n exchanges of about 2*tokens each.
func chat(n, tokens int) []string {
	var turns []string
	for i := range n {
		turns = append(turns, "user", fmt.Sprint("question ", i, strings.Repeat(" word", tokens)),
			"assistant", fmt.Sprint("reply ", i, strings.Repeat(" word", tokens)))
	}
	return turns
}

func TestAPromptThatCannotFitIsRefusedAndNothingIsStored(t *testing.T) {
	t.Parallel()
	ts := startSmall(t)
	e, sid := attached(t, ts)
	mustPrompt(t, e, sid, "hello")
	before, requests := transcript(t, e, sid), len(ts.upstream.Requests())
	ts.write("a.txt", "a file\n")
	_, err := e.StartWith(sid, []any{words(strings.Repeat("word ", smallWindow)), link(ts.uri("a.txt"))}, "too large").Wait()
	data := faultData[struct{ Tokens, Limit int }](t, wireFault(t, err, wire.CodeOverBudget))
	if data.Limit != smallRoom || data.Tokens <= smallRoom {
		t.Errorf("%+v", data)
	}
	if diff := cmp.Diff(before, transcript(t, e, sid)); diff != "" {
		t.Errorf("stored: %s", diff)
	}
	if len(ts.upstream.Requests()) != requests || len(filesOf(ts, e, sid)) != 0 {
		t.Error("the provider was called, or a file was added")
	}
	if reply, err := e.StartWith(sid, []any{words("small")}, "too large").Wait(); err != nil || reply.StopReason != "end_turn" {
		t.Errorf("the prompt id is used up: %v", err)
	}
}

func TestAnAssembledRequestThatCannotFitIsRefused(t *testing.T) {
	t.Parallel()
	ts := startSmall(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	appendTo(ts, e, sid, "user", strings.Repeat("word ", smallWindow))
	err := e.Call("_strata/context/assemble", map[string]any{"sessionId": sid}, nil)
	if data := faultData[struct{ Tokens, Limit int }](t, wireFault(t, err, wire.CodeOverBudget)); data.Limit != smallRoom || data.Tokens <= smallRoom {
		t.Errorf("%+v", data)
	}
}

func TestWhatIsShedIsNamedEverywhere(t *testing.T) {
	t.Parallel()
	ts := startSmall(t)
	e, sid := attached(t, ts)
	ts.write("big.txt", numbered(3000))
	addTo(ts, e, sid, "big.txt")
	set(ts, e, sid, "notes", strings.Repeat("note ", 500), map[string]any{"priority": 1})
	appendTo(ts, e, sid, chat(20, 100)...)
	reply := mustPrompt(t, e, sid, "go on")
	answered := leftOutOf(t, reply)
	events := reply.Frames.Kind("left_out")
	if len(events) != 1 {
		t.Fatalf("%d left_out events", len(events))
	}
	b := tokensOf(ts, e, sid)
	shown := make(map[string]string)
	for _, l := range b.Omitted {
		shown[l.Key] = l.Reason
		if l.Tokens == 0 || l.Score == 0 {
			t.Errorf("omitted without a size or score: %+v", l)
		}
	}
	for key, reason := range map[string]string{"doc:notes": "over_budget", "file:big.txt": "cut_to_fit"} {
		if answered[key] != reason || shown[key] != reason || !strings.Contains(rawOf(events), key) {
			t.Errorf("%s: response %v, breakdown %v", key, answered, shown)
		}
	}
	messages := func(l []fit.Omitted) int {
		n := 0
		for _, l := range l {
			if strings.HasPrefix(l.Key, "msg:") {
				n += max(l.Count, 1)
			}
		}
		return n
	}
	if n := messages(b.Omitted); n == 0 || !strings.Contains(lastSent(ts), fmt.Sprintf("[%d earlier messages omitted]", n)) {
		t.Errorf("%d messages are named: %+v", n, b.Omitted)
	}
	if again := leftOutOf(t, mustPrompt(t, e, sid, "and on")); again["doc:notes"] == "" || again["file:big.txt"] == "" {
		t.Errorf("the next response names %v", again)
	}
}

func TestWhatWasShedStaysShedAfterARestart(t *testing.T) {
	t.Parallel()
	ts := startSmall(t)
	e, sid := attached(t, ts)
	ts.write("big.txt", numbered(3000))
	addTo(ts, e, sid, "big.txt")
	set(ts, e, sid, "notes", strings.Repeat("note ", 500), map[string]any{"priority": 1})
	appendTo(ts, e, sid, chat(20, 100)...)
	mustPrompt(t, e, sid, "go on")
	before, files := tokensOf(ts, e, sid), filesOf(ts, e, sid)
	view := inView(t, e, sid)
	ts.restartSmall()
	e = resume(ts, sid)
	if diff := cmp.Diff(view, inView(t, e, sid)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(files, filesOf(ts, e, sid)); diff != "" {
		t.Error(diff)
	}
	after := tokensOf(ts, e, sid)
	if diff := cmp.Diff(before.Omitted, after.Omitted); diff != "" || before.Used != after.Used {
		t.Errorf("used %d, then %d; %s", before.Used, after.Used, diff)
	}
	sent := ts.upstream.Last().Messages
	mustPrompt(t, e, sid, "again")
	if now := ts.upstream.Last().Messages; len(now) < len(sent) || cmp.Diff(sent, now[:len(sent)]) != "" {
		t.Error("the request does not begin with the one before the restart")
	}
}

// inView returns the ids of the messages in the view.
func inView(t *testing.T, e *testclient.Editor, sid string) []string {
	t.Helper()
	var ids []string
	all := transcript(t, e, sid)
	for i := range all {
		if all[i].InView {
			ids = append(ids, all[i].ID)
		}
	}
	if len(ids) == len(all) {
		t.Error("nothing was shed")
	}
	return ids
}

func TestEveryRequestOfALongSessionFits(t *testing.T) {
	long(t)
	t.Parallel()
	ts := startSmall(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	ts.write("a.txt", numbered(100))
	addTo(ts, e, sid, "a.txt")
	sheds, last := 0, 0
	for i := range 60 {
		text := fmt.Sprintf("prompt %d %s", i, strings.Repeat("word ", 20*(i%20)))
		ts.upstream.Push(upstream.Script{Steps: upstream.Texts(strings.Repeat("reply ", 100)), NoUsage: true})
		if i%7 == 0 {
			ts.write("a.txt", numbered(100+i))
		}
		mustPrompt(t, e, sid, text)
		b := tokensOf(ts, e, sid)
		if b.Used > smallRoom {
			t.Errorf("prompt %d: %d tokens", i, b.Used)
		}
		if b.Used < last {
			sheds++
		}
		last = b.Used
		if sent := lastSent(ts); !strings.Contains(sent, fmt.Sprintf("prompt %d ", i)) || !strings.Contains(sent, "prompt 0 ") {
			t.Errorf("prompt %d: the first or the newest message is missing", i)
		}
	}
	if sheds == 0 || sheds > 20 {
		t.Errorf("shed %d times", sheds)
	}
	if all := transcript(t, e, sid); len(all) != 120 {
		t.Errorf("the transcript has %d messages", len(all))
	}
}

func TestToolBatchesAreShedWhole(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"claude/test", "local/test"} {
		ts := startServerOn(t, storeDefaults, upstream.Options{Strict: true}, withSmallWindow, func(o *Options) { o.Sessions.DefaultConfig.Model = model })
		e := ts.editor()
		sid := e.NewSession(ts.work)
		messages := []any{map[string]any{"role": "user", "content": "start"}}
		for i := range 40 {
			var calls, results []any
			for j := range i%3 + 1 {
				id := fmt.Sprintf("call_%d_%d", i, j)
				calls = append(calls, map[string]any{"type": "tool_call", "callId": id, "name": "run", "args": "{}"})
				results = append(results, map[string]any{"role": "tool", "content": []any{map[string]any{
					"type": "tool_result", "callId": id, "content": []any{map[string]any{"type": "text", "text": strings.Repeat("out ", 100)}}}}})
			}
			messages = append(messages, map[string]any{"role": "assistant", "content": calls})
			messages = append(messages, results...)
		}
		call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": messages})
		a := call[assembly.Assembled](ts, e, "_strata/context/assemble", sid, map[string]any{"tools": []any{map[string]any{"name": "run"}}})
		checkBatches(t, a)
		if a.Tokens > smallRoom || len(a.Omitted) == 0 {
			t.Errorf("%d tokens, omitted %v", a.Tokens, a.Omitted)
		}
		mustPrompt(t, e, sid, "go on") // the provider refuses calls without results
	}
}

// checkBatches fails if calls and results are separated in an assembled request.
func checkBatches(t *testing.T, a assembly.Assembled) {
	t.Helper()
	var open []string
	for i, m := range a.Messages {
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_call":
				open = append(open, b.CallID)
			case b.Type == "tool_result":
				if !slices.Contains(open, b.CallID) {
					t.Errorf("message %d: a result without its call", i)
				}
				open = slices.DeleteFunc(open, func(id string) bool { return id == b.CallID })
			case len(open) > 0:
				t.Errorf("message %d is between calls and their results", i)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without results: %v", open)
	}
}
