package main

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

	"strata/cmd/strata/internal/config"
	"strata/server/access"
)

const (
	startedIdle  = 10 * time.Minute // a server that was started for a client ends when nobody uses it for so long
	startTimeout = 30 * time.Second // recovery and migration of a large database take their time
	startPoll    = 50 * time.Millisecond
	startOutput  = 4 << 10 // bytes that are shown of what a server said that could not start
)

// ensureServer gives the running server, or starts one. Of several clients that do so at once one server comes up:
// the database's lock decides whose.
func (p *process) ensureServer(ctx context.Context) (access.ServerFile, error) {
	running, err := p.findServer()
	switch {
	case err == nil:
		return running, p.checkServes(running)
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, access.ErrStale):
		return running, err
	}
	started, err := p.startServer()
	if err != nil {
		return access.ServerFile{}, fmt.Errorf("start the server: %w", err)
	}
	defer started.forget()
	return p.awaitServer(ctx, started)
}

// checkServes refuses a server on another database than the one that the configuration names: what is asked would be
// looked for, and stored, in the wrong place.
func (p *process) checkServes(running access.ServerFile) error {
	c, err := p.load(nil)
	if err != nil || c.IsDefault("db") || sameFile(c.DB, running.Database) {
		return nil // what is wrong with a configuration does not concern a server that runs
	}
	return fmt.Errorf("the running server (process %d) works on %s, and the configuration names %s: end that server, or take the other database out of the configuration",
		running.PID, running.Database, c.DB)
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// startedServer is a server on its way up.
type startedServer struct {
	output *os.File
	exited chan error // receives once
}

// startServer starts a server that outlives this process.
func (p *process) startServer() (*startedServer, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args, err := p.serveArgs()
	if err != nil {
		return nil, err
	}
	folders, err := config.FindFolders(p.getenv)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folders.State, 0o700); err != nil {
		return nil, err
	}
	// A file, not a pipe: writing to a pipe whose reader is gone would kill the server later.
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

func (p *process) serveArgs() ([]string, error) {
	args := []string{"serve", "--exit-idle", startedIdle.String()}
	if p.configFile == "" {
		return args, nil
	}
	file, err := filepath.Abs(p.configFile)
	return append(args, "--config", file), err
}

// awaitServer waits until a server is up, the started one or another that was faster.
func (p *process) awaitServer(ctx context.Context, started *startedServer) (access.ServerFile, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the server was not up after %v", startTimeout))
	defer cancel()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	var locked string // what the started server said if another process has the database
	for {
		if running, err := p.findServer(); err == nil {
			return running, nil
		}
		select {
		case err := <-started.exited:
			if exitCode(err) != exitLocked {
				return access.ServerFile{}, fmt.Errorf("the server did not start: %s", started.said())
			}
			locked = started.said()
		case <-tick.C:
		case <-ctx.Done():
			return access.ServerFile{}, p.notFound(context.Cause(ctx), locked)
		}
	}
}

// notFound says why no server was found in time. One that has the database may have told of itself in another folder,
// or in a file that is gone.
func (p *process) notFound(err error, locked string) error {
	path, pathErr := p.serverFile()
	if locked == "" || pathErr != nil {
		return err
	}
	return fmt.Errorf("%w: %s, and %s does not tell how to reach it: end that process, or see whether it was started with another XDG_RUNTIME_DIR",
		err, locked, path)
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// said gives the end of what the server wrote.
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

// forget removes the output's file. A server that runs goes on writing to it, unseen: it has its log.
func (s *startedServer) forget() {
	s.output.Close()
	os.Remove(s.output.Name())
}
