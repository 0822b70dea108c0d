package vscodetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"strata/internal/binary"
)

// patience is the time after which an extension host that does not answer is considered hung. It is not a measurement.
const patience = time.Minute

// offline is a configuration whose model does what prompts say.
const offline = "listen: 127.0.0.1:0\nmodel: offline/actor\n"

// hostProgram builds the extension host of web/vscode/test/desktop once and returns its path.
var hostProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "strata-host-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "host.cjs")
	build := exec.Command("go", "tool", "esbuild", filepath.Join(sources, "test", "desktop", "host.ts"),
		"--bundle", "--platform=node", "--format=cjs", "--log-level=warning", "--outfile="+program)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the extension host: %w\n%s", err, out)
	}
	return program, nil
})

// host is an extension host with Node that runs the desktop entry, in an editor without windows.
type host struct {
	t       *testing.T
	home    *binary.Home
	cmd     *exec.Cmd
	orders  *json.Encoder
	answers chan answer // closed at the end of the process
}

type answer struct {
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error"`
}

// startHost starts an extension host on the project of a home. The setting strata.path is the program under test by default.
func startHost(t *testing.T, home *binary.Home, settings map[string]any) *host {
	t.Helper()
	extension, err := built()
	if err != nil {
		t.Fatal(err)
	}
	program, err := hostProgram()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"strata.path": strata(t, home)}
	maps.Copy(all, settings)
	h := &host{t: t, home: home, answers: make(chan answer)}
	h.cmd = exec.Command("node", program, filepath.Join(extension, "dist", "desktop.js"), home.Project, jsonOf(all))
	h.cmd.Env = append(home.Environment(), "ELECTRON_RUN_AS_NODE=1", "VSCODE_PID=1")
	h.cmd.Stderr = os.Stderr
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.orders = json.NewEncoder(in)
	go func() {
		defer close(h.answers)
		for lines := json.NewDecoder(bufio.NewReader(out)); ; {
			var a answer
			if lines.Decode(&a) != nil {
				return
			}
			h.answers <- a
		}
	}()
	t.Cleanup(h.kill)
	return h
}

// strata is the path of the program under test.
func strata(t *testing.T, home *binary.Home) string { return home.Command(t.Context()).Path }

// kill ends the extension host, like a crash of the editor.
func (h *host) kill() {
	_ = h.cmd.Process.Kill() // fails if it has already ended
	for range h.answers {    // until its output ends
	}
	_ = h.cmd.Wait() // the error says that it was killed
}

// try sends an order and decodes its result. It returns the error of the order.
func (h *host) try(result any, order ...any) error {
	h.t.Helper()
	if err := h.orders.Encode(order); err != nil {
		h.t.Fatalf("%v: %v", order, err)
	}
	select {
	case a, ok := <-h.answers:
		switch {
		case !ok:
			h.t.Fatalf("%v: the extension host ended", order)
		case a.Error != "":
			return errors.New(a.Error)
		case result != nil:
			if err := json.Unmarshal(a.Result, result); err != nil {
				h.t.Fatalf("%v: %v", order, err)
			}
		}
	case <-time.After(patience):
		h.t.Fatalf("%v: no answer", order)
	}
	return nil
}

// order is try for orders that succeed.
func (h *host) order(result any, order ...any) {
	h.t.Helper()
	if err := h.try(result, order...); err != nil {
		h.t.Fatalf("%v: %v", order, err)
	}
}

// until waits until the connection is in a state and returns the tooltip of the status bar.
func (h *host) until(state string) string {
	h.t.Helper()
	var status struct{ Tooltip string }
	h.order(&status, "until", state)
	return status.Tooltip
}

// address returns the address of the server that the extension uses.
func (h *host) address() string {
	h.t.Helper()
	var info struct{ Address struct{ WebSocket string } }
	h.order(&info, "call", "_strata/server/info", map[string]any{})
	return info.Address.WebSocket
}

// newSession creates a session with the command of the extension and returns its id.
func (h *host) newSession() string {
	h.t.Helper()
	h.order(nil, "run", "strata.newSession")
	return h.sessions()[0]
}

// sessions returns the ids of the server's sessions.
func (h *host) sessions() []string {
	h.t.Helper()
	var list struct {
		Sessions []struct {
			ID string `json:"sessionId"`
		} `json:"sessions"`
	}
	h.order(&list, "call", "session/list", map[string]any{})
	var ids []string
	for _, s := range list.Sessions {
		ids = append(ids, s.ID)
	}
	return ids
}

// prompt sends a prompt and returns the text of the reply.
func (h *host) prompt(session string, lines ...string) string {
	h.t.Helper()
	var text string
	h.order(&text, "prompt", session, strings.Join(lines, "\n"))
	return text
}

