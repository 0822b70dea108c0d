package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is the time after which a test counts as hung. It measures nothing.
const patience = time.Minute

// A place is where the commands of a test run. All their processes and supervisors can be found by its folder, which is in
// their environment or arguments.
type place struct {
	testing.TB
	folder string
	shell  string // a shell with a path in the folder
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{TB: t, folder: t.TempDir()}
	p.shell = filepath.Join(p.folder, "shell")
	must(t, os.Symlink("/bin/sh", p.shell))
	t.Cleanup(func() {
		for _, pid := range p.left() {
			unix.Kill(pid, unix.SIGKILL)
		}
	})
	return p
}

// command returns the command for a line of the shell.
func (p *place) command(line string) Command {
	return Command{Path: p.shell, Args: []string{"-c", line}, Dir: p.folder, Env: append(os.Environ(), "MARK="+p.folder)}
}

func (p *place) start(line string) *Process {
	p.Helper()
	process, err := Start(p.command(line))
	must(p, err)
	return process
}

// left returns the processes of this place that live.
func (p *place) left() (pids []int) {
	for _, pid := range processIDs() {
		if s, ok := readStat(pid); ok && !s.dead && pid != os.Getpid() && p.has(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (p *place) has(pid int) bool {
	for _, name := range []string{"cmdline", "environ"} {
		content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
		if err == nil && bytes.Contains(content, []byte(p.folder)) {
			return true
		}
	}
	return false
}

// nothingLeft requires that no process of this place lives.
func (p *place) nothingLeft() {
	p.Helper()
	for _, pid := range p.left() {
		p.Errorf("process %d is left: %s", pid, describe(pid))
	}
}

func describe(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return fmt.Sprintf("%q %.60q", line, stat)
}

// await waits for a file in this place.
func (p *place) await(name string) {
	p.Helper()
	p.eventually("the file "+name, func() bool {
		_, err := os.Stat(filepath.Join(p.folder, name))
		return err == nil
	})
}

func (p *place) eventually(state string, reached func() bool) {
	p.Helper()
	if !poll(patience, reached) {
		p.Fatalf("not reached: %s", state)
	}
}

// ended waits for the end of a process, and requires how it ended.
func (p *place) ended(process *Process, want ...Exit) {
	p.Helper()
	select {
	case <-process.Done():
		if got := process.Exit(); !slices.Contains(want, got) {
			p.Errorf("exit %+v, want %+v", got, want)
		}
	case <-time.After(patience):
		p.Fatal("the process does not end")
	}
}

// withScopes runs a test as on Linux, and as on other systems, whose supervisors end only the group.
func withScopes(t *testing.T, test func(t *testing.T)) {
	for _, only := range []bool{false, true} {
		t.Run(map[bool]string{false: "descendants", true: "group"}[only], func(t *testing.T) {
			groupOnly = only
			defer func() { groupOnly = false }()
			test(t)
		})
	}
}
