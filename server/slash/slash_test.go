package slash

import (
	"strings"
	"testing"

	"strata/session/assembly"
)

// The categories of /context are counted like the use of the window, and add up to it.
func TestH08CategoriesAddUpToTheUse(t *testing.T) {
	text := contextText(
		&assembly.Budget{Used: 400, MaxInputTokens: 1000, PercentUsed: 40, Remaining: 600},
		&assembly.Breakdown{Model: "a/b", Used: 301, Categories: []assembly.Category{{Name: "history", Tokens: 150}, {Name: "files", Tokens: 150}, {Name: "system", Tokens: 1}}},
	)
	for _, want := range []string{"uses 400 of 1000 tokens (40 %)", "- history: 199\n", "- files: 199\n", "- system: 2\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
