package stability

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// rippleOf returns a layout with the tiers described by words: "L3 a:4:100" is an item a in L3 with N 4 and 100 tokens.
// Names starting with m are assistant messages, with u user messages, with n notes; others are outlines.
func rippleOf(target int, words string) *ripple {
	r := &ripple{target: target}
	tier := NoTier
	for word := range strings.FieldsSeq(words) {
		if tier.UnmarshalText([]byte(word)) == nil {
			continue
		}
		name, numbers, _ := strings.Cut(word, ":")
		n, tokens, _ := strings.Cut(numbers, ":")
		m := member{testItem(name + ":" + tokens), 0}
		m.n, _ = strconv.Atoi(n)
		r.members[tier] = append(r.members[tier], m)
	}
	r.layOut()
	seal(r.entries, 0)
	return r
}

// testItem parses "name:tokens"; a "!" after the name means that the content has changed.
func testItem(word string) Item {
	name, tokens, _ := strings.Cut(word, ":")
	it := Item{Key: strings.TrimSuffix(name, "!"), Kind: Outline, Hash: hash(name)}
	it.Tokens, _ = strconv.Atoi(tokens)
	switch name[0] {
	case 'm', 'u':
		it.Kind, it.User = Message, name[0] == 'u'
	case 'n':
		it.Kind = Note
	}
	return it
}

// tiersOf renders the members of r in the format of rippleOf, without tokens.
func tiersOf(r *ripple) string {
	var out []string
	for t := L0; t <= Active; t++ {
		if len(r.members[t]) > 0 {
			out = append(out, t.String())
		}
		for _, m := range r.members[t] {
			out = append(out, fmt.Sprintf("%s:%d", m.Key, m.n))
		}
	}
	return strings.Join(out, " ")
}

