package keyboard

import (
	"os"

	"golang.org/x/sys/windows"
)

// device is the console of the process.
const device = "CONIN$"

// discard drops what was typed and not read.
func discard(f *os.File) {
	control(f, func(fd uintptr) { _ = windows.FlushConsoleInputBuffer(windows.Handle(fd)) })
}
