package stability

import (
	"encoding/json"
	"strings"
	"testing"
)

// versioned adds a file of which messages can tell. A "~" at the end of the revision stands for other line ends.
func (s *scene) versioned(path, rev string, tokens int) {
	s.drop("outline:" + path)
	s.put(Item{Key: "file:" + path, Kind: File, Rev: rev, Version: strings.TrimRight(rev, "~"), Tokens: tokens})
}

// moves adds a step that changes a file from version to version, each written as "1>2".
func (s *scene) moves(path string, moves ...string) {
	s.calls(30)
	m := &s.stream[len(s.stream)-1]
	for _, move := range moves {
		from, to, _ := strings.Cut(move, ">")
		m.Moves = append(m.Moves, Move{"file:" + path, from, to})
	}
}

// What a request has of a file after a base of revision 1, and messages with changes.
func TestMessagesTellChangesOfFiles(t *testing.T) {
	const begins = "system| file:a=1| msg:1| msg:2|"
	for _, tt := range []struct {
		name  string
		moves []string
		now   string
		want  string // after the messages
	}{
		{"no change", nil, "1", ""},
		{"a change", []string{"1>2"}, "2", ""},
		{"several", []string{"1>2", "2>3", "3>4"}, "4", ""},
		{"a change that the model takes back", []string{"1>2", "2>1"}, "1", ""},
		{"by somebody else", nil, "2", " file:a+2|"},
		{"somebody takes it back", []string{"1>2"}, "1", " file:a=1|"},
		{"somebody takes back a part", []string{"1>2", "2>3"}, "2", " file:a=2|"},
		{"somebody changes it before", []string{"2>3"}, "3", " file:a=3|"},
		{"somebody changes it after", []string{"1>2"}, "3", " file:a=3|"},
		{"somebody changes it after the model took its own back", []string{"1>2", "2>1"}, "3", " file:a+3|"},
		{"somebody changes it between", []string{"1>2", "3>4"}, "4", " file:a=4|"},
		{"a change of an unknown version", []string{"1>2", "2>", ">3"}, "3", " file:a=3|"},
		{"an incomplete change that is taken back", []string{"1>2", "2>", "2>1"}, "1", " file:a=1|"},
		{"only the line ends, by somebody", nil, "1~", " file:a+1~|"},
		{"the line ends, too", []string{"1>2"}, "2~", ""},
	} {
		s := newScene(t, Options{})
		s.versioned("a", "1", 500)
		s.user(9000) // so that nothing is laid out anew
		s.send()
		s.moves("a", tt.moves...)
		s.versioned("a", tt.now, 500)
		p := s.send()
		if got, want := strings.ReplaceAll(show(p.Entries), "^", ""), begins+tt.want; strings.ReplaceAll(got, "†", "") != want {
			t.Errorf("%s: %s, want %s", tt.name, got, want)
		}
		// What was told is told once.
		s.calls(10)
		if got, want := strings.ReplaceAll(show(s.send().Entries), "^", ""), begins+tt.want+" msg:3|"; strings.ReplaceAll(got, "†", "") != want {
			t.Errorf("%s, then: %s, want %s", tt.name, got, want)
		}
		s.restart()
		s.calls(10)
		if got, want := strings.ReplaceAll(show(s.send().Entries), "^", ""), begins+tt.want+" msg:3| msg:4|"; strings.ReplaceAll(got, "†", "") != want {
			t.Errorf("%s, after a restart: %s, want %s", tt.name, got, want)
		}
	}
}

// A file that is shown in part, with line numbers or without diffs is told as if messages said nothing.
func TestMessagesDoNotTellOfOtherFiles(t *testing.T) {
	s := newScene(t, Options{})
	s.file("a", "1", 500)
	s.user(10)
	s.send()
	s.moves("a", "1>2")
	s.file("a", "2", 500)
	s.wantLayout(s.send(), "system|^ file:a=1|^ msg:1|^ msg:2| file:a+2|^")
}

