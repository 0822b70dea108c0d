//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package keyboard

import (
	"os"

	"golang.org/x/sys/unix"
)

// device is the terminal of the process.
const device = "/dev/tty"

// discard drops what was typed and not read.
func discard(f *os.File) {
	control(f, func(fd uintptr) { _ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, unix.TCIFLUSH) })
}
