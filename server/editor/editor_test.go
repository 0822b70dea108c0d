package editor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/internal/leak"
	"strata/rpc"
	"strata/server/wire"
	"strata/session/clients"
)

func TestMain(m *testing.M) { leak.Main(m) }

// request is a request that a client has received.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		TerminalID string
		Path       string
	}
}

func (r request) String() string { return r.Method + " " + r.Params.TerminalID + r.Params.Path }

// stage is an editor over a connection in memory.
type stage struct {
	*Editor
	t      *testing.T
	client net.Conn
	ends   func()
	owned  sync.WaitGroup // goroutines of the editor

	mu       sync.Mutex
	received []request
}

// newStage returns an editor whose connection may have calls requests in flight. It must be called in a bubble.
func newStage(t *testing.T, calls int) *stage {
	server, client := net.Pipe()
	conn := rpc.NewConn(rpc.NewLineStream(server, server, server, rpc.Limits{}), nil, rpc.Options{Calls: calls, PingInterval: time.Hour})
	st := &stage{t: t, client: client}
	st.Editor = New(Options{
		SessionID: "s", Conn: conn, Capabilities: wire.Capabilities{Terminals: true}, Go: st.owned.Go,
	})
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { _ = conn.Serve(ctx) })
	ended.Go(st.read)
	st.ends = func() {
		cancel()
		client.Close()
		ended.Wait()
	}
	return st
}

func (st *stage) read() {
	for lines := bufio.NewScanner(st.client); lines.Scan(); {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			st.t.Error(err)
		}
		st.mu.Lock()
		st.received = append(st.received, r)
		st.mu.Unlock()
	}
}

// requests returns what the client has received once nothing more happens.
func (st *stage) requests() (all []string) {
	synctest.Wait()
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, r := range st.received {
		all = append(all, r.String())
	}
	return all
}

// want compares the client's requests.
func (st *stage) want(all ...string) {
	st.t.Helper()
	if got := st.requests(); !slices.Equal(got, all) {
		st.t.Errorf("the client received %q, want %q", got, all)
	}
}

// respond sends a result of a request, from 0.
func (st *stage) respond(n int, result string) {
	st.mu.Lock()
	id := st.received[n].ID
	st.mu.Unlock()
	if _, err := io.WriteString(st.client, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)); err != nil {
		st.t.Error(err)
	}
	synctest.Wait()
}

// The end of a terminal is sent in order, and nobody waits for the responses.
func TestEndingsAreSentInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 64)
		var want []string
		for n := range 10 {
			id := fmt.Sprint("t", n)
			st.KillTerminal(id, 0)
			st.ReleaseTerminal(id, 0)
			want = append(want, "terminal/kill "+id, "terminal/release "+id)
		}
		st.want(want...)
		for n := range 5 {
			st.respond(n, `{"anything":[]}`)
		}
		time.Sleep(endTime + time.Second) // of the bubble: those without a response are given up
		st.owned.Wait()
		if got := st.requests(); len(got) != 20+15 || slices.ContainsFunc(got[20:], func(r string) bool { return !strings.HasPrefix(r, "$/cancel_request") }) {
			t.Errorf("the client received %q", got)
		}
		st.ends()
	})
}

// A terminal whose turn was cancelled while it was created is ended as soon as its id is known.
func TestATerminalIsEndedThatNobodyWaitsForAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 64)
		ctx, cancel := context.WithCancel(t.Context())
		create := func() {
			if _, err := st.CreateTerminal(ctx, clients.TerminalCommand{}, 0); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		var waits sync.WaitGroup
		waits.Go(create)
		waits.Go(create)
		st.want("terminal/create ", "terminal/create ")
		cancel()
		waits.Wait() // without a response
		st.want("terminal/create ", "terminal/create ")
		st.respond(0, `{"terminalId":"t1"}`)
		st.want("terminal/create ", "terminal/create ", "terminal/kill t1", "terminal/release t1")
		st.respond(1, `{}`)
		st.want("terminal/create ", "terminal/create ", "terminal/kill t1", "terminal/release t1")
		st.ends()
		st.owned.Wait()
	})
}

