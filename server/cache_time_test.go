package server

import (
	"math"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/llm"
	"strata/session/cachetime"
	"strata/stability"
)

func (s *stage) outlook() cachetime.Outlook {
	s.t.Helper()
	return call[cachetime.Outlook](s.testServer, s.editor, "_strata/context/cache", s.sid, nil)
}

// The outlook tells what the next call is then expected to read, for how long, and what both sides of that moment cost.
func TestTheOutlookOfTheCacheComesTrue(t *testing.T) {
	t.Parallel()
	price := llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	s := newStage(t, stability.LayoutLog, func(o *Options) { adjustModels(o, func(m *llm.Model) { m.Price = price }) })
	if o := s.outlook(); o.Caching != cachetime.Marked || o.Warm != 0 || o.Expected != 0 || o.Cold != nil || len(o.Marks) != 0 || o.TTL != 300_000 {
		t.Errorf("before the first call: %+v", o)
	}
	s.prompt("Remember this. " + strings.Repeat("A word of a long prompt. ", 200))
	s.clock.advance(time.Minute)
	o := s.outlook()
	if o.Warm != 240_000 || o.TTL != 300_000 || o.Expected == 0 || o.Now.CacheRead != o.Expected {
		t.Errorf("a minute after the first call: %+v", o)
	}
	if o.Cold == nil || o.Cold.CacheRead != 0 || o.Cold.CacheWrite < o.Expected || o.Now.Cost == nil || *o.Now.Cost >= *o.Cold.Cost/3 {
		t.Errorf("a minute after the first call: %+v, now %v, cold %+v", o, o.Now.Cost, o.Cold)
	}
	want := (float64(o.Now.Input)*price.Input + float64(o.Now.CacheRead)*price.CacheRead + float64(o.Now.CacheWrite)*price.CacheWrite) / 1e6
	if math.Abs(*o.Now.Cost-want) > 1e-12 {
		t.Errorf("%v dollars, want %v", *o.Now.Cost, want)
	}
	s.prompt("Go on.")
	if c := s.lastCall(); c.Expected != o.Expected || c.Usage.CacheRead == 0 {
		t.Errorf("expected %d of %+v, the outlook said %d", c.Expected, c.Usage, o.Expected)
	}
	before := s.outlook()
	s.clock.advance(time.Duration(before.Warm) * time.Millisecond)
	if o := s.outlook(); o.Expected != before.Expected || o.Warm != 1 {
		t.Errorf("in the last moment: %+v", o)
	}
	s.clock.advance(time.Millisecond)
	o = s.outlook()
	if o.Warm != 0 || o.Cold != nil || o.Expected != 0 || *o.Now.Cost != *before.Cold.Cost {
		t.Errorf("after that: %+v, the price was %v and is %v", o, *before.Cold.Cost, *o.Now.Cost)
	}
	if o.TTL != 3_600_000 {
		t.Errorf("after a pause the request asks for %d ms", o.TTL)
	}
	s.prompt("And now?")
	if c := s.lastCall(); c.Expected != 0 || c.Usage.CacheRead != 0 {
		t.Errorf("%+v", c)
	}
	s.call("_strata/history/clear", nil)
	marks := s.outlook().Marks
	if len(marks) != 2 || marks[0].Kind != cachetime.Expired || marks[1].Kind != cachetime.Edited || marks[1].Edit != history.EditClear {
		t.Errorf("marks %+v", marks)
	}
	if at := marks[0].At; !at.Equal(noon.Add(6 * time.Minute)) {
		t.Errorf("it expired at %v", at)
	}
}

// A provider that caches by itself is asked for no mark. If its calls never read, nothing is seen of a cache; without a price
// there is no cost.
func TestTheOutlookOfAnAutomaticCache(t *testing.T) {
	t.Parallel()
	s := newStage(t, stability.LayoutLog)
	s.choose("local/x")
	s.prompt("Remember this. " + strings.Repeat("A word of a long prompt. ", 200))
	s.clock.advance(time.Minute)
	o := s.outlook()
	if o.Caching != cachetime.Automatic || o.Warm != 59*60_000 || o.Expected == 0 || o.Now.CacheWrite != 0 || o.Now.Cost != nil {
		t.Errorf("%+v", o)
	}
	s.clock.advance(59*time.Minute + 1)
	if o := s.outlook(); o.Warm != 0 || o.Expected != 0 {
		t.Errorf("after an hour: %+v", o)
	}
	s.choose("offline/digest")
	if o := s.outlook(); o.Caching != cachetime.None || o.TTL != 0 || o.Warm != 0 || o.Expected != 0 || len(o.Marks) != 0 {
		t.Errorf("without a cache: %+v", o)
	}
}
