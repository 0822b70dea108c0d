//go:build unix

package service

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/unit"
)

// in returns a process with a home of its own.
func in(home string) *cli.Process {
	return &cli.Process{Stdout: cli.NewOutput(new(bytes.Buffer)), Stderr: new(bytes.Buffer), Getenv: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}}
}

// program puts a shell script on the search path.
func program(t *testing.T, name, script string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// launchd does not start a program whose log it cannot create.
func TestTheFolderOfLaunchdsLogExists(t *testing.T) {
	program(t, "launchctl", "exit 0")
	p := in(t.TempDir())
	c, err := p.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := describe(p, c, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := (launchd{p}).enable(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Dir(s.LogFile)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// The end of the command ends the program that shows the log.
func TestTheEndOfFollowedLogs(t *testing.T) {
	program(t, "journalctl", "exec sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := (systemd{in(t.TempDir())}).logs(ctx, 1, true); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// systemd does not take the name of a host.
func TestTheAddressOfTheSocketIsNumeric(t *testing.T) {
	for address, want := range map[string]string{
		"localhost:7717": ":7717", "127.0.0.1:0": "127.0.0.1:0", ":7717": "[::]:7717", "[::1]:1": "[::1]:1", "no-host": "no-host",
	} {
		if got := numeric(address); strings.Contains(got, "localhost") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// The address of an installed socket is compared to that of the configuration, so both are written in the same way.
func TestTheAddressOfAnInstallation(t *testing.T) {
	for _, address := range []string{"localhost:0", "0.0.0.0:0", ":0"} {
		c := config.Default()
		c.Listen = address
		got, err := freeAddress(c)
		if err != nil || strings.HasSuffix(got, ":0") || strings.Contains(got, "localhost") || numeric(got) != got {
			t.Errorf("%s: %s, %v", address, got, err)
		}
		host, _, _ := net.SplitHostPort(got)
		if want, _, _ := net.SplitHostPort(numeric(address)); host != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

func TestAnInstallationKeepsItsAddress(t *testing.T) {
	c := config.Default()
	for address, want := range map[string]bool{"127.0.0.1:4711": true, "0.0.0.0:4711": false} {
		if stays(c, address) != want {
			t.Errorf("%s stays: %t", address, !want)
		}
	}
}

// refusing is a service manager that does not start anything.
type refusing struct {
	manager
	path  string
	calls []string
}

func (r *refusing) files(unit.Service) map[string]string { return map[string]string{r.path: "new"} }
func (r *refusing) disable() error                       { r.calls = append(r.calls, "disable"); return nil }
func (r *refusing) enable() error {
	text, err := os.ReadFile(r.path)
	r.calls = append(r.calls, "enable "+string(text))
	return errors.Join(errors.New("refused"), err)
}

// An installation that fails leaves what was there before.
func TestAFailedInstallation(t *testing.T) {
	p := in(t.TempDir())
	r := &refusing{path: filepath.Join(t.TempDir(), "strata.socket")}
	if err := install(p, r, unit.Service{}); err == nil || strings.Join(r.calls, ", ") != "enable new, disable" {
		t.Errorf("%v, error %v", r.calls, err)
	}
	if _, err := os.Stat(r.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
	if err := os.WriteFile(r.path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.calls = nil
	if err := install(p, r, unit.Service{}); err == nil || strings.Join(r.calls, ", ") != "enable new, enable old" {
		t.Errorf("%v, error %v", r.calls, err)
	}
	if text, err := os.ReadFile(r.path); string(text) != "old" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
