package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/server/access"
)

const (
	startedIdle  = 10 * time.Minute // idle time after which a server that was started for a client exits
	startTimeout = 30 * time.Second // recovery and migration of a large database take time
	startPoll    = 50 * time.Millisecond
	startOutput  = 4 << 10 // bytes shown of the output of a server that did not start
)

// ensureServer returns the running server, or starts a server. If several clients start servers concurrently, the lock
// of the database decides which server stays.
func ensureServer(ctx context.Context, p *cli.Process) (access.ServerFile, error) {
	running, err := FindServer(p)
	switch {
	case err == nil:
		return running, checkDatabase(p, running)
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, access.ErrStale):
		return running, err
	}
	started, err := startServer(p)
	if err != nil {
		return access.ServerFile{}, fmt.Errorf("start the server: %w", err)
	}
	defer started.forget()
	return awaitServer(ctx, p, started)
}

// checkDatabase refuses a server with another database than the configured one: a command would read and write the
// wrong sessions.
func checkDatabase(p *cli.Process, running access.ServerFile) error {
	c, err := p.Load(nil)
	if err != nil || c.IsDefault("db") || sameFile(c.DB, running.Database) {
		return nil // a wrong configuration does not affect a running server
	}
	return fmt.Errorf("the running server (process %d) uses the database %s, but the configuration names %s: stop that server, or remove db from the configuration",
		running.PID, running.Database, c.DB)
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
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

// awaitServer waits until a server is running: the started server, or another that was faster.
func awaitServer(ctx context.Context, p *cli.Process, started *startedServer) (access.ServerFile, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the server did not start within %v", startTimeout))
	defer cancel()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	var locked string // the message of the started server if another process has the database
	for {
		if running, err := FindServer(p); err == nil {
			return running, nil
		}
		select {
		case err := <-started.exited:
			if exitCode(err) != int(cli.Locked) {
				return access.ServerFile{}, fmt.Errorf("the server did not start: %s", started.said())
			}
			locked = started.said()
		case <-tick.C:
		case <-ctx.Done():
			return access.ServerFile{}, notFound(p, context.Cause(ctx), locked)
		}
	}
}

// notFound returns the error for a server that was not found in time. A server that has the database may have its file
// in another folder, or no file.
func notFound(p *cli.Process, err error, locked string) error {
	folders, foldersErr := config.FindFolders(p.Getenv)
	if locked == "" || foldersErr != nil {
		return err
	}
	return fmt.Errorf("%w: %s, and %s does not contain its address: end that process, or check whether it was started with another XDG_RUNTIME_DIR",
		err, locked, access.ServerFilePath(p.Getenv, folders.State))
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
