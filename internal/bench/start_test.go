package bench

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"strata/internal/binary"
)

const starts = 9

// startup is the resource use of a process up to its first reply.
type startup struct{ wall, processor, resident, private float64 }

// measureStart measures from the start of the process to the first text of a reply, without a network.
func measureStart(b *testing.B) []row {
	home := binary.NewHome(b, "listen: 127.0.0.1:0\n")
	var ours, theirs []startup
	note := func(of *[]startup, run func() startup) func() float64 {
		return func() float64 {
			s := run()
			*of = append(*of, s)
			return s.wall
		}
	}
	first := startServer(b, home) // creates the database
	wall := takeTurns(starts, note(&ours, func() startup { return startServer(b, home) }), note(&theirs, func() startup { return startEcho(b) }))

	const of = "a process that echoes, to its first echo"
	each := func(figure func(startup) float64) pairs { return pairs{eachOf(ours, figure), eachOf(theirs, figure)} }
	processor := each(func(s startup) float64 { return s.processor })
	memory := each(func(s startup) float64 { return s.resident })
	private := each(func(s startup) float64 { return s.private })
	return []row{
		alone("start to the first reply", nanoseconds, median(wall.ours), float64(50*time.Millisecond)).versus(median(wall.theirs), of),
		alone("  its processor time", nanoseconds, median(processor.ours), 0).versus(median(processor.theirs), of),
		alone("the very first start, once", nanoseconds, first.wall, 0),
		alone("resident at the first reply", mebibytes, median(memory.ours), 40<<20).versus(median(memory.theirs), of),
		alone("  of it not backed by a file", mebibytes, median(private.ours), 0).versus(median(private.theirs), of),
	}
}

// measureStartIdle measures servers that have started and have no clients, beside servers without outlines and a small server.
func measureStartIdle(b *testing.B) []row {
	const config = "listen: 127.0.0.1:0\n"
	on, off := binary.NewHome(b, config), binary.NewHome(b, config+"outlines: {enabled: false}\n")
	startIdle(b, on) // creates the database
	startIdle(b, off)
	var ours, theirs, small []startup
	note := func(of *[]startup, home *binary.Home) func() float64 {
		return func() float64 {
			*of = append(*of, startIdle(b, home))
			return 0
		}
	}
	takeTurns(2*starts, note(&ours, on), note(&theirs, off))
	for range starts {
		small = append(small, startEcho(b))
	}
	beside := func(others []startup, figure func(startup) float64) pairs {
		return pairs{eachOf(ours, figure), eachOf(others, figure)}
	}
	wall := func(s startup) float64 { return s.wall }
	processor := func(s startup) float64 { return s.processor }
	resident := func(s startup) float64 { return s.resident }
	private := func(s startup) float64 { return s.private }

	const of, tiny = "outlines.enabled: false", "a process that echoes"
	return []row{
		beside(theirs, wall).difference("start without a session", nanoseconds, of, float64(10*time.Millisecond)),
		beside(theirs, processor).difference("  its processor time", nanoseconds, of, 0),
		beside(theirs, resident).difference("  resident", mebibytes, of, 1<<20),
		beside(small, resident).beside("an idle server, resident", mebibytes, tiny, 30<<20),
		beside(small, private).beside("  of it not backed by a file", mebibytes, tiny, 0),
	}
}

// measureStartAfterKill measures starts of a server that was killed in the middle of a reply, until it listens.
func measureStartAfterKill(b *testing.B) []row {
	s := newStage(b)
	s.server.Stop()
	server := launch(b, s.server.Home)
	p := takeTurns(starts, func() float64 {
		s.killInReply(server)
		start := time.Now()
		server = launch(b, s.server.Home)
		return float64(time.Since(start))
	}, func() float64 { return startEcho(b).wall })
	server.stop()
	return []row{p.beside("start after a kill", nanoseconds, "a process that echoes, to its first echo", float64(50*time.Millisecond))}
}

// killInReply appends messages to a new session, sends a prompt, and kills the server while the reply streams.
func (s *stage) killInReply(server *launched) {
	s.b.Helper()
	const messages = 400 // their pages are in the write-ahead log that the next process reads
	e := connect(s.b, must(s.server.Home.ServerFile())(s.b))
	defer e.Close()
	session := e.newSession(s.b, s.server.Home.Project)
	e.appendMessages(s.b, session, messages)
	ended := make(chan error, 1)
	go func() { ended <- e.prompt(session, reply{deltas: deltas, pause: pace}.prompt()) }()
	for bytes := 0; bytes == 0; bytes, _ = e.said() {
		select {
		case err := <-ended:
			s.b.Fatalf("the reply has ended before the server was killed: %v", err)
		case <-time.After(pace):
		}
	}
	server.kill()
	<-ended
}

// eachOf returns one figure of each process.
func eachOf(all []startup, figure func(startup) float64) []float64 {
	var figures []float64
	for _, s := range all {
		figures = append(figures, figure(s))
	}
	return figures
}

// startServer starts a server, sends a prompt, and stops it.
func startServer(b *testing.B, home *binary.Home) startup {
	b.Helper()
	start := time.Now()
	server := launch(b, home)
	defer server.stop()
	e := connect(b, must(home.ServerFile())(b))
	defer e.Close()
	if err := e.prompt(e.newSession(b, home.Project), "hello"); err != nil {
		b.Fatal(err)
	}
	_, first := e.said()
	return accounts(b, server.pid, first.Sub(start))
}

// startIdle starts a server that listens without a client, and stops it.
func startIdle(b *testing.B, home *binary.Home) startup {
	b.Helper()
	start := time.Now()
	server := launch(b, home)
	defer server.stop()
	wall := time.Since(start)
	settle(b, server.pid)
	return accounts(b, server.pid, wall)
}

// launched is a server that listens.
type launched struct {
	b   *testing.B
	pid int
	cmd *exec.Cmd
}

// launch starts a server and returns when it listens.
func launch(b *testing.B, home *binary.Home) *launched {
	b.Helper()
	cmd := home.Command(b.Context(), "serve")
	output := must(cmd.StdoutPipe())(b)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "WebSocket ") {
	}
	return &launched{b, cmd.Process.Pid, cmd}
}

// stop stops the server and waits for its end.
func (l *launched) stop() {
	l.b.Helper()
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		l.b.Error(err)
	}
	if err := l.cmd.Wait(); err != nil {
		l.b.Errorf("strata serve: %v", err)
	}
}

// kill kills the server, like a crash, and waits for its end.
func (l *launched) kill() {
	l.b.Helper()
	if err := l.cmd.Process.Kill(); err != nil {
		l.b.Error(err)
	}
	_ = l.cmd.Wait() // returns that it was killed
}

func startEcho(b *testing.B) startup {
	b.Helper()
	start := time.Now()
	reference := startChild(b, "echo")
	dialBare(b, reference.line(b), nil).roundTrip(b, "hello")
	return accounts(b, reference.pid, time.Since(start))
}

func accounts(b *testing.B, pid int, wall time.Duration) startup {
	b.Helper()
	processor, err := processorTime(pid)
	if err != nil {
		b.Skip(err)
	}
	return startup{float64(wall), float64(processor), memory(b, pid, "VmRSS"), memory(b, pid, "RssAnon")}
}
