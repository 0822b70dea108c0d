package stability

import (
	"slices"
	"strings"
	"testing"
)

var layouts = []string{LayoutLog, LayoutRipple}

// labelOf returns the N and the tier of a key in a plan.
func labelOf(t *testing.T, p *Plan, key string) (int, Tier) {
	t.Helper()
	all := find(p, key)
	if len(all) == 0 {
		t.Fatalf("no %s in %s", key, show(p.Entries))
	}
	e := all[len(all)-1]
	return e.N, e.Tier
}

// The requests of a turn with steps count once.
func TestNCountsTurns(t *testing.T) {
	for _, layout := range layouts {
		s := newScene(t, Options{Layout: layout})
		s.file("a", "1", 500)
		want := func(p *Plan, key string, n int) {
			t.Helper()
			if got, tier := labelOf(t, p, key); got != n || tier != tierOf(n) {
				t.Errorf("%s: %s has N %d in %s, want %d in %s", layout, key, got, tier, n, tierOf(n))
			}
		}
		for turn := range 4 {
			s.user(10)
			for range 5 {
				want(s.step(), "file:a", turn)
			}
			if turn == 2 {
				s.restart()
			}
			want(s.send(), "file:a", turn)
			s.reply(20)
		}
		s.user(10)
		s.step()
		s.file("a", "2", 510)
		want(s.step(), "file:a", 0)
		want(s.send(), "file:a", 0)
		s.reply(20)
		p := s.turn()
		want(p, "file:a", 1)
		if layout == LayoutLog {
			if e := find(p, "file:a"); len(e) != 2 || e[0].Born != 0 || e[1].Born != 25 || e[1].chg != (moment{25, 4}) {
				t.Errorf("entries %+v; want one of request 0, and one of request 25, which is in turn 4", e)
			}
		}
	}
}

// What changes in a step is told once, and nothing else changes its tier inside a turn.
func TestNothingMovesInsideATurn(t *testing.T) {
	for _, layout := range layouts {
		s := newScene(t, Options{Layout: layout, Target: 100})
		for _, path := range []string{"a", "b", "c"} {
			s.file(path, "1", 500)
		}
		for range 2 {
			s.turn()
		}
		s.note("told", 5)
		s.user(10)
		if p := s.step(); !strings.Contains(told(p), "note:told ") {
			t.Errorf("%s: changes %s", layout, told(p))
		}
		s.file("c", "2", 510)
		said := s.stream[len(s.stream)-1].Key
		if got := told(s.step()); got != "file:c active "+said+" active" {
			t.Errorf("%s: the step after a change tells %s", layout, got)
		}
		for range 15 {
			said = s.stream[len(s.stream)-1].Key
			if got := told(s.step()); got != said+" active" {
				t.Fatalf("%s: a step tells %s", layout, got)
			}
		}
		s.reply(20)
		if got := told(s.turn()); !strings.Contains(got, "file:a L3") || strings.Contains(got, "file:c L3") {
			t.Errorf("%s: the next turn tells %s", layout, got)
		}
	}
}

// told returns the changes of a plan as keys and tiers.
func told(p *Plan) string {
	var words []string
	for _, c := range p.Changes() {
		words = append(words, c.Key, c.To.String())
	}
	return strings.Join(words, " ")
}

// A session whose first request ends with results of tools begins with a turn, as any other.
func TestResultsBeforeTheFirstRequest(t *testing.T) {
	for _, layout := range layouts {
		s := newScene(t, Options{Layout: layout, Target: 100})
		for _, path := range []string{"a", "b", "c", "d"} {
			s.outline(path, "1", 100)
		}
		s.user(10)
		s.calls(30)
		p := s.send()
		if n, tier := labelOf(t, p, "outline:a"); n < entryN[L3] || tier == Active {
			t.Errorf("%s: the first outlines have N %d, in %s", layout, n, tier)
		}
		s.reply(20)
		s.restart()
		if p := s.turn(); slices.ContainsFunc(p.Entries, func(e Entry) bool { return e.N < 0 }) {
			t.Errorf("%s: negative N: %+v", layout, p.Entries)
		}
	}
}

// A model with tools is expected to make more requests with the same content, so a rebuild pays sooner.
func TestToolsMakeARebuildPaySooner(t *testing.T) {
	for _, test := range []struct {
		tools bool
		want  int64
	}{{false, 8}, {true, 20}} {
		s := newScene(t, Options{})
		if test.tools {
			s.put(Item{Key: "tools", Kind: Tools, Tokens: 50})
		}
		s.file("a", "1", 90)
		s.user(10)
		req := s.request()
		d := s.tracker.layout.(*log).draft(&req, moment{}, false)
		c := d.weigh(0)
		if further := (c.price - 1250*int64(c.size)) / (100 * int64(c.size)); further != test.want {
			t.Errorf("tools %t: priced with %d further requests, want %d", test.tools, further, test.want)
		}
	}
}

// States of before turns had steps tell of none: each request was a turn.
func TestRestoreStepsOfAState(t *testing.T) {
	for _, layout := range layouts {
		s := newScene(t, Options{Layout: layout})
		s.file("a", "1", 500)
		s.turn()
		s.turn()
		if stored := s.state().String(); strings.Contains(stored, "steps") {
			t.Errorf("%s: turns without steps are stored with them: %s", layout, stored)
		}
		s.user(10)
		s.step()
		s.step()
		stored := s.state()
		if !strings.Contains(string(stored.Head), `"steps":1`) {
			t.Errorf("%s: stored as %s", layout, stored.Head)
		}
		for _, steps := range []string{"-1", "4"} {
			damaged := Stored{Head: []byte(strings.Replace(string(stored.Head), `"steps":1`, `"steps":`+steps, 1)), Rows: stored.Rows}
			if _, err := Restore(s.opt, damaged, nil); err == nil || !strings.Contains(err.Error(), "inside a turn") {
				t.Errorf("%s: %s steps of 4 requests: error %v", layout, steps, err)
			}
		}
	}
}
