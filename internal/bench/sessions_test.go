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

	_ "modernc.org/sqlite" // the driver, bare

	"strata/internal/binary"
)

const idleSessions = 1000

// measureIdleSessions measures what a session in memory costs that nobody talks to and that has no history.
func measureIdleSessions(b *testing.B) []row {
	const aim = 64 << 10
	asIs, _ := idle(b, nil)
	// Without garbage to speak of, what is left is what sessions hold.
	_, held := idle(b, []string{"GOGC=5"})
	return []row{
		alone("idle session, resident", kibibytes, asIs, aim),
		alone("idle session, held", kibibytes, held, aim),
	}
}

// idle returns by how much each session makes the server grow: in memory of the machine and in the heap and stacks.
func idle(b *testing.B, env []string) (inAll, inUse float64) {
	b.Helper()
	server := binary.Start(b, binary.NewHome(b, "listen: 127.0.0.1:0\n"), binary.Options{Env: env})
	createIdle(b, server, 1) // builds what all sessions share
	residentBefore, usedBefore := memory(b, server.PID, "VmRSS"), memoryInUse(b, server)
	createIdle(b, server, idleSessions-1)
	per := func(before, after float64) float64 { return (after - before) / (idleSessions - 1) }
	return per(residentBefore, memory(b, server.PID, "VmRSS")), per(usedBefore, memoryInUse(b, server))
}

// createIdle makes sessions, on connections that end again.
func createIdle(b *testing.B, server *binary.Server, n int) {
	b.Helper()
	const perConnection = 50 // fewer than it may have subscriptions
	for n > 0 {
		e := connect(b, server.Info)
		for range min(n, perConnection) {
			e.newSession(b, server.Home.Project)
		}
		e.Close()
		n -= perConnection
	}
}

// memoryInUse is what the spans of the server's heap and its stacks hold, in bytes.
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
		b.Fatal("/metrics does not tell the heap")
	}
	return sum
}

const loads = 7

// measureLoad measures how long the first question about a stored session takes in a server that has just started.
func measureLoad(b *testing.B) []row {
	server := binary.Start(b, binary.NewHome(b, "listen: 127.0.0.1:0\n"), binary.Options{})
	small, large := storeSession(b, server, 400), storeSession(b, server, 10_000)
	server.Stop()

	return append(
		loadOf(b, server, small, 400, "load a session of 200 exchanges", 10*time.Millisecond),
		loadOf(b, server, large, 10_000, "load a session of 10,000 messages", 150*time.Millisecond)...)
}

// storeSession makes a session of so many messages of 1 KB and returns its id.
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

// loadOf has fresh processes load the session, and bare connections read what loading it must read.
func loadOf(b *testing.B, server *binary.Server, id string, messages int, measure string, aim time.Duration) []row {
	b.Helper()
	var computing []float64
	ours := func() float64 {
		server.Restart(binary.Options{})
		defer server.Stop()
		e := connect(b, server.Info)
		defer e.Close()
		e.call(b, "authenticate", map[string]any{"methodId": "token"}, nil) // whatever the first call costs is not loading
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
		alone(measure, nanoseconds, median(p.ours), float64(aim)).beside(median(p.theirs), "reading the same rows with SQLite"),
		alone("  its processor time", nanoseconds, median(computing), 0),
	}
}

// settle waits until a process has done what it does after its start.
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

// readHeads reads what the store keeps of a session's messages beside their content, in nanoseconds.
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
