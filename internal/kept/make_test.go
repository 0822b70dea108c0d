package kept

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
)

// codeNoMethod is the error of a program that does not have a method yet.
const codeNoMethod = -32601

// maker uses a server like its users do, and asks it for the results.
type maker struct {
	t      *testing.T
	home   *binary.Home
	editor *testclient.Editor

	version string // of the program
}

// call sends a request. It reports false if the program does not have the method, or refuses an optional request.
func (m *maker) call(method string, params map[string]any, optional bool) (json.RawMessage, bool) {
	m.t.Helper()
	var result json.RawMessage
	err := m.editor.Call(method, params, &result)
	if fault, ok := errors.AsType[*rpc.Error](err); ok && (optional || fault.Code == codeNoMethod) {
		m.t.Logf("%s: %v", method, err)
		return nil, false
	}
	if err != nil {
		m.t.Fatalf("%s: %v", method, err)
	}
	return result, true
}

// in sends a request that concerns a session.
func (m *maker) in(session, method string, params map[string]any) bool {
	m.t.Helper()
	all := map[string]any{"sessionId": session}
	for name, value := range params {
		all[name] = value
	}
	_, ok := m.call(method, all, false)
	return ok
}

// prompt sends a prompt. A turn that fails is stored, too.
func (m *maker) prompt(session, text string) {
	m.t.Helper()
	if _, err := m.editor.Prompt(session, text); err != nil {
		m.t.Logf("prompt %.20q: %v", text, err)
	}
}

// The texts that a model responds to.
const (
	changeFile = "Change the file notes.md."
	fail       = "This prompt fails."
)

// respond is the model: it changes a file if it is asked to and has the tools, it fails if it is asked to, and otherwise
// repeats the prompt.
func respond(r *upstream.Request) upstream.Script {
	last := r.Messages[len(r.Messages)-1]
	switch text := r.LastText(); {
	case text == fail:
		return upstream.Script{Status: 400}
	case text == changeFile && len(r.Tools) > 0 && last.Role == "user":
		var steps []upstream.Step
		steps = append(steps, upstream.Text("I change it."))
		steps = append(steps, upstream.Call("call_new", "write_file", `{"path":"new.txt","content":"A new file.\n"}`)...)
		return upstream.Script{Steps: steps, Usage: upstream.Usage{Input: r.Tokens(), Output: 12}}
	}
	return upstream.Default(r)
}

// use makes sessions with whatever this version of the program has. The last one is to be deleted.
func (m *maker) use() (sessions []string) {
	work := m.editor.NewSession(m.home.Project)
	m.in(work, "_strata/files/add", map[string]any{"path": "notes.md"})
	m.in(work, "_strata/documents/set", map[string]any{"name": "design", "text": "One package, one function."})
	for n := range 2 {
		m.prompt(work, fmt.Sprintf("Question %d about the größte château: what does the function number %d do?", n, n))
	}
	m.in(work, "_strata/checkpoint/create", map[string]any{"name": "before the call"})
	m.in(work, "_strata/history/append", map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": "And the weather?"},
		map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_call", "callId": "call_1", "name": "weather", "args": `{"city":"Oslo"}`}}},
		map[string]any{"role": "tool", "content": []any{map[string]any{"type": "tool_result", "callId": "call_1", "content": []any{map[string]any{"type": "text", "text": "Rain."}}}}},
		map[string]any{"role": "assistant", "content": "It rains in Oslo.", "meta": map[string]any{"from": "a client"}},
	}})
	m.in(work, "_strata/session/rename", map[string]any{"title": "The work"})

	changed := m.editor.NewSession(m.home.Project)
	m.call("session/set_config_option", map[string]any{"sessionId": changed, "configId": "approval", "value": "edits"}, true)
	m.prompt(changed, changeFile)
	m.prompt(changed, fail)
	m.prompt(changed, "A prompt after the one that failed.")

	compacted := m.editor.NewSession(m.home.Project)
	for n := range 4 {
		m.prompt(compacted, fmt.Sprintf("Part %d of a long story, which is compacted later: %s", n, longText))
	}
	m.in(compacted, "_strata/history/compact", map[string]any{"strategy": "middle", "keep": "none"})
	m.prompt(compacted, "And after the compaction?")
	m.in(compacted, "_strata/checkpoint/restore", map[string]any{"seq": 4})
	m.in(compacted, "_strata/checkpoint/undo", nil)
	fork, _ := m.call("_strata/session/fork", map[string]any{"sessionId": compacted, "at": 4}, false)
	var forked struct{ SessionID string }
	if err := json.Unmarshal(fork, &forked); err != nil {
		m.t.Fatal(err)
	}
	m.in(compacted, "_strata/history/clear", nil)

	deleted := m.editor.NewSession(m.home.Project)
	m.prompt(deleted, "This session is deleted.")
	return []string{work, changed, compacted, forked.SessionID, deleted}
}

