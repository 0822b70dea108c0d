//go:build !unix

package session

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
