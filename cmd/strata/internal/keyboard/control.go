package keyboard

import "os"

// control calls use with the descriptor of a file. Unlike os.File.Fd, it leaves the file in its mode, so that reads can be
// interrupted.
func control(f *os.File, use func(fd uintptr)) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(use)
	}
}
