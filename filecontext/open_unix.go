//go:build unix

package filecontext

import "syscall"

// openFlags keep opening from waiting for a pipe's other end and from taking a terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
