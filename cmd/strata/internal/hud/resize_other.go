//go:build !unix

package hud

import "os"

// noteResizes does nothing: the system does not tell when the size of a terminal changes. The next report has it.
func noteResizes(chan os.Signal) (stop func()) { return func() {} }
