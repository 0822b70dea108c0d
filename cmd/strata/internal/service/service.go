// Package service is `strata service`: it installs the server as a service of the user, and shows its state and its log.
//
// It must never change the user's data: sessions, configuration, keys.
package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/connect"
	"strata/cmd/strata/internal/unit"
)

// logName is the name of launchd's log, in the state folder.
const logName = "service.log"

// defaultIdle is the idle time after which the server of a socket exits. The next connection starts it.
const defaultIdle = 10 * time.Minute

// Command returns `strata service`.
func Command(p *cli.Process) *cobra.Command {
	return cli.Group("service", "Run the server as a service of systemd or launchd", newInstall(p), newUninstall(p), newStatus(p), newLogs(p))
}

// manager is the service manager of the system.
type manager interface {
	// files returns the files of a service by path.
	files(unit.Service) map[string]string
	// enable makes the manager run the service now and after each login, and disable ends that; the server is stopped.
	enable() error
	disable() error
	// state returns the names of the service's parts with their states.
	state() [][2]string
	// logs writes the end of the log.
	logs(ctx context.Context, lines int, follow bool) error
}

// withoutService describes how the server starts without a service.
const withoutService = "without a service, editors and strata start the server when they need it, and it exits after 10 minutes without connections"

// errUnavailable is the error on systems without a service manager that Strata supports.
var errUnavailable = errors.New("strata service needs systemd or launchd: " + withoutService)

func managerOf(p *cli.Process) (manager, error) {
	switch runtime.GOOS {
	case "linux":
		return systemd{p}, nil
	case "darwin":
		return launchd{p}, nil
	}
	return nil, errUnavailable
}

func newInstall(p *cli.Process) *cobra.Command {
	idle, show := time.Duration(0), false
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the service, so that a connection starts the server",
		Long: "Install the server as a service of this user. With systemd, the service manager listens at the configured address,\n" +
			"and the first connection of an editor starts the server. With launchd, the server starts at login.\n" +
			"The service uses your configuration and the keys of `strata login`, but not the variables of this shell.\n" +
			"Install the service again if the address, the database or the path of strata has changed.",
		Args: cli.UsageArgs(cobra.NoArgs),
	}
	cmd.Flags().DurationVar(&idle, "exit-idle", defaultIdle, "systemd: exit after `DURATION` without connections; 0: never")
	cmd.Flags().BoolVar(&show, "print", false, "print the files instead of installing them")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if idle < 0 {
			return cli.UsageError{Command: cmd, Err: fmt.Errorf("--exit-idle: %v is negative: set 0 or more", idle)}
		}
		m, err := managerOf(p)
		if err != nil {
			return err
		}
		c, err := p.Load(nil)
		if err != nil {
			return err
		}
		s, err := describe(p, c, idle, show)
		if err != nil {
			return err
		}
		if show {
			return printFiles(p, m.files(s))
		}
		return install(p, m, s)
	}
	return cmd
}

// describe returns the service for a configuration. Unless it is only shown, the address must be free.
func describe(p *cli.Process, c *config.Config, idle time.Duration, show bool) (unit.Service, error) {
	program, err := os.Executable()
	if err != nil {
		return unit.Service{}, err
	}
	s := unit.Service{
		Program: program, Listen: numeric(c.Listen), Database: c.DB, ExitIdle: idle, Environment: foldersOf(p),
		EnvFile: filepath.Join(c.Folders.Config, unit.EnvFileName), LogFile: filepath.Join(c.Folders.State, logName),
	}
	if runtime.GOOS == "darwin" {
		s.ExitIdle = 0 // nothing would start the server again
	}
	if p.ConfigFile != "" {
		if s.ConfigFile, err = filepath.Abs(p.ConfigFile); err != nil {
			return s, err
		}
	}
	if old, err := connect.Service(p, c); err == nil && stays(c, old.Listen) {
		s.Listen = old.Listen
	} else if !show {
		if s.Listen, err = freeAddress(c); err != nil {
			return s, err
		}
	}
	return s, s.Check()
}

// stays reports whether an installed service keeps its address, which editors may know, and at which its manager listens.
func stays(c *config.Config, address string) bool {
	is := c.IsDefault("listen") || strings.HasSuffix(c.Listen, ":0") || address == numeric(c.Listen)
	return is && c.CheckListen(address) == nil
}

// foldersOf returns the variables of this process that decide where the server's files are.
func foldersOf(p *cli.Process) map[string]string {
	env := make(map[string]string)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		if value := p.Getenv(name); filepath.IsAbs(value) {
			env[name] = value
		}
	}
	return env
}

// freeAddress returns the configured address with a fixed port. If another program has the default address, such as another
// user's server, it is one with a free port.
func freeAddress(c *config.Config) (string, error) {
	l, err := net.Listen("tcp", c.Listen)
	if err != nil && c.IsDefault("listen") {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return "", fmt.Errorf("address %s: %w: set `listen` to another address", c.Listen, err)
	}
	defer l.Close()
	host, _, err := net.SplitHostPort(numeric(c.Listen))
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(host, port), err
}

// numeric returns an address without a name of a host, which systemd does not take.
func numeric(address string) string {
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return address
	}
	if a.IP == nil {
		a.IP = net.IPv6unspecified
	}
	return a.String()
}