// stopStarted stops the server of the home that the extension has started, at the end of the test.
func stopStarted(t *testing.T, home *binary.Home) {
	t.Cleanup(func() {
		home.StopDetached(t)
	})
}

func TestDesktopFindsTheRunningServer(t *testing.T) {
	t.Parallel()
	server := binary.Start(t, binary.NewHome(t, offline), binary.Options{})
	h := startHost(t, server.Home, map[string]any{"strata.path": "strata-missing"})
	h.until("open")
	if got := h.address(); got != server.WebSocket() {
		t.Errorf("the extension uses the server at %s, not that at %s", got, server.WebSocket())
	}
	id := h.newSession()
	h.prompt(id, "say First.")
	server.Stop()
	server.Restart(binary.Options{}) // on another port
	h.until("open")
	h.prompt(id, "say Second.")
	if got := h.address(); got != server.WebSocket() {
		t.Errorf("after the restart, the extension uses the server at %s, not that at %s", got, server.WebSocket())
	}
}

// TestDesktopStartsAServer: the server and its sessions outlive an editor that crashes.
func TestDesktopStartsAServer(t *testing.T) {
	t.Parallel()
	home := binary.NewHome(t, offline)
	stopStarted(t, home)
	h := startHost(t, home, nil)
	h.until("open")
	started, err := home.ServerFile()
	if err != nil {
		t.Fatal(err)
	}
	id := h.newSession()
	h.prompt(id, "say Hello.")
	h.kill()
	if environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", started.PID)); err == nil {
		for _, name := range []string{"ELECTRON_RUN_AS_NODE=", "VSCODE_PID="} {
			if strings.Contains(string(environment), name) {
				t.Errorf("the environment of the server contains %s", name)
			}
		}
	}

	next := startHost(t, home, nil)
	next.until("open")
	if now, err := home.ServerFile(); err != nil || now != started || next.address() != started.WebSocket() {
		t.Errorf("after the crash of the editor, the server is %+v, not %+v (%v)", now, started, err)
	}
	if ids := next.sessions(); len(ids) != 1 || ids[0] != id {
		t.Errorf("after the crash of the editor, the sessions are %v, not %s", ids, id)
	}
	next.prompt(id, "say Still here.")
}

// TestDesktopLeavesAServerStopped: `strata stop` stops the server, although an editor is connected that could start it again.
func TestDesktopLeavesAServerStopped(t *testing.T) {
	t.Parallel()
	home := binary.NewHome(t, offline)
	stopStarted(t, home)
	h := startHost(t, home, nil)
	h.until("open")
	if out, err := home.Command(t.Context(), "stop").CombinedOutput(); err != nil {
		t.Fatalf("strata stop: %v\n%s", err, out)
	}
	h.until("stopped")
	if server, err := home.ServerFile(); err == nil {
		t.Errorf("after strata stop, there is the server %+v", server)
	}
	h.order(nil, "run", "strata.reconnect")
	h.until("open")
}

func TestDesktopSaysWhyThereIsNoServer(t *testing.T) {
	t.Parallel()
	home := binary.NewHome(t, "listen: nowhere\n")
	wrong := map[string]any{"strata.path": "strata-missing", "strata.server.url": 5, "strata.pathMappings": []string{"a"}}
	h := startHost(t, home, wrong)
	if text := h.until("notInstalled"); !strings.Contains(text, "strata-missing is not installed") {
		t.Errorf("without the program, the status bar says %q", text)
	}
	h.order(nil, "set", map[string]any{"strata.path": "bin/strata"})
	if text := h.until("notInstalled"); !strings.Contains(text, "bin/strata in the setting strata.path") {
		t.Errorf("with a relative path, the status bar says %q", text)
	}
	h.order(nil, "set", map[string]any{"strata.path": strata(t, home)})
	if text := h.until("notStarted"); !strings.Contains(text, "listen") {
		t.Errorf("with a wrong configuration, the status bar says %q", text)
	}
	h.order(nil, "set", map[string]any{"strata.server.url": "strata.example"})
	if text := h.until("badAddress"); !strings.Contains(text, "strata.example in the setting strata.server.url is not the address of a server") {
		t.Errorf("with a wrong address, the status bar says %q", text)
	}
	h.order(nil, "set", map[string]any{"strata.server.url": "", "strata.start": false, "strata.pathMappings": map[string]any{"a": "/a"}})
	h.until("notRunning")
	h.order(nil, "asked", "Ignoring a in strata.pathMappings")

	if err := os.WriteFile(filepath.Join(filepath.Dir(home.Project), "config", "strata", "strata.yaml"), []byte(offline), 0o600); err != nil {
		t.Fatal(err)
	}
	server := binary.Start(t, home, binary.Options{})
	h.until("open")
	if got := h.address(); got != server.WebSocket() {
		t.Errorf("the extension uses the server at %s, not that at %s", got, server.WebSocket())
	}
}

