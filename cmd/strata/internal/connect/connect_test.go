package connect

import (
	"errors"
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
	p := &cli.Process{Getenv: func(string) string { return home }}
	cause := errors.New("the server did not start")
	if err := notFound(p, cause, ""); err != cause {
		t.Errorf("no process has the database: %v", err)
	}
	err := notFound(p, cause, "database is in use by process 7")
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "in use by process 7, and "+home) {
		t.Errorf("another process has the database: %v", err)
	}
}
