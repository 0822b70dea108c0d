package stability

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// The tier of each N and the next threshold.
func TestTierTable(t *testing.T) {
	tests := []struct {
		n    int
		tier Tier
		name string
		next int
	}{
		{0, Active, "active", 3}, {2, Active, "active", 3},
		{3, L3, "L3", 6}, {5, L3, "L3", 6},
		{6, L2, "L2", 9}, {8, L2, "L2", 9},
		{9, L1, "L1", 12}, {11, L1, "L1", 12},
		{12, L0, "L0", 0}, {999, L0, "L0", 0},
	}
	for _, tt := range tests {
		got := tierOf(tt.n)
		if got != tt.tier || got.String() != tt.name || got.Threshold() != tt.next {
			t.Errorf("N %d: tier %s, next threshold %d, want %s, %d", tt.n, got, got.Threshold(), tt.name, tt.next)
		}
		var back Tier
		if text, err := got.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != got {
			t.Errorf("%s reads back as %s", got, back)
		}
	}
	if err := new(Tier).UnmarshalText([]byte("L4")); err == nil {
		t.Error("accepted the unknown tier L4")
	}
	if got := Tier(17).String(); got != "Tier(17)" {
		t.Errorf("a tier out of range is %s", got)
	}
}

// In both layouts N counts the replies for which an item has been unchanged; a change or an absence resets it to 0.
func TestNCountsReplies(t *testing.T) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		t.Run(layout, func(t *testing.T) {
			s := newScene(t, Options{Layout: layout}) // target 0: ripple has no anchors
			s.file("a", "1", 100)
			want := func(n int, tier Tier) {
				t.Helper()
				entries := find(s.plan(), "file:a")
				if e := entries[len(entries)-1]; e.N != n || e.Tier != tier || e.NextThreshold() != tier.Threshold() {
					t.Errorf("N %d in %s, want %d in %s", e.N, e.Tier, n, tier)
				}
			}
			want(0, Active)
			want(0, Active) // planning does not count
			s.turn()
			want(1, Active)
			s.turn()
			s.turn()
			want(3, L3)
			s.file("a", "2", 100)
			want(0, Active)
			s.turn()
			want(1, Active)
			s.outline("a", "2", 10)
			s.turn()
			if e := find(s.plan(), "outline:a")[0]; e.N != 1 || e.Tier != Active {
				t.Errorf("the outline of the removed file has N %d in %s", e.N, e.Tier)
			}
		})
	}
}

func TestSystemPromptStartsInL0(t *testing.T) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		s := newScene(t, Options{Layout: layout})
		if e := s.plan().Entries[0]; e.Tier != L0 || e.NextThreshold() != 0 {
			t.Errorf("%s: the system prompt is in %s", layout, e.Tier)
		}
	}
}

func TestPlace(t *testing.T) {
	tests := []struct {
		name     string
		outlines string // name:tokens
		clusters string
		target   int
		want     string
	}{
		{"clusters, largest first, to the tier with the fewest tokens",
			"a:50 b:50 c:60 d:30 e:20", "a,b d,e", 10, "a:L1 b:L1 c:L2 d:L3 e:L3"},
		{"outlines in no cluster form their own, ties by name", "b:10 a:10 c:10", "", 10, "a:L1 b:L2 c:L3"},
		{"two tiers if there are too few tokens for three", "a:10 b:10 c:10", "", 15, "a:L1 b:L2 c:L1"},
		{"one tier if there are too few tokens for two", "a:10 b:10", "", 15, "a:L1 b:L1"},
		{"none if there are too few tokens for one", "a:10", "", 15, ""},
		{"three without a target", "a:1 b:1", "", 0, "a:L1 b:L2"},
		{"unknown and duplicate keys are ignored", "a:10 b:10", "a,x,a b,a", 10, "a:L1 b:L2"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			var outlines []Item
			for word := range strings.FieldsSeq(tt.outlines) {
				outlines = append(outlines, testItem(word))
			}
			var clusters [][]string
			for word := range strings.FieldsSeq(tt.clusters) {
				clusters = append(clusters, strings.Split(word, ","))
			}
			placed := place(outlines, clusters, tt.target)
			var got []string
			for _, key := range slices.Sorted(maps.Keys(placed)) {
				got = append(got, key+":"+placed[key].String())
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	s := newScene(t, Options{})
	s.outline("x", "1", 10)
	s.file("a", "1", 100)
	s.file("b", "1", 100)
	if p := s.turn(); len(p.Changes()) != 0 {
		t.Errorf("the first request has changes %v", p.Changes())
	}
	s.turn()
	s.turn()
	s.file("a", "2", 100)
	s.outline("b", "1", 10)
	s.drop("outline:x")
	got := s.plan().Changes()
	want := []TierChange{
		{"file:a", Active, Active, "changed"},
		{"file:b", Active, NoTier, "removed, outline remains"},
		{"msg:1", Active, L3, "unchanged for 3 replies"},
		{"msg:6", NoTier, Active, "new"},
		{"outline:b", NoTier, Active, "new"},
		{"outline:x", L1, NoTier, "removed"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// ripple gives a reason for each move.
func TestChangesOfRipple(t *testing.T) {
	s := newScene(t, Options{Layout: LayoutRipple, Target: 100})
	s.file("a", "1", 200)
	reasons := map[string]bool{}
	for i := range 12 {
		s.file(fmt.Sprint(i), "1", 200)
		for _, c := range s.turn().Changes() {
			reasons[fmt.Sprintf("%s > %s: %s", c.From, c.To, c.Reason)] = true
		}
		s.now = s.now.Add(time.Second)
	}
	for _, want := range []string{
		" > active: new",
		"active > L3: unchanged for 3 replies",
		"active > L3: history moves into L3",
		"L3 > L2: unchanged for 6 replies, and L2 is being rewritten",
	} {
		if !reasons[want] {
			t.Errorf("no change %q in %v", want, slices.Sorted(maps.Keys(reasons)))
		}
	}
}

func TestBreakdown(t *testing.T) {
	s := newScene(t, Options{})
	s.file("a", "1", 100)
	s.file("b", "1", 100)
	s.user(2000)
	s.send()
	s.reply(20)
	s.file("a", "2", 110)
	s.drop("file:b")
	views := s.turn().Breakdown()
	if len(views) != 5 || views[0].Tier != L0 || views[4].Tier != Active || views[4].Threshold != 3 {
		t.Fatalf("tiers %v", views)
	}
	if views[0].Tokens != 200 || views[0].Cached != 200 {
		t.Errorf("L0 has %d tokens, %d cached", views[0].Tokens, views[0].Cached)
	}
	active := views[4]
	if active.Tokens != 2240 || active.Cached != 2200 {
		t.Errorf("active has %d tokens, %d cached", active.Tokens, active.Cached)
	}
	want := []ItemView{
		{Key: "file:a", Kind: File, Hash: "2", Tokens: 110},
		{Key: "file:b", Kind: File, Hash: "1", Tokens: 100, Dead: 100, N: 1, Leaves: true},
	}
	if !reflect.DeepEqual(active.Items[:2], want) {
		t.Errorf("got  %+v\nwant %+v", active.Items[:2], want)
	}
}