// A connection with too many requests in flight delays the end of a terminal, and does not lose it.
func TestEndingsWaitForABusyConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 1)
		exit := make(chan clients.Exit, 1)
		go func() {
			e, err := st.WaitForExit(t.Context(), "t1", 0)
			if err != nil {
				t.Error(err)
			}
			exit <- e
		}()
		synctest.Wait()
		if _, err := st.TerminalOutput(t.Context(), "t1", 0); !errors.Is(err, clients.ErrBusy) {
			t.Errorf("got %v", err)
		}
		st.KillTerminal("t1", 0)
		st.ReleaseTerminal("t1", 0)
		time.Sleep(time.Second)
		st.want("terminal/wait_for_exit t1")
		st.respond(0, `{"signal":"SIGTERM"}`)
		if e := <-exit; e.Signal != "SIGTERM" || e.Code != nil {
			t.Errorf("got %+v", e)
		}
		time.Sleep(time.Second)
		st.want("terminal/wait_for_exit t1", "terminal/kill t1")
		st.respond(1, `null`)
		time.Sleep(time.Second)
		st.want("terminal/wait_for_exit t1", "terminal/kill t1", "terminal/release t1")
		st.respond(2, `{}`)
		st.owned.Wait()
		st.ends()
	})
}

// A connection that stays busy costs a bounded queue and bounded time.
func TestEndingsOfAStuckClientAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var waits sync.WaitGroup
		waits.Go(func() {
			if _, err := st.WaitForExit(ctx, "t1", 0); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		for n := range 3 * maxEndings {
			st.ReleaseTerminal(fmt.Sprint(n), 0)
		}
		synctest.Wait()
		st.last.mu.Lock()
		if n := len(st.last.queue); n > maxEndings || n < maxEndings-1 { // one may be in the hands of the sender
			t.Errorf("%d endings wait", n)
		}
		st.last.mu.Unlock()
		time.Sleep(endTime + time.Second)
		synctest.Wait()
		st.owned.Wait()
		st.want("terminal/wait_for_exit t1")
		cancel()
		waits.Wait()
		st.ReleaseTerminal("later", 0)
		time.Sleep(time.Second)
		st.want("terminal/wait_for_exit t1", "$/cancel_request ", "terminal/release later")
		st.ends()
		st.owned.Wait()
	})
}

// A client that vanishes ends all requests for its terminals, and the wait for those that nobody waits for.
func TestAClientVanishesWithTerminals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 64)
		var waits sync.WaitGroup
		for _, ask := range []func() error{
			func() error { _, err := st.CreateTerminal(t.Context(), clients.TerminalCommand{}, 0); return err },
			func() error { _, err := st.TerminalOutput(t.Context(), "t1", 0); return err },
			func() error { _, err := st.WaitForExit(t.Context(), "t1", 0); return err },
		} {
			waits.Go(func() {
				if err := ask(); !errors.Is(err, clients.ErrGone) {
					t.Errorf("got %v", err)
				}
			})
		}
		st.KillTerminal("t1", 0)
		if got := st.requests(); len(got) != 4 {
			t.Errorf("the client received %q", got)
		}
		st.ends()
		st.ReleaseTerminal("t1", 0)
		waits.Wait()
		st.owned.Wait()
	})
}

// A result that ACP does not have is an error of its own kind; a client that takes its time for the exit of a command has it.
func TestResponsesAboutTerminals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, 64)
		errs := make(chan error)
		ask := func(do func() error) {
			go func() { errs <- do() }()
			synctest.Wait()
		}
		exit := func() error { _, err := st.WaitForExit(t.Context(), "t1", 0); return err }
		create := func() error { _, err := st.CreateTerminal(t.Context(), clients.TerminalCommand{}, 0); return err }
		output := func() error { _, err := st.TerminalOutput(t.Context(), "t1", 0); return err }
		for n, tt := range []struct {
			do     func() error
			result string
			want   error
		}{
			{create, `{"terminalId":"t1"}`, nil}, {create, `{}`, clients.ErrInvalid},
			{output, `{"output":"","truncated":false}`, nil}, {output, `{"output":""}`, clients.ErrInvalid},
			{exit, `{"exitCode":0}`, nil}, {exit, `{"exitCode":-1}`, clients.ErrInvalid},
		} {
			ask(tt.do)
			st.respond(n, tt.result)
			if err := <-errs; !errors.Is(err, tt.want) {
				t.Errorf("request %d: got %v", n, err)
			}
		}
		ask(exit)
		time.Sleep(time.Hour)
		st.respond(6, `{"exitCode":0}`)
		if err := <-errs; err != nil {
			t.Errorf("after an hour: %v", err)
		}
		for _, do := range []func() error{create, output} {
			ask(do)
			if err := <-errs; !errors.Is(err, clients.ErrLate) {
				t.Errorf("without a response: %v", err)
			}
		}
		st.ends()
	})
}
