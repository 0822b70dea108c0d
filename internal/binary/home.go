package binary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Home is the home folder of a user with a configuration and one project.
type Home struct {
	Project string // an empty working folder

	dir string
}

// NewHome creates a home with config as its strata.yaml.
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

// addConfig appends keys to the configuration.
func (h *Home) addConfig(t testing.TB, keys string) {
	t.Helper()
	file, err := os.OpenFile(h.path("config", "strata", "strata.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString(keys)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// Config returns a configuration with the model local/test at an OpenAI-compatible upstream, and a free port.
// More keys can be appended to it.
func Config(upstream string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
model: local/test
providers:
  local: {kind: openai, base_url: %q, api_key_env: ""}
`, upstream)
}

// PutDatabase writes the database of the home, before its first server starts.
func (h *Home) PutDatabase(t testing.TB, content []byte) {
	t.Helper()
	path := h.Database()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Database returns the path of the home's database, which may not exist.
func (h *Home) Database() string { return h.path("data", "strata", "strata.db") }

// Command returns a command that runs strata as the owner of the home. Of the test's environment it gets only the search
// path: no keys and no configuration.
func (h *Home) Command(ctx context.Context, args ...string) *exec.Cmd {
	if path == "" {
		panic("binary: TestMain must call binary.Main")
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = h.Project
	cmd.Env = h.Environment()
	return cmd
}

// Environment returns the whole environment of the home's owner.
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
	if root := os.Getenv("SystemRoot"); root != "" { // required for sockets on Windows
		env = append(env, "SystemRoot="+root)
	}
	return env
}

func (h *Home) path(parts ...string) string {
	return filepath.Join(append([]string{h.dir}, parts...)...)
}

// Info is the content of server.json.
type Info struct {
	URL      string `json:"url"`
	Token    string `json:"token"`
	PID      int    `json:"pid"`
	Database string `json:"database"`
}

// WebSocket returns the address for editors.
func (i Info) WebSocket() string { return i.address("ws", "/acp") }

// HTTP returns the address of a route for browsers and probes.
func (i Info) HTTP(route string) string { return i.address("http", route) }

func (i Info) address(scheme, route string) string {
	u, err := url.Parse(i.URL)
	if err != nil {
		return i.URL // the error of its use will show it
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
