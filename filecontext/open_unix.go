//go:build unix

package filecontext

import "syscall"

// openFlags prevent an open from waiting for the other end of a pipe, and from acquiring a controlling terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
