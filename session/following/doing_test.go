package following

import (
	"strings"
	"testing"
	"time"
)

func TestAnActivityLastsUntilAnotherBegins(t *testing.T) {
	clock := time.Date(2026, 1, 5, 9, 30, 0, 0, time.UTC)
	d := NewDoings(func() time.Time { clock = clock.Add(time.Second); return clock })
	var began time.Time
	for i, step := range []struct {
		do      func() bool // reports whether that is another activity
		another bool
		state   State
		kind    Kind
		ended   string
	}{
		{do: func() bool { return true }, another: true, state: StateRunning, kind: Waiting},
		{do: func() bool { return d.Begin(Waiting, "") }, state: StateRunning, kind: Waiting},
		{do: func() bool { return d.Begin(Thinking, "") }, another: true, state: StateRunning, kind: Thinking},
		{do: func() bool { return d.Begin(Thinking, "") }, state: StateRunning, kind: Thinking},
		{do: func() bool { return d.Begin(Calling, "go test") }, another: true, state: StateRunning, kind: Calling},
		{do: func() bool { return d.Begin(Calling, "go vet") }, another: true, state: StateRunning, kind: Calling},
		{do: func() bool { d.End("turn_1", "completed"); return true }, another: true, state: StateCompacting, kind: Compacts, ended: "turn_1"},
		{do: func() bool { return true }, another: true, state: StateRunning, kind: Waiting},
		{do: func() bool { d.End("turn_2", "failed"); return true }, another: true, state: StateIdle, ended: "turn_2"},
		{do: func() bool { return false }, state: StateIdle},
	} {
		another := step.do()
		got := d.Report(step.state)
		if another != step.another || got.Activity.Kind != step.kind || (got.Activity.Since != began) != step.another {
			t.Errorf("step %d: another %t, %+v", i, another, got)
		}
		if ended := got.Ended; (ended == nil) != (step.ended == "") || ended != nil && ended.TurnID != step.ended {
			t.Errorf("step %d: ended is %+v", i, ended)
		}
		began = got.Activity.Since
	}
}

func TestTheTitleOfAnActivityIsBounded(t *testing.T) {
	d := NewDoings(time.Now)
	d.Begin(Calling, strings.Repeat("é", 1<<20))
	if again := d.Begin(Calling, strings.Repeat("é", 1<<20)); again || len(d.Report(StateRunning).Activity.Title) > maxActivityTitle {
		t.Errorf("another %t, the title has %d bytes", again, len(d.Report(StateRunning).Activity.Title))
	}
}
