package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/llm/reply"
	"strata/session/events"
	"strata/session/servers"
	"strata/session/toolbox"
	"strata/session/tools"
)

// mcpSource runs MCP servers that do what a test says.
type mcpSource struct {
	readyAt int // the look at a server's state at which it is ready, with a tool log; 0: when the test says so

	mu   sync.Mutex
	uses []*mcpServer
}

// Use implements servers.Source.
func (s *mcpSource) Use(d servers.Definition, at servers.Place, changed func()) servers.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &mcpServer{name: d.Name, place: at, changed: changed, readyAt: s.readyAt, state: servers.State{Status: servers.Starting}}
	s.uses = append(s.uses, one)
	return one
}

// newest returns the newest use of a server.
func (s *mcpSource) newest(name string) *mcpServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range slices.Backward(s.uses) {
		if u.name == name {
			return u
		}
	}
	return nil
}

// counts returns the number of uses, and how many of them were released; -1 if one was released twice.
func (s *mcpSource) counts() (uses, released int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.uses {
		u.mu.Lock()
		released += u.released
		if u.released > 1 {
			released = -1
		}
		u.mu.Unlock()
	}
	return len(s.uses), released
}

type mcpServer struct {
	name    string
	place   servers.Place
	changed func()
	readyAt int

	mu       sync.Mutex
	looks    int
	state    servers.State
	released int
	calls    []string
}

// State implements servers.Server.
func (s *mcpServer) State() servers.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looks++; s.looks == s.readyAt {
		s.state = servers.State{Status: servers.Ready, Tools: []servers.Tool{{Name: "log"}}}
		s.changed()
	}
	return s.state
}

// Wake implements servers.Server.
func (s *mcpServer) Wake() {}

// Release implements servers.Server.
func (s *mcpServer) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released++
}

// Call implements servers.Server.
func (s *mcpServer) Call(_ context.Context, tool string, input json.RawMessage, progress func(string)) (servers.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, tool+string(input))
	progress("half of it")
	return servers.Result{Content: []history.Block{{Type: history.BlockText, Text: tool + " ran"}}}, nil
}

func (s *mcpServer) status() servers.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Status
}

func (s *mcpServer) is(status servers.Status, why string, names ...string) {
	s.mu.Lock()
	s.state = servers.State{Status: status, Error: why}
	for _, name := range names {
		s.state.Tools = append(s.state.Tools, servers.Tool{Name: name, Description: "Does " + name})
	}
	s.mu.Unlock()
	s.changed()
}

// using returns a change of the dependencies: the servers of the configuration with these names, which the user trusts.
func (s *mcpSource) using(names ...string) func(*Deps) {
	return func(d *Deps) {
		var configured []servers.Definition
		for _, name := range names {
			configured = append(configured, servers.Definition{Name: name, Command: name, Trusted: true})
		}
		d.Servers = servers.NewDirectory(s, configured, func() {})
	}
}

// toolNames returns the names of a request's tools that belong to MCP servers or frontends.
func (c *call) toolNames() string { return strings.Join(names(c.req), " ") }

// notices returns the notices that a subscriber has received.
func (a *acted) notices(c *events.Cursor) (all []string) {
	a.told() // what was posted before
	for {
		e, ok, err := c.Next(a.t.Context())
		if err != nil || !ok {
			return all
		}
		if e.Kind == events.Notice {
			all = append(all, e.Text)
		}
	}
}

