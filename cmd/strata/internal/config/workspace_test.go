package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func workspace(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, WorkspaceFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestAWorkspaceOverridesTheFileOnly(t *testing.T) {
	path := writeFile(t, "profile: loop\nsystem_prompt: mine\nprofiles: {loop: {compaction: {raw_window_size: 1, summarize_every: 2}}}\n")
	user, err := Load(Sources{File: path, Getenv: variables(t, map[string]string{
		"STRATA_STABILITY_LAYOUT": "ripple", "STRATA_PROFILES_LOOP_COMPACTION_SUMMARIZE_EVERY": "3",
	})})
	if err != nil {
		t.Fatal(err)
	}
	folder := workspace(t, "profile: steps\nsystem_prompt: |\n  theirs\nprofiles: {loop: {compaction: {raw_window_size: 8, summarize_every: 9}}}\nstability: {layout: log, cache_ttl: 1h}\n")
	c, err := user.ForWorkspace(folder, os.OpenRoot)
	if err != nil {
		t.Fatal(err)
	}
	if c.Profile != "steps" || c.SystemPrompt != "theirs\n" || c.Stability.Layout != "ripple" || c.Stability.CacheTTL != "1h" {
		t.Errorf("got %+v", c)
	}
	if loop := c.Profiles; len(loop) != 2 || loop[0].Value != uint64(8) || loop[1].Value != int64(3) {
		t.Errorf("got %+v", loop)
	}
	if got := c.Origin("profile").String(); got != filepath.Join(folder, WorkspaceFile)+":1" {
		t.Errorf("got origin %s", got)
	}
	if user.Profile != "loop" || user.Stability.CacheTTL != "auto" || user.Profiles[0].Value != uint64(1) {
		t.Errorf("the user's own configuration changed: %+v", user)
	}
}

func TestAWorkspaceMaySetNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"providers: {openai: {base_url: http://evil}}\n": `.strata.yaml:1:1: unknown key "providers"; allowed: system_prompt, profile, profiles, stability`,
		"tools: {allow: [edit_file]}\n":                  `.strata.yaml:1:1: unknown key "tools"; allowed: `,
		"stability: {layout: flat}\n":                    `.strata.yaml:1:21: stability.layout: "flat" is not one of log, ripple`,
	} {
		_, err := Default().ForWorkspace(workspace(t, text), os.OpenRoot)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestAWorkspaceWithoutAFileChangesNothing(t *testing.T) {
	c := Default()
	for _, folder := range []string{t.TempDir(), workspace(t, "# nothing\n")} {
		if got, err := c.ForWorkspace(folder, os.OpenRoot); got != c || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

func TestAWorkspaceFileMustBeRegularAndInside(t *testing.T) {
	outside := writeFile(t, "profile: steps\n")
	folder := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(folder, WorkspaceFile)); err != nil {
		t.Skip(err)
	}
	if _, err := Default().ForWorkspace(folder, os.OpenRoot); err == nil {
		t.Error("a link that leads out was followed")
	}
	folder = t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, WorkspaceFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Default().ForWorkspace(folder, os.OpenRoot); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}

// The settings of one folder leave no trace in those of the user: the next folder starts from them.
func TestAWorkspaceLeavesTheOriginsOfTheUser(t *testing.T) {
	user, err := Load(Sources{File: writeFile(t, "profile: loop\n"), Getenv: variables(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	before := user.Origin("profile").String()
	own, err := user.ForWorkspace(workspace(t, "profile: steps\n"), os.OpenRoot)
	if err != nil || own.Origin("profile").String() == before {
		t.Fatalf("%v, %v", own.Origin("profile"), err)
	}
	if after := user.Origin("profile").String(); after != before {
		t.Errorf("the user's profile is of %s, was of %s", after, before)
	}
	for _, text := range []string{"", "# nothing\n"} {
		if same, err := user.ForWorkspace(workspace(t, text), os.OpenRoot); same != user || err != nil {
			t.Errorf("a file without settings: %v", err)
		}
	}
}
