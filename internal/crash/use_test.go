package crash

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"strata/internal/binary"
)

// The defaults detect what each use of a session leaves behind; `make soak` runs 300 sessions for 30 minutes.
var (
	useSessions = flag.Int("sessions", 10, "sessions of TestUseLevelsOff, which all work at once")
	useTime     = flag.Duration("use", 3*time.Second, "how long TestUseLevelsOff uses them")
)

// usePhases is the number of phases, after each of which the server is measured at rest.
const usePhases = 6

// The allowed growth in the second half. The server keeps a head of about 250 bytes per message, also of those in forks; its
// store caches contents of messages until its cache is full, and a session keeps its newest events, about 50 per prompt, until
// there are 4,096.
const (
	moreGoroutines = 10 // and one for each session
	moreFiles      = 10
	moreHeap       = 8 << 20 // bytes, plus, for each prompt:
	morePerPrompt  = 16 << 10
)

// atRest is what a server uses while nothing happens.
type atRest struct {
	prompts           int
	sessions          float64 // in memory, forks included
	goroutines, files float64
	heap              float64 // bytes
}

func (u atRest) String() string {
	return fmt.Sprintf("%d prompts: %.0f sessions, %.0f goroutines, %.0f open files, heap %.1f MiB", u.prompts, u.sessions, u.goroutines, u.files, u.heap/(1<<20))
}

// Many clients work for a long time, each in a session: they prompt, append, fork and delete, lose their connections at any
// moment, and continue. Two others never read. What the server uses does not grow, and no message is lost.
func TestUseLevelsOff(t *testing.T) {
	t.Parallel()
	t.Logf("seed %d", *seedFlag)
	limits := fmt.Sprintf("limits: {connections: %d}\n", 2**useSessions+10)
	w := newWorld(t, limits, binary.Options{Env: []string{"GOGC=20"}}) // keeps the heap close to the live memory
	users := newUsers(w, *seedFlag, *useSessions)
	var reconnects atomic.Int64
	var samples []atRest
	for range usePhases {
		ctx, end := context.WithTimeout(t.Context(), *useTime/usePhases)
		var all sync.WaitGroup
		for n := range 2 {
			all.Go(func() { w.stall(ctx, users, n) })
		}
		for _, u := range users {
			all.Go(func() { reconnects.Add(w.use(ctx, u)) })
		}
		all.Wait()
		end()
		samples = append(samples, w.rest(users))
		t.Logf("%s after %d reconnects", samples[len(samples)-1], reconnects.Load())
	}
	half, last := samples[usePhases/2-1], samples[usePhases-1]
	for what, grown := range map[string]struct{ from, to, by float64 }{
		"goroutines": {half.goroutines - half.sessions, last.goroutines - last.sessions, moreGoroutines},
		"open files": {half.files, last.files, moreFiles},
		"heap":       {half.heap, last.heap, moreHeap + morePerPrompt*float64(last.prompts-half.prompts)},
	} {
		if grown.to > grown.from+grown.by {
			t.Errorf("%s: from %.0f after %d prompts to %.0f after %d", what, grown.from, half.prompts, grown.to, last.prompts)
		}
	}
	w.nothingLost(users)
}

// use lets a user work until ctx ends, over connections that end at random moments, and returns how often it connected.
func (w *world) use(ctx context.Context, u *user) (connections int64) {
	for ctx.Err() == nil {
		e, err := w.connect()
		if err != nil {
			w.t.Error(err)
			return connections
		}
		connections++
		cut := time.AfterFunc(randomTime(u.chance, 2*usePhases*time.Second), e.Vanish)
		for err = nil; err == nil && ctx.Err() == nil; {
			err = u.step(e)
		}
		if cut.Stop() {
			e.Close()
		}
		if fault(err) != nil {
			w.t.Errorf("%s: %v", u.name, err)
			return connections
		}
	}
	return connections
}

// stall follows sessions without reading until ctx ends. The server disconnects it.
func (w *world) stall(ctx context.Context, users []*user, first int) {
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
		}
		return conn, err
	}}
	defer transport.CloseIdleConnections()
	conn, _, err := websocket.Dial(w.t.Context(), w.WebSocket(), &websocket.DialOptions{ // a busy server may take longer than a phase
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + w.Token}},
	})
	if err != nil {
		w.t.Error(err)
		return
	}
	defer conn.CloseNow()
	frames := []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`}
	for n := first; n < min(len(users), first+50); n++ {
		frames = append(frames, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"_strata/session/attach","params":{"sessionId":%q}}`, n+1, users[n].session))
	}
	for _, frame := range frames {
		if err := conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			if ctx.Err() == nil {
				w.t.Error(err)
			}
			return
		}
	}
	<-ctx.Done()
}

// rest returns what the server uses when no client is connected: the least of some moments, since collections come a little
// later.
func (w *world) rest(users []*user) (least atRest) {
	w.t.Helper()
	eventually(w.t, "the end of all connections", func() bool { return w.Figures(w.t)["strata_connections"] == 0 })
	for n := range 20 {
		now := w.Figures(w.t)
		u := atRest{sessions: now["strata_sessions_loaded"], goroutines: now["go_goroutines"], files: now["process_open_fds"], heap: now["go_memstats_heap_alloc_bytes"]}
		if n > 0 {
			u.goroutines, u.files, u.heap = min(u.goroutines, least.goroutines), min(u.files, least.files), min(u.heap, least.heap)
		}
		least = u
		time.Sleep(50 * time.Millisecond)
	}
	for _, u := range users {
		least.prompts += len(u.asked)
	}
	return least
}

// nothingLost lets each user have its last reply, and checks that all that was told to it is stored once.
func (w *world) nothingLost(users []*user) {
	w.t.Helper()
	e := w.editor()
	for _, u := range users {
		if u.open == nil {
			continue
		}
		reply, err := u.open.send(e).Wait()
		if err == nil {
			err = u.answered(reply, false)
		}
		if err != nil {
			w.t.Errorf("%s: %v", u.name, err)
		}
	}
	all := sessionsOf(users)
	for _, u := range users {
		all = append(all, u.forks.settle(e)...)
	}
	transcripts := w.audit(e, all...)
	for _, u := range users {
		kept(w.t, transcripts[u.session], u.told)
		u.forks.judge(w, e, transcripts)
		if err := e.Call("session/close", map[string]any{"sessionId": u.session}, nil); err != nil {
			w.t.Error(err)
		}
	}
}

// On a disk that takes 200 ms for each commit, sessions work side by side, and what was told is stored, also after a kill.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", armed("commit.before=200ms"))
	users := newUsers(w, *seedFlag, 8)
	var all sync.WaitGroup
	for _, u := range users {
		e := w.editor()
		all.Go(func() {
			for range 3 {
				if err := u.step(e); err != nil {
					t.Errorf("%s: %v", u.name, err)
					return
				}
			}
		})
	}
	all.Wait()
	w.crash()
	w.nothingLost(users)
}
