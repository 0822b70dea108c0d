package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/session/servers"
)

// near is a link to a server in the same process.
type near struct {
	sdk.Transport
	end func()
}

func (n *near) close()                  { n.end() }
func (n *near) wait()                   {}
func (n *near) explain(err error) error { return err }

// flaky is a server whose starts a test decides about.
type flaky struct {
	server  *sdk.Server
	starts  int
	refuse  error // of the next start
	session *sdk.ServerSession
}

func (f *flaky) reach(*inbox) (link, error) {
	f.starts++
	if f.refuse != nil {
		return nil, f.refuse
	}
	ours, theirs := sdk.NewInMemoryTransports()
	session, err := f.server.Connect(context.Background(), theirs, nil)
	f.session = session
	return &near{ours, func() { _ = session.Close() }}, err
}

// startFlaky runs a server in a bubble of fake time.
func startFlaky(t *testing.T, f *flaky, changed func()) *use {
	f.server = echoServer(t)
	s := newServer(servers.Definition{Name: "flaky"}, servers.Place{Folder: "/f"}, slog.New(slog.DiscardHandler), standard, "1", f.reach)
	u := &use{server: s, changed: changed}
	u.release = func() { s.end(); <-s.done }
	s.mu.Lock()
	s.uses[u] = true
	s.mu.Unlock()
	synctest.Wait()
	return u
}

func TestAFailedServerStartsAgainAfterGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{refuse: errors.New("broken")}
		u := startFlaky(t, f, func() {})
		defer u.Release()
		for i, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			time.Sleep(pause*time.Second - time.Nanosecond)
			u.Wake()
			synctest.Wait()
			equal(t, "starts in the pause", f.starts, i+1)
			time.Sleep(time.Nanosecond)
			u.Wake()
			synctest.Wait()
			equal(t, "starts after the pause", f.starts, i+2)
			equal(t, "state", u.State(), servers.State{Status: servers.Failed, Error: "broken"})
		}
	})
}

func TestAServerThatWasReadyForLongStartsAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{refuse: errors.New("broken")}
		u := startFlaky(t, f, func() {})
		defer u.Release()
		time.Sleep(time.Second)
		f.refuse = nil
		u.Wake()
		synctest.Wait()
		equal(t, "status", u.State().Status, servers.Ready)
		equal(t, "error of a server that is ready", u.State().Error, "")
		time.Sleep(maxPause)
		_ = f.session.Close()
		synctest.Wait()
		state := u.State()
		equal(t, "status at the end", state.Status, servers.Failed)
		equal(t, "tools at the end", names(state.Tools), []string{"echo"})
		time.Sleep(minPause)
		u.Wake()
		synctest.Wait()
		equal(t, "status after a second", u.State().Status, servers.Ready)
	})
}

func TestACallWaitsForAServerThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{}
		gate := make(chan struct{})
		s := newServer(servers.Definition{Name: "slow"}, servers.Place{Folder: "/f"}, slog.New(slog.DiscardHandler), standard, "1", func(in *inbox) (link, error) {
			<-gate
			return f.reach(in)
		})
		f.server = echoServer(t)
		u := &use{server: s, changed: func() {}}
		defer func() { s.end(); <-s.done }()
		var text atomic.Value
		go func() {
			r, err := u.Call(t.Context(), "echo", []byte(`{"text":"late"}`), func(string) {})
			if err != nil {
				t.Error(err)
			}
			text.Store(textOf(r.Content))
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := u.Call(ctx, "echo", nil, func(string) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		close(gate)
		synctest.Wait()
		equal(t, "result", text.Load(), any("late"))
	})
}

func TestEveryChangeOfTheStateIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{refuse: errors.New("broken")}
		var u *use
		var seen []servers.Status
		u = startFlaky(t, f, func() {
			if u != nil {
				seen = append(seen, u.State().Status)
			}
		})
		defer u.Release()
		f.refuse = nil
		time.Sleep(time.Second)
		u.Wake()
		synctest.Wait()
		_ = f.session.Close()
		synctest.Wait()
		equal(t, "states", seen, []servers.Status{servers.Starting, servers.Ready, servers.Failed})
	})
}

func TestChangesOfAListAreListedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{}
		u := startFlaky(t, f, func() {})
		defer u.Release()
		var lists atomic.Int32
		f.server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		in := u.current.inbox
		for range 1000 {
			_, _, err := in.accept(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
			must(t, err)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := lists.Load(); n < 9 || n > 11 {
			t.Errorf("%d lists in 10 s", n)
		}
	})
}

func TestAListThatFailsAgainLeavesTheToolsAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{}
		u := startFlaky(t, f, func() {})
		defer u.Release()
		f.server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if method == "tools/list" {
					return nil, errors.New("no list today")
				}
				return next(ctx, method, req)
			}
		})
		u.current.inbox.changed <- struct{}{}
		time.Sleep(2 * time.Second)
		state := u.State()
		equal(t, "status", state.Status, servers.Ready)
		equal(t, "tools", names(state.Tools), []string{"echo"})
		hasAll(t, state.Error, "list tools", "no list today")
	})
}