func TestDesktopServesFiles(t *testing.T) {
	t.Parallel()
	server := binary.Start(t, binary.NewHome(t, offline), binary.Options{})
	name := filepath.Join(server.Home.Project, "greeting.txt")
	if err := os.WriteFile(name, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startHost(t, server.Home, nil)
	h.until("open")
	h.order(nil, "type", name, "unsaved\n")
	h.prompt(h.newSession(),
		`call read_file {"path": "greeting.txt"}`, "---",
		`call edit_file {"path": "greeting.txt", "edits": [{"old_text": "unsaved", "new_text": "edited"}]}`, "---",
		`call write_file {"path": "new.txt", "content": "new\n"}`, "---", "say Done.")
	var document struct {
		Text    string
		IsDirty bool
	}
	h.order(&document, "document", name)
	if document.Text != "edited\n" || !document.IsDirty {
		t.Errorf("the document is %+v", document)
	}
	if content := read(t, name); content != "hello\n" {
		t.Errorf("the file with unsaved text contains %q", content)
	}
	if content := read(t, filepath.Join(server.Home.Project, "new.txt")); content != "new\n" {
		t.Errorf("the new file contains %q", content)
	}
}

func TestDesktopRunsCommands(t *testing.T) {
	t.Parallel()
	server := binary.Start(t, binary.NewHome(t, offline), binary.Options{})
	h := startHost(t, server.Home, nil)
	h.until("open")
	id := h.newSession()
	h.prompt(id, `call run_command {"command": "echo $((40 + 2)); echo \"[$ELECTRON_RUN_AS_NODE$STRATA_MODEL]\"; exit 3"}`, "---", "say Done.")
	var terminals []struct {
		Name, Output string
		IsOpen       bool
	}
	h.order(&terminals, "terminals")
	if len(terminals) != 1 || !strings.Contains(terminals[0].Output, "42\r\n[]\r\n") || terminals[0].IsOpen {
		t.Errorf("the terminals are %+v", terminals)
	}
	var export struct {
		Messages json.RawMessage `json:"messages"`
	}
	h.order(&export, "call", "_strata/history/list", map[string]any{"sessionId": id})
	if text := string(export.Messages); !strings.Contains(text, "Exit code 3") || !strings.Contains(text, "42") {
		t.Errorf("the model received %s", text)
	}
}

// TestDesktopKeepsKeys: a server that was restarted gets the keys of the editor's secrets.
func TestDesktopKeepsKeys(t *testing.T) {
	t.Parallel()
	server := binary.Start(t, binary.NewHome(t, offline), binary.Options{})
	h := startHost(t, server.Home, map[string]any{"strata.start": false})
	h.until("open")
	h.order(nil, "answer", "openai", "sk-example")
	h.order(nil, "run", "strata.setKey")
	h.wantKey("memory")
	server.Stop()
	server.Restart(binary.Options{})
	h.until("open")
	h.wantKey("memory")
	h.order(nil, "answer", "openai")
	h.order(nil, "run", "strata.removeKey")
	h.wantKey("missing")
	server.Stop()
	if log := server.Log(); strings.Contains(log, "sk-example") {
		t.Errorf("the log contains the key:\n%s", log)
	}
	server.Restart(binary.Options{})
	h.until("open")
	h.wantKey("missing")
}

func TestDesktopAsksForARefusedKey(t *testing.T) {
	t.Parallel()
	server := binary.Start(t, binary.NewHome(t, offline), binary.Options{})
	h := startHost(t, server.Home, nil)
	h.until("open")
	id := h.newSession()
	h.order(nil, "answer", "Set Key", nil)
	if err := h.try(nil, "prompt", id, "fail 401"); err == nil {
		t.Error("the prompt succeeded")
	}
	h.order(nil, "asked", "offline does not accept the API key.")
	h.order(nil, "asked", "Key for offline")
}

// wantKey waits until the key of openai has a source.
func (h *host) wantKey(source string) {
	h.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(patience); ; {
		var list struct {
			Providers []struct{ Name, Key string } `json:"providers"`
		}
		h.order(&list, "call", "_strata/providers/list", map[string]any{})
		for _, p := range list.Providers {
			if p.Name == "openai" && p.Key == source {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-deadline:
			h.t.Fatalf("the key of openai never was %s: %+v", source, list)
		}
	}
}
