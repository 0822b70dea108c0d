package stability

import (
	"testing"
	"time"
)

// The provider counts other tokens than the tracker: a read below the expectation forgets nothing, unless a shorter prefix is
// nearer.
func TestMirrorAllowsForTheProvidersCount(t *testing.T) {
	for _, tt := range []struct {
		system  int // tokens of a shorter prefix
		percent int // read, of the expectation
		kept    bool
	}{
		{0, 100, true}, {0, 90, true}, {0, 51, true}, {0, 49, false}, {0, 0, false},
		{9000, 92, true}, {9000, 75, true}, {9000, 72, false},
		{25000, 92, true}, {25000, 88, true}, {25000, 84, false}, {25000, 72, false},
		{90000, 92, true}, {90000, 90, false},
	} {
		s := newScene(t, Options{})
		s.put(Item{Key: "system", Kind: System, Tokens: tt.system})
		s.user(10_000)
		s.send()
		s.user(10)
		p := s.plan()
		if p.Expect < 10_000 {
			t.Fatalf("expect %d", p.Expect)
		}
		var tail prefix // of what is expected
		sum := 0
		for i := range p.Entries {
			if sum += p.Entries[i].Tokens; sum == p.Expect {
				tail = p.Entries[i].prefix
			}
		}
		if !s.mirror.holds(tail, s.now) {
			t.Fatal("the expected prefix is not in the mirror")
		}
		s.mirror.forget(p, Usage{Read: p.Expect * tt.percent / 100, Input: p.Tokens})
		if kept := s.mirror.holds(tail, s.now); kept != tt.kept {
			t.Errorf("%d %% of the expected tokens were read, after %d tokens: kept %t, want %t", tt.percent, tt.system, kept, tt.kept)
		}
	}
}

// A use that is older than the newest one, as replies end in any order and clocks go back, shortens no lifetime.
func TestMirrorTimeNeverGoesBack(t *testing.T) {
	m := NewMirror()
	var p prefix
	start := time.Unix(1_700_000_000, 0)
	m.put(p, use{start, ShortLife}, start)
	for _, step := range []struct {
		at, want time.Duration
	}{{2 * time.Minute, 2 * time.Minute}, {time.Minute, 2 * time.Minute}, {3 * time.Minute, 3 * time.Minute}, {-time.Hour, 3 * time.Minute}} {
		if !m.refresh(p, start.Add(step.at)) {
			t.Errorf("a use after %v: not cached", step.at)
		}
		if u, ok := m.lastUse(p, start.Add(step.want)); !ok || !u.at.Equal(start.Add(step.want)) || u.life != ShortLife {
			t.Errorf("after a use after %v the last one is %v after the start, want %v", step.at, u.at.Sub(start), step.want)
		}
	}
}
