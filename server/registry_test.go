package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
	"strata/rpc"
	"strata/server/access"
	"strata/server/wire"
	"strata/session"
)

// A session that is asked for while it closes gets a successor, even if the memory is full. The end of the first session
// leaves the successor where it is.
func TestSuccessorsOfSessionsThatClose(t *testing.T) {
	t.Parallel()
	provider := failing{asked: make(chan struct{}), gate: make(chan struct{})}
	ts := startServer(t, func(o *Options) {
		o.Memory = 2
		o.Models.(*testModels).Streamer = provider
	})
	release := sync.OnceFunc(func() { close(provider.gate) })
	defer release()
	g := ts.server.sessions
	record := func() history.Session { return history.Session{ID: ts.server.newID("sess_"), CWD: ts.work} }
	first, _, err := g.create(record())
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := g.create(record()) // held
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*session.Session{first, other} {
		if _, err := wait(t.Context(), s.Info); err != nil {
			t.Fatal(err)
		}
	}
	third, _, err := g.create(record())
	if err != nil {
		t.Fatal(err)
	}
	_, err = wait(t.Context(), third.Info)
	wireFault(t, err, wire.CodeBusy)
	blocks := []history.Block{{Type: history.BlockText, Text: "hello"}}
	first.Prompt(session.Prompt{Blocks: blocks}, nil, func(session.PromptResult, uint64, error) {})
	<-provider.asked
	first.Close(session.ReasonClosed, func() {})
	if _, ok := g.get(first.ID()); ok {
		t.Error("a session that closes counts as loaded")
	}
	second, _, err := g.open(first.ID())
	if err != nil || second == first {
		t.Fatalf("the same session %t, %v", second == first, err)
	}
	release()
	<-first.Done()
	if again, _, err := g.open(first.ID()); err != nil || again != second {
		t.Errorf("the same successor %t, %v", again == second, err)
	}
}

func TestNoSessionIsOpenedAfterTheShutdown(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	g := ts.server.sessions
	s, _, err := g.create(history.Session{ID: ts.server.newID("sess_"), CWD: ts.work})
	if err != nil {
		t.Fatal(err)
	}
	g.shutdown()
	if _, _, err := g.create(history.Session{CWD: ts.work}); !errors.Is(err, errShutdown) {
		t.Errorf("created: %v", err)
	}
	if _, _, err := g.open(s.ID()); !errors.Is(err, errShutdown) {
		t.Errorf("opened: %v", err)
	}
}

func TestConnectionsAreLimitedAndCounted(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	c := newConnections(2, func() time.Time { return now })
	for i, want := range []bool{true, true, false} {
		if c.enter() != want {
			t.Fatalf("connection %d: %t", i, !want)
		}
	}
	done := c.serve(new(rpc.Conn), access.Grant{})
	now = now.Add(time.Hour)
	if idle := c.idleFor(now); idle != 0 || c.count() != 2 || len(c.served) != 1 {
		t.Errorf("idle for %v, %d connections, %d served", idle, c.count(), len(c.served))
	}
	done()
	c.leave()
	if !c.enter() {
		t.Error("a connection that ended makes no room")
	}
	c.leave()
	c.leave()
	now = now.Add(time.Minute)
	if idle := c.idleFor(now); idle != time.Minute || c.count() != 0 || len(c.served) != 0 {
		t.Errorf("idle for %v, %d connections, %d served", idle, c.count(), len(c.served))
	}
	c.wait()
}

func TestTheIntervalOfHousekeeping(t *testing.T) {
	t.Parallel()
	for opt, want := range map[[2]time.Duration]time.Duration{ // idle unload, idle exit
		{time.Hour, 0}: time.Minute, {2 * time.Minute, 0}: 30 * time.Second, {time.Hour, 8 * time.Second}: 2 * time.Second,
		{time.Hour, time.Hour}: time.Minute, {time.Hour, time.Millisecond}: 10 * time.Millisecond,
	} {
		if got := housekeeping(Options{IdleUnload: opt[0], ExitIdle: opt[1]}); got != want {
			t.Errorf("%v: %v, want %v", opt, got, want)
		}
	}
}

// A server without connections does not exit while a session is in memory.
func TestAServerWithASessionDoesNotExit(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	opt := ts.server.Options
	var looks atomic.Int64
	later := time.Now().Add(time.Hour)
	opt.ExitIdle, opt.IdleUnload = 40*time.Millisecond, 10*time.Hour
	opt.Host = &host{now: func() time.Time { looks.Add(1); return later.Add(time.Duration(looks.Load()) * time.Minute) }}
	idle, err := New(ts.store, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.pool.Close()
	s, release, err := idle.sessions.create(history.Session{ID: idle.newID("sess_"), CWD: ts.work})
	if err != nil {
		t.Fatal(err)
	}
	release()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stopped atomic.Bool
	idle.stop = func() { stopped.Store(true) }
	ended := make(chan struct{})
	go func() {
		idle.keepHouse(ctx)
		close(ended)
	}()
	for seen := looks.Load(); looks.Load() < seen+20; {
		if stopped.Load() {
			t.Fatal("the server exits")
		}
		time.Sleep(time.Millisecond)
	}
	s.Close(session.ReasonClosed, func() {})
	<-ended
	if !stopped.Load() {
		t.Error("the server does not exit without sessions")
	}
}

// What the first session needs is prepared with it, once, and not before.
func TestPrepareWithTheFirstSession(t *testing.T) {
	prepared := make(chan struct{}, 10)
	ts := startServer(t, func(o *Options) { o.Prepare = func() { prepared <- struct{}{} } })
	e := ts.editor()
	if err := e.Call("_strata/server/info", nil, nil); err != nil {
		t.Fatal(err)
	}
	if len(prepared) > 0 {
		t.Error("prepared before there was a session")
	}
	for range 3 {
		e.NewSession(ts.work)
	}
	ts.close() // waits for what runs in the background
	if n := len(prepared); n != 1 {
		t.Errorf("prepared %d times", n)
	}
}

func TestPreparationsAreDoneOnce(t *testing.T) {
	for name, start := range map[string]func(now, later func()){
		"now":   func(now, _ func()) { now(); now() },
		"later": func(_, later func()) { later(); later() },
		"both":  func(now, later func()) { later(); now() },
	} {
		var b backend
		var done atomic.Int32
		start(b.preparation(func() { done.Add(1) }))
		b.background.Wait()
		if n := done.Load(); n != 1 {
			t.Errorf("%s: done %d times", name, n)
		}
	}
}
