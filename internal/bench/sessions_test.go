package bench

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"strata/internal/binary"
)

// Sizes of the measurements of sessions.
const (
	createdSessions = 600
	firstSessions   = 100 // before memory is measured
	furtherSessions = 800
)

// measureCreate compares the creation of sessions with a trivial call of the same client and a synced write.
func measureCreate(b *testing.B) []row {
	server := binary.Start(b, binary.NewHome(b, "listen: 127.0.0.1:0\n"), binary.Options{})
	e, disk := connect(b, server.Info), openDisk(b)
	create := func() float64 {
		start := time.Now()
		e.newSession(b, server.Home.Project)
		return float64(time.Since(start))
	}
	minimum := func() float64 {
		start := time.Now()
		e.call(b, "_strata/session/detach", map[string]any{"sessionId": "sess_01"}, nil)
		return float64(time.Since(start)) + disk.sync(b)
	}
	takeTurns(2, create, minimum) // the first one builds shared state
	p := takeTurns(createdSessions, create, minimum)
	const of = "a trivial call and a synced write"
	return []row{
		p.beside("create a session, p50", nanoseconds, of, float64(time.Millisecond)),
		alone("create a session, p99", nanoseconds, percentile(p.ours, 99), float64(4*time.Millisecond)).
			versus(percentile(p.theirs, 99), of),
	}
}

// measureIdleSessions measures the memory of idle sessions: just created, and after one turn.
func measureIdleSessions(b *testing.B) []row {
	created, _ := newStage(b).idle(false)
	turned, _ := newStage(b).idle(true)
	// With little garbage, the heap contains only the sessions.
	s := newStage(b)
	s.server.Stop()
	s.server.Restart(binary.Options{Env: []string{"GOGC=5"}})
	_, held := s.idle(false)
	return []row{
		alone("100 sessions more, just created: resident", mebibytes, 100*created, 5<<20),
		alone("100 sessions more, after one turn: resident", mebibytes, 100*turned, 5<<20),
		alone("idle session, in use", kibibytes, held, 64<<10),
	}
}

// idle returns the growth of the server for each further session: in resident memory, and in heap and stacks.
func (s *stage) idle(turns bool) (inAll, inUse float64) {
	s.b.Helper()
	s.createIdle(firstSessions, turns) // builds shared state
	residentBefore, usedBefore := s.occupied()
	s.createIdle(furtherSessions, turns)
	resident, used := s.occupied()
	return (resident - residentBefore) / furtherSessions, (used - usedBefore) / furtherSessions
}

// occupied returns the server's resident memory, and its heap and stacks, when it is idle.
func (s *stage) occupied() (resident, inUse float64) {
	s.b.Helper()
	settle(s.b, s.server.PID)
	return memory(s.b, s.server.PID, "VmRSS"), memoryInUse(s.b, s.server)
}

// createIdle creates sessions, with one turn each or none, over connections that it closes.
func (s *stage) createIdle(n int, turns bool) {
	s.b.Helper()
	const perConnection = 50 // below the limit of subscriptions
	for n > 0 {
		e := connect(s.b, s.server.Info)
		for range min(n, perConnection) {
			session := e.newSession(s.b, s.server.Home.Project)
			if turns {
				s.ask(e, session, 0, reply{deltas: 3})
			}
		}
		e.Close()
		n -= perConnection
	}
}

// memoryInUse returns the size of the server's heap spans and stacks, in bytes.
func memoryInUse(b *testing.B, server *binary.Server) (sum float64) {
	b.Helper()
	req := must(http.NewRequest(http.MethodGet, server.HTTP("/metrics"), nil))(b)
	req.Header = bearer(server.Info)
	resp := must(http.DefaultClient.Do(req))(b)
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if name == "go_memstats_heap_inuse_bytes" || name == "go_memstats_stack_inuse_bytes" {
			sum += must(strconv.ParseFloat(value, 64))(b)
		}
	}
	if sum == 0 {
		b.Fatal("/metrics does not contain the heap")
	}
	return sum
}
