//go:build !linux && !windows && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package keyboard

import "os"

// device is the terminal of the process.
const device = "/dev/tty"

// discard does nothing: this system has no call for it.
func discard(*os.File) {}
