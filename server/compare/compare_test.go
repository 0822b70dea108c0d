package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"strata/history"
)

// request makes a request of items: key, or key=hash, with ! for one that is not needed any more.
func request(items ...string) *history.Request {
	r := &history.Request{}
	for _, text := range items {
		name, dead := strings.CutSuffix(text, "!")
		key, hash, _ := strings.Cut(name, "=")
		kind := map[string]string{"msg": "message", "file": "base", "diff": "diff", "outline": "outline", "summary": "summary"}[strings.Split(key, ":")[0]]
		if path, ok := strings.CutPrefix(key, "diff:"); ok {
			key = "file:" + path
		}
		r.Items = append(r.Items, history.RequestItem{Key: key, Kind: kind, Hash: hash, Tokens: 10, Tier: "active", Dead: dead})
	}
	return r
}

// show returns the rows of a comparison, as "change key (reason)".
func show(c Comparison) []string {
	all := []string{}
	for _, r := range c.Rows {
		text := r.Change + " " + r.Key
		if r.Kind == kindDiff {
			text += " diff"
		}
		if r.Reason != "" {
			text += " (" + r.Reason + ")"
		}
		all = append(all, text)
	}
	return all
}

func TestRowsAndReasons(t *testing.T) {
	omitting := func(r *history.Request, key, reason string) *history.Request {
		r.Omitted = append(r.Omitted, history.RequestOmission{Key: key, Reason: reason})
		return r
	}
	shorter := request("msg:a", "msg:b=cut")
	shorter.Items[1].Tokens = 3
	cold := request("msg:b", "msg:a")
	cold.Cut = "a rebuild is cheaper"
	for _, test := range []struct {
		name          string
		before, after *history.Request
		edits         []history.Edit
		prefix        int
		first         string
		rows          []string
	}{
		{"equal", request("system", "msg:a"), request("system", "msg:a"), nil, 2, "", nil},
		{"continued", request("system", "msg:a"), request("system", "msg:a", "msg:b"), nil, 2, "", []string{"added msg:b (new)"}},
		{"empty", request(), request("system"), nil, 0, "", []string{"added system (new)"}},
		{
			"an edited file, appended as a diff", request("file:x=1", "msg:a"), request("file:x=1", "msg:a", "diff:x=2"), nil, 2, "",
			[]string{"added file:x diff (edited)"},
		},
		{
			"an edited file, appended whole", request("file:x=1", "msg:a"), request("file:x=1!", "msg:a", "file:x=2"), nil, 2, "",
			[]string{"added file:x (edited)"},
		},
		{
			"an edited file, in place", request("system", "file:x=1", "msg:a"), request("system", "file:x=2", "msg:a", "msg:b"), nil, 1,
			"changed file:x (edited)", []string{"changed file:x (edited)", "same msg:a", "added msg:b (new)"},
		},
		{
			"diffs merged in the base", request("file:x=1", "msg:a", "diff:x=2"), request("file:x=2", "msg:a"), nil, 0,
			"changed file:x (edited)", []string{"changed file:x (edited)", "same msg:a", "removed file:x diff (rebuilt)"},
		},
		{
			"evicted", request("msg:a", "msg:b", "msg:c"), omitting(request("msg:a", "msg:c"), "msg:b", "over_budget"), nil, 1,
			"removed msg:b (over_budget)", []string{"removed msg:b (over_budget)", "same msg:c"},
		},
		{
			"compacted", request("msg:a", "msg:b", "msg:c"), request("summary:edit_1", "msg:c"),
			[]history.Edit{{ID: "edit_1", Kind: history.EditCompact, Messages: []string{"a", "b"}, Summary: "s"}}, 0,
			"removed msg:a (compacted)", []string{"added summary:edit_1 (compacted)", "removed msg:a (compacted)", "removed msg:b (compacted)", "same msg:c"},
		},
		{
			"a newer summary", request("summary:edit_1", "msg:c"), request("summary:edit_2", "msg:c"), nil, 0,
			"removed summary:edit_1 (replaced)", []string{"added summary:edit_2 (compacted)", "removed summary:edit_1 (replaced)", "same msg:c"},
		},
		{
			"cleared", request("msg:a"), request("msg:b"), []history.Edit{{ID: "edit_1", Kind: history.EditClear}}, 0,
			"removed msg:a (clear)", []string{"added msg:b (new)", "removed msg:a (clear)"},
		},
		{
			"evicted by an edit", request("msg:a", "msg:b"), request("msg:b"), []history.Edit{{ID: "e", Kind: history.EditTruncate, Reason: "over_budget", Messages: []string{"a"}}}, 0,
			"removed msg:a (over_budget)", []string{"removed msg:a (over_budget)", "same msg:b"},
		},
		{
			"shortened", request("msg:a", "msg:b"), omitting(shorter, "msg:b", "cut_to_fit"), nil, 1,
			"shortened msg:b (cut_to_fit)", []string{"shortened msg:b (cut_to_fit)"},
		},
		{"moved", request("msg:a", "msg:b"), cold, nil, 0, "moved msg:b (a rebuild is cheaper)", []string{"moved msg:b (a rebuild is cheaper)", "same msg:a"}},
		{"a file that left", request("file:x=1", "msg:a"), request("outline:x", "msg:a"), nil, 0, "removed file:x (outlined)",
			[]string{"added outline:x (new)", "removed file:x (outlined)", "same msg:a"}},
		{"unused", request("file:x=1!", "msg:a"), request("msg:a"), nil, 0, "removed file:x (unused)", []string{"removed file:x (unused)", "same msg:a"}},
		{"room again", omitting(request("msg:a"), "file:x", "over_budget"), request("msg:a", "file:x=1"), nil, 1, "", []string{"added file:x (room_again)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Requests(test.before, test.after, test.edits)
			if rows := show(c); !slices.Equal(rows, test.rows) {
				t.Errorf("got  %q\nwant %q", rows, test.rows)
			}
			first := ""
			if f := c.First; f != nil {
				first = fmt.Sprintf("%s %s (%s)", f.Change, f.Key, f.Reason)
			}
			if first != test.first || c.Prefix.Items != test.prefix || c.Prefix.Tokens != 10*test.prefix {
				t.Errorf("first change %q, %+v", first, c.Prefix)
			}
		})
	}
}

