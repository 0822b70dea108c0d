//go:build unix

package hud

import (
	"os"
	"os/signal"
	"syscall"
)

// noteResizes sends a signal to resized whenever the size of the terminal changes, until stop is called.
func noteResizes(resized chan os.Signal) (stop func()) {
	signal.Notify(resized, syscall.SIGWINCH)
	return func() { signal.Stop(resized) }
}
