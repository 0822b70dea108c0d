package serve

import (
	"slices"
	"testing"

	"strata/cmd/strata/internal/config"
	"strata/session/approval"
	"strata/session/shell"
)

// Commands run where the configuration says, without the keys of any provider.
func TestCommandsOfTools(t *testing.T) {
	c := config.Default()
	c.Providers["mine"] = &config.Provider{APIKeyEnv: "MINE_KEY"}
	for _, where := range []shell.Runner{shell.Any, shell.Client, shell.Off} {
		c.Tools.Commands = string(where)
		s, err := toolSettings(c)
		if err != nil || s.Commands != where || !slices.Equal(s.Secrets, []string{"ANTHROPIC_API_KEY", "MINE_KEY", "OPENAI_API_KEY"}) {
			t.Errorf("%s: %s, %v, %v", where, s.Commands, s.Secrets, err)
		}
	}
}

// The rules of the configuration reach the sessions, and a wrong one is an error: the calls that it denies would be allowed.
func TestRulesOfTools(t *testing.T) {
	s, err := toolSettings(&config.Config{Tools: config.Tools{Allow: []string{"zoom"}, Deny: []string{"deploy"}}})
	if err != nil {
		t.Fatal(err)
	}
	var policy approval.Policy
	policy.Allow, policy.Deny = s.Rules.Rules()
	for tool, want := range map[string]approval.Verdict{"zoom": approval.Allowed, "deploy": approval.Refused, "pan": approval.Asks} {
		if got := policy.Decide(&approval.Call{Tool: tool}).Verdict; got != want {
			t.Errorf("%s: verdict %d, want %d", tool, got, want)
		}
	}
	for _, wrong := range []config.Tools{{Allow: []string{"("}}, {Deny: []string{"("}}} {
		if _, err := toolSettings(&config.Config{Tools: wrong}); err == nil {
			t.Errorf("%+v is accepted", wrong)
		}
	}
}
