package serve

import (
	"os"
	"regexp"
	"strings"
	"testing"

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