// Each item of both requests is in the prefix or in one row, and the sums agree.
func TestEachItemIsInOneRow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	random := func() *history.Request {
		var items []string
		for range r.IntN(30) {
			items = append(items, fmt.Sprintf("%s:%d=%d", []string{"msg", "file", "diff"}[r.IntN(3)], r.IntN(8), r.IntN(3)))
		}
		return request(items...)
	}
	for range 3000 {
		before, after := random(), random()
		if r.IntN(2) == 0 { // alike
			after.Items = slices.Concat(before.Items, after.Items)
			if len(after.Items) > 3 {
				after.Items = slices.Delete(after.Items, 2, 3)
			}
		}
		c := Requests(before, after, nil)
		seen := map[string]int{}
		last, resent := -1, 0
		for _, row := range c.Rows {
			if row.Before != nil {
				seen[fmt.Sprint("before ", row.Before.Index)]++
			}
			if row.After != nil {
				if row.After.Index != last+1 && last >= 0 {
					t.Fatalf("row %d after %d", row.After.Index, last)
				}
				last = row.After.Index
				seen[fmt.Sprint("after ", row.After.Index)]++
			}
			if row.Change == Same || row.Change == Moved {
				resent += row.After.Tokens
			}
		}
		if want := len(before.Items) + len(after.Items) - 2*c.Prefix.Items; len(seen) != want {
			t.Fatalf("%d places for %d items", len(seen), want)
		}
		for place, n := range seen {
			if n != 1 {
				t.Fatalf("%s is in %d rows", place, n)
			}
		}
		if c.Resent != resent || c.Prefix.Tokens+c.After != 10*len(after.Items) {
			t.Fatalf("%d resent, want %d; %+v, %d after of %d items", c.Resent, resent, c.Prefix, c.After, len(after.Items))
		}
	}
}
