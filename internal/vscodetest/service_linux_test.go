package vscodetest

import (
	"strings"
	"testing"

	"strata/internal/binary"
)

// TestDesktopUsesTheService: the extension finds no server, and a connection to the socket of the installed service starts
// it. After `strata stop`, a reconnection starts it at the same address.
func TestDesktopUsesTheService(t *testing.T) {
	t.Parallel()
	home := binary.NewHome(t, "model: offline/actor\n")
	service := binary.NewService(t, home)
	h := startHost(t, home, nil)
	h.until("open")
	if got, want := h.address(), "ws://"+service.Address+"/acp"; got != want {
		t.Errorf("the extension uses the server at %s, not the service at %s", got, want)
	}
	id := h.newSession()
	h.prompt(id, "say Hello.")
	if out, err := home.Command(t.Context(), "stop").CombinedOutput(); err != nil {
		t.Fatalf("strata stop: %v\n%s", err, out)
	}
	h.until("stopped")
	h.order(nil, "run", "strata.reconnect")
	h.until("open")
	h.prompt(id, "say Again.")
	shown, err := home.Command(t.Context(), "sessions", "show", id).Output()
	if err != nil || !strings.Contains(string(shown), "Hello.") || !strings.Contains(string(shown), "Again.") {
		t.Errorf("strata sessions show: %v\n%s", err, shown)
	}
	if n := service.Starts(); n != 2 {
		t.Errorf("connections have started the server %d times, not twice", n)
	}
}
