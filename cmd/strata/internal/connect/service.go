package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/unit"
	"strata/historystore"
	"strata/server/access"
)

const (
	wakeTimeout  = 30 * time.Second // a start recovers and migrates the database
	knockTimeout = 2 * time.Second  // for the connection
	maxKnocks    = 3                // the server may exit because it is idle while a client connects
	lockTimeout  = 15 * time.Second // until a process has the database, which is early in its start
)

// ErrNoService means that no service manager starts the server that this process would start.
var ErrNoService = errors.New("no service for this database and configuration")

// Service returns the installed service, for the configured database and configuration file only. Its program is unknown.
// The error wraps ErrNoService.
func Service(p *cli.Process, c *config.Config) (unit.Service, error) {
	switch runtime.GOOS {
	case "darwin":
		return launchdService(p, c)
	case "linux":
		return systemdService(p, c)
	}
	return unit.Service{}, ErrNoService
}

func systemdService(p *cli.Process, c *config.Config) (unit.Service, error) {
	folder := unit.SystemdFolder(p.Getenv)
	if !filepath.IsAbs(folder) { // without a home; the current folder can be a stranger's
		return unit.Service{}, ErrNoService
	}
	text, err := os.ReadFile(filepath.Join(folder, unit.SocketName))
	if err != nil {
		return unit.Service{}, fmt.Errorf("%w: %w", ErrNoService, err)
	}
	s, err := unit.ReadSocket(string(text))
	switch {
	case err != nil:
		return s, fmt.Errorf("%w: %s: %w", ErrNoService, unit.SocketName, err)
	case !servesThis(p, c, s):
		return s, fmt.Errorf("%w: %s is for %s", ErrNoService, unit.SocketName, s.Database)
	}
	return s, nil
}

func servesThis(p *cli.Process, c *config.Config, s unit.Service) bool {
	return configFile(p) == s.ConfigFile && (filepath.Clean(c.DB) == filepath.Clean(s.Database) || cli.SameFile(c.DB, s.Database))
}

// configFile returns the absolute path of --config; empty without it.
func configFile(p *cli.Process) string {
	if p.ConfigFile == "" {
		return ""
	}
	file, err := filepath.Abs(p.ConfigFile)
	if err != nil {
		return p.ConfigFile
	}
	return file
}

// launchdService returns launchd's service. Its property list contains the configuration file, but neither the database nor
// the address, so it is only for the default database.
func launchdService(p *cli.Process, c *config.Config) (unit.Service, error) {
	path := unit.PlistPath(p.Getenv)
	text, err := os.ReadFile(path)
	if err != nil || !filepath.IsAbs(path) || unit.PlistConfigFile(string(text)) != configFile(p) || !c.IsDefault("db") {
		return unit.Service{}, ErrNoService
	}
	return unit.Service{Listen: c.Listen, Database: c.DB, ConfigFile: configFile(p)}, nil
}

// Wake makes the service manager start the server, and waits until clients can find it. It sends nothing to the address of
// the service: the token goes only to the process that has the database. The error wraps ErrNoService if there is no
// service, or says why it does not start the server.
func Wake(ctx context.Context, p *cli.Process, c *config.Config) (access.ServerFile, error) {
	s, err := Service(p, c)
	if err != nil {
		return access.ServerFile{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wakeTimeout, fmt.Errorf("the service did not start the server within %v", wakeTimeout))
	defer cancel()
	if runtime.GOOS == "darwin" {
		if err := kickstart(ctx); err != nil {
			return access.ServerFile{}, err
		}
		return awaitServer(ctx, p, s, nil)
	}
	for range maxKnocks {
		var running access.ServerFile
		if running, err = knock(ctx, p, s); err == nil || !errors.Is(err, errDropped) {
			return running, err
		}
	}
	return access.ServerFile{}, err
}

// kickstart starts launchd's job, which was stopped.
func kickstart(ctx context.Context) error {
	target := fmt.Sprintf("gui/%d/%s", os.Getuid(), unit.Label)
	if out, err := exec.CommandContext(ctx, "launchctl", "kickstart", target).CombinedOutput(); err != nil {
		return fmt.Errorf("launchctl kickstart %s: %w: %s", target, err, cli.OneLine(string(out)))
	}
	return nil
}

// knock connects to the socket of the service until the server can be found. The service manager closes the connection if
// it gives up starting the server.
func knock(ctx context.Context, p *cli.Process, s unit.Service) (access.ServerFile, error) {
	dialer := net.Dialer{Timeout: knockTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", s.Listen)
	if err != nil {
		return access.ServerFile{}, fmt.Errorf("socket of the service: %w", err)
	}
	dropped := make(chan struct{})
	go func() {
		defer close(dropped)
		conn.Read(make([]byte, 1)) // a server says nothing first
	}()
	defer func() {
		conn.Close()
		<-dropped
	}()
	return awaitServer(ctx, p, s, dropped)
}

// errDropped is the end of a connection before the server could be found.
var errDropped = errors.New("the service ended before the server could be found")

// awaitServer waits until the server of the service can be found; dropped may be nil.
func awaitServer(ctx context.Context, p *cli.Process, s unit.Service, dropped <-chan struct{}) (access.ServerFile, error) {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	locked := time.NewTimer(lockTimeout)
	defer locked.Stop()
	for ended := false; ; {
		if running, err := FindServer(p); err == nil && cli.SameFile(running.Database, s.Database) {
			return running, nil
		}
		if ended {
			return access.ServerFile{}, errDropped
		}
		select {
		case <-tick.C:
		case <-dropped:
			ended = true // after a last look
		case <-locked.C:
			if _, held := historystore.Holder(s.Database); !held {
				return access.ServerFile{}, fmt.Errorf("the service did not start a server within %v", lockTimeout)
			}
		case <-ctx.Done():
			return access.ServerFile{}, context.Cause(ctx)
		}
	}
}