// The first prompt waits for the servers that start. Their tools are in its request, and run.
func TestAFirstPromptWaitsForMCPServers(t *testing.T) {
	for name, held := range map[string]bool{"the reply begins before the prompt is stored": true, "the prompt has a file": false} {
		t.Run(name, func(t *testing.T) {
			source := new(mcpSource)
			a := acting(t, source.using("git"))
			blocks := []history.Block{{Type: history.BlockText, Text: "go"}}
			if !held {
				blocks = append(blocks, history.Block{Type: history.BlockResource, URI: "file://" + a.folder + "/a.go", MIME: "text/plain", Text: "package a\n"})
			}
			result := make(chan outcomeOf, 1)
			a.Prompt(Prompt{Blocks: blocks}, nil, func(r PromptResult, _ uint64, err error) { result <- outcomeOf{r, err} })
			a.told()
			if n := len(a.provider.calls); n > 0 {
				t.Fatal("the model is called before the server has started")
			}
			git := source.newest("git")
			git.is(servers.Ready, "", "log", "diff")
			first := a.asked()
			if got := first.toolNames(); got != "git__diff git__log" {
				t.Errorf("the request has the tools %s", got)
			}
			first.act(reply.StopToolUse, callsOf(1, `git__log{"n":1}`)...)
			second := a.asked()
			if !strings.Contains(texts(second.req), "go") || len(second.req.Tools) != len(first.req.Tools) {
				t.Errorf("the next request has the tools %s", second.toolNames())
			}
			second.end("done")
			if out := <-result; out.err != nil {
				t.Fatal(out.err)
			}
			if got := fmt.Sprint(git.calls); got != `[log{"n":1}]` {
				t.Errorf("the calls are %s", got)
			}
			if got := a.transcript(); !strings.Contains(got[1], "call git__log") || got[2] != "tool result of tc_1" {
				t.Errorf("the transcript is %q", got)
			}
		})
	}
}

// A server that gets ready at any moment while a turn begins has its tools in the first request.
func TestAnMCPServerGetsReadyWhileATurnBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for look := 1; ; look++ {
			source := &mcpSource{readyAt: look}
			a := acting(t, source.using("git"))
			result := a.prompt("one", nil)
			c := a.asked()
			ready := source.newest("git").status() == servers.Ready
			if ready && c.toolNames() != "git__log" {
				t.Errorf("ready at look %d: the request has the tools %q", look, c.toolNames())
			}
			c.end("done")
			<-result
			if !ready {
				if look <= 3 {
					t.Errorf("only %d looks were made", look-1)
				}
				return
			}
		}
	})
}

// A prompt waits 5 s at most. The tools of a server that starts later are those of the next turn.
func TestAPromptDoesNotWaitLongForMCPServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := new(mcpSource)
		a := acting(t, source.using("git"))
		began := time.Now()
		result := a.prompt("one", nil)
		c := a.asked()
		if waited := time.Since(began); waited != 5*time.Second || c.toolNames() != "" {
			t.Errorf("after %v the request has the tools %s", waited, c.toolNames())
		}
		source.newest("git").is(servers.Ready, "", "log")
		c.act(reply.StopToolUse, callsOf(1, `read_file{"path":"a.go"}`)...)
		c = a.asked()
		if got := c.toolNames(); got != "" {
			t.Errorf("a later request of the turn has the tools %s", got)
		}
		c.end("done")
		<-result
		began = time.Now()
		result = a.prompt("two", nil)
		c = a.asked()
		if waited := time.Since(began); waited != 0 || c.toolNames() != "git__log" {
			t.Errorf("after %v the next turn has the tools %s", waited, c.toolNames())
		}
		c.end("done")
		<-result
	})
}

// A server that is ready before the prompt is stored: the request has the prompt, and its tools.
func TestMCPServersStartWhileThePromptIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, store := new(mcpSource), newHeldStore()
		a := acting(t, source.using("git"), func(d *Deps) { d.Store = store })
		result := a.prompt("hello", nil)
		synctest.Wait()
		source.newest("git").is(servers.Ready, "", "log")
		synctest.Wait()
		store.decide <- nil
		c := a.asked()
		if got := texts(c.req); c.toolNames() != "git__log" || !strings.Contains(got, "hello") {
			t.Errorf("the request has the tools %s and the texts %q", c.toolNames(), got)
		}
		c.end("hi")
		<-result
	})
}

// A session without servers, and one whose model has no tools, do not wait.
func TestWhoDoesNotWaitForMCPServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := new(mcpSource)
		noTools := true
		for name, change := range map[string]func(*Deps){
			"no servers":    source.using(),
			"a plain model": func(d *Deps) { source.using("git")(d); d.Models = varying{d.Models.(oneModel), &noTools} },
			"tools are off": func(d *Deps) { source.using("git")(d); d.Tools.Enabled = false },
		} {
			a := acting(t, change)
			began := time.Now()
			result := a.prompt("hello", nil)
			a.asked().end("hi")
			<-result
			if waited := time.Since(began); waited != 0 {
				t.Errorf("%s: the turn took %v", name, waited)
			}
		}
		if uses, _ := source.counts(); uses != 1 {
			t.Errorf("%d servers were used", uses)
		}
	})
}

