package process

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestExitIsThatOfTheProgram(t *testing.T) {
	for line, want := range map[string]Exit{
		"exit 0":              {},
		"exit 3":              {Code: 3},
		"exit 255":            {Code: 255},
		"kill -KILL $$":       {Signal: "SIGKILL"},
		"kill -SEGV $$":       {Signal: "SIGSEGV"},
		"kill -TERM 0; sleep": {Signal: "SIGTERM"}, // the group has the supervisor, too
		"kill -QUIT 0; sleep": {Signal: "SIGQUIT"},
		"kill -USR1 0; sleep": {Signal: "SIGUSR1"},
		"kill -PIPE 0; sleep": {Signal: "SIGPIPE"},
		"kill -ALRM 0; sleep": {Signal: "SIGALRM"},
		"exec sleep 0":        {},
	} {
		withScopes(t, func(t *testing.T) {
			p := newPlace(t)
			p.ended(p.start(line), want)
			p.nothingLeft()
		})
	}
}

// waits ends a line of the shell: it tells that all is started, and does not end.
const waits = "; : >up; while :; do sleep 1000; done"

// interruptibly is waits for a line with a trap: the shell runs that at once, also if it gets the signal before it starts sleep.
const interruptibly = "; : >up; while :; do sleep 1000 & wait; done"

// Lines of the shell that start processes in the group of the program.
var background = map[string]string{
	"background":        "sleep 1000 &",
	"many":              "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done",
	"nohup":             "nohup sleep 1000 >out 2>&1 &",
	"double fork":       "(sleep 1000 &)",
	"deep":              `sh -c 'sh -c "sleep 1000 & sleep 1000" & sleep 1000' &`,
	"stopped":           "sleep 1000 & kill -STOP $!",
	"ignores signals":   `(trap "" TERM INT HUP; : >trap; sleep 1000) & while [ ! -e trap ]; do sleep 0.01; done`,
	"forks when ending": `(trap "sleep 1000 & sleep 1000" TERM; : >trap; while :; do sleep 0.01; done) & while [ ! -e trap ]; do sleep 0.01; done`,
	"none":              ":",
}

// Lines of the shell that start processes that leave the group.
var detached = map[string]string{
	"session":                  awaitDaemon("setsid " + daemon("sleep 1000") + " &"),
	"session of a double fork": awaitDaemon("(setsid " + daemon("sleep 1000 & sleep 1000") + " &)"),
	"session ignores signals":  awaitDaemon("setsid " + daemon(`trap "" TERM INT HUP; sleep 1000 & sleep 1000`) + " &"),
}

func daemon(line string) string { return "sh -c ': >daemon; " + line + "'" }

func awaitDaemon(line string) string { return line + "\nwhile [ ! -e daemon ]; do sleep 0.01; done" }

func TestProcessesThatAProgramLeavesInItsGroupAreEnded(t *testing.T) {
	for name, line := range background {
		t.Run(name, func(t *testing.T) {
			withScopes(t, func(t *testing.T) {
				p := newPlace(t)
				p.ended(p.start(line+"\nexit 4"), Exit{Code: 4})
				p.nothingLeft()
			})
		})
	}
}

func TestADaemonOutlivesAProgramThatEndsByItself(t *testing.T) {
	for name, line := range detached {
		t.Run(name, func(t *testing.T) {
			withScopes(t, func(t *testing.T) {
				p := newPlace(t)
				p.ended(p.start(line+"\nexit 4"), Exit{Code: 4})
				if len(p.left()) == 0 {
					t.Error("the daemon has ended")
				}
			})
		})
	}
}

func TestStopEndsEverything(t *testing.T) {
	for name, line := range background {
		t.Run(name, func(t *testing.T) {
			withScopes(t, func(t *testing.T) { stop(t, line, (*Process).Stop) })
		})
	}
	for name, line := range detached {
		t.Run(name, func(t *testing.T) { stop(t, line, (*Process).Stop) })
	}
}

func TestKillEndsEverything(t *testing.T) {
	for name, line := range background {
		t.Run(name, func(t *testing.T) {
			withScopes(t, func(t *testing.T) { stop(t, `trap "" TERM; `+line, (*Process).Kill) })
		})
	}
	for name, line := range detached {
		t.Run(name, func(t *testing.T) { stop(t, `trap "" TERM; `+line, (*Process).Kill) })
	}
}

