package bench

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	_ "modernc.org/sqlite" // the bare driver

	"strata/internal/binary"
)

const loads = 7

// Sizes of the sessions that are loaded, in messages.
const (
	smallSession = 400
	largeSession = 10_000
)

// measureLoad measures requests for a stored session after the start of a server. The reference reads the same rows.
func measureLoad(b *testing.B) []row {
	server := binary.Start(b, binary.NewHome(b, "listen: 127.0.0.1:0\n"), binary.Options{})
	small := stored{b, server, storeSession(b, server, smallSession), smallSession}
	large := stored{b, server, storeSession(b, server, largeSession), largeSession}
	server.Stop()

	const ms = float64(time.Millisecond)
	const of = "reading the same rows with SQLite"
	soon, _ := small.replays(func(int) {})
	later, _ := small.replays(func(pid int) { settle(b, pid) })
	all, first := large.replays(func(pid int) { settle(b, pid) })
	rows := []row{
		soon.beside("load 200 exchanges at the end of a restart, to the last update", nanoseconds, of, 10*ms),
		later.beside("  when the start has ended", nanoseconds, of, 10*ms),
		all.beside("load 10,000 messages, to the last update", nanoseconds, of, 100*ms),
		alone("  to the first update", nanoseconds, median(first), 15*ms),
	}
	return append(append(rows,
		small.heads("describe a session of 200 exchanges", 10*ms)...),
		large.heads("describe a session of 10,000 messages", 150*ms)...)
}

// storeSession creates a session with messages of 1 KB and returns its id.
func storeSession(b *testing.B, server *binary.Server, messages int) string {
	b.Helper()
	e := connect(b, server.Info)
	defer e.Close()
	id := e.newSession(b, server.Home.Project)
	e.appendMessages(b, id, messages)
	return id
}

// appendMessages appends messages of 1 KB to a session.
func (e *editor) appendMessages(b *testing.B, session string, messages int) {
	b.Helper()
	const batch = 200
	for first := 0; first < messages; first += batch {
		var some []any
		for n := first; n < min(first+batch, messages); n++ {
			role := []string{"user", "assistant"}[n%2]
			some = append(some, map[string]any{"role": role, "content": strings.Repeat(fmt.Sprintf("message %d of many. ", n), 50)})
		}
		e.call(b, "_strata/history/append", map[string]any{"sessionId": session, "messages": some}, nil)
	}
}

// stored is a session in the database of a server that does not run.
type stored struct {
	b        *testing.B
	server   *binary.Server
	id       string
	messages int
}

// replays measures new processes that load the session and send its transcript: until the last update, and until the
// first one. wait is called with the process before the request. The reference reads the messages.
func (s stored) replays(wait func(pid int)) (last pairs, first []float64) {
	s.b.Helper()
	last = takeTurns(loads, func() float64 {
		s.server.Restart(binary.Options{})
		defer s.server.Stop()
		conn := dialBare(s.b, s.server.WebSocket(), &websocket.DialOptions{HTTPHeader: bearer(s.server.Info)})
		defer conn.CloseNow()
		conn.roundTrip(s.b, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
		wait(s.server.PID)
		toFirst, toLast := s.replay(conn)
		first = append(first, toFirst)
		return toLast
	}, func() float64 { return s.read("id, seq, turn, role, status, body") })
	return last, first
}

// replay loads the session over a connection, and returns the times until the first and the last update with a message, in
// nanoseconds. It does not decode the updates: that is the work of the client.
func (s stored) replay(conn bare) (toFirst, toLast float64) {
	s.b.Helper()
	conn.SetReadLimit(-1)
	request := encoded(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "session/load",
		"params": map[string]any{"sessionId": s.id, "cwd": s.server.Home.Project, "mcpServers": []any{}}})
	start := time.Now()
	conn.send(s.b, string(request))
	updates := 0
	for {
		_, frame, err := conn.Read(context.Background())
		switch {
		case err != nil:
			s.b.Fatal(err)
		case bytes.Contains(frame, []byte(`_message_chunk"`)):
			updates++
			toLast = float64(time.Since(start))
			if updates == 1 {
				toFirst = toLast
			}
		case !bytes.Contains(frame, []byte(`"method":`)): // the response
			if updates < s.messages {
				s.b.Fatalf("%d updates for %d messages, then %s", updates, s.messages, frame)
			}
			return toFirst, toLast
		}
	}
}

// heads measures new processes that have finished their start-up work and load the session without its content.
func (s stored) heads(measure string, target float64) []row {
	s.b.Helper()
	var computing []float64
	p := takeTurns(loads, func() float64 {
		s.server.Restart(binary.Options{})
		defer s.server.Stop()
		e := connect(s.b, s.server.Info)
		defer e.Close()
		e.call(s.b, "authenticate", map[string]any{"methodId": "token"}, nil) // the cost of the first call is not part of loading
		settle(s.b, s.server.PID)
		var info struct{ Messages int }
		computed, start := computed(s.b, s.server.PID), time.Now()
		e.call(s.b, "_strata/session/info", map[string]any{"sessionId": s.id}, &info)
		took := time.Since(start)
		computing = append(computing, computed())
		if info.Messages != s.messages {
			s.b.Fatalf("the session has %d messages", info.Messages)
		}
		return float64(took)
	}, func() float64 { return s.read("id, seq, turn, role, status, tokens, bytes, has_calls, at") })
	return []row{
		p.beside(measure, nanoseconds, "reading the same rows with SQLite", target),
		alone("  its processor time", nanoseconds, median(computing), 0),
	}
}

// settle waits until a process has finished its start-up work.
func settle(b *testing.B, pid int) {
	b.Helper()
	const glance, idle = 20 * time.Millisecond, float64(time.Millisecond)
	for used := computed(b, pid); ; used = computed(b, pid) {
		time.Sleep(glance)
		if used() < idle {
			return
		}
	}
}

// read measures reading columns of the session's messages over a new connection to the database, in nanoseconds.
func (s stored) read(columns string) float64 {
	s.b.Helper()
	values := make([]any, strings.Count(columns, ",")+1)
	for i := range values {
		values[i] = new(sql.RawBytes)
	}
	start := time.Now()
	db := must(sql.Open("sqlite", "file://"+s.server.Database+"?mode=ro"))(s.b)
	defer db.Close()
	rows := must(db.QueryContext(context.Background(), "SELECT "+columns+" FROM message WHERE session = ? ORDER BY seq", s.id))(s.b)
	defer rows.Close()
	n := 0
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			s.b.Fatal(err)
		}
		n++
	}
	if rows.Err() != nil || n != s.messages {
		s.b.Fatalf("%d messages are stored, %v", n, rows.Err())
	}
	return float64(time.Since(start))
}
