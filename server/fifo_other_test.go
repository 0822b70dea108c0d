//go:build !unix

package server

import "errors"

// mkfifo makes a named pipe, which there is none of here.
func mkfifo(string) error { return errors.ErrUnsupported }
