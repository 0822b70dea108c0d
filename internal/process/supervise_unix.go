//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisorArgument is the first argument of a supervisor.
const supervisorArgument = "supervise-process"

// The files of a supervisor, after those of the program.
const (
	controlFile = 3 // spec and orders
	reportFile  = 4
)

// Supervise does not return in a process that Start has started as a supervisor. It must be called first in the main function
// of a program that uses this package, and in TestMain of a package whose tests do.
func Supervise() {
	if len(os.Args) < 2 || os.Args[1] != supervisorArgument {
		return
	}
	if !isPipe(controlFile) || !isPipe(reportFile) {
		fmt.Fprintln(os.Stderr, supervisorArgument, "is for internal use")
		os.Exit(2)
	}
	closeOnExec()
	supervise(os.NewFile(controlFile, "control"), os.NewFile(reportFile, "reports"))
	os.Exit(0)
}

func isPipe(file int) bool {
	var stat unix.Stat_t
	return unix.Fstat(file, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFIFO
}

// supervise runs one program.
func supervise(control, reports *os.File) {
	// Signals for the group are for the program. They are caught, not ignored: programs inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1))
	group := unix.Getpgrp()
	adopt()
	tell := json.NewEncoder(reports).Encode
	s, err := readSpec(control)
	if err != nil {
		if errors.Is(err, errOtherProtocol) {
			tell(report{Error: errSupervisorGone.Error()})
		}
		return
	}
	leaveTerminal()
	program, err := s.start()
	if err != nil {
		tell(report{Error: err.Error()})
		return
	}
	tell(report{Started: true})

	c := children{program: program, ended: make(chan struct{}), none: make(chan struct{})}
	go c.reap(func(e Exit) { tell(report{Exit: &e}) })
	orders := make(chan byte)
	go readOrders(control, orders)
	select {
	case <-c.ended:
		end(remains(s.groupOnly, false, c.none), leftGrace, orders)
	case o := <-orders:
		grace := Grace
		if o == orderKill {
			grace = 0
		}
		end(remains(s.groupOnly, true, c.none), grace, orders)
		poll(killLimit, func() bool { return closed(c.ended) })
	}
	unix.Kill(-group, unix.SIGKILL) // at one moment, so that nothing escapes; including the supervisor if it is there
}

// leaveTerminal takes the controlling terminal from this process and those it starts. Reading from it would stop a program
// that is not in the foreground, so one that asks for a password would wait until it is killed.
func leaveTerminal() {
	if terminal, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
		unix.IoctlSetInt(terminal, unix.TIOCNOTTY, 0)
		unix.Close(terminal)
	}
}

// start starts the program and returns its process ID.
func (s spec) start() (int, error) {
	path, err := s.find()
	if err != nil {
		return 0, err
	}
	attributes := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2}}
	pid, err := syscall.ForkExec(path, append([]string{s.Path}, s.Args...), attributes)
	if err != nil {
		return 0, cannotStart(path, err)
	}
	releaseFiles()
	return pid, nil
}

// releaseFiles replaces the files of the program by the null device: a reader of its output reaches the end when nothing else
// has it open.
func releaseFiles() {
	for file := range controlFile {
		unix.Close(file)
	}
	for range controlFile {
		unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0) // the lowest free number
	}
}

// readOrders sends the orders of the starting process, and orderStop when that has ended.
func readOrders(control *os.File, orders chan<- byte) {
	for order := make([]byte, 1); ; {
		if _, err := control.Read(order); err != nil {
			orders <- orderStop
			return
		}
		orders <- order[0]
	}
}

// children are the processes whose parent is the supervisor.
type children struct {
	program int
	ended   chan struct{} // closed when the program has ended and that is reported
	none    chan struct{} // closed when there are no children
}

// reap waits for children, and tells how the program ended.
func (c *children) reap(tell func(Exit)) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			close(c.none)
			return
		case pid == c.program:
			tell(exitOf(status))
			close(c.ended)
		}
	}
}

func exitOf(status unix.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: status.ExitStatus()}
}

// processes are some that the supervisor is to end.
type processes interface {
	signal(unix.Signal)
	any() bool // whether any lives; may miss some that signal does not
}

// end ends processes: by SIGTERM, and by SIGKILL after the grace or an order. It may end the supervisor, too.
func end(all processes, grace time.Duration, orders <-chan byte) {
	if grace > 0 && all.any() {
		all.signal(unix.SIGTERM)
		all.signal(unix.SIGCONT) // stopped processes would not notice
		poll(grace, func() bool { return killOrdered(orders) || !all.any() })
	}
	poll(killLimit, func() bool {
		all.signal(unix.SIGKILL)
		return !all.any()
	})
}

func killOrdered(orders <-chan byte) bool {
	select {
	case o := <-orders:
		return o == orderKill
	default:
		return false
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
