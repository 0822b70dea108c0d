package serve

import (
	"testing"

	"strata/cmd/strata/internal/config"
	"strata/session/approval"
)

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
