package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/historystore"
	"strata/server/access"
)

const (
	startedIdle  = 10 * time.Minute // idle time after which a server that was started for a client exits
	startTimeout = 30 * time.Second // recovery and migration of a large database take time
	startPoll    = 50 * time.Millisecond
	startOutput  = 4 << 10 // bytes shown of the output of a server that did not start
)

// search looks for a server to connect to, and starts one if there is none. If several clients start servers
// concurrently, the lock of the database decides which server stays.
type search struct {
	*cli.Process
	started *startedServer // nil if none was started, or if another process had the database
	locked  string         // why no server is started: the process that has the database; empty if the database is free
}

// dial connects to a server. While the process that has the database cannot be reached, it is starting or shutting
// down: dial waits until it can be reached or the database is free.
func (s *search) dial(ctx context.Context) (*Stream, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the server did not start within %v", startTimeout))
	defer cancel()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		stream, err := DialRunning(ctx, s.Process)
		switch {
		case err == nil:
			return stream, nil
		case NoServer(err):
			if err := s.start(); err != nil {
				return nil, err
			}
		case !IsUnreachable(err):
			return nil, err
		}
		select {
		case err := <-s.exited():
			if exitCode(err) != int(cli.Locked) {
				return nil, fmt.Errorf("the server did not start: %s", s.started.said())
			}
			s.forget() // another process was faster, or is shutting down
		case <-tick.C:
		case <-ctx.Done():
			return nil, s.notFound(context.Cause(ctx))
		}
	}
}

// NoServer reports whether an error of FindServer or DialRunning means that no server is running.
func NoServer(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, access.ErrStale)
}

// IsUnreachable reports whether an error of DialRunning means that the server accepts no connections: it is shutting
// down.
func IsUnreachable(err error) bool {
	_, failed := errors.AsType[*net.OpError](err)
	return failed || errors.Is(err, io.EOF)
}

// start starts a server, unless one is starting or another process has the database.
func (s *search) start() (err error) {
	if s.started != nil {
		return nil
	}
	if s.locked = databaseHolder(s.Process); s.locked != "" {
		return nil
	}
	if s.started, err = startServer(s.Process); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	return nil
}

// databaseHolder describes the process that has the configured database; empty if the database is free. With a wrong
// configuration it is empty, too: the server that is then started reports the mistake.
func databaseHolder(p *cli.Process) string {
	c, err := p.Load(nil)
	if err != nil {
		return ""
	}
	pid, held := historystore.Holder(c.DB)
	if !held {
		return ""
	}
	return fmt.Sprintf("database %s is in use by process %d", c.DB, pid)
}

// exited returns a channel that receives when the started server has exited; nil if none was started.
func (s *search) exited() <-chan error {
	if s.started == nil {
		return nil
	}
	return s.started.exited
}

// forget drops the started server, which continues to run.
func (s *search) forget() {
	if s.started != nil {
		s.started.forget()
		s.started = nil
	}
}

// checkDatabase refuses a server with another database than the configured one: a command would read and write the
// wrong sessions.
func checkDatabase(p *cli.Process, running access.ServerFile) error {
	c, err := p.Load(nil)
	if err != nil || c.IsDefault("db") || cli.SameFile(c.DB, running.Database) {
		return nil // a wrong configuration does not affect a running server
	}
	return fmt.Errorf("the running server (process %d) uses the database %s, but the configuration names %s: stop that server, or remove db from the configuration",
		running.PID, running.Database, c.DB)
}

// startedServer is a server that is starting.
type startedServer struct {
	output *os.File
	exited chan error // receives once
}

// startServer starts a server that outlives this process.
func startServer(p *cli.Process) (*startedServer, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args, err := serveArgs(p)
	if err != nil {
		return nil, err
	}
	folders, err := config.FindFolders(p.Getenv)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folders.State, 0o700); err != nil {
		return nil, err
	}
	// A file instead of a pipe: a write to a pipe without a reader would kill the server later.
	output, err := os.CreateTemp(folders.State, "start-*.log")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = detached()
	s := &startedServer{output: output, exited: make(chan error, 1)}
	if err := cmd.Start(); err != nil {
		s.forget()
		return nil, err
	}
	go func() { s.exited <- cmd.Wait() }() // ends with the server or with this process
	return s, nil
}

func serveArgs(p *cli.Process) ([]string, error) {
	args := []string{"serve", "--exit-idle", startedIdle.String()}
	if p.ConfigFile == "" {
		return args, nil
	}
	file, err := filepath.Abs(p.ConfigFile)
	return append(args, "--config", file), err
}

// notFound returns the error for a server that was not found in time. A server that has the database may have its file
// in another folder, or no file.
func (s *search) notFound(err error) error {
	folders, foldersErr := config.FindFolders(s.Getenv)
	if s.locked == "" || foldersErr != nil {
		return err
	}
	return fmt.Errorf("%w: %s, and %s does not contain its address: end that process, or check whether it was started with another XDG_RUNTIME_DIR",
		err, s.locked, access.ServerFilePath(s.Getenv, folders.State))
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// said returns the end of the server's output.
func (s *startedServer) said() string {
	info, err := s.output.Stat()
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(io.NewSectionReader(s.output, max(0, info.Size()-startOutput), startOutput))
	if err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(strings.TrimSpace(string(text)), "strata: ")
}

// forget removes the file of the output. A running server continues to write to it, unseen; it has its log.
func (s *startedServer) forget() {
	s.output.Close()
	os.Remove(s.output.Name())
}