func stop(t *testing.T, line string, end func(*Process)) {
	p := newPlace(t)
	process := p.start(line + "\n" + waits[2:])
	p.await("up")
	end(process)
	p.ended(process, Exit{Signal: "SIGTERM"}, Exit{Signal: "SIGKILL"})
	p.nothingLeft()
}

func TestAProgramThatIsToldToStopCanEndItself(t *testing.T) {
	withScopes(t, func(t *testing.T) {
		p := newPlace(t)
		process := p.start("trap 'exit 7' TERM" + interruptibly)
		p.await("up")
		process.Stop()
		p.ended(process, Exit{Code: 7})
		p.nothingLeft()
	})
}

func TestAProgramThatWaitsForSIGCONTCanEndItself(t *testing.T) {
	withScopes(t, func(t *testing.T) {
		p := newPlace(t)
		process := p.start("trap 'exit 7' TERM; kill -STOP $$" + interruptibly)
		p.eventually("a program that waits", func() bool {
			return slices.ContainsFunc(p.left(), func(pid int) bool { return pid != process.supervisor.Pid && state(pid) == 'T' })
		})
		process.Stop()
		p.ended(process, Exit{Code: 7})
		p.nothingLeft()
	})
}

func TestAProgramThatIgnoresSignalsIsKilled(t *testing.T) {
	withScopes(t, func(t *testing.T) {
		p := newPlace(t)
		process := p.start(`trap "" TERM INT HUP` + waits)
		p.await("up")
		process.Stop()
		p.ended(process, Exit{Signal: "SIGKILL"})
		p.nothingLeft()
	})
}

// The supervisor is in the group, and cannot read the order while it is stopped.
func TestAStoppedGroupIsEnded(t *testing.T) {
	p := newPlace(t)
	process := p.start("while [ ! -e go ]; do sleep 0.01; done; kill -STOP 0" + waits)
	must(t, os.WriteFile(filepath.Join(p.folder, "go"), nil, 0o600))
	p.eventually("a stopped supervisor", func() bool { return state(process.supervisor.Pid) == 'T' })
	process.Stop()
	p.ended(process, Exit{Signal: "SIGTERM"})
	p.nothingLeft()
}

func TestAProgramThatStopsItsGroupAtOnceIsStarted(t *testing.T) {
	p := newPlace(t)
	process := p.start("kill -STOP 0; exit 3")
	p.eventually("the end", func() bool {
		process.signal(unix.SIGCONT) // if it stops after the start
		select {
		case <-process.Done():
			return true
		default:
			return false
		}
	})
	p.ended(process, Exit{Code: 3})
}

func TestStopCanBeRepeated(t *testing.T) {
	p := newPlace(t)
	process := p.start(`trap "" TERM; sleep 1000 & ` + waits[2:])
	p.await("up")
	var all sync.WaitGroup
	for range 100 {
		all.Go(process.Stop)
		all.Go(process.Kill)
	}
	all.Wait()
	p.ended(process, Exit{Signal: "SIGKILL"})
	for range 2 {
		process.Stop()
		process.Kill()
	}
	p.ended(process, Exit{Signal: "SIGKILL"})

	process = p.start("exit 5")
	p.ended(process, Exit{Code: 5})
	process.Stop()
	p.ended(process, Exit{Code: 5})
	p.nothingLeft()
}

func TestAProgramIsStoppedWhileItEnds(t *testing.T) {
	p := newPlace(t)
	for range 50 {
		process := p.start("sleep 1000 & exit 0")
		process.Stop()
		p.ended(process, Exit{}, Exit{Signal: "SIGTERM"})
	}
	p.nothingLeft()
}

func TestTheGroupEndsWithAKilledSupervisor(t *testing.T) {
	for name, line := range background {
		t.Run(name, func(t *testing.T) {
			withScopes(t, func(t *testing.T) {
				p := newPlace(t)
				process := p.start(line + "\n" + waits[2:])
				p.await("up")
				must(t, unix.Kill(process.supervisor.Pid, unix.SIGKILL))
				p.ended(process, Exit{Signal: "SIGKILL"})
				p.nothingLeft()
			})
		})
	}
}
