package bench

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"strata/internal/binary"
	"strata/internal/upstream"
)

// Sizes of the measurements of streams.
const (
	deltas = 1000 // of each stream, unless it says otherwise

	longDeltas = 5000
	longRounds = 9

	streams      = 20 // concurrent
	streamRounds = 5

	manyStreams = 200
	manyRounds  = 3

	pacedStreams = 8
	pacedRounds  = 3
	pace         = 4 * time.Millisecond // between deltas: 250 per second, faster than a model
)

// delta is the text of each delta.
const delta = "some words of prose "

// reply is a scripted reply: a number of deltas with a pause before each, some time after the request.
type reply struct {
	deltas       int
	pause, after time.Duration
}

// prompt returns a prompt that makes the provider reply so.
func (r reply) prompt() string {
	return fmt.Sprintf("stream %d every %v after %v", r.deltas, r.pause, r.after)
}

// size returns the length of the text, in bytes.
func (r reply) size() int { return r.deltas * len(delta) }

// replyTo returns the reply to a prompt, which may have more words.
func replyTo(prompt string) (r reply) {
	var pause, after string
	fmt.Sscanf(prompt, "stream %d every %s after %s", &r.deltas, &pause, &after)
	r.pause, _ = time.ParseDuration(pause) // 0 if missing, as is the next
	r.after, _ = time.ParseDuration(after)
	return r
}

// stage is a server and a direct client with a common provider.
type stage struct {
	b      *testing.B
	url    string        // of the provider, for OpenAI-compatible clients
	newest func() []byte // returns the body of the provider's newest request
	server *binary.Server
	direct *child
}

// wide is the configuration of a model whose window is never full, so that histories are neither compacted nor evicted.
const wide = `models:
  local/test: {window: 4000000, max_output: 4096}
compaction: {enabled: false}
`

// newStage returns a stage whose provider replies as the prompts say.
func newStage(b *testing.B) *stage {
	b.Helper()
	provider := upstream.Start(upstream.Options{})
	b.Cleanup(provider.Close)
	provider.Choose(func(req *upstream.Request) upstream.Script {
		r := replyTo(req.LastText())
		time.Sleep(r.after)
		script := upstream.Script{Usage: upstream.Usage{Input: 100, Output: r.deltas * 4}, Gap: r.pause}
		for range r.deltas {
			script.Steps = append(script.Steps, upstream.Text(delta))
		}
		return script
	})
	return stageOf(b, provider.OpenAIURL(), func() []byte { return provider.Last().Body })
}

func stageOf(b *testing.B, url string, newest func() []byte) *stage {
	b.Helper()
	return &stage{
		b: b, url: url, newest: newest, direct: startChild(b, "direct"),
		server: binary.Start(b, binary.NewHome(b, binary.Config(url)+wide), binary.Options{}),
	}
}

// order returns an order of concurrent streams with the same request, which contains only a prompt.
func (s *stage) order(r reply, streams int) order {
	return s.again(encoded(map[string]any{"model": "test", "stream": true, "max_tokens": 4096,
		"messages": []any{map[string]any{"role": "user", "content": r.prompt()}}}), streams)
}

// again returns an order of concurrent streams with the same body.
func (s *stage) again(body []byte, streams int) order {
	return order{URL: s.url + "/chat/completions", Body: body, Streams: streams}
}

// measureLongTurn compares one stream of many deltas at full speed.
func measureLongTurn(b *testing.B) []row {
	wall, _ := newStage(b).compare(1, longRounds, reply{deltas: longDeltas})
	return []row{wall.ratio("5,000 deltas in one turn", nanoseconds, "a direct client", 1.2)}
}

// measureDeltas compares many streams at full speed.
func measureDeltas(b *testing.B) []row {
	wall, processor := newStage(b).compare(streams, streamRounds, reply{deltas: deltas})
	return []row{
		wall.ratio(fmt.Sprintf("%d sessions of 1,000 deltas, concurrent", streams), nanoseconds, "a direct client", 1.2),
		processor.beside("processor time of 1,000 deltas", nanoseconds, "a direct client", float64(6*time.Millisecond)),
	}
}

