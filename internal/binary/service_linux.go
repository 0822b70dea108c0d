package binary

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Service is the installed service of a home, whose socket the test listens at in the place of systemd.
type Service struct {
	Address string

	home    *Home
	socket  *os.File
	stop    *os.File // closed at the end
	looping sync.WaitGroup

	mu     sync.Mutex
	starts int
}

// NewService installs the service of a home whose configuration may not set `listen`: a connection to its address starts the
// server, again after each end. It ends with its test.
func NewService(t testing.TB, home *Home) *Service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // the service has a copy
	s := &Service{Address: listener.Addr().String(), home: home}
	if s.socket, err = listener.(*net.TCPListener).File(); err != nil {
		t.Fatal(err)
	}
	home.addConfig(t, "listen: "+s.Address+"\n")
	s.install(t)
	waiting, stop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stop = stop
	s.looping.Go(func() {
		defer waiting.Close()
		s.serve(waiting)
	})
	t.Cleanup(s.end)
	return s
}

// Starts returns how often a connection has started the server.
func (s *Service) Starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// install writes the files that `strata service install` would write.
func (s *Service) install(t testing.TB) {
	t.Helper()
	out, err := s.home.Command(t.Context(), "service", "install", "--print").Output()
	if err != nil {
		t.Fatalf("strata service install --print: %v", err)
	}
	for file := range strings.SplitSeq(string(out), "# /") {
		path, content, found := strings.Cut(file, "\n")
		if !found {
			continue
		}
		path = "/" + path
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// serve starts the server with the socket when somebody connects, until stop is closed.
func (s *Service) serve(stop *os.File) {
	for {
		ready := []unix.PollFd{{Fd: int32(s.socket.Fd()), Events: unix.POLLIN}, {Fd: int32(stop.Fd()), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err == unix.EINTR {
			continue
		}
		if ready[1].Revents != 0 {
			return
		}
		s.mu.Lock()
		s.starts++
		s.mu.Unlock()
		_ = s.command().Run() // the next connection starts it again, whatever its end was
	}
}

// command returns the server's command. The shell gives it the process id that it expects in LISTEN_PID.
func (s *Service) command() *exec.Cmd {
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`, "sh", path, "serve", "--exit-idle", "1h")
	cmd.Env = s.home.Environment()
	cmd.ExtraFiles = []*os.File{s.socket}
	return cmd
}

// end stops the server and the service.
func (s *Service) end() {
	s.stop.Close()
	if info, err := s.home.ServerFile(); err == nil {
		if server, err := os.FindProcess(info.PID); err == nil {
			_ = server.Signal(unix.SIGTERM) // fails if it has already ended
		}
	}
	s.looping.Wait()
	s.socket.Close()
}