const longText = `The dog went over the hill to look at the sea, and nobody in the village knew when it would be back.`

// overall are the requests about all sessions whose results are kept.
var overall = []question{
	{Method: "session/list", Params: map[string]any{}},
	{Method: "_strata/session/list_deleted", Params: map[string]any{}},
	{Method: "_strata/history/search", Params: map[string]any{"query": "chateau"}},
	{Method: "_strata/history/search", Params: map[string]any{"query": "function"}},
}

// about returns the requests about some sessions whose results are kept.
func about(sessions ...string) (all []question) {
	for _, id := range sessions {
		for _, method := range []string{
			"_strata/session/export", "_strata/history/list", "_strata/history/edits", "_strata/checkpoint/list", "_strata/documents/list",
			"_strata/usage/list", "_strata/turn/changes",
		} {
			all = append(all, question{Method: method, Params: map[string]any{"sessionId": id}})
		}
	}
	return all
}

// ask asks all questions that the program has methods for. The methods that return pages are asked for all of them.
func (m *maker) ask(all []question) []question {
	m.t.Helper()
	var answered []question
	for _, q := range all {
		q.Results = nil
		params := map[string]any{}
		for name, value := range q.Params {
			params[name] = value
		}
		for {
			result, ok := m.call(q.Method, params, false)
			if !ok {
				break
			}
			q.Results = append(q.Results, result)
			var next struct{ NextCursor string }
			if err := json.Unmarshal(result, &next); err != nil {
				m.t.Fatal(err)
			}
			if next.NextCursor == "" {
				break
			}
			params["cursor"] = next.NextCursor
		}
		if q.Results != nil {
			answered = append(answered, q)
		}
	}
	return answered
}

// configuration keeps the deleted session of a kept database for centuries.
const configuration = "retention: 2000000h\n"

// start starts a server in a home and connects to it.
func start(t *testing.T, home *binary.Home) (*binary.Server, *maker) {
	t.Helper()
	server := binary.Start(t, home, binary.Options{})
	return server, connect(t, server, home)
}

func connect(t *testing.T, server *binary.Server, home *binary.Home) *maker {
	t.Helper()
	m := &maker{t: t, home: home, editor: testclient.Connect(t, server.WebSocket(), server.Token)}
	m.editor.Initialize()
	var info struct{ Version string }
	result, _ := m.call("_strata/server/info", map[string]any{}, false)
	if err := json.Unmarshal(result, &info); err != nil {
		t.Fatal(err)
	}
	m.version = info.Version
	return m
}

func newHome(t *testing.T) *binary.Home {
	t.Helper()
	model := upstream.Start(upstream.Options{})
	t.Cleanup(model.Close)
	model.Choose(respond)
	home := binary.NewHome(t, binary.Config(model.OpenAIURL())+configuration)
	if err := os.WriteFile(filepath.Join(home.Project, "notes.md"), []byte("# Notes\n\nThe first note.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}
