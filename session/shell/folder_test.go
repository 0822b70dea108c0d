package shell

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"strata/filecontext"
)

func TestTheLineThatRulesSee(t *testing.T) {
	other, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := open(t, other)
	tool := Tool(w.Services)
	for _, test := range []struct{ line, cwd, want string }{
		{"go test ./...", "", "go test ./..."},
		{"go test", ".", "go test"},
		{"go test", "sub/..", "go test"},
		{"go test", w.folder, "go test"},
		{"go test", "sub", "cd sub && go test"},
		{"go test", "./sub/", "cd sub && go test"},
		{"go test", filepath.Join(w.folder, "sub"), "cd sub && go test"},
		{"a\nb", "x y; rm -rf $HOME", "cd 'x y; rm -rf $HOME' && a\nb"},
		{"ls", "it's", `cd 'it'\''s' && ls`},
		{"ls", "-", "cd '-' && ls"},
		{"ls", other, "cd " + other + " && ls"},
		{"ls", "../elsewhere", "cd ../elsewhere && ls"},
	} {
		if got := tool.Command(args(t, map[string]any{"command": test.line, "cwd": test.cwd})); got != test.want {
			t.Errorf("%q in %q: %q, want %q", test.line, test.cwd, got, test.want)
		}
	}
}

func TestTitles(t *testing.T) {
	tool := Tool(open(t).Services)
	for line, want := range map[string]string{
		"go test ./...":             "go test ./...",
		" a \n b\n":                 "a ⏎ b",
		"echo \u202egnp.exe":        `"echo \u202egnp.exe"`,
		strings.Repeat("word ", 99): strings.TrimSpace(strings.Repeat("word ", 40)) + "…",
	} {
		d := tool.Describe(args(t, map[string]any{"command": line}))
		if equal(t, line, d.Title, want); d.Locations != nil {
			t.Errorf("%v", d.Locations)
		}
	}
}

// A wrong call is refused before the user is asked about it.
func TestWrongCommandsAreRefused(t *testing.T) {
	w := open(t)
	for want, in := range map[string]map[string]any{
		"run_command was not run: command is missing":               {},
		"run_command was not run: command is empty":                 {"command": " \n"},
		"run_command was not run: command contains a NUL character": {"command": "a\x00b"},
		"run_command was not run: command has 32769 bytes, which exceeds the limit of 32768; write a script into a file and run that": {"command": strings.Repeat("x", maxLine+1)},
		"run_command was not run: timeout_s must be at least 1, not 0":                                                                {"command": "a", "timeout_s": 0},
		"run_command was not run: timeout_s must be at most 3600, not 3601":                                                           {"command": "a", "timeout_s": 3601},
		"run_command was not run: cwd ../x is outside the session's folders":                                                          {"command": "a", "cwd": "../x"},
		"run_command was not run: cwd /etc is outside the session's folders":                                                          {"command": "a", "cwd": "/etc"},
	} {
		if _, err := w.checked(in); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := w.checked(map[string]any{"command": strings.Repeat("x", maxLine), "timeout_s": 3600}); err != nil {
		t.Error(err)
	}
}

func TestFoldersOfCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it makes links")
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, name := range []string{"sub/deep", "own", "credentials"} {
		must(t, os.MkdirAll(filepath.Join(folder, name), 0o700))
	}
	must(t, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	must(t, os.Symlink("sub/deep", filepath.Join(folder, "link")))
	must(t, os.Symlink(outside, filepath.Join(folder, "away")))
	must(t, os.Symlink("own", filepath.Join(folder, "disguise")))
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{Own: []string{filepath.Join(folder, "own")}, Secrets: []string{filecontext.BuiltinSecrets}})
	must(t, err)
	w := in(t, folder, filecontext.Limits{Guard: guard})
	for cwd, want := range map[string]string{
		"":            "Exit code 0\n" + folder + "\n",
		"sub":         "Exit code 0\n" + folder + "/sub\n",
		"link":        "Exit code 0\n" + folder + "/sub/deep\n",
		"away":        "run_command was not run: cwd away is outside the session's folders",
		"own":         "run_command was not run: cwd own belongs to Strata, which reads none of its own files for a session",
		"disguise":    "run_command was not run: cwd disguise belongs to Strata, which reads none of its own files for a session",
		"credentials": "run_command was not run: cwd credentials looks like a secret",
		"file":        "run_command was not run: cwd file is not a folder",
		"missing":     "run_command was not run: cwd missing does not exist",
	} {
		if got := textOf(t, w.run(map[string]any{"command": "pwd -P", "cwd": cwd})); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", cwd, got, want)
		}
	}
}

// A workspace whose folder was replaced by a link runs nothing there.
func TestAReplacedFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it makes links")
	}
	w := open(t)
	outside := t.TempDir()
	must(t, os.Remove(w.folder))
	must(t, os.Symlink(outside, w.folder))
	hasAll(t, w.line("touch made"), "run_command was not run: cwd ")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
