package tokens

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestLongTextsAreCountedOnce(t *testing.T) {
	var r recent
	measured := 0
	measure := func(text string) (int, bool) { measured++; return len(text) / 4, true }
	long := func(n int) string { return fmt.Sprintf("%0*d", recentBytes, n) }
	for range 3 {
		for n := range recentTexts {
			if got := r.count(long(n), measure); got != recentBytes/4 {
				t.Fatalf("counted %d", got)
			}
		}
	}
	if measured != recentTexts {
		t.Errorf("%d texts were measured, want %d", measured, recentTexts)
	}
	r.count(long(recentTexts), measure) // replaces the first
	r.count(long(1), measure)
	if measured != recentTexts+1 || len(r.counts) != recentTexts || len(r.order) != recentTexts {
		t.Errorf("%d measured, %d and %d remembered after one more text", measured, len(r.counts), len(r.order))
	}
	r.count(long(0), measure)
	r.count(long(1), measure) // replaced by the one before
	if measured != recentTexts+3 || len(r.counts) != recentTexts {
		t.Errorf("%d measured, %d remembered after two that were forgotten", measured, len(r.counts))
	}
	short := strings.Repeat("x", recentBytes-1)
	r.count(short, measure)
	r.count(short, measure)
	if measured != recentTexts+5 {
		t.Errorf("%d measured after a short text, want each time", measured)
	}
}

func TestTextsAreCountedConcurrently(t *testing.T) {
	c, err := New(Default)
	if err != nil {
		t.Fatal(err)
	}
	text := func(n int) string { return strings.Repeat(fmt.Sprintf("text %d of many\n", n), 60) }
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range 50 {
				want, _ := c.measure(t.Context(), text(n))
				if got := c.Count(text(n)); got != want {
					t.Errorf("%d tokens are remembered, %d counted", got, want)
				}
			}
		})
	}
	wg.Wait()
}