func printFiles(p *cli.Process, files map[string]string) error {
	for _, path := range sorted(files) {
		if _, err := fmt.Fprintf(p.Stdout, "# %s\n%s\n", path, files[path]); err != nil {
			return err
		}
	}
	return nil
}

func sorted(files map[string]string) []string {
	var paths []string
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// install writes the files and enables the service. If that fails, an earlier installation stays, or no files are left.
func install(p *cli.Process, m manager, s unit.Service) error {
	if running, err := connect.FindServer(p); err == nil {
		return fmt.Errorf("process %d serves the database: run `strata stop`, then install the service", running.PID)
	}
	files := m.files(s)
	earlier, err := read(files)
	if err != nil {
		return err
	}
	err = write(files)
	if err == nil {
		err = m.enable()
	}
	if err != nil {
		return errors.Join(err, revert(m, files, earlier))
	}
	for _, path := range sorted(files) {
		fmt.Fprintf(p.Stdout, "installed %s\n", path)
	}
	fmt.Fprintf(p.Stdout, "the service listens at %s\n", s.Listen)
	if names := unseen(p); len(names) > 0 {
		fmt.Fprintf(p.Stderr, "strata: the service does not have these variables of this shell: %s; %s\n", strings.Join(names, ", "), remedy(s))
	}
	return nil
}

// read returns the content of those of the files that exist.
func read(files map[string]string) (map[string]string, error) {
	found := make(map[string]string)
	for path := range files {
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			found[path] = string(text)
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
	}
	return found, nil
}

func write(files map[string]string) error {
	for _, path := range sorted(files) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(files[path]), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// revert undoes an installation that failed. The error of the service manager, which failed already, is not another one.
func revert(m manager, files, earlier map[string]string) error {
	if len(earlier) == 0 {
		_ = m.disable()
		return remove(files)
	}
	err := write(earlier)
	_ = m.enable()
	return err
}

func remedy(s unit.Service) string {
	if runtime.GOOS == "linux" {
		return "write them as NAME=VALUE to " + s.EnvFile + " (mode 600), or use the configuration and strata login"
	}
	return "use the configuration and strata login"
}

// unseen returns the variables of this process that a server would use.
func unseen(p *cli.Process) []string {
	if p.Environ == nil {
		return nil
	}
	keys := config.Default().KeyVariables()
	if c, err := p.Load(nil); err == nil {
		keys = c.KeyVariables()
	}
	var names []string
	for _, variable := range p.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if value != "" && (strings.HasPrefix(name, "STRATA_") || slices.Contains(keys, name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// remove removes files, and their folder systemd/user and its parent if they are then empty.
func remove(files map[string]string) error {
	var failed []error
	for path := range files {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = append(failed, err)
		}
		if folder := filepath.Dir(path); strings.HasSuffix(folder, filepath.Join("systemd", "user")) && os.Remove(folder) == nil {
			os.Remove(filepath.Dir(folder))
		}
	}
	return errors.Join(failed...)
}

func newUninstall(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the service and remove its files; sessions and configuration stay",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			m, err := managerOf(p)
			if err != nil {
				return err
			}
			files := m.files(unit.Service{})
			if !installed(files) {
				return errNotInstalled
			}
			if err := m.disable(); err != nil {
				fmt.Fprintf(p.Stderr, "strata: %v\n", err) // the files are removed in any case
			}
			if err := remove(files); err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.Stdout, "removed the service")
			return err
		},
	}
}

var errNotInstalled = errors.New("the service is not installed: run `strata service install`")

func installed(files map[string]string) bool {
	for path := range files {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

func newStatus(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether the service is installed and running",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			m, err := managerOf(p)
			if err != nil {
				return err
			}
			if !installed(m.files(unit.Service{})) {
				return errNotInstalled
			}
			lines := m.state()
			if c, err := p.Load(nil); err != nil {
				lines = append(lines, [2]string{"config", cli.OneLine(err.Error())})
			} else if s, err := connect.Service(p, c); err != nil {
				lines = append(lines, [2]string{"clients", "do not use it: " + err.Error()})
			} else {
				lines = append(lines, [2]string{"address", s.Listen}, [2]string{"database", s.Database})
			}
			server := "not running"
			if running, err := connect.FindServer(p); err == nil {
				server = fmt.Sprintf("process %d at %s", running.PID, running.URL)
			}
			for _, line := range append(lines, [2]string{"server", server}) {
				fmt.Fprintf(p.Stdout, "%-9s  %s\n", line[0], line[1])
			}
			return nil
		},
	}
}

func newLogs(p *cli.Process) *cobra.Command {
	lines, follow := 0, false
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Print the end of the service's log",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := managerOf(p)
			switch {
			case err != nil:
				return err
			case lines < 0:
				return cli.UsageError{Command: cmd, Err: fmt.Errorf("--lines: %d is negative", lines)}
			}
			if c, err := p.Load(nil); err == nil && c.Log.File != "" {
				fmt.Fprintf(p.Stderr, "strata: log.file is set: the server logs to %s\n", c.Log.File)
			}
			return m.logs(cmd.Context(), lines, follow)
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "number of `LINES`")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until Ctrl-C")
	return cmd
}
