//go:build unix

package connect

import "syscall"

// detached starts a process in a session of its own, so that neither the end of this process nor Ctrl-C in its
// terminal reaches it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
