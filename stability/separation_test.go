package stability

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Summaries are acknowledged, prompts without a reply are closed before the next one; everything else joins.
func TestF22Separations(t *testing.T) {
	text := func(key string, kind Kind) Item {
		return Item{Key: key, Kind: kind, Hash: key, Tokens: 10, Rev: map[Kind]string{File: key}[kind]}
	}
	message := func(key string, user, open bool) Item {
		it := text(key, Message)
		it.User, it.Open = user, open
		return it
	}
	summary := text("summary:e", Summary)
	summary.Alone = true
	document := summary // of a loop: laid out like documents
	document.Kind = Document
	system, file, note := text("system", System), text("file:a", File), text("note:1", Note)
	prompt, reply, results := message("msg:p", true, false), message("msg:r", false, false), message("msg:t", false, true)
	newest, marker := message("msg:n", true, false), text("summary:omitted", Summary)
	for name, tt := range map[string]struct {
		items []Item
		want  map[string]Separation
	}{
		"a conversation":              {[]Item{system, prompt, reply, newest}, nil},
		"files before a prompt":       {[]Item{system, file, note, newest}, nil},
		"a summary":                   {[]Item{system, summary, newest}, map[string]Separation{"msg:n": Acknowledged}},
		"files before it":             {[]Item{system, file, summary, newest}, map[string]Separation{"summary:e": Acknowledged, "msg:n": Acknowledged}},
		"in the system part":          {[]Item{system, document, newest}, nil},
		"a reply after it":            {[]Item{system, summary, reply, newest}, nil},
		"a reply before it":           {[]Item{system, prompt, reply, summary, newest}, map[string]Separation{"msg:n": Acknowledged}},
		"a prompt before it":          {[]Item{system, prompt, summary, reply}, map[string]Separation{"summary:e": Acknowledged}},
		"a prompt without a reply":    {[]Item{system, prompt, newest}, map[string]Separation{"msg:n": Unanswered}},
		"results without a reply":     {[]Item{system, prompt, results, newest}, map[string]Separation{"msg:n": Unanswered}},
		"a marker after such a one":   {[]Item{system, prompt, marker, newest}, map[string]Separation{"msg:n": Unanswered}},
		"a marker after an exchange":  {[]Item{system, prompt, reply, marker, newest}, nil},
		"results, then their reply":   {[]Item{system, prompt, results, reply, newest}, nil},
		"a summary, without a prompt": {[]Item{system, summary}, nil},
	} {
		tracker, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := tracker.Plan(Request{Now: time.Unix(0, 0), Items: tt.items, Window: 1000, Room: 900})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := make(map[string]Separation)
		for _, e := range plan.Entries {
			if e.Before != NotSeparated {
				got[e.Key] = e.Before
			}
		}
		if tt.want == nil {
			tt.want = map[string]Separation{}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What separates entries is kept with them, also after a restart, and counts as blocks.
func TestF22SeparationsAreKept(t *testing.T) {
	first := Item{Key: "msg:1", Kind: Message, Hash: "1", Tokens: 10, User: true}
	second := Item{Key: "msg:2", Kind: Message, Hash: "2", Tokens: 10, User: true}
	reply := Item{Key: "msg:3", Kind: Message, Hash: "3", Tokens: 10}
	third := Item{Key: "msg:4", Kind: Message, Hash: "4", Tokens: 10, User: true}
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		tracker, err := New(Options{Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		plan := func(items ...Item) *Plan {
			t.Helper()
			p, err := tracker.Plan(Request{Now: time.Unix(0, 0), Items: items, Window: 1000, Room: 900})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := plan(first, second)
		if n := blocks(p.Entries); n != 3 {
			t.Errorf("%s: %d blocks", layout, n)
		}
		if err := tracker.Commit(p); err != nil {
			t.Fatal(err)
		}
		saved, err := tracker.State(nil)
		if err != nil {
			t.Fatal(err)
		}
		if tracker, err = Restore(Options{Layout: layout}, saved, nil); err != nil {
			t.Fatal(err)
		}
		again := plan(first, second, reply, third)
		if again.Entries[1].Before != Unanswered || again.Entries[1].prefix != p.Entries[1].prefix || again.Entries[3].Before != NotSeparated {
			t.Errorf("%s: %+v", layout, again.Entries)
		}
	}
}
