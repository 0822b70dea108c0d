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
	each := func(figure func(startup) float64) pairs {
		var p pairs
		for i := range ours {
			p.ours, p.theirs = append(p.ours, figure(ours[i])), append(p.theirs, figure(theirs[i]))
		}
		return p
	}
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

// startServer starts a server, sends a prompt, and stops it.
func startServer(b *testing.B, home *binary.Home) startup {
	b.Helper()
	cmd := home.Command(b.Context(), "serve")
	output := must(cmd.StdoutPipe())(b)
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			b.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Errorf("strata serve: %v", err)
		}
	}()
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "WebSocket ") {
	}
	e := connect(b, must(home.ServerFile())(b))
	defer e.Close()
	if err := e.prompt(e.newSession(b, home.Project), "hello"); err != nil {
		b.Fatal(err)
	}
	_, first := e.said()
	return accounts(b, cmd.Process.Pid, first.Sub(start))
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
