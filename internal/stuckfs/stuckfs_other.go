//go:build !linux

// Package stuckfs mounts a file system whose disk does not respond, for tests. There is one for Linux only.
package stuckfs

import "testing"

// The content of the readable file, and the names of the files.
const (
	Text  = ""
	Good  = ""
	Stuck = ""
	Deaf  = ""
	Hung  = ""
)

// Disk is a mounted file system.
type Disk struct{ Folder string }

// Mount skips the test.
func Mount(t testing.TB) *Disk {
	t.Skip("there is no FUSE")
	return nil
}

// Abort does nothing.
func (d *Disk) Abort() {}

// Die does nothing.
func (d *Disk) Die() {}

// Unanswered returns 0.
func (d *Disk) Unanswered() int { return 0 }
