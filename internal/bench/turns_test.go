package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Sizes of the measurements of single turns.
const (
	firstDeltas = 60 // sessions
	answersLate = 20 * time.Millisecond

	earlyTurn   = 20
	aroundTurn  = 10 // turns before and after it that are measured, too
	growing200  = 5  // sessions
	growing2000 = 1
)

// turn is a prompt with its reply: times since the prompt, in nanoseconds, and the request to the provider.
type turn struct {
	first, whole float64
	request      []byte
}

// ask sends a prompt in a session and checks that the provider gets the whole history: past exchanges and the prompt.
func (s *stage) ask(e *editor, session string, past int, r reply) turn {
	s.b.Helper()
	start := time.Now()
	err := e.prompt(session, r.prompt())
	whole := time.Since(start)
	bytes, first := e.said()
	if err != nil || bytes != r.size() {
		s.b.Fatalf("the editor got %d bytes of %d: %v", bytes, r.size(), err)
	}
	request := s.newest()
	if prompts := strings.Count(string(request), `"role":"user"`); prompts != past+1 {
		s.b.Fatalf("the provider got %d prompts after %d exchanges", prompts, past)
	}
	return turn{float64(first.Sub(start)), float64(whole), request}
}

// send makes the direct client send a request.
func (s *stage) send(request []byte, r reply) turn {
	s.b.Helper()
	got := s.direct.stream(s.b, s.again(request, 1), r.size())
	return turn{float64(got.First), float64(got.Whole), request}
}

// measureFirstDelta compares the time from a prompt to its first delta in the first two turns of sessions. The direct client
// sends the same requests.
func measureFirstDelta(b *testing.B) []row {
	s := newStage(b)
	disk := openDisk(b)
	s.firstTurns(2, reply{deltas: 3}, disk) // opens connections and builds tables
	used := computed(b, s.server.PID)
	first, second, syncs := s.firstTurns(firstDeltas, reply{deltas: 3}, disk)
	processor := used() / firstDeltas
	lateFirst, lateSecond, _ := s.firstTurns(firstDeltas, reply{deltas: 3, after: answersLate}, disk)
	const of = "a direct client"
	const target, lateTarget = float64(1200 * time.Microsecond), float64(600 * time.Microsecond)
	return []row{
		first.difference("first delta after a prompt, turn 1", nanoseconds, of, target),
		second.difference("first delta after a prompt, turn 2", nanoseconds, of, target),
		lateFirst.difference("  turn 1, the provider answers after 20 ms", nanoseconds, of, lateTarget),
		lateSecond.difference("  turn 2, the provider answers after 20 ms", nanoseconds, of, lateTarget),
		alone("  a synced write, part of every prompt", nanoseconds, median(syncs), 0),
		alone("  processor time of a session with two turns", nanoseconds, processor, 0),
	}
}

// firstTurns measures the time to the first delta in two turns of n new sessions, and synced writes meanwhile.
func (s *stage) firstTurns(n int, r reply, disk disk) (first, second pairs, syncs []float64) {
	s.b.Helper()
	e := connect(s.b, s.server.Info)
	defer e.Close()
	var requests [2][]byte // newest of each turn
	ours := func(session string, past int) func() float64 {
		return func() float64 {
			t := s.ask(e, session, past, r)
			requests[past] = t.request
			return t.first
		}
	}
	theirs := func(past int) func() float64 {
		return func() float64 { return s.send(requests[past], r).first }
	}
	for range n {
		session := e.newSession(s.b, s.server.Home.Project)
		first.take(ours(session, 0), theirs(0))
		syncs = append(syncs, disk.sync(s.b))
		second.take(ours(session, 1), theirs(1))
	}
	return first, second, syncs
}

func measureGrowth200(b *testing.B) []row { return growthStage(b).growth(growing200, 190) }

func measureGrowth2000(b *testing.B) []row { return growthStage(b).growth(growing2000, 2000) }

func growthStage(b *testing.B) *stage {
	b.Helper()
	provider := startSwift(b)
	return stageOf(b, provider.url, provider.newest)
}

// span are the turns around one number, in a session and by the direct client with the same requests.
type span struct{ first, whole pairs }

// growth compares how much longer a late turn takes than an early one with the same ratio of the direct client.
func (s *stage) growth(sessions, late int) []row {
	s.b.Helper()
	var first, whole, early, latest pairs
	for range sessions {
		e := connect(s.b, s.server.Info)
		session := e.newSession(s.b, s.server.Home.Project)
		before := s.span(e, session, 0, earlyTurn)
		after := s.span(e, session, earlyTurn+aroundTurn, late)
		e.Close()
		first.addGrowth(before.first, after.first)
		whole.addGrowth(before.whole, after.whole)
		early.addAll(before.first)
		latest.addAll(after.first)
	}
	const of, direct, margin = "the direct client's own growth", "a direct client", 0.1
	return []row{
		first.difference(fmt.Sprintf("turn %d over turn %d, first delta", late, earlyTurn), times, of, margin),
		whole.difference(fmt.Sprintf("turn %d over turn %d, response", late, earlyTurn), times, of, margin),
		early.beside(fmt.Sprintf("  first delta in turn %d", earlyTurn), nanoseconds, direct, 0),
		latest.beside(fmt.Sprintf("  first delta in turn %d", late), nanoseconds, direct, 0),
	}
}

// span sends prompts in a session that has past exchanges, and measures those around one turn.
func (s *stage) span(e *editor, session string, past, middle int) (measured span) {
	s.b.Helper()
	var request []byte // newest
	ours := func() float64 {
		t := s.ask(e, session, past, swiftReply)
		past, request = past+1, t.request
		measured.whole.ours = append(measured.whole.ours, t.whole)
		return t.first
	}
	theirs := func() float64 {
		t := s.send(request, swiftReply)
		measured.whole.theirs = append(measured.whole.theirs, t.whole)
		return t.first
	}
	for past < middle-aroundTurn-1 {
		s.ask(e, session, past, swiftReply)
		past++
	}
	measured.first = takeTurns(2*aroundTurn+1, ours, theirs)
	return measured
}

// disk is a file on the same disk as the databases of the benchmarks.
type disk struct{ *os.File }

func openDisk(b *testing.B) disk {
	b.Helper()
	f := must(os.Create(filepath.Join(b.TempDir(), "file")))(b)
	b.Cleanup(func() { f.Close() })
	return disk{f}
}

// sync appends as much as a commit of SQLite may and returns the time until it is on disk, in nanoseconds.
func (d disk) sync(b *testing.B) float64 {
	b.Helper()
	start := time.Now()
	if _, err := d.Write(make([]byte, 8<<10)); err != nil {
		b.Fatal(err)
	}
	if err := d.Sync(); err != nil {
		b.Fatal(err)
	}
	return float64(time.Since(start))
}