// A part of a file, and a text that is not saved, are told although messages have told the whole text, unless they are the same.
func TestAnotherFormOfAToldTextIsTold(t *testing.T) {
	for _, tt := range []struct {
		it   Item
		want string
	}{
		{Item{Rev: "2", Hash: "part", Partial: true}, "part"},
		{Item{Rev: "2#", Hash: "numbered"}, "numbered"},
		{Item{Rev: "3"}, "file:a: 2>3"},
		{Item{Rev: "1"}, "file:a: 2>1"},
		{Item{Rev: "2"}, hash("file:a@1")},
	} {
		s := next(t)
		tt.it.Key, tt.it.Kind, tt.it.Tokens = "file:a", File, 500
		s.req.Diff = func(key, from, to string) (string, int, bool) {
			hash, tokens, _ := tinyDiff(key, from, to)
			return hash, tokens, !strings.HasSuffix(to, "#")
		}
		s.put(tt.it)
		for range 2 {
			if e := find(s.turn(), "file:a"); e[len(e)-1].Blob != tt.want {
				t.Errorf("%+v: told as %s, want %s", tt.it, e[len(e)-1].Blob, tt.want)
			}
		}
	}
}

// next is a scene whose model has changed a file from 1 to 2, in a request that was answered.
func next(t *testing.T) *scene {
	s := newScene(t, Options{})
	s.versioned("a", "1", 500)
	s.turn()
	s.turn()
	s.user(10)
	s.step()
	s.stream = s.stream[:len(s.stream)-1]
	s.moves("a", "1>2")
	s.versioned("a", "2", 500)
	p := s.send()
	s.reply(20)
	if e := find(p, "file:a"); len(e) != 1 || e[0].Led() != "2" || e[0].Rev != "1" {
		t.Fatalf("%+v", e)
	}
	return s
}

// The next change of somebody else is a diff from the text that the messages have told, also after a restart.
func TestADiffBeginsWithWhatMessagesTold(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		s := next(t)
		if restarted {
			s.restart()
		}
		s.versioned("a", "3", 500)
		p := s.turn()
		e := find(p, "file:a")
		if len(e) != 2 || e[1].Blob != "file:a: 2>3" {
			t.Errorf("restarted %t: %s, blobs %+v", restarted, show(p.Entries), e)
		}
		s.versioned("a", "1", 500) // as it was at first
		if e := find(s.turn(), "file:a"); len(e) != 3 || e[2].Blob != "file:a: 3>1" {
			t.Errorf("restarted %t: back at 1 with %+v", restarted, e)
		}
	}
}

// If the message leaves the view, or no longer tells the change, the text is told.
func TestATextIsToldIfItsMessageLeaves(t *testing.T) {
	for name, leave := range map[string]func(s *scene){
		"compaction": func(s *scene) { s.compact(1) },
		"restore":    func(s *scene) { s.stream = s.stream[:4] },
		"eviction":   func(s *scene) { s.stream = append(s.stream[:5:5], s.stream[6:]...) },
		"patch": func(s *scene) {
			s.stream[5].Hash, s.stream[5].Moves = hash("notice"), nil
		},
		"incomplete": func(s *scene) {
			s.stream[5].Hash, s.stream[5].Moves = hash("notice"), []Move{{"file:a", "1", ""}}
		},
	} {
		s := next(t)
		if s.stream[5].Moves == nil {
			t.Fatal("the wrong message")
		}
		leave(s)
		p := s.turn()
		shown := ""
		for _, e := range find(p, "file:a") {
			if !e.Dead {
				shown += " " + string(e.Kind) + e.Rev
			}
		}
		if shown != " base2" && shown != " base1 diff2" {
			t.Errorf("%s: %s", name, show(p.Entries))
		}
	}
}

// If the message leaves and the file is put back, what stands in the request is the present text, which has been there since the
// first request.
func TestAChangeThatIsTakenBackWithItsMessageIsForgotten(t *testing.T) {
	s := next(t)
	s.stream = s.stream[:4]
	s.versioned("a", "1", 500)
	for n := range 2 {
		p := s.turn()
		if e := find(p, "file:a"); len(e) != 1 || e[0].Led() != "" || e[0].N != 3+n {
			t.Errorf("%s: %+v", show(p.Entries), e)
		}
	}
}

