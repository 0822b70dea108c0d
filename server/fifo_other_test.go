//go:build !unix

package server

import "errors"

// mkfifo creates a named pipe; this system has none.
func mkfifo(string) error { return errors.ErrUnsupported }
