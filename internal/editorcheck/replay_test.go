package editorcheck

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/rpc"
)

func TestMain(m *testing.M) { binary.Main(m) }

// The editors that cannot run here send the messages in testdata, written from the sources of their clients: Zed's
// crates/agent_servers and acp_thread, and the Kotlin SDK of JetBrains. Each edits a file with unsaved changes and runs a
// command.
func TestMessagesOfEditors(t *testing.T) {
	for _, name := range []string{"zed", "jetbrains"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replay(t, "testdata/"+name+".json")
		})
	}
}

// step is a request of an editor.
type step struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Says   string          `json:"says"`  // the text of the reply to a prompt
	Notes  []string        `json:"notes"` // titles of its notices
}

const (
	onDisk  = "one\ntwo\n"
	unsaved = "unsaved one\ntwo\n"
	edited  = "unsaved one\nthree\n"
)

func replay(t *testing.T, script string) {
	raw, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	home := newProject(t, "listen: 127.0.0.1:0\nmodel: offline/digest\n")
	other := t.TempDir()
	words := func(session string) *strings.Replacer {
		return strings.NewReplacer("$PROJECT", home.Project, "$OTHER", other, "$SESSION", session)
	}
	var steps []step
	if err := json.Unmarshal([]byte(words("$SESSION").Replace(string(raw))), &steps); err != nil {
		t.Fatal(err)
	}
	binary.Start(t, home, binary.Options{})
	editor := stdio(t, home)
	w := newWindow(editor, filepath.Join(home.Project, "a.txt"))

	session := ""
	for _, s := range steps {
		before := len(editor.Frames())
		var result struct {
			SessionID  string `json:"sessionId"`
			StopReason string `json:"stopReason"`
		}
		params := words(session).Replace(string(s.Params))
		if err := editor.Call(s.Method, json.RawMessage(params), &result); err != nil {
			t.Fatalf("%v\n%s", err, params)
		}
		if s.Method == "session/new" {
			session = result.SessionID
		}
		if s.Says == "" {
			continue
		}
		frames := editor.Frames()[before:]
		if said := frames.Text(testclient.AgentChunk); said != s.Says || result.StopReason != "end_turn" {
			t.Errorf("%s: the reply is %q (%s), want %q", params, said, result.StopReason, s.Says)
		}
		for _, f := range frames.Kind("tool_call") { // some editors keep the kind with which a call is announced
			if strings.Contains(string(f.Params), `"kind":"other"`) {
				t.Errorf("a call is announced as %s", f.Params)
			}
		}
		if notes := titles(frames.Kind("notice")); !slices.Equal(notes, s.Notes) {
			t.Errorf("%s: the notices are %q, want %q", params, notes, s.Notes)
		}
	}
	w.want(t)
}

// titles returns the titles of notices.
func titles(notices testclient.Frames) (all []string) {
	for _, f := range notices {
		var params struct{ Update struct{ Title string } }
		if err := json.Unmarshal(f.Params, &params); err != nil {
			params.Update.Title = err.Error()
		}
		all = append(all, params.Update.Title)
	}
	return all
}

// newProject returns a home whose project has the files of the scripts.
func newProject(t *testing.T, config string) *binary.Home {
	t.Helper()
	home := binary.NewHome(t, config)
	for name, text := range map[string]string{"a.txt": onDisk, "f.go": "package f\n\nfunc f() {}\n", "sub/b.txt": "b\n"} {
		path := filepath.Join(home.Project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// stdio returns an editor that has started the agent as a program.
func stdio(t *testing.T, home *binary.Home) *testclient.Editor {
	t.Helper()
	agent := home.Command(context.WithoutCancel(t.Context()), "stdio") // it ends with its input
	in, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	editor := testclient.New(t, rpc.NewLineStream(out, in, in, rpc.Limits{}))
	t.Cleanup(func() {
		editor.Close()
		if err := agent.Wait(); err != nil {
			t.Errorf("strata stdio: %v", err)
		}
	})
	return editor
}

// window is an editor's side of a session: one open file with unsaved text, a terminal, and a user who allows everything.
type window struct {
	path string

	mu       sync.Mutex
	text     string
	asked    []string // titles of the calls that the user has allowed
	commands []string
}

func newWindow(editor *testclient.Editor, path string) *window {
	w := &window{path: path, text: unsaved}
	editor.Serve("fs/read_text_file", func(params json.RawMessage) (any, *rpc.Error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return map[string]any{"content": w.text}, nil
	})
	editor.Serve("fs/write_text_file", w.write)
	editor.Serve("session/request_permission", w.allow)
	editor.Serve("terminal/create", w.run)
	editor.Serve("terminal/wait_for_exit", func(json.RawMessage) (any, *rpc.Error) {
		return map[string]any{"exitCode": 0, "signal": nil}, nil
	})
	editor.Serve("terminal/output", func(json.RawMessage) (any, *rpc.Error) {
		return map[string]any{"output": "built\r\n", "truncated": false, "exitStatus": map[string]any{"exitCode": 0}}, nil
	})
	editor.Serve("terminal/release", func(json.RawMessage) (any, *rpc.Error) { return map[string]any{}, nil })
	return w
}

func (w *window) write(raw json.RawMessage) (any, *rpc.Error) {
	var params struct{ Path, Content string }
	if err := json.Unmarshal(raw, &params); err != nil || params.Path != w.path {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "not the open file: " + params.Path}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = params.Content
	if err := os.WriteFile(w.path, []byte(w.text), 0o600); err != nil {
		return nil, &rpc.Error{Code: rpc.CodeInternal, Message: err.Error()}
	}
	return map[string]any{}, nil
}

func (w *window) allow(raw json.RawMessage) (any, *rpc.Error) {
	var params struct {
		ToolCall struct{ Title string }
		Options  []struct{ OptionID, Kind string }
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: err.Error()}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, params.ToolCall.Title)
	for _, o := range params.Options {
		if o.Kind == "allow_once" {
			return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.OptionID}}, nil
		}
	}
	return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}, nil
}

func (w *window) run(raw json.RawMessage) (any, *rpc.Error) {
	var params struct {
		Command string
		Args    []string
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return nil, &rpc.Error{Code: rpc.CodeInvalidParams, Message: err.Error()}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commands = append(w.commands, strings.Join(append([]string{params.Command}, params.Args...), " "))
	return map[string]any{"terminalId": "term_1"}, nil
}

// want compares what has arrived in the editor.
func (w *window) want(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text != edited {
		t.Errorf("the editor's text is %q, want %q", w.text, edited)
	}
	if want := []string{"Edit a.txt", "make"}; !slices.Equal(w.asked, want) {
		t.Errorf("the user was asked about %q, want %q", w.asked, want)
	}
	if len(w.commands) != 1 || !strings.HasSuffix(w.commands[0], "make") {
		t.Errorf("the terminal ran %q", w.commands)
	}
}