// refusedPrompts is a store that stores no prompts while they are refused.
type refusedPrompts struct {
	*lockedStore
	refused atomic.Bool
}

// Commit implements Store.
func (s *refusedPrompts) Commit(ctx context.Context, ch history.Change) error {
	if ch.Begin != nil && s.refused.Load() {
		return fmt.Errorf("disk full: %w", history.ErrUnchanged)
	}
	return s.lockedStore.Commit(ctx, ch)
}

// A cancellation, and a prompt that cannot be stored, end the wait.
func TestAWaitForMCPServersEndsWithItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := new(mcpSource)
		var prompts refusedPrompts
		a := acting(t, source.using("git"), func(d *Deps) {
			prompts.lockedStore = d.Store.(*lockedStore)
			d.Store = &prompts
		})
		began := time.Now()
		result := a.prompt("hello", nil)
		synctest.Wait()
		a.Cancel("")
		if out := <-result; out.err != nil || out.Turn.StopReason != "cancelled" || time.Since(began) > time.Second {
			t.Errorf("cancelled: %+v after %v", out, time.Since(began))
		}
		prompts.refused.Store(true)
		if out := <-a.prompt("lost", nil); out.err == nil || time.Since(began) > time.Second {
			t.Errorf("not stored: %+v after %v", out, time.Since(began))
		}
		prompts.refused.Store(false)
		source.newest("git").is(servers.Ready, "", "log")
		result = a.prompt("again", nil)
		c := a.asked()
		for c.ctx.Err() != nil {
			c = a.asked()
		}
		if got := c.toolNames(); got != "git__log" {
			t.Errorf("the tools are %s", got)
		}
		c.end("done")
		<-result
	})
}

// A changed list counts from the next turn. A tool that is gone stays in the requests, withdrawn, until nothing of them is
// cached, or until another one is added. A server that fails changes nothing.
func TestChangedListsOfMCPServers(t *testing.T) {
	source := new(mcpSource)
	a := acting(t, caching(time.Now), source.using("git"))
	a.Servers().Open(servers.Opening{})
	a.told()
	git := source.newest("git")
	git.is(servers.Ready, "", "log", "diff")
	first, second, result := a.play("one", `git__diff{}`, nil, func() { git.is(servers.Ready, "", "log") })
	if definitions(first) != definitions(second) || result != "diff ran" {
		t.Errorf("in the turn the tools become %v, the result is %q", names(second), result)
	}
	third, _, result := a.play("two", `git__diff{}`, nil, func() {})
	if definitions(third) != definitions(first) || result != "git__diff was not run: it is no longer available. Do without it." {
		t.Errorf("in the next turn the tools are %v, the result is %q", names(third), result)
	}
	git.is(servers.Failed, "exit code 1", "log")
	down, _, result := a.play("three", `git__log{}`, nil, func() {})
	if definitions(down) != definitions(first) || result != "git is not running: exit code 1. Do without it, or try again later." {
		t.Errorf("with the server down the tools are %v, the result is %q", names(down), result)
	}
	git.is(servers.Ready, "", "log", "blame")
	later, _, result := a.play("four", `git__blame{}`, nil, func() {})
	if got := names(later); !slices.Equal(got, []string{"git__blame", "git__log"}) || result != "blame ran" {
		t.Errorf("after an addition the tools are %v, the result is %q", got, result)
	}
}

// A server that fails is a notice, and the turn goes on without its tools.
func TestAFailedMCPServerIsANotice(t *testing.T) {
	source := new(mcpSource)
	a := acting(t, source.using("db", "git"))
	reader := a.NewCursor(func() {})
	a.attach(reader)
	result := a.prompt("hello", nil)
	a.told()
	source.newest("git").is(servers.Failed, "program not found")
	source.newest("db").is(servers.Ready, "", "query")
	c := a.asked()
	if got := c.toolNames(); got != "db__query" {
		t.Errorf("the tools are %s", got)
	}
	c.end("done")
	if out := <-result; out.err != nil {
		t.Error(out.err)
	}
	if got := a.notices(reader); !slices.Equal(got, []string{"MCP server git: failed: program not found"}) {
		t.Errorf("the notices are %q", got)
	}
}

