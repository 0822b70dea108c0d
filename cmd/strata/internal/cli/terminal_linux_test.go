package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// The width of a terminal is known, also behind an Output and after it changed. Other streams have none.
func TestP18TheWidthOfATerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	for _, columns := range []uint16{133, 67, 0} {
		if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}); err != nil {
			t.Fatal(err)
		}
		if got := Columns(terminal); got != int(columns) {
			t.Errorf("%d columns, want %d", got, columns)
		}
		if got := Columns(&Output{w: terminal}); got != int(columns) {
			t.Errorf("an output has %d columns, want %d", got, columns)
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, stream := range map[string]any{"a file": file, "none": nil} {
		if got := Columns(stream); got != 0 {
			t.Errorf("%s has %d columns", name, got)
		}
	}
}
