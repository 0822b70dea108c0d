package hudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

// newPricedWorld returns a world whose model has a price, a window of 60,000 tokens and a cache like Anthropic's.
// Additional configuration is optional. Other tests run concurrently.
func newPricedWorld(t testing.TB, config ...string) *World {
	t.Helper()
	besideOthers(t)
	model := upstream.Start(upstream.Options{})
	t.Cleanup(model.Close)
	model.Choose(upstream.NewCache(upstream.CacheOptions{}).Answer)
	settings := fmt.Sprintf(`listen: 127.0.0.1:%d
model: priced/test
providers:
  priced: {kind: anthropic, base_url: %q, api_key_env: ""}
models:
  priced/test: {window: 60000, max_output: 8000, min_cache_tokens: 1024, price: {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75}}
`, FreePort(t), model.URL)
	home := binary.NewHome(t, settings+strings.Join(config, ""))
	return &World{Server: binary.Start(t, home, binary.Options{}), Model: model}
}

// write writes a file of some lines to the project.
func (w *World) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(w.Home.Project, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// source returns about n lines of Go code.
func source(name string, lines int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n", name)
	for i := range lines {
		fmt.Fprintf(&b, "func step%d(ctx context.Context, in []byte) (out []byte, err error) { return in[%d:], nil }\n", i, i%7)
	}
	return b.String()
}

// ask calls a method of a session and returns the result.
func ask[T any](t testing.TB, e *testclient.Editor, method, sid string, params map[string]any) T {
	t.Helper()
	all := map[string]any{"sessionId": sid}
	for key, value := range params {
		all[key] = value
	}
	var result T
	if err := e.Call(method, all, &result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return result
}

func prompt(t testing.TB, e *testclient.Editor, sid, text string) {
	t.Helper()
	if _, err := e.Prompt(sid, text); err != nil {
		t.Fatal(err)
	}
}

// richSession creates a session with files, documents, replies that read from the cache, a checkpoint and compactions.
func richSession(t testing.TB, w *World, e *testclient.Editor) string {
	t.Helper()
	w.write(t, "AGENTS.md", "Answer shortly. Tests come first.\n")
	names := []string{"parser.go", "token.go", "internal/lexer/scan.go", "internal/lexer/state_machine_of_the_lexer.go", "README.md"}
	for i, name := range names {
		w.write(t, name, source("parser", 20+30*i))
	}
	sid := e.NewSession(w.Home.Project)
	ask[any](t, e, "_strata/session/rename", sid, map[string]any{"title": "A parser for the query language"})
	ask[any](t, e, "_strata/documents/set", sid, map[string]any{"name": "design", "text": strings.Repeat("The parser reads tokens one at a time. ", 40), "pinned": true})
	for i, name := range names {
		ask[any](t, e, "_strata/files/add", sid, map[string]any{"path": name})
		prompt(t, e, sid, fmt.Sprintf("Look at %s, and say what is missing. %s", name, strings.Repeat(fmt.Sprintf("Case %d matters. ", i), 60)))
	}
	for i := range 3 {
		prompt(t, e, sid, fmt.Sprintf("And step %d? %s", i, strings.Repeat("Think of errors. ", 80)))
	}
	ask[any](t, e, "_strata/checkpoint/create", sid, map[string]any{"name": "before the lexer"})
	w.write(t, "token.go", source("parser", 52))
	prompt(t, e, sid, "Now the lexer.")
	ask[any](t, e, "_strata/history/compact", sid, map[string]any{"strategy": "middle"})
	prompt(t, e, sid, "Go on.")
	ask[any](t, e, "_strata/files/remove", sid, map[string]any{"path": "README.md"})
	prompt(t, e, sid, "And then?")
	return sid
}
