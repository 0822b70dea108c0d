package config

import (
	"strings"
	"testing"
)

func TestNamesAreBounded(t *testing.T) {
	tests := []struct {
		name    string
		valid   func(string) bool
		longest int
		good    []string
		bad     []string
	}{
		{"host", isHostName, 253, []string{"a", "localhost", "my-host.example.org", "1a"}, []string{"", "-a", "a-", ".a", "a.", "a b", "a\n", "ä"}},
		{"variable", rules["variable"].follows, 128, []string{"A", "_", "API_KEY_2", "x"}, []string{"", "2A", "A-B", "A B", "A\n", "Ä"}},
		{"provider", isProvider, 64, []string{"a", "0", "open-router_2.x"}, []string{"", "A", "-a", ".a", "a/b", "a\n"}},
		{"header", rules["header"].follows, 64, []string{"A", "X-Title", "-"}, []string{"", "X_Title", "X Title", "X:", "X\n"}},
	}
	for _, tt := range tests {
		for _, s := range append(tt.good, strings.Repeat("a", tt.longest)) {
			if !tt.valid(s) {
				t.Errorf("%s: %q is refused", tt.name, s)
			}
		}
		for _, s := range append(tt.bad, strings.Repeat("a", tt.longest+1)) {
			if tt.valid(s) {
				t.Errorf("%s: %q is accepted", tt.name, s)
			}
		}
	}
}
