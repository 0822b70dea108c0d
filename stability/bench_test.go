package stability

import (
	"fmt"
	"testing"
	"time"
)

// bigRequest returns a request with 2,000 outlines, 60 full files and 500 messages.
func bigRequest(turn int) Request {
	req := Request{Now: time.Unix(1_700_000_000+int64(60*turn), 0), Diff: tinyDiff}
	req.Items = append(req.Items, Item{Key: "system", Kind: System, Hash: hash("system"), Tokens: 3000})
	for i := range 2000 {
		key := fmt.Sprintf("outline:dir%d/file%d.go", i%40, i)
		req.Items = append(req.Items, Item{Key: key, Kind: Outline, Hash: hash(key), Tokens: 150})
	}
	for i := range 60 {
		rev := "1"
		if i%10 == turn%10 {
			rev = fmt.Sprint(turn)
		}
		key := fmt.Sprintf("file:dir%d/open%d.go", i%40, i)
		req.Items = append(req.Items, Item{Key: key, Kind: File, Hash: hash(key + rev), Rev: rev, Tokens: 3000})
	}
	for i := range 500 + 2*turn {
		key := fmt.Sprintf("msg:%d", i)
		req.Items = append(req.Items, Item{Key: key, Kind: Message, Hash: hash(key), Tokens: 200, User: i%2 == 0})
	}
	return req
}

func benchmarkPlan(b *testing.B, layout string) {
	tracker, err := New(Options{Layout: layout, Target: DefaultTarget})
	if err != nil {
		b.Fatal(err)
	}
	mirror := NewMirror()
	plan := func(turn int) *Plan {
		req := bigRequest(turn)
		req.Cache = Cache{Mirror: mirror, Minimum: 1024}
		p, err := tracker.Plan(req)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	for turn := range 20 {
		p := plan(turn)
		mirror.Answered(p, Usage{Read: p.Expect, Write: p.Tokens - p.Expect, Input: p.Tokens})
		if err := tracker.Commit(p); err != nil {
			b.Fatal(err)
		}
	}
	req := bigRequest(20)
	req.Cache = Cache{Mirror: mirror, Minimum: 1024}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tracker.Plan(req); err != nil {
			b.Fatal(err)
		}
	}
}

// Yardstick: 2 ms for 2,000 outlines, 60 files in full and 500 messages, the user's wait before a prompt leaves
func BenchmarkPlanLog(b *testing.B) { benchmarkPlan(b, LayoutLog) }

// Yardstick: 2 ms for 2,000 outlines, 60 files in full and 500 messages, the user's wait before a prompt leaves
func BenchmarkPlanRipple(b *testing.B) { benchmarkPlan(b, LayoutRipple) }
