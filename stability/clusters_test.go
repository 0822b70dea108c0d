package stability

import (
	"fmt"
	"strings"
	"testing"
)

// fourOutlines adds outlines to s whose first placement is that of wantPlaced.
func fourOutlines(s *scene) {
	for _, name := range []string{"a", "b", "c", "d"} {
		s.outline(name, "1", 100)
	}
	s.req.Clusters = [][]string{{"outline:b", "outline:d"}}
}

// wantPlaced checks that p places the outlines of fourOutlines by their clusters.
func wantPlaced(t *testing.T, p *Plan) {
	t.Helper()
	for path, want := range map[string]string{"b": "L1 9", "d": "L1 9", "a": "L2 6", "c": "L3 3"} {
		wantTier(t, p, "outline:"+path, want)
	}
}

// wantTier checks the tier and N of the newest entry of a key.
func wantTier(t *testing.T, p *Plan, key, want string) {
	t.Helper()
	got := "no tier"
	for _, e := range find(p, key) {
		got = fmt.Sprint(e.Tier, " ", e.N)
	}
	if got != want {
		t.Errorf("%s is in %s, want %s: %s", key, got, want, show(p.Entries))
	}
}

// inBothLayouts runs a test of a session with a target of 100 tokens.
func inBothLayouts(t *testing.T, test func(t *testing.T, s *scene)) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		t.Run(layout, func(t *testing.T) { test(t, newScene(t, Options{Layout: layout, Target: 100})) })
	}
}

// The first outlines start with the entry N of the tier chosen by their clusters, in whichever request they come.
func TestFirstPlacement(t *testing.T) {
	for _, before := range []int{0, 1, 5} {
		t.Run(fmt.Sprintf("after_%d_requests", before), func(t *testing.T) {
			inBothLayouts(t, func(t *testing.T, s *scene) {
				for range before {
					s.turn()
				}
				s.restart()
				fourOutlines(s)
				wantPlaced(t, s.plan()) // of a request that fails: it does not count
				p := s.turn()
				wantPlaced(t, p)
				for _, c := range p.Changes() {
					if strings.HasPrefix(c.Key, "outline:") && (c.From != NoTier || c.Reason != "new") {
						t.Errorf("change %+v of a first outline", c)
					}
				}
			})
		})
	}
}

// Outlines that come after the first ones start with N = 0, also if none of the first is left, and after a restart.
func TestOnlyTheFirstOutlinesArePlaced(t *testing.T) {
	inBothLayouts(t, func(t *testing.T, s *scene) {
		s.turn()
		fourOutlines(s)
		s.turn()
		s.outline("e", "1", 400)
		wantTier(t, s.turn(), "outline:e", "active 0")
		for _, path := range []string{"a", "b", "c", "d", "e"} {
			s.drop("outline:" + path)
		}
		s.compact(0) // the log is rebuilt without them
		s.turn()
		s.restart()
		fourOutlines(s)
		for _, path := range []string{"a", "b", "c", "d"} {
			wantTier(t, s.plan(), "outline:"+path, "active 0")
		}
	})
}

// A file that is removed before the workspace is indexed returns as its outline with N = 0, and the first placement is
// still to come.
func TestTheOutlineOfARemovedFileIsNotPlaced(t *testing.T) {
	inBothLayouts(t, func(t *testing.T, s *scene) {
		s.file("x", "1", 500)
		s.file("y", "1", 500)
		s.turn()
		s.outline("x", "1", 200)
		wantTier(t, s.turn(), "outline:x", "active 0")
		s.restart()
		wantTier(t, s.turn(), "outline:x", "active 1")
		s.outline("y", "1", 200)
		fourOutlines(s)
		p := s.turn()
		wantPlaced(t, p)
		wantTier(t, p, "outline:x", "active 2")
		wantTier(t, p, "outline:y", "active 0")
	})
}

// `log` appends outlines that come late, and keeps everything before them.
func TestLogAppendsLateOutlines(t *testing.T) {
	s := newScene(t, Options{Target: 100})
	s.file("x", "1", 500)
	s.turn()
	fourOutlines(s)
	p := s.turn()
	s.wantLayout(p, "system|^ file:x=1|^ msg:1|^ msg:2| outline:a outline:b outline:c outline:d| msg:3|^")
	if p.Cut != NoCut || p.Expect != 710 {
		t.Errorf("cut %q, %d tokens expected to be read, want 710", p.Cut, p.Expect)
	}
}

// Outlines that come late break the tiers that they fill, so the other members move in the same reply.
func TestLateOutlinesMoveOtherMembers(t *testing.T) {
	tests := []struct {
		rule   string
		before string
		first  map[string]Tier
		items  string
		want   string
	}{
		{"a member of L3 moves up into the broken L2; the new ones keep the entry N", "L2 z:6:60 L3 a:5:60 b:3:60",
			map[string]Tier{"x": L1, "y": L2, "w": L3}, "z:60 a:60 b:60 w:60 x:60 y:60", "L1 x:9 L2 z:7 y:6 a:6 L3 b:4 w:3"},
		{"history moves into the broken L3", "active u1:1:40 m1:0:5", map[string]Tier{"w": L3},
			"w:60 u1:40 m1:5 u2:9", "L3 w:3 u1:3 m1:3 active u2:0"},
		{"a tier that stays below the target is folded", "L3 b:3:60", map[string]Tier{"x": L1, "y": L2},
			"b:60 x:9 y:60", "L2 x:9 y:6 L3 b:3"},
		{"a tier that is not filled stays unbroken", "L2 z:8:60 y:6:60 L3 a:5:60 b:3:60", map[string]Tier{"w": L3},
			"z:60 y:60 a:60 b:60 w:60", "L2 z:8 y:6 L3 a:6 b:4 w:3"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.rule, " ", "_"), func(t *testing.T) {
			r := rippleOf(50, tt.before)
			req := &Request{}
			for word := range strings.FieldsSeq(tt.items) {
				req.Items = append(req.Items, testItem(word))
			}
			r.Commit(r.Plan(req, moment{1, 1}, false, tt.first))
			if got := tiersOf(r); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
