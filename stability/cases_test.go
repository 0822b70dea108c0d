package stability

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// full returns a session with tools, system prompt and an item in each of L0 to L3.
func full(t *testing.T, layout string) *scene {
	s := newScene(t, Options{Layout: layout, Target: 100})
	s.put(Item{Key: "tools", Kind: Tools, Tokens: 150})
	for i := range 12 {
		s.outline(fmt.Sprintf("%02d", i), "1", 60)
	}
	s.file("a", "1", 300)
	for range 8 {
		s.turn()
	}
	return s
}

// Five cache markers in one request make a session unusable.
func TestK3_03_NeverMoreThanFourMarks(t *testing.T) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		t.Run(layout, func(t *testing.T) {
			s := full(t, layout)
			check := func(when string) {
				t.Helper()
				p := s.turn()
				var ends []int
				for i, e := range p.Entries {
					if e.Mark {
						ends = append(ends, i+1)
					}
				}
				if len(ends) == 0 || len(ends) > 4 {
					t.Errorf("%s: %d marks", when, len(ends))
				}
				if p.Kept > 0 && p.Expect == 0 {
					t.Errorf("%s: entries are kept, but no read is expected", when)
				}
				if layout == LayoutLog && (ends[0] != leadEnd(p.Entries) || ends[len(ends)-1] != len(p.Entries)) {
					t.Errorf("%s: marks after %v of %d entries, want one at the stable prefix and one at the tail", when, ends, len(p.Entries))
				}
			}
			check("all tiers filled")
			earlier := s.stream[:6:6]
			s.compact(2)
			check("after a compaction")
			s.stream = earlier
			check("after a restore")
			s.restart()
			check("after a restart")
		})
	}
}

// The order of the items in a request must not affect the bytes.
func TestK3_04_OrderOfItemsDoesNotMatter(t *testing.T) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		t.Run(layout, func(t *testing.T) {
			var sessions []*scene
			for n := range 2 {
				s := newScene(t, Options{Layout: layout, Target: 100})
				r := rand.New(rand.NewPCG(uint64(n), 0))
				s.put(Item{Key: "tools", Kind: Tools, Tokens: 150})
				for _, i := range r.Perm(12) {
					s.file(fmt.Sprint(i), "1", 100)
				}
				for _, i := range r.Perm(12) {
					s.outline(fmt.Sprint(100+i), "1", 30)
				}
				sessions = append(sessions, s)
			}
			shuffle := rand.New(rand.NewPCG(3, 4))
			for turn := range 21 {
				var layouts [2]string
				for i, s := range sessions {
					if turn == 20 {
						s.restart()
					}
					shuffle.Shuffle(len(s.items), func(i, j int) { s.items[i], s.items[j] = s.items[j], s.items[i] })
					layouts[i] = show(s.turn().Entries)
				}
				if layouts[0] != layouts[1] {
					t.Fatalf("request %d:\n%s\n%s", turn, layouts[0], layouts[1])
				}
			}
		})
	}
}

// A file added to L3 does not change the tiers above.
func TestK3_04_NewInL3LeavesTheTiersAboveAlone(t *testing.T) {
	s := full(t, LayoutRipple)
	above := func(p *Plan) (last prefix) {
		for _, e := range p.Entries {
			if e.Tier <= L2 {
				last = e.prefix
			}
		}
		return last
	}
	before := above(s.turn())
	s.file("new", "1", 200)
	for range 6 {
		p := s.turn()
		if above(p) != before {
			t.Fatalf("L0 to L2 changed: %s", show(p.Entries))
		}
	}
	if got := find(s.plan(), "file:new")[0].Tier; got != L3 {
		t.Errorf("the new file is in %s", got)
	}
}

// After a turn with more blocks than the provider's look-back, the previous turn is still read from the cache.
func TestK3_07_TurnsOfManyBlocksStayCached(t *testing.T) {
	s := newScene(t, Options{})
	s.file("a", "1", 100)
	previous, cuts := 0, 0
	for turn := range 30 {
		s.now = s.now.Add(time.Minute)
		s.file("a", fmt.Sprint(turn/8), 100)
		s.user(10)
		p := s.plan()
		u := s.cache.serve(p, s.now)
		s.mirror.Answered(p, u)
		if err := s.tracker.Commit(p); err != nil {
			t.Fatal(err)
		}
		if p.Cut == CutCheap {
			previous, cuts = 1, cuts+1
		}
		if turn > 0 && (u.Read < previous || u.Read != p.Expect) {
			t.Fatalf("turn %d: read %d tokens, expected %d, sent before %d", turn, u.Read, p.Expect, previous)
		}
		if last := p.Entries[len(p.Entries)-1]; !last.Mark {
			t.Fatalf("turn %d: no mark on the tail", turn)
		}
		previous = p.Tokens
		s.say(Item{Tokens: 600, Blocks: 24}) // 12 calls and 12 results
	}
	if cuts > 8 {
		t.Errorf("%d cuts in 30 turns", cuts)
	}
}
