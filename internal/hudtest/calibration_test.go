package hudtest

import "testing"

// A reply in another session changes how many tokens the server expects the provider to count. The figures of the session in
// view follow.
func TestTheBudgetFollowsTheCallsOfOtherSessions(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	here, there := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	prompt(t, e, here, "hello")
	p := Open(t, w.Server)
	p.Tab(here, "budget")
	before, _ := budgetIsThat(t, p, e, here)
	prompt(t, e, there, source("there", 300))
	after, _ := budgetIsThat(t, p, e, here)
	if after.Used == before.Used {
		t.Errorf("the budget stays at %d tokens", after.Used)
	}
}
