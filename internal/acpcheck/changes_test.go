package acpcheck

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/binary"
	"strata/internal/upstream"
)

// An editor is asked about the changes of files that a model makes, makes them in its own way, and loads the same
// conversation with their diffs after a restart of the server.
func TestChangesInAnEditor(t *testing.T) {
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
			server := binary.Start(t, listeningHome(t), binary.Options{})
			state := filepath.Join(t.TempDir(), "state.json")
			phase := func(name string) {
				args := []string{"--sdk", tt.sdk, "--cwd", server.Home.Project, "--state", state, "--phase", name}
				verify(t, dir, "changes-check.mjs", append(args, tt.target(server)...)...)
			}
			phase("talk")
			server.Stop()
			server.Restart(binary.Options{Env: []string{"STRATA_TOOLS_APPROVAL_TIMEOUT=1s"}})
			phase("load")
			server.Stop()
		})
	}
}

// listeningHome returns a home folder with the actor as the model, and another model that makes a file and says what it was
// told of that.
func listeningHome(t *testing.T) *binary.Home {
	t.Helper()
	model := upstream.Start(upstream.Options{Strict: true})
	t.Cleanup(model.Close)
	model.Choose(func(req *upstream.Request) upstream.Script {
		usage := upstream.Usage{Input: req.Tokens(), Output: 10}
		last := req.Messages[len(req.Messages)-1]
		if last.Blocks[0].Type != "tool_result" {
			return upstream.Script{Usage: usage, Steps: upstream.Call("1", "write_file", `{"path":"told.txt","content":"new\n"}`)}
		}
		return upstream.Script{Usage: usage, Steps: upstream.Texts("I was told: " + last.Blocks[0].Content[0].Text)}
	})
	return binary.NewHome(t, fmt.Sprintf(strings.TrimLeft(`
listen: 127.0.0.1:0
model: offline/actor
providers:
  local: {kind: openai, base_url: %q, api_key_env: ""}
`, "\n"), model.OpenAIURL()))
}
