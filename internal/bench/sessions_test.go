package bench

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the bare driver

	"strata/internal/binary"
)

const idleSessions = 1000

// measureIdleSessions measures the memory of an idle session without history.
func measureIdleSessions(b *testing.B) []row {
	const target = 64 << 10
	asIs, _ := idle(b, nil)
	// With little garbage, the heap contains only the sessions.
	_, held := idle(b, []string{"GOGC=5"})
	return []row{
		alone("idle session, resident", kibibytes, asIs, target),
		alone("idle session, in use", kibibytes, held, target),
	}
}

// idle returns the growth of the server per session: in resident memory, and in heap and stacks.
func idle(b *testing.B, env []string) (inAll, inUse float64) {
	b.Helper()
	server := binary.Start(b, binary.NewHome(b, "listen: 127.0.0.1:0\n"), binary.Options{Env: env})
	createIdle(b, server, 1) // builds shared state
	residentBefore, usedBefore := memory(b, server.PID, "VmRSS"), memoryInUse(b, server)
	createIdle(b, server, idleSessions-1)
	per := func(before, after float64) float64 { return (after - before) / (idleSessions - 1) }
	return per(residentBefore, memory(b, server.PID, "VmRSS")), per(usedBefore, memoryInUse(b, server))
}

// createIdle creates sessions over connections that it closes.
func createIdle(b *testing.B, server *binary.Server, n int) {
	b.Helper()
	const perConnection = 50 // below the limit of subscriptions
	for n > 0 {
		e := connect(b, server.Info)
		for range min(n, perConnection) {
			e.newSession(b, server.Home.Project)
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

const loads = 7

// measureLoad measures the first request for a stored session after the start of a server.
func measureLoad(b *testing.B) []row {
	server := binary.Start(b, binary.NewHome(b, "listen: 127.0.0.1:0\n"), binary.Options{})
	small, large := storeSession(b, server, 400), storeSession(b, server, 10_000)
	server.Stop()

	return append(
		loadOf(b, server, small, 400, "load a session of 200 exchanges", 10*time.Millisecond),
		loadOf(b, server, large, 10_000, "load a session of 10,000 messages", 150*time.Millisecond)...)
}

// storeSession creates a session with messages of 1 KB and returns its id.
func storeSession(b *testing.B, server *binary.Server, messages int) string {
	b.Helper()
	const batch = 200
	e := connect(b, server.Info)
	defer e.Close()
	id := e.newSession(b, server.Home.Project)
	for first := 0; first < messages; first += batch {
		var some []any
		for n := first; n < min(first+batch, messages); n++ {
			role := []string{"user", "assistant"}[n%2]
			some = append(some, map[string]any{"role": role, "content": strings.Repeat(fmt.Sprintf("message %d of many. ", n), 50)})
		}
		e.call(b, "_strata/history/append", map[string]any{"sessionId": id, "messages": some}, nil)
	}
	return id
}

// loadOf measures new processes that load the session, and bare connections that read the same rows.
func loadOf(b *testing.B, server *binary.Server, id string, messages int, measure string, target time.Duration) []row {
	b.Helper()
	var computing []float64
	ours := func() float64 {
		server.Restart(binary.Options{})
		defer server.Stop()
		e := connect(b, server.Info)
		defer e.Close()
		e.call(b, "authenticate", map[string]any{"methodId": "token"}, nil) // the cost of the first call is not part of loading
		settle(b, server.PID)
		var info struct{ Messages int }
		computed, start := computed(b, server.PID), time.Now()
		e.call(b, "_strata/session/info", map[string]any{"sessionId": id}, &info)
		took := time.Since(start)
		computing = append(computing, computed())
		if info.Messages != messages {
			b.Fatalf("the session has %d messages", info.Messages)
		}
		return float64(took)
	}
	theirs := func() float64 { return readHeads(b, server.Database, id, messages) }
	p := takeTurns(loads, ours, theirs)
	return []row{
		alone(measure, nanoseconds, median(p.ours), float64(target)).versus(median(p.theirs), "reading the same rows with SQLite"),
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

// readHeads measures reading a session's messages without their content, in nanoseconds.
func readHeads(b *testing.B, path, id string, messages int) float64 {
	b.Helper()
	start := time.Now()
	db := must(sql.Open("sqlite", "file://"+path+"?mode=ro"))(b)
	defer db.Close()
	rows := must(db.QueryContext(context.Background(),
		"SELECT id, seq, turn, role, status, tokens, bytes, has_calls, at FROM message WHERE session = ? ORDER BY seq", id))(b)
	defer rows.Close()
	n := 0
	for rows.Next() {
		var id, turn, role, status string
		var seq, tokens, bytes, calls, at int64
		if err := rows.Scan(&id, &seq, &turn, &role, &status, &tokens, &bytes, &calls, &at); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if rows.Err() != nil || n != messages {
		b.Fatalf("%d messages are stored, %v", n, rows.Err())
	}
	return float64(time.Since(start))
}
