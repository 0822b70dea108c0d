package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"strata/internal/binary"
	"strata/internal/upstream"
)

// world is the environment of the tests in TypeScript: a real server with a scripted model, behind a proxy that can cut
// connections. The tests control it by requests, which run on the test's goroutine.
type world struct {
	t     *testing.T
	model *upstream.Server
	home  *binary.Home
	proxy *proxy

	server *binary.Server
	gates  map[string]chan struct{}

	commands chan command
}

// command is a request to the control, with a channel for the response.
type command struct {
	name   string
	params json.RawMessage
	answer chan<- any
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, model: upstream.Start(upstream.Options{}), proxy: newProxy(t), gates: make(map[string]chan struct{}), commands: make(chan command)}
	t.Cleanup(w.model.Close)
	w.home = binary.NewHome(t, binary.Config(w.model.OpenAIURL())+fmt.Sprintf("hosts: [%q]\norigins: [\"vscode-webview://*\"]\n", w.proxy.address()))
	w.server = binary.Start(t, w.home, serveDebug)
	w.proxy.lead(w.server.Info)
	return w
}

var serveDebug = binary.Options{Args: []string{"--debug"}}

// serve runs a command and handles its requests until it ends.
func (w *world) serve(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	control := httptest.NewServer(http.HandlerFunc(w.control))
	defer control.Close()
	var output strings.Builder
	cmd.Env = append(w.home.Environment(), "STRATA_TEST_CONTROL="+control.URL, "STRATA_TEST_PROGRAM="+w.home.Command(t.Context()).Path)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: make test installs node", err)
	}
	done := make(chan error, 1)
	go func() { done <- ended(t.Context(), cmd) }()
	for {
		select {
		case c := <-w.commands:
			c.answer <- w.obey(c)
		case err := <-done:
			if err != nil {
				t.Fatalf("%v\n%s", err, output.String())
			}
			t.Logf("%s", output.String())
			w.openGates()
			return
		}
	}
}

func (w *world) control(rw http.ResponseWriter, r *http.Request) {
	params, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	answer := make(chan any, 1)
	select {
	case w.commands <- command{name: strings.TrimPrefix(r.URL.Path, "/"), params: params, answer: answer}:
	case <-r.Context().Done():
		return
	}
	json.NewEncoder(rw).Encode(<-answer)
}

// obey runs a command and returns the response.
func (w *world) obey(c command) any {
	switch c.name {
	case "world":
		return map[string]any{"proxy": "ws://" + w.proxy.address() + "/acp", "project": w.home.Project, "server": w.server.Info}
	case "script":
		var s script
		w.read(c, &s)
		w.model.Push(w.replyOf(s))
	case "open":
		var gate string
		w.read(c, &gate)
		close(w.gate(gate))
		delete(w.gates, gate)
	case "asked":
		return len(w.model.Requests())
	case "cut":
		return w.proxy.cut()
	case "refuse":
		w.proxy.refuse(true)
	case "accept":
		w.proxy.refuse(false)
	case "kill":
		w.server.Kill()
	case "stop":
		w.server.Stop()
	case "restart":
		w.server.Restart(serveDebug)
		w.proxy.lead(w.server.Info)
	default:
		w.t.Errorf("unknown command %q", c.name)
	}
	return nil
}

func (w *world) read(c command, into any) {
	if err := json.Unmarshal(c.params, into); err != nil {
		w.t.Errorf("%s: %v", c.name, err)
	}
}

// script is the model's reply to one request: texts and gates, which must be opened.
type script struct {
	Steps []struct {
		Text    string `json:"text"`
		Thought string `json:"thought"`
		Gate    string `json:"gate"`
		Times   int    `json:"times"` // number of deltas with this text
	} `json:"steps"`
}

func (w *world) replyOf(s script) upstream.Script {
	answer := upstream.Script{Usage: upstream.Usage{Input: 10, Output: 5}}
	for _, step := range s.Steps {
		switch {
		case step.Gate != "":
			answer.Steps = append(answer.Steps, upstream.Hold(w.gate(step.Gate)))
		case step.Thought != "":
			answer.Steps = append(answer.Steps, upstream.Thinking(step.Thought, ""))
		default:
			for i := range max(step.Times, 1) {
				answer.Steps = append(answer.Steps, upstream.Text(strings.ReplaceAll(step.Text, "#", fmt.Sprint(i+1))))
			}
		}
	}
	return answer
}

func (w *world) gate(name string) chan struct{} {
	if w.gates[name] == nil {
		w.gates[name] = make(chan struct{})
	}
	return w.gates[name]
}

// openGates opens the gates that a test left closed.
func (w *world) openGates() {
	for name, gate := range w.gates {
		close(gate)
		delete(w.gates, name)
	}
}

// proxy forwards TCP connections to a server and can cut them. Its address does not change with the server.
type proxy struct {
	listener net.Listener

	mu     sync.Mutex
	target string
	closed bool // accepts no connections
	conns  map[net.Conn]struct{}
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, conns: make(map[net.Conn]struct{})}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { p.pass(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.cut()
		wait.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// lead forwards new connections to the given server.
func (p *proxy) lead(to binary.Info) {
	u, err := url.Parse(to.URL)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.target = u.Host
	}
}

func (p *proxy) refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = refuse
}

// cut ends all connections and returns their number.
func (p *proxy) cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.conns)
	for conn := range p.conns {
		conn.Close()
	}
	clear(p.conns)
	return n / 2
}

func (p *proxy) pass(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	target, closed := p.target, p.closed
	p.mu.Unlock()
	if closed {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	closed = p.closed // since it was looked at
	if !closed {
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	}
	p.mu.Unlock()
	if closed {
		return
	}
	var both sync.WaitGroup
	copyTo := func(to, from net.Conn) {
		io.Copy(to, from)
		to.Close()
		from.Close()
	}
	both.Go(func() { copyTo(server, client) })
	both.Go(func() { copyTo(client, server) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}
