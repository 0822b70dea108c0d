package serve

import (
	"os"
	"path/filepath"
	"testing"

	"strata/cmd/strata/internal/config"
	"strata/filecontext"
)

// R04: the settings of a workspace are not read from outside of workspaces.roots, through whatever link.
func TestR04SettingsOutsideOfTheRoots(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for folder, profile := range map[string]string{"roots/p": "steps", "outside/p": "loop"} {
		if err := os.MkdirAll(filepath.Join(base, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, folder, config.WorkspaceFile), []byte("profile: "+profile+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{Within: []string{filepath.Join(base, "roots")}})
	if err != nil {
		t.Fatal(err)
	}
	w := workspaces{Config: config.Default(), guard: guard}
	folder := filepath.Join(base, "roots/p")
	if rules, err := w.Rules(t.Context(), folder); err != nil || rules.Profile != "steps" {
		t.Fatalf("profile %q, %v", rules.Profile, err)
	}
	for _, replaced := range []string{"roots/p", "roots"} {
		if err := os.RemoveAll(filepath.Join(base, replaced)); err != nil {
			t.Fatal(err)
		}
		target := map[string]string{"roots/p": "outside/p", "roots": "outside"}[replaced]
		if err := os.Symlink(filepath.Join(base, target), filepath.Join(base, replaced)); err != nil {
			t.Fatal(err)
		}
		if rules, err := w.Rules(t.Context(), folder); err == nil {
			t.Errorf("%s: the profile %q was read from outside", replaced, rules.Profile)
		}
	}
}
