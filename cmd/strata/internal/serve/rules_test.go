package serve

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
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
