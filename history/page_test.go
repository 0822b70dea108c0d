package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPages(t *testing.T) {
	heads := []Head{{Seq: 1, Bytes: 30}, {Seq: 2, Bytes: 10}, {Seq: 4, Bytes: 10}, {Seq: 7, Bytes: 500}}
	for _, c := range []struct {
		limit         int
		first, newest []int64
		rest          int
		older         int64
	}{
		{0, []int64{1}, []int64{7}, 3, 7},
		{40, []int64{1, 2}, []int64{7}, 2, 7},
		{50, []int64{1, 2, 4}, []int64{7}, 1, 7},
		{510, []int64{1, 2, 4}, []int64{4, 7}, 1, 4},
		{549, []int64{1, 2, 4}, []int64{2, 4, 7}, 1, 2},
		{550, []int64{1, 2, 4, 7}, []int64{1, 2, 4, 7}, 0, 0},
	} {
		seqs, rest := Page(heads, c.limit)
		if diff := cmp.Diff(c.first, seqs); diff != "" || len(rest) != c.rest {
			t.Errorf("first %d bytes: %s, %d are left", c.limit, diff, len(rest))
		}
		seqs, older := NewestPage(heads, c.limit)
		if diff := cmp.Diff(c.newest, seqs); diff != "" || older != c.older {
			t.Errorf("newest %d bytes: %s, older %d", c.limit, diff, older)
		}
	}
	if seqs, older := NewestPage(nil, 10); seqs != nil || older != 0 {
		t.Errorf("nothing: %v, %d", seqs, older)
	}
}
