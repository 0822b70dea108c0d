package connect

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/unit"
)

// Without a home, the files of the current folder are no service: they may come from a stranger.
func TestAServiceIsNotSoughtInTheCurrentFolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("for systemd")
	}
	home := t.TempDir()
	t.Chdir(home)
	c := config.Default()
	c.DB = filepath.Join(home, "strata.db")
	folder := filepath.Join(home, ".config", "systemd", "user")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := unit.Service{Listen: "192.0.2.1:80", Database: c.DB}.Socket()
	if err := os.WriteFile(filepath.Join(folder, unit.SocketName), []byte(socket), 0o600); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]error{home: nil, "": ErrNoService} {
		p := &cli.Process{Getenv: func(name string) string { return map[string]string{"HOME": where}[name] }}
		if _, err := Service(p, c); !errors.Is(err, want) {
			t.Errorf("home %q: error %v, want %v", where, err, want)
		}
	}
}