// measurePacedDeltas compares streams with paced deltas, which cannot be merged.
func measurePacedDeltas(b *testing.B) []row {
	_, processor := newStage(b).compare(pacedStreams, pacedRounds, reply{deltas: deltas, pause: pace})
	return []row{processor.difference("the same, one by one", nanoseconds, "a direct client", float64(20*time.Millisecond))}
}

// measureManySessions compares a server that has started, replied once, and then gets prompts in many sessions.
func measureManySessions(b *testing.B) []row {
	s := newStage(b)
	each, once := reply{deltas: deltas}, reply{deltas: 1}
	var peaks []float64
	wall := takeTurns(manyRounds, func() float64 {
		s.server.Stop()
		s.server.Restart(binary.Options{})
		s.prompts(1, once)
		took := s.prompts(manyStreams, each)
		peaks = append(peaks, memory(b, s.server.PID, "VmHWM"))
		return float64(took)
	}, func() float64 {
		return float64(s.direct.stream(b, s.order(each, manyStreams), manyStreams*each.size()).Whole)
	})
	return []row{
		wall.ratio(fmt.Sprintf("%d sessions of 1,000 deltas, concurrent", manyStreams), nanoseconds, "a direct client", 1.3),
		alone("  peak of resident memory", mebibytes, median(peaks), 100<<20),
	}
}

// compare measures n concurrent streams: the time until all have ended, and the cost of 1,000 deltas, in nanoseconds.
// Editors connect and create their sessions before.
func (s *stage) compare(n, rounds int, r reply) (wall, processor pairs) {
	costs := func(of *[]float64, pid int, run func() time.Duration) float64 {
		computed := computed(s.b, pid)
		took := run()
		*of = append(*of, computed()/float64(n*r.deltas)*1000)
		return float64(took)
	}
	ours := func() float64 {
		a := s.seat(n)
		defer a.leave(r)
		return costs(&processor.ours, s.server.PID, func() time.Duration { return a.prompt(r) })
	}
	theirs := func() float64 {
		return costs(&processor.theirs, s.direct.pid, func() time.Duration { return s.direct.stream(s.b, s.order(r, n), n*r.size()).Whole })
	}
	s.prompts(1, reply{deltas: 1}) // opens connections and builds tables
	wall = takeTurns(rounds, ours, theirs)
	return wall, processor
}

// prompts makes n editors, each with a new session, send a prompt concurrently and wait for the end.
func (s *stage) prompts(n int, r reply) time.Duration {
	a := s.seat(n)
	defer a.leave(r)
	return a.prompt(r)
}

// audience is editors with a new session each.
type audience struct {
	b        *testing.B
	editors  []*editor
	sessions []string
}

func (s *stage) seat(n int) audience {
	a := audience{s.b, make([]*editor, n), make([]string, n)}
	for i := range n {
		a.editors[i] = connect(s.b, s.server.Info)
		a.sessions[i] = a.editors[i].newSession(s.b, s.server.Home.Project)
	}
	return a
}

// prompt sends a prompt in each session and waits for the end of all turns.
func (a audience) prompt(r reply) time.Duration {
	start := time.Now()
	var all errgroup.Group
	for i, e := range a.editors {
		all.Go(func() error { return e.prompt(a.sessions[i], r.prompt()) })
	}
	if err := all.Wait(); err != nil {
		a.b.Fatal(err)
	}
	return time.Since(start)
}

// leave closes the editors, which must have got the whole reply each.
func (a audience) leave(r reply) {
	got := 0
	var err error
	for _, e := range a.editors {
		bytes, _ := e.said()
		got += bytes
		err = cmp.Or(err, e.Close())
	}
	if want := len(a.editors) * r.size(); err != nil || got != want {
		a.b.Errorf("the editors got %d bytes of %d: %v", got, want, err)
	}
}
