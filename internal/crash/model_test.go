package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
)

// modelConfig returns a configuration with the models local/a and local/c, and optionally gone/b.
func modelConfig(t *testing.T, upstream string, withB bool) (args []string) {
	t.Helper()
	provider := func(name string) string {
		return fmt.Sprintf("  %s: {kind: openai, base_url: %q, api_key_env: \"\"}\n", name, upstream)
	}
	config := "listen: 127.0.0.1:0\nmodel: local/a\nproviders:\n" + provider("local")
	if withB {
		config += provider("gone")
	}
	config += "models:\n  local/a: {window: 10000, max_output: 1000}\n  local/c: {window: 30000, max_output: 1000}\n"
	if withB {
		config += "  gone/b: {window: 20000, max_output: 1000}\n"
	}
	path := filepath.Join(t.TempDir(), "strata.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", path}
}

// choice is the current model as seen by a client.
type choice struct {
	Config struct{ Model string }
	Window int
}

func chosen(t *testing.T, e *testclient.Editor, session string) choice {
	t.Helper()
	var info choice
	if err := e.Call("_strata/session/info", map[string]any{"sessionId": session}, &info); err != nil {
		t.Fatal(err)
	}
	return info
}

func load(w *world, e *testclient.Editor, session, model string) error {
	params := map[string]any{"sessionId": session, "cwd": w.Home.Project, "mcpServers": []any{}}
	if model != "" {
		params["_meta"] = map[string]any{"strata": map[string]any{"model": model}}
	}
	return e.Call("session/load", params, nil)
}

// asksOf checks that the next reply comes from the given model and has its limits.
func (w *world) asksOf(e *testclient.Editor, session, name, model string, window int) {
	w.t.Helper()
	reply := w.tell(e, &ask{session: session, name: name, parts: 3})
	if got := w.teller.Last().Model; "local/"+got != model && "gone/"+got != model {
		w.t.Errorf("%s was sent to the model %s, want %s", name, got, model)
	}
	usage := reply.Frames.Kind("usage_update")
	if len(usage) == 0 {
		w.t.Fatalf("no usage is told after %s", name)
	}
	if last := string(usage[len(usage)-1].Params); !strings.Contains(last, fmt.Sprintf(`"size":%d`, window)) {
		w.t.Errorf("the usage after %s is %s", name, last)
	}
	if got := chosen(w.t, e, session); got.Config.Model != model || got.Window != window {
		w.t.Errorf("the session has %+v, want %s with %d", got, model, window)
	}
}

// A session keeps its last model even if the default changes, unless a client selects another.
func TestK4_06_StoredModelOutlivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	w.Stop()
	withB := modelConfig(t, w.teller.OpenAIURL(), true)
	w.Restart(binary.Options{Args: withB})
	e := w.editor()
	session, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	w.asksOf(e, session, "by-default", "local/a", 10000)
	choose := map[string]any{"sessionId": session, "configId": "model", "value": "gone/b"}
	if err := e.Call("session/set_config_option", choose, nil); err != nil {
		t.Fatal(err)
	}
	w.asksOf(e, session, "by-choice", "gone/b", 20000)

	w.Kill()
	w.Restart(binary.Options{Args: withB})
	e = w.editor()
	if err := load(w, e, session, ""); err != nil {
		t.Fatal(err)
	}
	w.asksOf(e, session, "loaded", "gone/b", 20000)
	w.asksOf(e, other, "other", "local/a", 10000)

	w.Kill()
	w.Restart(binary.Options{Args: withB})
	e = w.editor()
	if err := load(w, e, session, "local/c"); err != nil {
		t.Fatal(err)
	}
	w.asksOf(e, session, "named", "local/c", 30000)

	w.Kill()
	w.Restart(binary.Options{Args: withB})
	w.asksOf(w.editor(), session, "named-before", "local/c", 30000)
}

// A session whose model was removed from the configuration reports this, uses the default, and can select another.
func TestK4_06_ModelGoneFromTheConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	w.Stop()
	w.Restart(binary.Options{Args: modelConfig(t, w.teller.OpenAIURL(), true)})
	e := w.editor()
	session := e.NewSession(w.Home.Project)
	if err := load(w, e, session, "gone/b"); err != nil {
		t.Fatal(err)
	}
	w.asksOf(e, session, "before", "gone/b", 20000)
	w.Stop()

	w.Restart(binary.Options{Args: modelConfig(t, w.teller.OpenAIURL(), false)})
	e = w.editor()
	if err := load(w, e, session, ""); err != nil {
		t.Fatal(err)
	}
	notice := testclient.Condition{Name: "a notice of the model that is gone", Met: func(fs testclient.Frames) bool {
		for _, f := range fs.Of(session).Kind("notice") {
			if strings.Contains(string(f.Params), "gone/b") && strings.Contains(string(f.Params), "local/a") {
				return true
			}
		}
		return false
	}}
	e.Expect(notice)
	w.asksOf(e, session, "after", "local/a", 10000)
	err := load(w, e, session, "gone/b")
	wantFault(t, err, codeInvalidParams)
	if err := load(w, e, session, "local/c"); err != nil {
		t.Fatal(err)
	}
	w.asksOf(e, session, "chosen", "local/c", 30000)

	w.Stop() // the setting is used again when the model returns, unless it was changed since
	w.Restart(binary.Options{Args: modelConfig(t, w.teller.OpenAIURL(), true)})
	w.asksOf(w.editor(), session, "back", "local/c", 30000)
}
