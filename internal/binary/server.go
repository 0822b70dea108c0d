package binary

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the time after which a process that does not start or stop is considered hung. It is not a measurement.
const patience = 2 * time.Minute

// outputDelay is how long the output of an ended process is still read if one of its children keeps it open.
const outputDelay = 5 * time.Second

// Options are the options of one process.
type Options struct {
	Args []string // after `strata serve`
	Env  []string // added to the environment of the home, for example a failpoint
}

// Server is a running `strata serve`. It ends with its test. Its methods must be called on the test's goroutine.
type Server struct {
	Home *Home
	Info // of the current process

	t       testing.TB
	process *process
}

// Start starts a server in home and waits until clients can connect.
func Start(t testing.TB, home *Home, opt Options) *Server {
	t.Helper()
	s := &Server{Home: home, t: t}
	t.Cleanup(s.end)
	s.Restart(opt)
	return s
}

// Restart starts another process with the same home. The previous one must have ended.
func (s *Server) Restart(opt Options) {
	s.t.Helper()
	s.settle()
	cmd := s.Home.Command(context.Background(), append([]string{"serve"}, opt.Args...)...)
	cmd.Env = append(cmd.Env, opt.Env...)
	p, err := start(cmd)
	if err != nil {
		s.t.Fatalf("start strata serve: %v", err)
	}
	s.process = p
	s.Info = s.waitReady()
}

// waitReady waits for the server.json of this process: a killed one leaves a stale file.
func (s *Server) waitReady() Info {
	s.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		if info, err := s.Home.ServerFile(); err == nil && info.PID == s.process.cmd.Process.Pid {
			return info
		}
		select {
		case <-ticker.C:
		case <-s.process.done:
			s.t.Fatalf("strata serve ended before it was ready: %v\n%s", s.process.cmd.ProcessState, s.Log())
		case <-deadline:
			s.t.Fatalf("strata serve wrote no server.json\n%s", s.Log())
		}
	}
}

// Stop asks the server to shut down, like a service manager, waits, and fails unless it exits cleanly.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if state := s.Wait(); !state.Success() {
		s.t.Errorf("strata serve ended with %v\n%s", state, s.Log())
	}
}

// Kill kills the server, like a crash, and waits for its end.
func (s *Server) Kill() {
	s.t.Helper()
	s.signal(os.Kill)
	s.Wait()
}

// Wait waits until the process ends, for example at a failpoint.
func (s *Server) Wait() *os.ProcessState {
	s.t.Helper()
	select {
	case <-s.process.done:
	case <-time.After(patience):
		s.t.Fatalf("strata serve does not end\n%s", s.Log())
	}
	return s.process.cmd.ProcessState
}

// Done returns a channel that is closed when the current process has ended.
func (s *Server) Done() <-chan struct{} { return s.process.done }

// Log returns the output of the current process so far, standard output and error.
func (s *Server) Log() string { return s.process.output.String() }

func (s *Server) signal(signal os.Signal) {
	s.t.Helper()
	if err := s.process.cmd.Process.Signal(signal); err != nil {
		s.t.Fatalf("send %v to strata serve: %v", signal, err)
	}
}

// settle checks a process that has ended.
func (s *Server) settle() {
	s.t.Helper()
	if s.process == nil {
		return
	}
	select {
	case <-s.process.done:
	default:
		s.t.Fatal("strata serve still runs")
	}
	if log := s.Log(); strings.Contains(log, "WARNING: DATA RACE") {
		s.t.Errorf("strata serve has a data race\n%s", log)
	}
}

// end kills the process if it is still running at the end of the test.
func (s *Server) end() {
	if s.process == nil {
		return
	}
	s.process.kill()
	s.settle()
	if s.t.Failed() {
		s.t.Logf("the last strata serve wrote:\n%s", s.Log())
	}
}

// StopDetached stops a server that was started by another command of the home's owner, and waits for its end.
func (h *Home) StopDetached(t testing.TB) {
	t.Helper()
	info, err := h.ServerFile()
	if err != nil {
		t.Fatalf("no server was started: %v", err)
	}
	server, err := os.FindProcess(info.PID)
	if err == nil {
		err = server.Signal(syscall.SIGTERM)
	}
	if err != nil {
		t.Fatalf("stop the server: %v", err)
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(patience); ; {
		if _, err := h.ServerFile(); errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("the server, process %d, does not end", info.PID)
		}
	}
}

// process is a child process with its output. The goroutine that waits for it ends with it.
type process struct {
	cmd    *exec.Cmd
	output *output
	done   chan struct{} // closed when it has ended and cmd.ProcessState is set
}

func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, output: new(output), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	cmd.WaitDelay = outputDelay
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // ProcessState has the result
	}()
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if it has already ended
	<-p.done
}

// maxOutput is the number of bytes kept of a process's newest output.
const maxOutput = 1 << 20

// output keeps the newest bytes written to it.
type output struct {
	mu   sync.Mutex
	tail []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*maxOutput {
		o.tail = append([]byte(nil), o.tail[len(o.tail)-maxOutput:]...)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.tail[max(0, len(o.tail)-maxOutput):])
}
