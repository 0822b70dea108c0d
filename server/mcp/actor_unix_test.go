//go:build unix

package mcp

import (
	"fmt"
	"os"
	"os/exec"
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