// Tools that a frontend declares keep their names; those of servers give way, whenever they come.
func TestDeclaredToolsAndMCPServersCollide(t *testing.T) {
	source, r := new(mcpSource), newRunner()
	a := acting(t, source.using("git"))
	a.Servers().Open(servers.Opening{})
	a.told()
	git := source.newest("git")
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("t%03d", i))
	}
	git.is(servers.Ready, "", "log")
	for _, tt := range []struct {
		declared []string
		listed   []string
		want     string
	}{
		{nil, []string{"log"}, "git__log"},
		{[]string{"git__log"}, []string{"log"}, "git__log git__log_2"},
		{[]string{"git__log", "git__log_2"}, []string{"log", "l og"}, "git__l_og git__log git__log_2 git__log_3"},
	} {
		git.is(servers.Ready, "", tt.listed...)
		result := a.offering("go", r.offers(t, tt.declared...))
		c := a.asked()
		if got := c.toolNames(); got != tt.want {
			t.Errorf("declared %v, listed %v: %s", tt.declared, tt.listed, got)
		}
		c.end("done")
		<-result
	}
	git.is(servers.Ready, "", many...)
	for _, declared := range [][]string{nil, many[:toolbox.MaxDeclared]} {
		result := a.offering("go", r.offers(t, declared...))
		c := a.asked()
		if got := len(c.req.Tools); got != tools.MaxTools {
			t.Errorf("with 300 listed and %d declared tools the request has %d", len(declared), got)
		}
		c.end("done")
		<-result
	}
}

// The servers end with the session, each use once, however it ends.
func TestMCPServersEndWithTheirSession(t *testing.T) {
	for name, end := range map[string]func(*acted){
		"closed":   func(a *acted) { a.Close(ReasonClosed, func() {}) },
		"deleted":  func(a *acted) { a.Close(ReasonDeleted, func() {}); a.Close(ReasonDeleted, func() {}) },
		"shutdown": func(a *acted) { a.Close(ReasonShutdown, func() {}) },
		"unloaded": func(a *acted) { a.Unload(time.Now().Add(time.Hour), func(bool) {}) },
	} {
		source := new(mcpSource)
		a := acting(t, source.using("db", "git"))
		a.Servers().Open(servers.Opening{Named: []servers.Definition{{Name: "web", Command: "web"}}})
		a.told()
		if uses, released := source.counts(); uses != 3 || released != 0 {
			t.Errorf("%s: %d uses, %d released before", name, uses, released)
		}
		end(a)
		<-a.Done()
		a.Servers().Open(servers.Opening{})
		if uses, released := source.counts(); uses != 3 || released != 3 {
			t.Errorf("%s: %d uses, %d released", name, uses, released)
		}
	}
}

// Reading a session, and following it, starts no servers.
func TestReadingASessionStartsNoMCPServers(t *testing.T) {
	source := new(mcpSource)
	a := acting(t, source.using("git"))
	a.attach(a.NewCursor(func() {}))
	a.told()
	if _, err := answerOf(a.Accounts().Budget); err != nil {
		t.Fatal(err)
	}
	if uses, _ := source.counts(); uses != 0 {
		t.Errorf("%d uses", uses)
	}
}

// A session that moves uses the servers in its new folder. Its copy uses what its editor has named.
func TestMCPServersOfAMovedAndOfACopiedSession(t *testing.T) {
	source := new(mcpSource)
	a := acting(t, source.using("git"))
	opening := servers.Opening{Named: []servers.Definition{{Name: "web", Command: "web"}}, Environment: []string{"A=1"}}
	a.Servers().Open(opening)
	folder, root := t.TempDir(), t.TempDir()
	if _, err := answerOf(func(reply func(Info, error)) { a.SetFolders(folder, []string{root}, reply) }); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"git", "web"} {
		if at := source.newest(name).place; at.Folder != folder || !slices.Equal(at.Roots, []string{root}) || !slices.Equal(at.Environment, []string{"A=1"}) {
			t.Errorf("%s works in %+v", name, at)
		}
	}
	if uses, released := source.counts(); uses != 4 || released != 2 {
		t.Errorf("%d uses, %d released", uses, released)
	}
	fork, err := answerOf(func(reply func(Fork, error)) { a.Fork(ForkRequest{}, reply) })
	if err != nil || fmt.Sprint(fork.Servers) != fmt.Sprint(opening) {
		t.Errorf("the copy gets %+v, %v", fork.Servers, err)
	}
}
