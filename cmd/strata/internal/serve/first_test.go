package serve

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"strata/cmd/strata/internal/cli"
	"strata/historystore/lock"
	"strata/server/access"
)

// In a container, a server has the process ID of the killed server that left server.json.
func TestTheFileOfAKilledServerWithThisProcessIDIsReplaced(t *testing.T) {
	h := newHome(t)
	folder := filepath.Join(h.folder, "strata")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(folder, "strata.db")
	held, err := lock.Acquire(database)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	err = access.WriteServerFile(filepath.Join(folder, "server.json"),
		access.ServerFile{URL: "ws://127.0.0.1:7717/acp", Token: access.NewToken(), PID: os.Getpid(), Database: database})
	if err != nil {
		t.Fatal(err)
	}
	p := &cli.Process{Getenv: func(name string) string { return h.env[name] }}
	if first := firstServer(p, slog.New(slog.DiscardHandler)); first.PID != 0 {
		t.Errorf("the server counts process %d, itself, as another server", first.PID)
	}
}
