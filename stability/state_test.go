package stability

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestStateRoundTrip(t *testing.T) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		s := full(t, layout)
		s.put(Item{Key: "file:p", Kind: File, Rev: "1", Tokens: 9, Partial: true})
		s.note("n", 5)
		s.turn()
		before := s.state()
		s.restart()
		if after := s.state(); before.String() != after.String() {
			t.Errorf("%s:\n%s\n%s", layout, before, after)
		}
	}
}

// Equal sessions give equal bytes, however often they were planned.
func TestStateIsDeterministic(t *testing.T) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		a, b := full(t, layout), full(t, layout)
		b.plan()
		if x, y := a.state(), b.state(); x.String() != y.String() {
			t.Errorf("%s:\n%s\n%s", layout, x, y)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	entry := `{"kind":"base","key":"file:a","blob":"b","rev":"r","tokens":1,"blocks":1,"born":0,"chg":0}`
	log := func(entries string) string {
		return `{"version":1,"layout":"log","answered":1,"last":5,"state":[` + entries + `]}`
	}
	ripple := func(state string) string {
		return `{"version":1,"layout":"ripple","answered":1,"last":5,"state":` + state + `}`
	}
	tests := []struct{ name, state, want string }{
		{"nothing", ``, "EOF"},
		{"not JSON", `{`, "EOF"},
		{"two values", log(entry) + `{}`, "more than one value"},
		{"an unknown field", `{"version":1,"color":1}`, "unknown field"},
		{"a future version", `{"version":2}`, "version 2"},
		{"an unknown layout", `{"version":1,"layout":"pile"}`, "another layout"},
		{"negative replies", `{"version":1,"layout":"log","answered":-1}`, "invalid number"},
		{"an unknown kind", log(`{"kind":"file","key":"a","blob":"b","rev":"r"}`), "unknown kind"},
		{"no key", log(`{"kind":"message","blob":"b"}`), "missing key or hash"},
		{"no hash", log(`{"kind":"message","key":"b"}`), "missing key or hash"},
		{"a base without revision", log(strings.Replace(entry, `"r"`, `""`, 1)), "revision"},
		{"a message with revision", log(strings.Replace(entry, `"base"`, `"message"`, 1)), "revision"},
		{"a diff without base", log(strings.Replace(entry, `"base"`, `"diff"`, 1)), "without a base"},
		{"negative tokens", log(strings.Replace(entry, `"tokens":1`, `"tokens":-1`, 1)), "invalid size"},
		{"too many tokens", log(strings.Replace(entry, `"tokens":1`, `"tokens":99999999`, 1)), "invalid size"},
		{"no blocks", log(strings.Replace(entry, `"blocks":1`, `"blocks":0`, 1)), "invalid size"},
		{"born in the future", log(strings.Replace(entry, `"born":0`, `"born":1`, 1)), "invalid age"},
		{"older than stable", log(strings.Replace(entry, `"chg":0`, `"chg":-13`, 1)), "invalid age"},
		{"a cached prefix beyond the log", strings.Replace(log(entry), `"last":5`, `"last":5,"cached":[{"n":2,"used":1}]`, 1), "cached prefix"},
		{"tiers missing", ripple(`{"lead":[],"tiers":[[],[]]}`), "2 tiers"},
		{"a note before the tiers", ripple(`{"lead":[{"key":"a","kind":"note"}],"tiers":[[],[],[],[],[]]}`), "before the tiers"},
		{"an item twice", ripple(`{"lead":[],"tiers":[[],[],[],[],[{"key":"a","kind":"note","hash":"h","N":0},{"key":"a","kind":"note","hash":"h","N":0}]]}`), "duplicate key a"},
		{"a system prompt in a tier", ripple(`{"lead":[],"tiers":[[],[],[],[],[{"key":"a","kind":"system","hash":"h"}]]}`), "invalid member"},
		{"an N from the future", ripple(`{"lead":[],"tiers":[[],[],[],[],[{"key":"a","kind":"note","hash":"h","N":14}]]}`), "invalid member"},
		{"too large", strings.Repeat(" ", maxState+1), "exceeds the limit"},
		{"too many entries", log(strings.Repeat(entry+",", maxEntries) + entry), "exceeds the limit"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			opt := Options{}
			if strings.Contains(tt.state[:min(len(tt.state), 50)], LayoutRipple) {
				opt.Layout = LayoutRipple
			}
			_, err := Restore(opt, Stored{Head: []byte(tt.state)}, NewMirror())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestRestoreOfAnotherLayout(t *testing.T) {
	s := full(t, LayoutLog)
	if _, err := Restore(Options{Layout: LayoutRipple}, s.state(), nil); !errors.Is(err, ErrLayout) {
		t.Errorf("error %v", err)
	}
	if _, err := Restore(Options{Layout: "pile"}, s.state(), nil); err == nil {
		t.Error("restored an unknown layout")
	}
}

// FuzzRestore: any bytes are refused or restored to a tracker that can plan and store itself.
func FuzzRestore(f *testing.F) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		t := &testing.T{}
		stored := full(t, layout).state()
		f.Add(layout, stored.Head, string(bytes.Join(stored.Rows, []byte("\n"))))
	}
	f.Add(LayoutLog, []byte(`{"version":1,"layout":"log","answered":1,"last":5,"state":[]}`), "")
	f.Fuzz(func(t *testing.T, layout string, head []byte, rows string) {
		opt := Options{Layout: layout, Target: 100}
		m := NewMirror()
		tracker, err := Restore(opt, Stored{Head: head, Rows: bytes.Split([]byte(rows), []byte("\n"))}, m)
		if err != nil {
			return
		}
		s := newScene(t, opt)
		s.tracker, s.mirror, s.req.Cache.Mirror = tracker, m, m
		s.outline("01", "1", 60)
		s.file("a", "2", 300)
		for range 3 {
			s.turn()
			s.plan().Breakdown()
			s.plan().Changes()
			s.restart()
		}
	})
}

func TestPlanRefuses(t *testing.T) {
	good := Item{Key: "a", Kind: Note, Hash: "h"}
	tests := []struct {
		name string
		req  Request
		want string
	}{
		{"no key", Request{Items: []Item{{Kind: Note, Hash: "h"}}}, "without a key"},
		{"no hash", Request{Items: []Item{{Kind: Note, Key: "a"}}}, "no hash"},
		{"a key twice", Request{Items: []Item{good, good}}, "duplicate key a"},
		{"no kind", Request{Items: []Item{{Key: "a", Hash: "h"}}}, "unknown kind"},
		{"an entry's kind", Request{Items: []Item{{Key: "a", Hash: "h", Kind: Diff}}}, "unknown kind"},
		{"negative tokens", Request{Items: []Item{{Key: "a", Kind: Note, Hash: "h", Tokens: -1}}}, "invalid size"},
		{"too many tokens", Request{Items: []Item{{Key: "a", Kind: Note, Hash: "h", Tokens: maxTokens + 1}}}, "invalid size"},
		{"a file without revision", Request{Items: []Item{{Key: "a", Kind: File, Hash: "h"}}}, "no revision"},
		{"too many items", Request{Items: make([]Item, maxItems+1)}, "exceeds the limit"},
		{"a negative window", Request{Window: -1}, "window"},
		{"a negative price", Request{Cache: Cache{Prices: Prices{Read: -1}}}, "price"},
		{"a price that is too high", Request{Cache: Cache{Prices: Prices{Write: maxPrice + 1}}}, "price"},
	}
	for _, tt := range tests {
		tracker, _ := New(Options{})
		if _, err := tracker.Plan(tt.req); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
	tracker, _ := New(Options{})
	if p, err := tracker.Plan(Request{}); err != nil || len(p.Entries) != 0 {
		t.Errorf("an empty request: %v, %v", p, err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, opt := range []Options{{Layout: "pile"}, {Lifetime: "2h"}, {Target: -1}, {Further: -1}, {Further: maxFurther + 1}} {
		if _, err := New(opt); err == nil {
			t.Errorf("accepted %+v", opt)
		}
	}
}

// Only one of several plans made from the same state can be committed.
func TestCommitOfStalePlan(t *testing.T) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		s := newScene(t, Options{Layout: layout})
		old := s.plan()
		s.turn()
		before := s.state()
		if err := s.tracker.Commit(newScene(t, Options{Layout: LayoutLog}).turn()); !errors.Is(err, ErrStale) {
			t.Errorf("a plan of another session: error %v", err)
		}
		if err := s.tracker.Commit(old); !errors.Is(err, ErrStale) {
			t.Errorf("error %v", err)
		}
		if before.String() != s.state().String() {
			t.Error("a refused plan changed the state")
		}
	}
}

// The largest sizes and prices that are accepted do not overflow.
func TestLargestRequest(t *testing.T) {
	tracker, err := New(Options{Further: maxFurther})
	if err != nil {
		t.Fatal(err)
	}
	req := Request{Cache: Cache{Automatic: true, Prices: Prices{Read: maxPrice, Write: maxPrice}}}
	for i := range maxItems / 2 {
		key := fmt.Sprint(i)
		req.Items = append(req.Items, Item{Key: key, Kind: Message, Hash: key, Tokens: maxTokens})
	}
	for range 2 {
		p, err := tracker.Plan(req)
		if err != nil {
			t.Fatal(err)
		}
		d := tracker.layout.(*log).draft(&req, moment{1, 1}, false)
		for _, keep := range d.candidates(len(d.old)) {
			if c := d.weigh(keep); c.price <= 0 || c.size != maxItems/2*maxTokens {
				t.Errorf("candidate %+v", c)
			}
		}
		if err := tracker.Commit(p); err != nil {
			t.Fatal(err)
		}
	}
}
