//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func sameVariable(a, b string) bool { return a == b }

// groupOnly makes supervisors end only the process group, as on systems other than Linux. Only tests set it.
var groupOnly bool

// overdue is the time after which a supervisor that was told to end everything is killed with the group. Only a supervisor
// that cannot run, such as a stopped one, needs it.
const overdue = Grace + killLimit + 10*time.Second

// running is a supervisor that runs.
type running struct {
	supervisor *os.Process // its process ID is that of the group; valid while ended is false

	mu      sync.Mutex // guards the following
	ended   bool
	control *os.File    // to the supervisor
	ordered byte        // last order, 0 for none
	late    *time.Timer // kills a supervisor that is overdue
}

// Start starts a program, and returns when it runs. The error is for the user.
func Start(c Command) (*Process, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	orders, err := spec{Command: c, groupOnly: groupOnly}.encode()
	if err != nil {
		return nil, err
	}
	p, reports, err := startSupervisor(c)
	if err != nil {
		return nil, fmt.Errorf("program %s: cannot start a process: %w", c.Path, reason(err))
	}
	first := make(chan report, 1)
	go p.watch(reports, first)
	p.control.SetWriteDeadline(time.Now().Add(startLimit))
	p.control.Write(orders) // an error means that the supervisor has ended: watch notices that
	p.control.SetWriteDeadline(time.Time{})
	if err := p.started(c, first); err != nil {
		return nil, err
	}
	return p, nil
}

// started waits for the first report of the supervisor. If that is an error, the supervisor has ended.
func (p *Process) started(c Command, first <-chan report) error {
	limit, second := time.NewTimer(startLimit), time.NewTicker(time.Second)
	defer limit.Stop()
	defer second.Stop()
	for {
		select {
		case r := <-first:
			if r.Started {
				return nil
			}
			<-p.done
			if r.Error == "" {
				return fmt.Errorf("program %s: %w", c.Path, errSupervisorGone)
			}
			return errors.New(r.Error)
		case <-second.C:
			p.signal(unix.SIGCONT) // a program that stopped its group at once also stopped the supervisor
		case <-limit.C:
			p.signal(unix.SIGKILL) // and no wait: it may not be able to end
			return fmt.Errorf("program %s: not started within %v: a disk does not respond", c.Path, startLimit)
		}
	}
}

// startSupervisor starts a supervisor, which waits for its spec. It also returns the pipe of the supervisor's reports.
func startSupervisor(c Command) (*Process, *os.File, error) {
	executable, err := ownExecutable()
	if err != nil {
		return nil, nil, err
	}
	controlled, control, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer controlled.Close()
	reports, reporter, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, nil, err
	}
	defer reporter.Close()
	cmd := exec.Cmd{
		Path:        executable,
		Args:        []string{os.Args[0], supervisorArgument, c.Path}, // the path is for those who list processes
		Dir:         "/",
		Env:         []string{}, // variables such as GODEBUG must not affect it
		ExtraFiles:  []*os.File{controlled, reporter},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	c.connect(&cmd)
	if err := cmd.Start(); err != nil {
		control.Close()
		reports.Close()
		return nil, nil, err
	}
	p := &Process{done: make(chan struct{})}
	p.supervisor, p.control = cmd.Process, control
	return p, reports, nil
}

// watch follows a supervisor to its end. It sends its first report, or an empty one.
func (p *Process) watch(reports *os.File, first chan<- report) {
	defer reports.Close()
	decoder := json.NewDecoder(reports)
	var start, end report
	decoder.Decode(&start)
	first <- start
	decoder.Decode(&end)
	for decoder.Decode(&struct{}{}) == nil {
	} // until the supervisor has ended

	p.close()
	if end.Exit != nil {
		p.exit = *end.Exit
	} else {
		p.exit = Exit{Signal: unix.SignalName(unix.SIGKILL)}
	}
	close(p.done)
}

// close ends the rest of the group, which has any only if the supervisor was killed, and waits for the supervisor.
func (p *Process) close() {
	group := p.supervisor.Pid
	p.mu.Lock()
	p.supervisor.Kill() // it has closed its pipes, so it ends
	unix.Kill(-group, unix.SIGKILL)
	p.ended = true
	p.control.Close()
	if p.late != nil {
		p.late.Stop()
	}
	p.mu.Unlock()

	p.supervisor.Wait()
	poll(killLimit, func() bool { return !groupLives(group) })
}

// Stop ends the program and everything that it started: by SIGTERM, and by SIGKILL after Grace. It returns immediately.
func (p *Process) Stop() { p.order(orderStop) }

// Kill ends the program and everything that it started by SIGKILL. It returns immediately.
func (p *Process) Kill() { p.order(orderKill) }

func (p *Process) order(o byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.ordered == o || p.ordered == orderKill {
		return
	}
	p.ordered = o
	p.control.Write([]byte{o})                 // the pipe has room for both orders
	unix.Kill(-p.supervisor.Pid, unix.SIGCONT) // a stopped supervisor could not read it
	if p.late == nil {
		p.late = time.AfterFunc(overdue, func() { p.signal(unix.SIGKILL) })
	}
}

// signal sends a signal to the group and its supervisor.
func (p *Process) signal(s unix.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		unix.Kill(-p.supervisor.Pid, s)
		p.supervisor.Signal(s) // it may have left the group
	}
}
