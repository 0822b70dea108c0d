package binary

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Home is the home folder of a user who has nothing but a configuration and one project.
type Home struct {
	Project string // an empty folder to work in

	dir string
}

// NewHome makes a home with config as its strata.yaml.
func NewHome(t testing.TB, config string) *Home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &Home{Project: filepath.Join(dir, "project"), dir: dir}
	for _, folder := range []string{h.Project, h.path("config", "strata"), h.path("data"), h.path("state"), h.path("cache"), h.path("run"), h.path("tmp")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(h.path("config", "strata", "strata.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// Config is a configuration whose model is local/test at an OpenAI-compatible upstream, on a port that is free.
// More keys can be appended to it.
func Config(upstream string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
model: local/test
providers:
  local: {kind: openai, base_url: %q, api_key_env: ""}
`, upstream)
}

// Command is strata with these arguments, run by the owner of the home. Nothing of the test's own environment reaches
// it but the search path: no keys, no configuration.
func (h *Home) Command(ctx context.Context, args ...string) *exec.Cmd {
	if path == "" {
		panic("binary: TestMain must call binary.Main")
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = h.Project
	cmd.Env = h.Environment()
	return cmd
}

// Environment is the whole environment of the home's owner.
func (h *Home) Environment() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + h.dir,
		"XDG_CONFIG_HOME=" + h.path("config"),
		"XDG_DATA_HOME=" + h.path("data"),
		"XDG_STATE_HOME=" + h.path("state"),
		"XDG_CACHE_HOME=" + h.path("cache"),
		"XDG_RUNTIME_DIR=" + h.path("run"),
		"TMPDIR=" + h.path("tmp"),
	}
	if root := os.Getenv("SystemRoot"); root != "" { // Windows opens no socket without it
		env = append(env, "SystemRoot="+root)
	}
	return env
}

func (h *Home) path(parts ...string) string {
	return filepath.Join(append([]string{h.dir}, parts...)...)
}

// Info is what a server tells the clients of its user in server.json.
type Info struct {
	URL      string `json:"url"`
	Token    string `json:"token"`
	PID      int    `json:"pid"`
	Database string `json:"database"`
}

// WebSocket is the address for editors.
func (i Info) WebSocket() string { return i.address("ws", "/acp") }

// HTTP is the address of a route for browsers and probes.
func (i Info) HTTP(route string) string { return i.address("http", route) }

func (i Info) address(scheme, route string) string {
	u, err := url.Parse(i.URL)
	if err != nil {
		return i.URL // the error of whoever uses it shows what it is
	}
	return scheme + "://" + u.Host + route
}

// ServerFile reads server.json.
func (h *Home) ServerFile() (Info, error) {
	var info Info
	content, err := os.ReadFile(h.path("run", "strata", "server.json"))
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(content, &info); err != nil {
		return info, fmt.Errorf("decode server.json: %w", err)
	}
	return info, nil
}
