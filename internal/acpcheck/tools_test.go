package acpcheck

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"strata/internal/binary"
)

// An editor sees the calls of a model, serves the files that they read, and loads the same conversation: in another
// connection, while a call runs, and after a restart of the server.
func TestToolsInAnEditor(t *testing.T) {
	inEditors(t, "tools-check.mjs", actingHome, binary.Options{})
}

// inEditors runs the phases of a script with each SDK over each transport: talk, and then load, after a restart of the server.
func inEditors(t *testing.T, script string, home func(*testing.T) *binary.Home, restarted binary.Options) {
	dir := client(t)
	tests := []struct {
		name, sdk string
		target    func(*binary.Server) []string // arguments for the script
	}{
		{"sdk 2, WebSocket", "2", overWebSocket},
		{"sdk 1, WebSocket", "1", overWebSocket},
		{"sdk 2, stdio", "2", overStdio},
		{"sdk 1, stdio", "1", overStdio},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := binary.Start(t, home(t), binary.Options{})
			state := filepath.Join(t.TempDir(), "state.json")
			phase := func(name string) {
				args := []string{"--sdk", tt.sdk, "--cwd", server.Home.Project, "--state", state, "--phase", name}
				verify(t, dir, script, append(args, tt.target(server)...)...)
			}
			phase("talk")
			server.Stop()
			server.Restart(restarted)
			phase("load")
			server.Stop()
		})
	}
}

func overWebSocket(s *binary.Server) []string {
	return []string{"--url", s.WebSocket(), "--token", s.Token}
}

func overStdio(s *binary.Server) []string {
	stdio := s.Home.Command(context.Background(), "stdio")
	return append(append([]string{"--", "env", "-i"}, stdio.Env...), stdio.Args...)
}

// actingHome returns a home folder with the actor as the model, and a project with files.
func actingHome(t *testing.T) *binary.Home {
	t.Helper()
	home := binary.NewHome(t, "listen: 127.0.0.1:0\nmodel: offline/actor\n")
	for _, name := range []string{"a", "b", "c", "slow"} {
		text := "text of " + name + "\n"
		if err := os.WriteFile(filepath.Join(home.Project, name+".txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}
