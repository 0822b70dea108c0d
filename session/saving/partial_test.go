package saving

import (
	"errors"
	"testing"

	"strata/history"
)

// manual is an owner whose jobs run when a test calls them.
type manual struct{ spawned, told []func() }

func (m *manual) Spawn(work func()) { m.spawned = append(m.spawned, work) }

func (m *manual) Tell(run func(), _ func(error)) bool {
	m.told = append(m.told, run)
	return true
}

// settle runs all jobs.
func (m *manual) settle() {
	for len(m.spawned)+len(m.told) > 0 {
		jobs := append(m.spawned, m.told...)
		m.spawned, m.told = nil, nil
		for _, run := range jobs {
			run()
		}
	}
}

// A timer that has fired just when a save began must not save the chunk twice.
func TestATimerDuringASaveSavesNothing(t *testing.T) {
	var owner manual
	var saves []string
	p := NewPartial("turn", "msg", &owner, func(c history.Partial) error {
		saves = append(saves, c.Text)
		return nil
	}, func(err error) { t.Error(err) })
	p.Add(history.BlockText, "once")
	p.due()
	owner.settle()
	p.due()
	owner.settle()
	if len(saves) != 1 || saves[0] != "once" {
		t.Errorf("saved %q", saves)
	}
}

func TestAPartialThatIsStoppedSavesNothingMore(t *testing.T) {
	var owner manual
	saves, failures := 0, 0
	p := NewPartial("turn", "msg", &owner, func(history.Partial) error {
		saves++
		return errors.New("the turn has ended")
	}, func(error) { failures++ })
	p.Add(history.BlockText, "first")
	p.Add(history.BlockThinking, "second")
	p.Stop() // while the save of the first is under way
	p.Add(history.BlockText, "third")
	p.due()
	owner.settle()
	if saves != 1 || failures != 0 || p.timer != nil {
		t.Errorf("%d saves, %d failures reported, timer %v", saves, failures, p.timer)
	}
}

func TestOnlyTheFirstOfSeveralFailuresIsTold(t *testing.T) {
	var owner manual
	failing, failures := true, 0
	p := NewPartial("turn", "msg", &owner, func(history.Partial) error {
		if failing {
			return errors.New("disk full")
		}
		return nil
	}, func(error) { failures++ })
	defer p.Stop()
	p.Add(history.BlockText, "text")
	owner.settle()
	for range 3 {
		p.due()
		owner.settle()
	}
	if failures != 1 {
		t.Errorf("%d failures reported", failures)
	}
	failing = false
	p.due()
	owner.settle()
	failing = true
	p.Add(history.BlockText, "more")
	p.due()
	owner.settle()
	if failures != 2 {
		t.Errorf("after a save, %d failures reported", failures)
	}
}