// When everything is laid out anew a file follows the messages that tell changes which it has: they do not lead on from it.
func TestAFileFollowsTheChangesItHas(t *testing.T) {
	for _, run := range []bool{false, true} {
		s := next(t)
		s.versioned("b", "1", 500)
		if run {
			s.stream = append([]Item{{Key: "doc:goal", Kind: Document, Hash: "goal", Tokens: 10, Run: true}}, s.stream...)
		}
		s.put(Item{Key: "system", Kind: System, Hash: hash("new"), Tokens: 200})
		p := s.turn()
		got := strings.ReplaceAll(show(p.Entries), "^", "")
		want := "system| msg:1| msg:2| msg:3| msg:4| msg:5| msg:7| file:a=2 file:b=1| msg:8| msg:9|"
		if run {
			want = "system| file:b=1| doc:goal| msg:1| msg:2| msg:3| msg:4| msg:5| msg:7| msg:8| file:a=2| msg:9|"
		}
		if got != want {
			t.Errorf("run %t: %s\nwant %s", run, got, want)
		}
		if p := s.turn(); p.Cut != NoCut || len(find(p, "file:a")) != 1 {
			t.Errorf("run %t, then: %s", run, show(p.Entries))
		}
	}
}

// A change that a message told is a change: N counts from it, and nothing moves. A later request does not count it again.
func TestNCountsFromAChangeThatAMessageTold(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		s := newScene(t, Options{})
		s.versioned("a", "1", 500)
		for range 4 {
			s.turn()
		}
		s.user(10)
		if n, tier := labelOf(t, s.step(), "file:a"); n != 4 || tier != L3 {
			t.Fatalf("before the change: N %d in %s", n, tier)
		}
		s.stream = s.stream[:len(s.stream)-1]
		s.moves("a", "1>2")
		s.versioned("a", "2", 500)
		p := s.send()
		if n, tier := labelOf(t, p, "file:a"); n != 0 || tier != Active {
			t.Errorf("after the change: N %d in %s", n, tier)
		}
		changed := false
		for _, c := range p.Changes() {
			changed = changed || c == TierChange{"file:a", L3, Active, "changed"}
		}
		if !changed {
			t.Errorf("the changes are %v", p.Changes())
		}
		for _, v := range p.Breakdown() {
			for _, it := range v.Items {
				if it.Key == "file:a" && it.Hash != "2" {
					t.Errorf("the file is shown as %+v", it)
				}
			}
		}
		s.reply(20)
		for turn := range 3 {
			if restarted {
				s.restart()
			}
			if n, _ := labelOf(t, s.turn(), "file:a"); n != turn+1 {
				t.Errorf("%d turns after the change: N %d", turn+1, n)
			}
		}
	}
}

func TestMovesAndVersionsAreChecked(t *testing.T) {
	for _, it := range []Item{
		{Key: "doc:a", Kind: Document, Hash: "1", Version: "1"},
		{Key: "file:a", Kind: File, Hash: "1", Rev: "1", Version: "1", Partial: true},
		{Key: "doc:a", Kind: Document, Hash: "1", Moves: []Move{{"file:a", "1", "2"}}},
	} {
		if it.check() == nil {
			t.Errorf("%+v is accepted", it)
		}
	}
	stored := next(t).state()
	for _, change := range []func(e *storedEntry){
		func(e *storedEntry) { e.Version = "" },
		func(e *storedEntry) { e.Led.Rev = "" },
		func(e *storedEntry) { e.Led.Version = "" },
		func(e *storedEntry) { e.Led.Chg = -1 },
		func(e *storedEntry) { e.Led.Chg = 4 },
		func(e *storedEntry) { e.Led.Steps = 2 },
		func(e *storedEntry) { e.Kind, e.Rev, e.Led = Note, "", storedLed{} },
		func(e *storedEntry) { e.Kind, e.Rev, e.Version = Note, "", "" },
	} {
		damaged := Stored{Head: stored.Head}
		for _, row := range stored.Rows {
			var e storedEntry
			if err := json.Unmarshal(row, &e); err != nil {
				t.Fatal(err)
			}
			if e.Led.Rev != "" {
				change(&e)
			}
			damaged.Rows = append(damaged.Rows, e.encode())
		}
		if _, err := Restore(Options{}, damaged, nil); err == nil {
			t.Errorf("accepted: %s", damaged)
		}
	}
}
