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

// patience is how long a process may take to start or to stop before it counts as hung. It measures nothing.
const patience = 2 * time.Minute

// outputDelay is how long the output of a process that has ended is still read, should a child of its own hold it open.
const outputDelay = 5 * time.Second

// Options are what one process gets beside its home.
type Options struct {
	Args []string // behind `strata serve`
	Env  []string // over the environment of the home: a failpoint, for instance
}

// Server is a running `strata serve`. It ends with its test. Its methods are for the test's goroutine.
type Server struct {
	Home *Home
	Info // of the present process

	t       testing.TB
	process *process
}

// Start starts a server in home and waits until clients can reach it.
func Start(t testing.TB, home *Home, opt Options) *Server {
	t.Helper()
	s := &Server{Home: home, t: t}
	t.Cleanup(s.end)
	s.Restart(opt)
	return s
}

// Restart starts another process, which finds what the last one left. That one must have ended.
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

// waitReady waits for server.json of this very process: a killed one leaves its own behind.
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

// Stop asks the server to shut down, as a service manager does, waits, and wants a clean end.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if state := s.Wait(); !state.Success() {
		s.t.Errorf("strata serve ended with %v\n%s", state, s.Log())
	}
}

// Kill ends the server at once, as a crash does, and waits.
func (s *Server) Kill() {
	s.t.Helper()
	s.signal(os.Kill)
	s.Wait()
}

// Wait waits until the process ends by itself, at a failpoint for instance.
func (s *Server) Wait() *os.ProcessState {
	s.t.Helper()
	select {
	case <-s.process.done:
	case <-time.After(patience):
		s.t.Fatalf("strata serve does not end\n%s", s.Log())
	}
	return s.process.cmd.ProcessState
}

// Done is closed when the present process has ended.
func (s *Server) Done() <-chan struct{} { return s.process.done }

// Log is what the present process has written to its standard output and error so far.
func (s *Server) Log() string { return s.process.output.String() }

func (s *Server) signal(signal os.Signal) {
	s.t.Helper()
	if err := s.process.cmd.Process.Signal(signal); err != nil {
		s.t.Fatalf("send %v to strata serve: %v", signal, err)
	}
}

// settle looks back at a process that has ended.
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

// end ends what the test left running.
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

// StopDetached stops the server that another command of the home's owner has started, and waits for its end.
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

// process is a child with its output. The goroutine that waits for it ends when it does.
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
		_ = cmd.Wait() // how it ended stands in ProcessState
	}()
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails where it has ended already
	<-p.done
}

// maxOutput is how many bytes of a process's output are kept, the newest.
const maxOutput = 1 << 20

// output keeps the end of what is written to it.
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
