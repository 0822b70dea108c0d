//go:build unix

package mcp

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"strata/session/servers"
)

// child starts a process that ignores SIGTERM and keeps stdout open.
func (a *actorServer) child(m message) {
	c := exec.Command("/bin/sh", "-c", "trap '' TERM; while :; do sleep 100; done")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		panic(err)
	}
	a.text(m, fmt.Sprint(c.Process.Pid))
}

// actParent is a program that uses a server. It prints the process IDs of the server and of a child of it, and hangs.
func actParent() {
	h := New(Options{})
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	d := servers.Definition{Name: "actor", Command: self, Env: []string{actorVariable + "=in-order stays"}}
	u := h.Use(d, servers.Place{Folder: os.TempDir()}, func() {})
	for _, tool := range []string{"process", "child"} {
		r, err := u.Call(context.Background(), tool, nil, func(string) {})
		if err != nil {
			panic(err)
		}
		fmt.Println(textOf(r.Content))
	}
	hang()
}

// gone waits for the end of a process that this one may not be the parent of.
func gone(t testing.TB, pid int) {
	t.Helper()
	for giveUp := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if !lives(pid) {
			return
		}
		if time.Now().After(giveUp) {
			t.Fatalf("process %d lives", pid)
		}
	}
}

// lives reports whether a process lives. One that only waits for its parent does not.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func pidOf(t testing.TB, text string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	must(t, err)
	return pid
}

func TestAServerEndsWithEverythingThatItStarted(t *testing.T) {
	for _, script := range []string{"in-order", "in-order stays"} {
		h := hostOf(t, nil)
		h.limits.stop = standard.stop / 20
		u := take(t, h, actor(t, script), servers.Place{})
		u.ready()
		var pids []int
		for _, tool := range []string{"process", "child"} {
			text, err := u.call(tool, members{})
			must(t, err)
			pids = append(pids, pidOf(t, text))
		}
		s := u.Server.(*use).server
		u.Release()
		<-s.done
		for _, pid := range pids {
			if lives(pid) {
				t.Errorf("%s: process %d lives", script, pid)
			}
		}
	}
}

func TestAServerWhoseProgramDiesIsReapedWithItsChildren(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "in-order"), servers.Place{})
	u.ready()
	text, err := u.call("child", members{})
	must(t, err)
	if _, err := u.call("die", members{}); err == nil {
		t.Error("a call has a result")
	}
	hasAll(t, u.failed().Error, "exit code 7")
	gone(t, pidOf(t, text))
}

func TestNoServerOutlivesAProgramThatIsKilled(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for range 2 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), actorVariable+"=parent")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		var pids []int
		for scan := bufio.NewScanner(out); len(pids) < 2 && scan.Scan(); {
			pids = append(pids, pidOf(t, scan.Text()))
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		equal(t, "number of processes", len(pids), 2)
		for _, pid := range pids {
			gone(t, pid)
		}
	}
}
