//go:build unix

package patience

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A real system call that does not return: the opening of a pipe that nobody writes to.
func TestR01AnOpenThatNeverReturns(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	w := New(50 * time.Millisecond)
	open := func() (*os.File, error) { return os.Open(pipe) }
	for range 2 {
		if f, err := Do(t.Context(), w, filepath.Dir(pipe), pipe, open); !errors.Is(err, ErrNoResponse) || f != nil {
			t.Fatalf("%v, %v", f, err)
		}
	}
	if w.Lost() != 1 {
		t.Errorf("%d are lost", w.Lost())
	}
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // lets the reader go, whose file is closed
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for w.Lost() > 0 || len(w.slots) > 0 {
		time.Sleep(time.Millisecond)
	}
	for { // until the late file is closed
		if _, err := writer.Write([]byte("x")); errors.Is(err, syscall.EPIPE) {
			break
		}
		time.Sleep(time.Millisecond)
	}
}
