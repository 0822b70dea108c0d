//go:build unix

package process

import "golang.org/x/sys/unix"

// group is the process group of the program, which the supervisor has left, or with which it ends.
type group struct {
	id      int
	outside bool // the supervisor has left it
}

// leaveGroup moves the supervisor to the group of the process that started it, if that lives.
func leaveGroup() group {
	g := group{id: unix.Getpgrp()}
	if parent, err := unix.Getpgid(unix.Getppid()); err == nil {
		g.outside = unix.Setpgid(0, parent) == nil
	}
	return g
}

func (g group) signal(s unix.Signal) { unix.Kill(-g.id, s) }

func (g group) any() bool { return !g.outside || groupLives(g.id) }
