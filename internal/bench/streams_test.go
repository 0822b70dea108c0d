package bench

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"strata/internal/binary"
	"strata/internal/upstream"
)

// Sizes of the measurements of streams.
const (
	firstDeltas  = 60
	deltas       = 1000 // of each stream
	streams      = 20   // concurrent
	streamRounds = 5

	pacedStreams = 8
	pacedRounds  = 3
	pace         = 4 * time.Millisecond // between deltas: 250 per second, faster than a model
)

// delta is the text of each delta.
const delta = "some words of prose "

// streamOf returns a prompt to which the provider replies with n deltas, with a pause before each.
func streamOf(n int, pause time.Duration) string { return fmt.Sprintf("stream %d every %v", n, pause) }

// stage is a server and a direct client with a common provider.
type stage struct {
	b        *testing.B
	provider *upstream.Server
	server   *binary.Server
	direct   *child
}

func newStage(b *testing.B) *stage {
	b.Helper()
	provider := upstream.Start(upstream.Options{})
	b.Cleanup(provider.Close)
	provider.Choose(func(req *upstream.Request) upstream.Script {
		var n int
		var pause string
		fmt.Sscanf(req.LastText(), "stream %d every %s", &n, &pause)
		gap, _ := time.ParseDuration(pause) // 0 if missing
		script := upstream.Script{Usage: upstream.Usage{Input: 100, Output: n * 4}, Gap: gap}
		for range n {
			script.Steps = append(script.Steps, upstream.Text(delta))
		}
		return script
	})
	return &stage{
		b: b, provider: provider, direct: startChild(b, "direct"),
		server: binary.Start(b, binary.NewHome(b, binary.Config(provider.OpenAIURL())), binary.Options{}),
	}
}

func (s *stage) order(prompt string, streams int) order {
	return order{URL: s.provider.OpenAIURL() + "/chat/completions", Prompt: prompt, Streams: streams}
}

// measureFirstDelta compares the time from a prompt to its first delta, in nanoseconds.
func measureFirstDelta(b *testing.B) []row {
	s := newStage(b)
	prompt := streamOf(3, 0)
	e := connect(b, s.server.Info)
	session := e.newSession(b, s.server.Home.Project)
	ours := func() float64 {
		start := time.Now()
		if err := e.prompt(session, prompt); err != nil {
			b.Fatal(err)
		}
		bytes, first := e.said()
		if bytes != 3*len(delta) {
			b.Fatalf("the editor got %d bytes", bytes)
		}
		return float64(first.Sub(start))
	}
	theirs := func() float64 { return float64(s.direct.stream(b, s.order(prompt, 1), 3*len(delta)).First) }
	takeTurns(2, ours, theirs) // opens connections and builds tables
	disk := openDisk(b)
	var syncs []float64
	computed := computed(b, s.server.PID)
	p := takeTurns(firstDeltas, ours, func() float64 {
		syncs = append(syncs, disk.sync(b))
		return theirs()
	})
	return []row{
		p.difference("first delta after a prompt", nanoseconds, "a direct client", float64(time.Millisecond)),
		alone("  a synced write, part of every prompt", nanoseconds, median(syncs), 0),
		alone("  processor time of such a turn", nanoseconds, computed()/firstDeltas, 0),
	}
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

// measureDeltas compares many streams at full speed.
func measureDeltas(b *testing.B) []row {
	wall, processor := newStage(b).compare(streams, streamRounds, 0)
	name := fmt.Sprintf("%d sessions of %d deltas", streams, deltas)
	return []row{
		wall.ratio(name+", concurrent", nanoseconds, "a direct client", 4),
		processor.difference("processor time of 1,000 deltas", nanoseconds, "a direct client", float64(20*time.Millisecond)),
	}
}

// measurePacedDeltas compares streams with paced deltas, which cannot be merged.
func measurePacedDeltas(b *testing.B) []row {
	_, processor := newStage(b).compare(pacedStreams, pacedRounds, pace)
	return []row{processor.difference("the same, one by one", nanoseconds, "a direct client", float64(20*time.Millisecond))}
}

// compare measures n concurrent streams: the time until all have ended, and the cost of 1,000 deltas, in nanoseconds.
func (s *stage) compare(n, rounds int, pause time.Duration) (wall, processor pairs) {
	text := n * deltas * len(delta)
	costs := func(of *[]float64, pid int, run func() time.Duration) func() float64 {
		return func() float64 {
			computed := computed(s.b, pid)
			took := run()
			*of = append(*of, computed()/float64(n*deltas)*1000)
			return float64(took)
		}
	}
	ours := costs(&processor.ours, s.server.PID, func() time.Duration { return s.prompts(n, streamOf(deltas, pause), text) })
	theirs := costs(&processor.theirs, s.direct.pid, func() time.Duration {
		return s.direct.stream(s.b, s.order(streamOf(deltas, pause), n), text).Whole
	})
	wall = takeTurns(rounds, ours, theirs)
	return wall, processor
}

// prompts makes n editors, each with a new session, send a prompt concurrently and wait for the end.
func (s *stage) prompts(n int, prompt string, want int) time.Duration {
	editors, sessions := make([]*editor, n), make([]string, n)
	for i := range n {
		editors[i] = connect(s.b, s.server.Info)
		sessions[i] = editors[i].newSession(s.b, s.server.Home.Project)
	}
	start := time.Now()
	var all errgroup.Group
	for i := range n {
		all.Go(func() error { return editors[i].prompt(sessions[i], prompt) })
	}
	err := all.Wait()
	took := time.Since(start)
	got := 0
	for _, e := range editors {
		bytes, _ := e.said()
		got += bytes
		err = cmp.Or(err, e.Close())
	}
	if err != nil || got != want {
		s.b.Fatalf("the editors got %d bytes of %d: %v", got, want, err)
	}
	return took
}
