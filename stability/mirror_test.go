package stability

import (
	"encoding/binary"
	"sync"
	"testing"
	"time"
)

// A prefix is added at the first usage event of the reply, not when the request is sent.
func TestMirrorLearnsFromAnswers(t *testing.T) {
	s := newScene(t, Options{})
	s.file("a", "1", 100)
	s.user(10)
	p := s.plan()
	if again := s.plan(); again.Expect != 0 {
		t.Errorf("%d tokens expected of a request without a reply", again.Expect)
	}
	s.mirror.Answered(p, Usage{Write: 310, Input: 310})
	if again := s.plan(); again.Expect != 310 {
		t.Errorf("%d tokens expected after the reply", again.Expect)
	}
}

func TestMirrorOfProviderThatDoesNotCache(t *testing.T) {
	s := newScene(t, Options{})
	s.user(10)
	s.mirror.Answered(s.plan(), Usage{Input: 210})
	if p := s.plan(); p.Expect != 0 {
		t.Errorf("%d tokens expected although nothing was written", p.Expect)
	}
}

// A reported read below the expectation makes the mirror forget longer prefixes.
func TestMirrorForgets(t *testing.T) {
	s := newScene(t, Options{})
	s.outline("x", "1", 100)
	s.user(100)
	s.turn()
	s.turn()
	s.user(10)
	p := s.plan() // marks: outlines (300), previous tail, tail
	if p.Expect < 350 {
		t.Fatalf("expect %d", p.Expect)
	}
	// The provider counts a quarter more than the tracker, and has lost everything except the outlines.
	s.mirror.Answered(p, Usage{Read: 375, Write: p.Tokens*5/4 - 375, Input: p.Tokens * 5 / 4})
	for i, e := range p.Entries {
		holds := s.mirror.holds(e.prefix, s.now)
		if want := e.Mark; e.marked && holds != want {
			t.Errorf("after entry %d (%s): held %t, want %t: just written or lost", i, e.Key, holds, want)
		}
	}
	s.send()
}

// A read as expected forgets nothing, however the provider counts.
func TestMirrorKeepsWhatWasRead(t *testing.T) {
	s := newScene(t, Options{})
	s.file("a", "1", 300)
	for range 5 {
		s.turn()
	}
	s.user(10)
	p := s.plan()
	s.mirror.Answered(p, Usage{Read: p.Expect * 3 / 4, Write: 10, Input: p.Tokens * 3 / 4})
	for _, e := range p.Entries {
		if e.marked && !s.mirror.holds(e.prefix, s.now) {
			t.Errorf("%s is forgotten", e.Key)
		}
	}
}

// A use extends both lifetimes; a prefix keeps the lifetime with which it was written.
func TestMirrorLifetimes(t *testing.T) {
	for _, tt := range []struct {
		lifetime string
		pause    time.Duration
		read     bool
	}{
		{Lifetime5m, 5 * time.Minute, true},
		{Lifetime5m, 5*time.Minute + 1, false},
		{Lifetime1h, time.Hour, true},
		{Lifetime1h, time.Hour + 1, false},
	} {
		s := newScene(t, Options{Lifetime: tt.lifetime})
		s.user(100)
		s.send()
		s.now = s.now.Add(2 * time.Minute)
		s.send()
		s.now = s.now.Add(tt.pause)
		if p := s.plan(); (p.Expect > 0) != tt.read {
			t.Errorf("%s: expect %d after %v", tt.lifetime, p.Expect, tt.pause)
		}
	}
}

// Sessions with a common prefix share its cache entries.
func TestMirrorIsShared(t *testing.T) {
	one, two := newScene(t, Options{}), newScene(t, Options{})
	two.mirror, two.cache, two.req.Cache.Mirror = one.mirror, one.cache, one.mirror
	for _, s := range []*scene{one, two} {
		s.outline("x", "1", 100)
	}
	one.turn()
	two.said = 50
	two.user(33)
	if p := two.plan(); p.Expect != 300 {
		t.Errorf("%d tokens expected of the other session's prefix", p.Expect)
	}
}

func TestMirrorLookBack(t *testing.T) {
	s := newScene(t, Options{})
	s.user(100)
	s.send()
	p := s.plan()
	entries := append([]Entry(nil), p.Entries...)
	for range 25 {
		entries = append(entries, Entry{Kind: Message, Blob: "m", BlockEnd: true, Blocks: 1})
	}
	seal(entries, len(p.Entries))
	if n := s.mirror.longest(entries[:len(p.Entries)+19], s.now); n != len(p.Entries) {
		t.Errorf("19 blocks back: found %d, want %d", n, len(p.Entries))
	}
	if n := s.mirror.longest(entries[:len(p.Entries)+20], s.now); n != 0 {
		t.Errorf("20 blocks back: found %d, want nothing", n)
	}
}

func TestMirrorIsBounded(t *testing.T) {
	m := NewMirror()
	start := time.Unix(1_700_000_000, 0)
	name := func(i int) (p prefix) {
		binary.BigEndian.PutUint64(p[:], uint64(i))
		return p
	}
	for i := range 3 * mirrorBound {
		m.learn(name(i), use{start.Add(time.Duration(i)), ShortLife})
		if len(m.used) > mirrorBound {
			t.Fatalf("%d prefixes", len(m.used))
		}
	}
	if !m.holds(name(3*mirrorBound-1), start) || m.holds(name(0), start) {
		t.Error("the prefixes unused for longest must be evicted first")
	}
	m.learn(name(-1), use{start.Add(time.Hour), ShortLife})
	m.learn(name(-1), use{start, LongLife})
	if u, _ := m.lastUse(name(-1), start); u.life != ShortLife {
		t.Error("an older use replaces a newer one")
	}
}

func TestMirrorConcurrently(t *testing.T) {
	m := NewMirror()
	var wg sync.WaitGroup
	for range 4 {
		s := newScene(t, Options{})
		s.mirror, s.req.Cache.Mirror = m, m
		wg.Go(func() {
			for range 20 {
				s.turn()
			}
			s.state()
		})
	}
	wg.Wait()
}
