package serve

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/filecontext"
	"strata/llm"
	"strata/server/access"
	"strata/session/profile"
)

// Each value with a flag must exist in every profile.
func TestEveryFlagOfAProfileSetsSomething(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile("(?m)^\\| `profiles\\.profile\\.([a-z_.]+)`").FindAllStringSubmatch(string(text), -1)
	if len(flags) < 10 {
		t.Fatalf("%d flags are documented", len(flags))
	}
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range flags {
		for name, p := range all {
			var value any = int64(1)
			if strings.HasSuffix(flag[1], ".strategy") {
				value = "topic"
			}
			if changed, err := p.With(strings.Split(flag[1], "."), value); err != nil {
				t.Errorf("%s of %s: %v", flag[1], name, err)
			} else if again, err := changed.With([]string{"title"}, changed.Title); err != nil || again.Compaction.Strategy != changed.Compaction.Strategy {
				t.Errorf("%s of %s does not stay: %v", flag[1], name, err)
			}
		}
	}
}

// Compactions that are turned off are off in every profile, and only then.
func TestCompactionsAreTurnedOffForAllProfiles(t *testing.T) {
	c := config.Default()
	for _, enabled := range []bool{true, false} {
		c.Compaction.Enabled = enabled
		rules, err := Rules(c)
		if err != nil {
			t.Fatal(err)
		}
		on := 0
		for _, p := range rules.Profiles {
			if p.Compaction.Enabled {
				on++
			}
		}
		if (on > 0) != enabled {
			t.Errorf("compactions enabled %t: %d profiles compact", enabled, on)
		}
	}
}

// Folders without settings share the rules that were made at the start; a folder with settings has its own.
func TestRulesAreMadeOnceForFoldersWithoutSettings(t *testing.T) {
	c := config.Default()
	rules, err := Rules(c)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := workspaces{c, rules, guard}
	empty, plain, own := t.TempDir(), t.TempDir(), t.TempDir()
	for folder, text := range map[string]string{empty: "# nothing\n", own: "profiles: {chat: {title: Mine}}\n"} {
		if err := os.WriteFile(filepath.Join(folder, config.WorkspaceFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	same := func(a, b map[string]profile.Profile) bool {
		return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
	}
	for _, folder := range []string{empty, plain} {
		if got, err := w.Rules(t.Context(), folder); err != nil || !same(got.Profiles, rules.Profiles) {
			t.Errorf("rules of a folder without settings were made again, %v", err)
		}
	}
	before := rules.Profiles["chat"].Title
	got, err := w.Rules(t.Context(), own)
	if err != nil || same(got.Profiles, rules.Profiles) || got.Profiles["chat"].Title != "Mine" {
		t.Errorf("title %q, %v", got.Profiles["chat"].Title, err)
	}
	if title := rules.Profiles["chat"].Title; title != before {
		t.Errorf("a folder changed the title of the server's profile to %q", title)
	}
}

// BenchmarkRules is the cost of the rules of a session's folder, which is part of each start of a session.
func BenchmarkRules(b *testing.B) {
	c := config.Default()
	rules, err := Rules(c)
	if err != nil {
		b.Fatal(err)
	}
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{})
	if err != nil {
		b.Fatal(err)
	}
	w, folder := workspaces{c, rules, guard}, b.TempDir()
	for b.Loop() {
		if _, err := w.Rules(b.Context(), folder); err != nil {
			b.Fatal(err)
		}
	}
}

// A model without a name for people is shown by its own. Summaries are made by the model that finds topics, unless another
// one is configured.
func TestNamesOfModels(t *testing.T) {
	for display, want := range map[string]string{"": "local/m", "Mine": "Mine"} {
		if got := wireModel(llm.Model{Name: "local/m", DisplayName: display}); got.Title != want || got.Name != "local/m" {
			t.Errorf("%+v", got)
		}
	}
	c := config.Default()
	c.Folders.State, c.TokenFile = t.TempDir(), filepath.Join(t.TempDir(), "token")
	p := &cli.Process{Getenv: func(string) string { return "" }}
	for _, tt := range []struct{ topics, summaries, want string }{{"a/t", "", "a/t"}, {"a/t", "a/s", "a/s"}, {"", "a/s", "a/s"}, {"", "", ""}} {
		c.DetectionModel, c.SummaryModel = tt.topics, tt.summaries
		opt, err := serverOptions(p, c, options{}, nil, nil)
		if err != nil || opt.Sessions.SummaryModel != tt.want || opt.Sessions.DetectionModel != tt.topics {
			t.Errorf("%+v: %q, %v", tt, opt.Sessions.SummaryModel, err)
		}
	}
	if opt, err := serverOptions(p, c, options{}, nil, nil); err != nil || opt.TokenFile != c.TokenFile {
		t.Errorf("the token file is %q, %v", opt.TokenFile, err)
	}
	c.Token = access.NewToken()
	if opt, err := serverOptions(p, c, options{}, nil, nil); err != nil || opt.TokenFile != "" {
		t.Errorf("with a configured token the token file is %q, %v", opt.TokenFile, err)
	}
}
