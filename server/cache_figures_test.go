package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"strata/history"
	"strata/server/wire"
	"strata/tokens"
)

// TestBreakdownIsTheNextRequest compares the breakdown with the request that is then sent, in random states.
func TestBreakdownIsTheNextRequest(t *testing.T) {
	long(t)
	t.Parallel()
	count := tokens.For("o200k_base").Count
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			w := newWalk(t, layout, *walkSeed)
			for i := range 50 {
				for range w.r.IntN(5) {
					w.act()
				}
				w.clock.advance(time.Duration(1+w.r.IntN(8)) * time.Minute)
				before := w.breakdown()
				l := w.stored(w.sid)
				view := history.NewLog(l.Heads, l.Edits).View()
				open := len(view) > 0 && view[len(view)-1].Role != history.RoleAssistant // a reply separates the prompt from it
				text := w.say(w.r.IntN(40))
				w.answer = w.say(w.r.IntN(40))
				w.did("prompt")
				w.prompt(text)
				want := before.Used + count(text) + tokens.MessageOverhead
				if open {
					want += count("(no answer)") + tokens.MessageOverhead
				}
				call := w.lastCall()
				sum := 0
				for _, n := range call.Categories {
					sum += n
				}
				if got := w.planned.last().tokens; got != int64(want) || sum != want {
					t.Fatalf("prompt %d: the request has %d tokens and categories of %d, %v; the breakdown has %d: %v",
						i, got, sum, call.Categories, want, before.Categories)
				}
				inDocuments := 0
				for _, n := range call.Documents {
					inDocuments += n
				}
				if inDocuments != call.Categories["documents"] {
					t.Fatalf("prompt %d: documents of %v are logged, %d in all", i, call.Documents, call.Categories["documents"])
				}
				for _, c := range before.Categories {
					if n := call.Categories[c.Name]; n != c.Tokens && c.Name != "history" && c.Name != "overhead" {
						t.Fatalf("prompt %d: %d tokens of %s, the breakdown has %d", i, n, c.Name, c.Tokens)
					}
				}
				for path, f := range w.files {
					if w.gone(path); f.once {
						delete(w.files, path)
					}
				}
			}
		})
	}
}

// TestExpectedFigures compares the expected tokens in the usage log with those that the provider reports. The provider
// counts 20 % more tokens than the session, which must learn the ratio.
func TestExpectedFigures(t *testing.T) {
	long(t)
	t.Parallel()
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			s := newStage(t, layout)
			s.scale = 120
			var total share
			r := rand.New(rand.NewPCG(1, 1))
			for i := range 6 {
				path := fmt.Sprintf("f%d.go", i)
				s.write(path, lines(path, 100))
				s.call("_strata/files/add", map[string]any{"path": path})
			}
			for turn := range 25 {
				s.clock.advance(time.Minute)
				if turn%3 == 0 {
					path := fmt.Sprintf("f%d.go", r.IntN(6))
					s.write(path, lines(path, 90)+lines(fmt.Sprint(turn), 10))
				}
				s.prompt(lines(fmt.Sprint("question ", turn), 5))
				total.add(s.readAsExpected(fmt.Sprint("turn ", turn)).Usage)
				call := s.lastCall()
				if off := abs(call.Expected - call.Usage.CacheRead); off > call.Usage.Context()/50+20 {
					t.Errorf("turn %d: %d tokens were read, %d were expected, of %d", turn, call.Usage.CacheRead, call.Expected, call.Usage.Context())
				}
			}
			t.Log(total)
			var page struct {
				Calls []struct{ ExpectedCacheRead int }
			}
			if err := s.editor.Call("_strata/usage/list", map[string]any{"sessionId": s.sid}, &page); err != nil {
				t.Fatal(err)
			}
			if call := s.lastCall(); len(page.Calls) != 25 || page.Calls[24].ExpectedCacheRead != call.Expected {
				t.Errorf("usage list %+v, log %d", page.Calls, call.Expected)
			}
			checkUsagePages(t, s)
		})
	}
}

// checkUsagePages lists the calls, newest page first, and compares their sums with the totals.
func checkUsagePages(t *testing.T, s *stage) {
	t.Helper()
	var calls []wire.Call
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		var page wire.UsagePage
		params := map[string]any{"sessionId": s.sid, "newest": true, "limit": 10, "cursor": cursor}
		if err := s.editor.Call("_strata/usage/list", params, &page); err != nil {
			t.Fatal(err)
		}
		calls, cursor = append(page.Calls, calls...), page.NextCursor
		var sum wire.UsageTotals
		for _, c := range calls {
			sum.Calls, sum.Usage, sum.Expected = sum.Calls+1, sum.Usage.Add(c.Usage), sum.Expected+c.Expected
			sum.Cost, sum.Uncached = sum.Cost+c.Cost, sum.Uncached+c.Uncached
		}
		if got := page.Totals; cursor == "" && (got.Calls != sum.Calls || got.Usage != sum.Usage || got.Expected != sum.Expected ||
			math.Abs(got.Cost-sum.Cost) > 1e-9 || math.Abs(got.Uncached-sum.Uncached) > 1e-9) {
			t.Errorf("the totals are %+v, the sum of the calls is %+v", got, sum)
		}
	}
	if !slices.IsSortedFunc(calls, func(a, b wire.Call) int { return a.At.Compare(b.At) }) {
		t.Errorf("the calls are not in the order in which they were made: %+v", calls)
	}
}

func abs(n int) int { return max(n, -n) }
