package connect

import (
	"errors"
	"os"
	"strings"
	"testing"

	"strata/cmd/strata/internal/cli"
)

func TestWebSocketURL(t *testing.T) {
	for server, want := range map[string]string{
		"http://127.0.0.1:7717":       "ws://127.0.0.1:7717/acp",
		"https://strata.example/":     "wss://strata.example/acp",
		"ws://[::1]:7717/acp":         "ws://[::1]:7717/acp",
		"wss://strata.example/in/acp": "wss://strata.example/in/acp",
	} {
		if got, err := webSocketURL(server); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", server, got, err, want)
		}
	}
}

func TestNoServerInTimeNamesTheProcessWithTheDatabase(t *testing.T) {
	home := t.TempDir()
	s := search{Process: &cli.Process{Getenv: func(string) string { return home }}}
	cause := errors.New("the server did not start")
	if err := s.notFound(cause); err != cause {
		t.Errorf("no process has the database: %v", err)
	}
	s.locked = "database is in use by process 7"
	err := s.notFound(cause)
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "in use by process 7, and "+home) {
		t.Errorf("another process has the database: %v", err)
	}
}

// The end of a long output is shown: that is where the reason is.
func TestTheEndOfAServersOutputIsShown(t *testing.T) {
	for name, tt := range map[string]struct{ output, want string }{
		"short":   {"strata: the port is in use\n", "the port is in use"},
		"long":    {strings.Repeat("x", startOutput) + "the reason", strings.Repeat("x", startOutput-len("the reason")) + "the reason"},
		"nothing": {"", ""},
	} {
		f, err := os.CreateTemp(t.TempDir(), "start")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(tt.output); err != nil {
			t.Fatal(err)
		}
		s := &startedServer{output: f}
		if got := s.said(); got != tt.want {
			t.Errorf("%s: %d bytes, ending in %.20q", name, len(got), got[max(0, len(got)-20):])
		}
		s.forget()
		if _, err := os.Stat(f.Name()); err == nil {
			t.Errorf("%s: the file of the output stays", name)
		}
	}
}
