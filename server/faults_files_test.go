package server

import (
	"path/filepath"
	"strings"
	"testing"

	"strata/server/wire"
)

// A prompt with a required file that cannot be sent as a whole is refused: nothing is stored, and no model is called.
func TestF31ARequiredFileThatCannotBeSent(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("good.txt", "good\n")
	ts.write("other.txt", "one line\n")
	ts.writeDeep(filepath.Join(ts.work, "folder", "in.txt"), "in\n")
	ts.write("bin", "\x7fELF\x00\x01")
	ts.write("large.txt", strings.Repeat("word ", 400_000))
	ts.write("long.txt", strings.Repeat("word ", 200_000))
	ts.write(".env", "KEY=1\n")
	e, sid := attached(t, ts)
	link := func(name string) map[string]any {
		uri := "file://" + ts.work + "/" + name
		return map[string]any{"type": "resource_link", "name": name, "uri": uri, "_meta": map[string]any{"strata": map[string]any{"required": true}}}
	}
	ask := func(links ...map[string]any) error {
		blocks := []map[string]any{{"type": "text", "text": "hello"}}
		return e.Call("session/prompt", map[string]any{"sessionId": sid, "prompt": append(blocks, links...)}, nil)
	}
	for name, want := range map[string]string{
		"missing.txt": "missing", "folder": "directory", "bin": "binary", "large.txt": "too_large", ".env": "secret",
		"other.txt#L7-L9": "range", "../elsewhere": "outside",
	} {
		fault := wireFault(t, ask(link("good.txt"), link(name)), wire.CodeRefusedPath)
		if got := faultData[struct{ Path, Reason string }](t, fault); got.Reason != want || !strings.Contains(got.Path, strings.TrimPrefix(strings.Split(name, "#")[0], "../")) {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	web := map[string]any{"type": "resource_link", "name": "a", "uri": "https://example.org/a", "_meta": map[string]any{"strata": map[string]any{"required": true}}}
	if got := faultData[struct{ Reason string }](t, wireFault(t, ask(web), wire.CodeRefusedPath)); got.Reason != "not_a_file" {
		t.Errorf("an address of the web: %+v", got)
	}
	over := faultData[struct{ Tokens, Limit int }](t, wireFault(t, ask(link("long.txt")), wire.CodeOverBudget))
	if over.Tokens <= over.Limit || over.Limit <= 0 {
		t.Errorf("a file longer than the window: %+v", over)
	}
	if n := len(ts.stored(sid).Heads); n != 0 || len(ts.upstream.Requests()) != 0 || len(filesOf(ts, e, sid)) != 0 {
		t.Errorf("%d messages, %d calls and %d files after refused prompts", n, len(ts.upstream.Requests()), len(filesOf(ts, e, sid)))
	}
	must(t, ask(link("good.txt")))
	if !strings.Contains(lastSent(ts), "good.txt") {
		t.Error("the request lacks the file")
	}
}
