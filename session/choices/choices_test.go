package choices

import (
	"context"
	"testing"

	"strata/history"
	"strata/llm"
	"strata/session/approval"
	"strata/session/profile"
)

// A stored approval that this version does not know must not allow anything.
func TestTheApprovalInForce(t *testing.T) {
	services := &Services{
		Rules:   &Rules{Profiles: map[string]profile.Profile{profile.Default: {Name: profile.Default}}},
		Model:   func(name string) (llm.Model, bool) { return llm.Model{Name: name}, true },
		Allowed: func(context.Context, string) error { return nil },
	}
	for stored, want := range map[string]approval.Mode{"": "ask", "auto": "auto", "read-only": "read-only", "everything": "ask", "AUTO": "ask"} {
		c := New(t.Context(), services, history.Session{Config: history.Config{Approval: stored}})
		if c.Approval != want || c.Config().Approval != string(want) {
			t.Errorf("stored as %q: %s, told as %s, want %s", stored, c.Approval, c.Config().Approval, want)
		}
	}
}
