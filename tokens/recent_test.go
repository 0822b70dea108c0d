package tokens

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestTextsAreCountedOnce(t *testing.T) {
	var r recent
	measured := 0
	measure := func(text string) (int, bool) { measured++; return len(text), true }
	count := func(n int) {
		t.Helper()
		if text := strings.Repeat("x", n); r.count(text, measure) != n {
			t.Fatalf("counted something else than %d", n)
		}
		if len(r.young) > recentTexts || len(r.old) > recentTexts {
			t.Fatalf("%d and %d counts are remembered", len(r.young), len(r.old))
		}
	}
	for range 3 {
		for n := range recentTexts {
			count(n)
		}
	}
	if measured != recentTexts {
		t.Errorf("%d texts were measured, want %d", measured, recentTexts)
	}
	measured = 0
	for n := range 5 * recentTexts {
		count(recentTexts + n)
		count(7) // used again and again
	}
	if measured != 5*recentTexts {
		t.Errorf("%d texts were measured, want the %d new ones: one in use was forgotten", measured, 5*recentTexts)
	}
	measured = 0
	count(recentTexts)
	if measured != 1 {
		t.Error("a text is remembered that was counted long ago")
	}
}

func TestEstimatesAreNotRemembered(t *testing.T) {
	var r recent
	measured := 0
	for range 2 {
		r.count("text", func(string) (int, bool) { measured++; return 1, false })
	}
	if measured != 2 {
		t.Errorf("measured %d times, want 2", measured)
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

func TestPretokensAreEncodedOnce(t *testing.T) {
	var encoded []string
	merge := remembering(func(pretoken string) []int {
		encoded = append(encoded, pretoken)
		return make([]int, len(pretoken))
	})
	for _, pretoken := range []string{" summarised", "summarised", " summarised"} {
		if n := merge(pretoken); n != len(pretoken) {
			t.Errorf("%q counted as %d", pretoken, n)
		}
	}
	if want := []string{" summarised", "summarised"}; !slices.Equal(encoded, want) {
		t.Errorf("encoded %q, want %q", encoded, want)
	}
}
