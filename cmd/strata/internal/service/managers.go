package service

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/unit"
)

// systemd is the user's instance of systemd.
type systemd struct{ *cli.Process }

func (s systemd) files(service unit.Service) map[string]string {
	folder := unit.SystemdFolder(s.Getenv)
	return map[string]string{
		filepath.Join(folder, unit.SocketName):  service.Socket(),
		filepath.Join(folder, unit.ServiceName): service.Unit(),
	}
}

func (s systemd) enable() error {
	if err := output("systemctl", "--user", "daemon-reload"); err != nil {
		return fmt.Errorf("systemd of this user does not respond: %w; %s", err, withoutService)
	}
	output("systemctl", "--user", "reset-failed", unit.SocketName, unit.ServiceName) // of an earlier installation
	if err := output("systemctl", "--user", "enable", unit.SocketName); err != nil {
		return err
	}
	return output("systemctl", "--user", "restart", unit.SocketName)
}

// disable closes the socket first: a connection would start the server again.
func (s systemd) disable() error {
	if err := output("systemctl", "--user", "disable", "--now", unit.SocketName); err != nil {
		return err
	}
	return output("systemctl", "--user", "stop", unit.ServiceName)
}

func (s systemd) state() [][2]string {
	var lines [][2]string
	for _, name := range []string{unit.SocketName, unit.ServiceName} {
		out, err := exec.Command("systemctl", "--user", "is-active", name).Output()
		state := strings.TrimSpace(string(out))
		switch {
		case state == "" && err != nil:
			state = err.Error()
		case state == "failed":
			state += ": `strata service logs` shows why; `strata service install` starts it again"
		}
		lines = append(lines, [2]string{strings.TrimPrefix(name, "strata."), state})
	}
	return lines
}

func (s systemd) logs(ctx context.Context, lines int, follow bool) error {
	args := []string{"--user", "--unit", unit.ServiceName, "--lines", strconv.Itoa(lines), "--no-pager"}
	if follow {
		args = append(args, "--follow")
	}
	return pass(ctx, s.Process, "journalctl", args...)
}

// launchd is the user's domain of launchd.
type launchd struct{ *cli.Process }

func (l launchd) files(s unit.Service) map[string]string {
	return map[string]string{unit.PlistPath(l.Getenv): s.Plist()}
}

func domain() string { return fmt.Sprintf("gui/%d", os.Getuid()) }

// enable creates the folder of the log, without which launchd does not start the server.
func (l launchd) enable() error {
	folders, err := config.FindFolders(l.Getenv)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folders.State, 0o700); err != nil {
		return err
	}
	output("launchctl", "bootout", domain()+"/"+unit.Label) // of an earlier installation
	return output("launchctl", "bootstrap", domain(), unit.PlistPath(l.Getenv))
}

func (l launchd) disable() error { return output("launchctl", "bootout", domain()+"/"+unit.Label) }

func (l launchd) state() [][2]string {
	out, err := exec.Command("launchctl", "print", domain()+"/"+unit.Label).Output()
	if err != nil {
		return [][2]string{{"service", "not loaded: `strata service install` loads it"}}
	}
	for line := range strings.Lines(string(out)) {
		if state, ok := strings.CutPrefix(strings.TrimSpace(line), "state = "); ok {
			return [][2]string{{"service", state}}
		}
	}
	return [][2]string{{"service", "loaded"}}
}

func (l launchd) logs(ctx context.Context, lines int, follow bool) error {
	folders, err := config.FindFolders(l.Getenv)
	if err != nil {
		return err
	}
	args := []string{"-n", strconv.Itoa(lines)}
	if follow {
		args = append(args, "-F")
	}
	return pass(ctx, l.Process, "tail", append(args, filepath.Join(folders.State, logName))...)
}

// output runs a program and returns its output as an error if it fails.
func output(program string, args ...string) error {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, cli.OneLine(strings.TrimSpace(string(out))))
	}
	return nil
}

// pass runs a program whose output is that of this command, until it or ctx ends.
func pass(ctx context.Context, p *cli.Process, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}
