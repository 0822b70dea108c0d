package fit

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/stability"
)

// scored returns an Item of n characters, each counted as a token.
func scored(key string, kind stability.Kind, chars, priority int) Item {
	return Item{Item: stability.Item{Key: key, Kind: kind, Hash: key, Tokens: chars}, Priority: priority}
}

func TestARoomIsFilledGreedilyByScore(t *testing.T) {
	rules := scored("doc:rules", stability.Document, 40, PriorityDefault)
	rules.Pinned = true
	items := []Item{
		rules,
		scored("outline:a.go", stability.Outline, 60, 60),
		scored("outline:changed.go", stability.Outline, 70, 90),
		scored("outline:z.go", stability.Outline, 60, 60),
		scored("outline:tiny.go", stability.Outline, 10, 60),
		scored("file:asked.go", stability.File, 120, PriorityFile),
	}
	for _, tc := range []struct {
		room int
		want []string
	}{
		{250, []string{"doc:rules", "file:asked.go", "outline:changed.go", "outline:tiny.go"}},
		{240, []string{"doc:rules", "file:asked.go", "outline:changed.go", "outline:tiny.go"}},
		{239, []string{"doc:rules", "file:asked.go", "outline:changed.go"}},
		{229, []string{"doc:rules", "file:asked.go", "outline:tiny.go"}},
		{40, []string{"doc:rules"}},
		{1000, []string{"doc:rules", "file:asked.go", "outline:a.go", "outline:changed.go", "outline:tiny.go", "outline:z.go"}},
	} {
		order := evictable(items, tc.room)
		slices.Reverse(order)
		in := greedy(items, order, tc.room-40)
		got := []string{"doc:rules"}
		for i := range in {
			got = append(got, items[i].Key)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("room for %d: %s", tc.room, diff)
		}
	}
}

func TestSharesOfWhatIsCut(t *testing.T) {
	for _, tc := range []struct{ room, code, talk, forCode, forTalk int }{
		{100, 500, 500, 70, 30},
		{100, 50, 500, 50, 50},
		{100, 500, 10, 90, 10},
		{100, 10, 10, 10, 90},
		{0, 500, 500, 0, 0},
		{-50, 500, 500, 0, 0},
	} {
		if code, talk := shared(tc.room, tc.code, tc.talk, 70, 30); code != tc.forCode || talk != tc.forTalk {
			t.Errorf("%+v: %d and %d", tc, code, talk)
		}
	}
}
