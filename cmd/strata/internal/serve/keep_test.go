package serve

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"strata/cmd/strata/internal/config"
	"strata/filecontext/change"
	"strata/session/approval"
	"strata/session/permissions"
)

// home is the environment of a user with a folder for Strata's configuration.
type home struct {
	t      *testing.T
	folder string
	env    map[string]string
}

func newHome(t *testing.T) *home {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &home{t, top, map[string]string{
		"HOME": top, "XDG_CONFIG_HOME": top, "XDG_DATA_HOME": top, "XDG_STATE_HOME": top,
	}}
}

func (h *home) path() string { return filepath.Join(h.folder, "strata", config.FileName) }

func (h *home) write(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) text(path string) string {
	h.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// load returns the configuration of a server that starts now.
func (h *home) load() *config.Config {
	h.t.Helper()
	c, err := config.Load(config.Sources{Getenv: func(name string) string { return h.env[name] }})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// rules returns the rules of a server that starts now.
func (h *home) rules() *permissions.Configured {
	h.t.Helper()
	settings, err := toolSettings(h.load())
	if err != nil {
		h.t.Fatal(err)
	}
	return settings.Rules
}

func ruleOf(t *testing.T, text string) approval.Rule {
	t.Helper()
	rule, err := approval.ParseAllow(text)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// refuse checks that a rule is not kept, for a reason that is told, and that it is not in force.
func (h *home) refuse(rules *permissions.Configured, want string) {
	h.t.Helper()
	err := rules.Keep(h.t.Context(), ruleOf(h.t, "edit_file"))
	if err == nil || !strings.Contains(err.Error(), want) {
		h.t.Errorf("got %v, want %q", err, want)
	}
	if allow, _ := rules.Rules(); len(allow) > 0 {
		h.t.Errorf("the rules %v are in force", allow)
	}
}

// A kept rule is in force at once, and after the next start. The file keeps its comments, line ends and mode. A rule that is
// kept again changes nothing.
func TestARuleIsKeptInTheConfiguration(t *testing.T) {
	for name, tt := range map[string]struct{ before, want string }{
		"comments":        {"# mine\ntools:\n  allow:\n    - zoom # often\n", "# mine\ntools:\n  allow:\n    - zoom # often\n    - edit_file\n    - 'run_command(a # b)'\n"},
		"CRLF":            {"\ufefftools:\r\n  allow:\r\n    - zoom\r\nmodel: offline/digest\r\n", "\ufefftools:\r\n  allow:\r\n    - zoom\r\n    - edit_file\r\n    - 'run_command(a # b)'\r\nmodel: offline/digest\r\n"},
		"mixed line ends": {"# a\r# b\r\ntools: {allow: [zoom]}\n# c\r\n", "# a\r# b\r\ntools: {allow: [zoom, edit_file, 'run_command(a # b)']}\n# c\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.write(h.path(), tt.before)
			rules := h.rules()
			for _, text := range []string{"edit_file", "run_command(a # b)", "edit_file", "zoom"} {
				if err := rules.Keep(t.Context(), ruleOf(t, text)); err != nil {
					t.Fatal(err)
				}
			}
			if got := h.text(h.path()); got != tt.want {
				t.Errorf("got\n%q\nwant\n%q", got, tt.want)
			}
			if info, err := os.Stat(h.path()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v", info, err)
			}
			for _, r := range []*permissions.Configured{rules, h.rules()} {
				if allow, _ := r.Rules(); strings.Join(allow.Texts(), ", ") != "zoom, edit_file, run_command(a # b)" {
					t.Errorf("the rules are %v", allow)
				}
			}
		})
	}
}

// Without a file, or without its folder, the first kept rule makes them.
func TestTheFirstRuleMakesTheFile(t *testing.T) {
	h := newHome(t)
	if err := h.rules().Keep(t.Context(), ruleOf(t, "edit_file")); err != nil {
		t.Fatal(err)
	}
	if got := h.text(h.path()); got != "tools:\n  allow:\n    - edit_file\n" {
		t.Errorf("got\n%s", got)
	}
}

// A link stays one, and the file behind it gets the rule.
func TestALinkToTheConfigurationStays(t *testing.T) {
	h := newHome(t)
	elsewhere := filepath.Join(h.folder, "dotfiles", "mine.yaml")
	h.write(elsewhere, "model: offline/digest\n")
	h.write(h.path(), "")
	link(t, elsewhere, h.path())
	if err := h.rules().Keep(t.Context(), ruleOf(t, "edit_file")); err != nil {
		t.Fatal(err)
	}
	if got := h.text(elsewhere); got != "model: offline/digest\ntools:\n  allow:\n    - edit_file\n" {
		t.Errorf("got\n%s", got)
	}
	if to, err := os.Readlink(h.path()); err != nil || to != elsewhere {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// link replaces a file by a link.
func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
}

// A rule that cannot be kept is refused with the reason, and the file stays as it is.
func TestRulesThatCannotBeKept(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(h *home, rules *permissions.Configured)
		want    string
	}{
		"it is no YAML any more":     {func(h *home, _ *permissions.Configured) { h.write(h.path(), "tools: [") }, "strata.yaml:1:"},
		"it has wrong values by now": {func(h *home, _ *permissions.Configured) { h.write(h.path(), "tools: {allow: 7}\n") }, "tools.allow"},
		"it is read-only":            {func(h *home, _ *permissions.Configured) { must(h.t, os.Chmod(h.path(), 0o440)) }, "read-only"},
		"it is a folder by now": {func(h *home, _ *permissions.Configured) {
			must(h.t, os.Remove(h.path()))
			must(h.t, os.Mkdir(h.path(), 0o700))
		}, "is not a regular file"},
		"it is a link to nothing": {func(h *home, _ *permissions.Configured) {
			link(h.t, filepath.Join(h.folder, "gone"), h.path())
		}, "is a link to a file that does not exist"},
		"it is a workspace's file": {func(h *home, _ *permissions.Configured) {
			h.write(filepath.Join(h.folder, "work", config.WorkspaceFile), "")
			link(h.t, filepath.Join(h.folder, "work", config.WorkspaceFile), h.path())
		}, "is the file of a workspace"},
		"its folder cannot be made": {func(h *home, _ *permissions.Configured) {
			must(h.t, os.RemoveAll(filepath.Dir(h.path())))
			h.write(filepath.Dir(h.path()), "a file")
		}, "not a directory"},
		"its place is not found": {func(h *home, _ *permissions.Configured) { h.write(h.path(), "tools: null\n") }, "no place for the rule"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.write(h.path(), "model: offline/digest\n")
			rules := h.rules()
			tt.prepare(h, rules)
			before, _ := os.ReadFile(h.path())
			h.refuse(rules, tt.want)
			if after, _ := os.ReadFile(h.path()); string(after) != string(before) {
				t.Errorf("the file became\n%s", after)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// If a variable sets tools.allow, a rule in the file would not count.
func TestARuleOfAVariableIsNotKeptInTheFile(t *testing.T) {
	h := newHome(t)
	h.env["STRATA_TOOLS_ALLOW"] = "zoom"
	rules := h.rules()
	err := rules.Keep(t.Context(), ruleOf(t, "edit_file"))
	if err == nil || !strings.Contains(err.Error(), "STRATA_TOOLS_ALLOW overrides tools.allow") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(h.path()); err == nil {
		t.Error("there is a file")
	}
}

// Another program's change that comes between reading and writing is not lost.
func TestAChangeOfTheConfigurationMeanwhileIsNotLost(t *testing.T) {
	h := newHome(t)
	for before, meanwhile := range map[string]string{"": "model: offline/actor\n", "model: offline/digest\n": "model: offline/actor\n"} {
		must(t, os.RemoveAll(h.path()))
		if before != "" {
			h.write(h.path(), before)
		}
		f := newRuleFile(h.load())
		path, data, err := f.read(t.Context())
		must(t, err)
		edited, err := config.WithAllowed(path, string(data), "edit_file")
		must(t, err)
		h.write(h.path(), meanwhile)
		if err := replace(t.Context(), path, data, edited); !errors.Is(err, change.ErrChanged) {
			t.Errorf("got %v", err)
		}
		if got := h.text(h.path()); got != meanwhile {
			t.Errorf("got\n%s", got)
		}
	}
}
