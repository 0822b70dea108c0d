package bench

import (
	"bufio"
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
	return append([]row{
		alone("start to the first reply", nanoseconds, median(wall.ours), float64(50*time.Millisecond)).versus(median(wall.theirs), of),
		alone("  its processor time", nanoseconds, median(processor.ours), 0).versus(median(processor.theirs), of),
		alone("the very first start, once", nanoseconds, first.wall, 0),
		alone("resident at the first reply", mebibytes, median(memory.ours), 40<<20).versus(median(memory.theirs), of),
		alone("  of it not backed by a file", mebibytes, median(private.ours), 0).versus(median(private.theirs), of),
	}, startsWithoutOutlines(b)...)
}

// startsWithoutOutlines compares servers that have outlines, but no session that needs them, with servers without outlines.
func startsWithoutOutlines(b *testing.B) []row {
	b.Helper()
	const config = "listen: 127.0.0.1:0\n"
	on, off := binary.NewHome(b, config), binary.NewHome(b, config+"outlines: {enabled: false}\n")
	startIdle(b, on) // creates the database
	startIdle(b, off)
	var ours, theirs []startup
	note := func(of *[]startup, home *binary.Home) func() float64 {
		return func() float64 {
			*of = append(*of, startIdle(b, home))
			return 0
		}
	}
	takeTurns(2*starts, note(&ours, on), note(&theirs, off))
	each := func(figure func(startup) float64) pairs { return pairs{eachOf(ours, figure), eachOf(theirs, figure)} }

	const of = "outlines.enabled: false"
	return []row{
		each(func(s startup) float64 { return s.wall }).difference("start without a session", nanoseconds, of, float64(10*time.Millisecond)),
		each(func(s startup) float64 { return s.processor }).difference("  its processor time", nanoseconds, of, 0),
		each(func(s startup) float64 { return s.resident }).difference("  resident", mebibytes, of, 1<<20),
	}
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
	pid, stop := launch(b, home)
	defer stop()
	e := connect(b, must(home.ServerFile())(b))
	defer e.Close()
	if err := e.prompt(e.newSession(b, home.Project), "hello"); err != nil {
		b.Fatal(err)
	}
	_, first := e.said()
	return accounts(b, pid, first.Sub(start))
}

// startIdle starts a server that listens without a client, and stops it.
func startIdle(b *testing.B, home *binary.Home) startup {
	b.Helper()
	start := time.Now()
	pid, stop := launch(b, home)
	defer stop()
	wall := time.Since(start)
	settle(b, pid)
	return accounts(b, pid, wall)
}

// launch starts a server and returns when it listens. stop stops it and waits for its end.
func launch(b *testing.B, home *binary.Home) (pid int, stop func()) {
	b.Helper()
	cmd := home.Command(b.Context(), "serve")
	output := must(cmd.StdoutPipe())(b)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "WebSocket ") {
	}
	return cmd.Process.Pid, func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			b.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Errorf("strata serve: %v", err)
		}
	}
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