// TestRippleRules has a case for each rule of how items move between tiers.
func TestRippleRules(t *testing.T) {
	tests := []struct {
		rule   string
		target int
		before string // the tiers at the last request
		items  string // of the next request
		want   string
	}{
		{"unchanged items in the active set N+1", 0, "active a:0:9 m1:0:9", "a:9 m1:9", "active a:1 m1:1"},
		{"a changed item goes to active with N = 0", 0, "L2 a:7:9 b:6:9", "a!:9 b:9", "L2 b:7 active a:0"},
		{"a changed active item starts again with N = 0", 0, "active a:2:9", "a!:9", "active a:0"},
		{"a removed item is dropped", 0, "L2 a:7:9 b:6:9", "b:9", "L2 b:7"},
		{"a new item has N = 0", 0, "L2 b:6:9", "b:9 c:9", "L2 b:6 active c:0"},
		{"an active item graduates to L3 at N = 3", 0, "active a:2:9", "a:9", "L3 a:3"},
		{"a note never graduates", 0, "active n:5:9", "n:9", "active n:6"},
		{"an item that enters a tier gets the tier's entry N", 0, "active a:7:9", "a:9", "L3 a:3"},
		{"in a quiet conversation nothing moves", 10, "L1 a:9:99 L2 b:8:99 L3 c:6:99 d:5:99",
			"a:99 b:99 c:99 d:99", "L1 a:9 L2 b:8 L3 c:6 d:5"},
		{"members up to the target are anchors: they stay with the same N", 100, "L3 a:4:60 b:5:60 c:5:60 active d:2:60",
			"a:60 b:60 c:60 d:60", "L2 b:6 c:6 L3 a:4 d:3"},
		{"anchors are taken in ascending N", 50, "L3 a:5:60 b:3:60 active d:2:0", "a:60 b:60 d:0", "L2 a:6 L3 b:3 d:3"},
		{"N is capped at the threshold while the tier above is intact", 1, "L2 z:8:60 L3 a:6:60 b:6:60 active d:2:60",
			"z:60 a:60 b:60 d:60", "L2 z:8 L3 a:6 b:6 d:3"},
		{"a member whose N reaches the threshold moves up if the tier above is empty", 10, "L3 a:5:60 active d:2:60",
			"a:60 d:60", "L2 a:6 L3 d:3"},
		{"a member whose N reaches the threshold moves up if the tier above is broken", 10, "L2 y:8:60 z:8:60 L3 a:5:60 b:4:60 active d:2:60",
			"z:60 a:60 b:60 d:60", "L1 z:9 L2 a:6 L3 b:5 d:3"},
		{"a waiting member moves up when the tier above breaks", 10, "L2 y:8:60 z:8:60 L3 a:6:60 b:4:60",
			"z:60 a:60 b:60", "L1 z:9 L2 a:6 L3 b:4"},
		{"a member that moves up breaks its tier, and the ripple continues", 10, "L1 r:9:60 q:9:60 L2 y:6:60 z:8:60 L3 b:3:60 a:6:60",
			"q:60 y:60 z:60 b:60 a:60", "L1 q:10 z:9 L2 y:6 a:6 L3 b:3"},
		{"each tier is considered once per reply", 10, "L2 x:6:60 y:7:60 L3 b:4:60 a:5:60 active d:2:60",
			"x:60 y:60 b:60 a:60 d:60", "L2 x:6 y:7 L3 b:5 a:6 d:3"},
		{"a tier below the target is folded into the next lower one, N kept", 100, "L1 a:10:60 L2 b:7:120 c:6:120",
			"a:60 b:120 c:120", "L2 a:10 b:7 c:6"},
		{"folding continues downwards", 100, "L1 a:10:60", "a:60", "active a:10"},
		{"no folding without a target", 0, "L1 a:10:60", "a:60", "L1 a:10"},
		{"small history waits while L3 is unchanged", 100, "L3 a:3:200 active u1:1:40 m1:1:50",
			"a:200 u1:40 m1:50 u2:9", "L3 a:3 active u1:2 m1:2 u2:0"},
		{"history moves to L3 when L3 is being rewritten anyway", 100, "L3 a:3:200 b:3:9 active u1:1:40 m1:0:50",
			"a:200 u1:40 m1:50 u2:9", "L3 a:3 u1:3 m1:3 active u2:0"},
		{"history moves to L3 when its tokens alone reach the target", 100, "active u1:1:40 m1:1:60",
			"u1:40 m1:60 u2:9", "L3 u1:3 m1:3 active u2:0"},
		{"history never moves to L3 without a target", 0, "L3 a:3:9 active u1:1:400 m1:1:600",
			"u1:400 m1:600 u2:9", "active u1:2 m1:2 u2:0"},
		{"the oldest part of the history moves up", 100, "L2 z:6:200 y:6:9 L3 u1:5:80 m1:5:80 u2:5:80 m2:5:80 active a:2:9",
			"z:200 u1:80 m1:80 u2:80 m2:80 a:9", "L2 z:7 u1:6 m1:6 L3 u2:5 m2:5 a:3"},
		{"compaction removes all messages and adds them again with N = 0", 0, "L2 u1:7:300 m1:7:300 active u2:3:300 m2:3:300",
			"u2:30 m2:30", "active u2:0 m2:0"},
		{"compaction breaks L3, so the messages added again move there", 100, "L2 u1:7:300 m1:7:300 L3 a:3:200 u2:3:300 m2:3:300",
			"a:200 u2:30 m2:30", "L3 a:3 u2:3 m2:3"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.rule, " ", "_"), func(t *testing.T) {
			r := rippleOf(tt.target, tt.before)
			req := &Request{}
			for word := range strings.FieldsSeq(tt.items) {
				req.Items = append(req.Items, testItem(word))
			}
			before := tiersOf(r)
			p := r.Plan(req, moment{1, 1}, false, nil)
			if after := tiersOf(r); after != before {
				t.Errorf("planning changes the state from %s to %s", before, after)
			}
			r.Commit(p)
			if got := tiersOf(r); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
