package editorcheck

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/binary"
	"strata/internal/upstream"
)

// The variables that say where the editors of the tries are. The tries are skipped without them.
const (
	pluginsVar = "STRATA_TEST_EDITOR_PLUGINS" // a folder with the sources of the plugins, each in a folder of its name
	neovimVar  = "STRATA_TEST_NVIM"           // default nvim
	emacsVar   = "STRATA_TEST_EMACS"          // default emacs
)

// report is what a try writes.
type report struct {
	Error    string
	Chat     string   // as it is shown at the end
	Asked    []string // the chat whenever the user was asked about a call
	Buffer   string   // the file as the editor shows it at the end
	Title    string
	Models   int
	Selected bool // a model and what may be done without asking were set
	Sessions int
	Replayed int // updates of a session that was loaded
}

func TestCodeCompanion(t *testing.T) {
	plugins(t, "plenary.nvim", "codecompanion.nvim")
	r, file := try(t, "Neovim, CodeCompanion", neovim(t, "codecompanion.lua"))
	wantTry(t, r, "-two\n+three", "one\nthree", file, "one\nthree\n")
	if r.Title == "" || r.Models == 0 || !r.Selected || r.Sessions == 0 || r.Replayed == 0 {
		t.Errorf("%+v", r)
	}
	wantReport(t, r)
}

func TestAvante(t *testing.T) {
	plugins(t, "plenary.nvim", "nui.nvim", "avante.nvim")
	r, file := try(t, "Neovim, avante", neovim(t, "avante.lua"))
	wantTry(t, r, "two\n╰─  three", "one\nthree", file, "one\nthree\n")
}

func TestAgentShell(t *testing.T) {
	plugins(t, "acp.el", "shell-maker", "agent-shell")
	r, file := try(t, "Emacs, agent-shell", []string{program(t, emacsVar, "emacs"), "-Q", "--batch", "-l", script(t, "agent-shell.el")})
	if strings.Contains(r.Chat, "Other Read a.txt") {
		t.Error("a read is shown as another call")
	}
	wantTry(t, r, "-two\n+three", "unsaved one\nthree\n", file, "unsaved one\nthree\n")
	wantReport(t, r)
}

// wantReport checks that the chat has shown the result of the slash command /context.
func wantReport(t *testing.T, r report) {
	t.Helper()
	if !strings.Contains(r.Chat, "The next request to local/test uses") {
		t.Errorf("the chat does not show the report of the context:\n%s", r.Chat)
	}
}

// wantTry checks that the chat has shown a reply, its thinking, and a question about the edit with the diff, and that the
// edit has arrived in the editor and on the disk.
func wantTry(t *testing.T, r report, diff, buffer, file, text string) {
	t.Helper()
	for _, want := range []string{"A greeting.", "Hello from Strata.", "The file is edited."} {
		if !strings.Contains(r.Chat, want) {
			t.Errorf("the chat does not show %q:\n%s", want, r.Chat)
		}
	}
	if len(r.Asked) != 1 || !strings.Contains(r.Asked[0], diff) {
		t.Errorf("the user was asked %d times:\n%s", len(r.Asked), strings.Join(r.Asked, "\n"))
	}
	if r.Buffer != buffer || file != text {
		t.Errorf("the editor has %q, want %q; the disk has %q, want %q", r.Buffer, buffer, file, text)
	}
}

// try runs a command with the configuration of a section of docs/editors.md, and returns its report and a.txt.
func try(t *testing.T, section string, command []string) (report, string) {
	t.Helper()
	model := upstream.Start(upstream.Options{})
	t.Cleanup(model.Close)
	model.Choose(reply)
	home := newProject(t, binary.Config(model.OpenAIURL()))
	t.Cleanup(func() { home.StopDetached(t) })

	where := t.TempDir()
	config, result := filepath.Join(where, "config"), filepath.Join(where, "report.json")
	if err := os.WriteFile(config, []byte(configuration(t, section)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = home.Project
	strata := filepath.Dir(home.Command(t.Context()).Path)
	cmd.Env = append(home.Environment(), "PATH="+strata+string(filepath.ListSeparator)+os.Getenv("PATH"), "LANG=C.UTF-8",
		"TRY_PLUGINS="+os.Getenv(pluginsVar), "TRY_CONFIG="+config, "TRY_REPORT="+result)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command[0], err, out)
	}
	raw, err := os.ReadFile(result)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r report
	if err := json.Unmarshal(raw, &r); err != nil || r.Error != "" {
		t.Fatalf("%v %s\n%s", err, r.Error, out)
	}
	text, err := os.ReadFile(filepath.Join(home.Project, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return r, string(text)
}

// reply makes the model greet, or edit a.txt after having read it.
func reply(req *upstream.Request) upstream.Script {
	usage := upstream.Usage{Input: req.Tokens(), Output: 10}
	calls := []upstream.Script{
		{Usage: usage, Steps: upstream.Call("c1", "read_file", `{"path": "a.txt"}`)},
		{Usage: usage, Steps: upstream.Call("c2", "edit_file", `{"path": "a.txt", "edits": [{"old_text": "two", "new_text": "three"}]}`)},
		{Usage: usage, Steps: upstream.Texts("The file ", "is edited.")},
	}
	if !strings.Contains(req.LastText(), "Edit the file.") {
		steps := append([]upstream.Step{upstream.Thinking("A greeting.", "")}, upstream.Texts("Hello ", "from Strata.")...)
		return upstream.Script{Usage: usage, Steps: steps}
	}
	results := 0
	for _, m := range req.Messages {
		if m.Role == "tool" {
			results++
		}
	}
	return calls[min(results, len(calls)-1)]
}

// configuration returns the code of a section of docs/editors.md.
func configuration(t *testing.T, section string) string {
	t.Helper()
	blocks, err := Read("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range First(blocks) {
		if b.Heading == section {
			return b.Code
		}
	}
	t.Fatalf("docs/editors.md has no configuration of %s", section)
	return ""
}

// plugins skips the test unless all plugins are there.
func plugins(t *testing.T, names ...string) {
	t.Helper()
	dir := os.Getenv(pluginsVar)
	if dir == "" {
		t.Skipf("%s does not name the folder of the plugins", pluginsVar)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
}

// program returns the path of an editor, or skips the test.
func program(t *testing.T, variable, usual string) string {
	t.Helper()
	name := os.Getenv(variable)
	if name == "" {
		name = usual
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// neovim returns the command that runs a script, or skips the test if Neovim is missing or too old for the plugins.
func neovim(t *testing.T, name string) []string {
	t.Helper()
	nvim := program(t, neovimVar, "nvim")
	out, err := exec.CommandContext(t.Context(), nvim, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	var minor int
	if _, err := fmt.Sscanf(string(out), "NVIM v0.%d", &minor); err == nil && minor < 11 {
		t.Skipf("Neovim 0.%d: the plugins need 0.11", minor)
	}
	return []string{nvim, "--headless", "--clean", "-n", "-c", "luafile " + script(t, name)}
}

// script returns the path of a script.
func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
