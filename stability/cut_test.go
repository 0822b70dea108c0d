package stability

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The price of a candidate: r·K + w·T + H·r·(K + T).
func TestPrice(t *testing.T) {
	tests := []struct {
		name  string
		cache Cache
		long  bool
		want  int64 // thousandths, for 300 kept tokens and 30 new ones with 8 further requests
	}{
		{"marks, five minutes", Cache{}, false, 100*300 + 1250*30 + 8*100*330},
		{"marks, an hour", Cache{}, true, 100*300 + 2000*30 + 8*100*330},
		{"automatic", Cache{Automatic: true}, false, 100*300 + 1000*30 + 8*100*330},
		{"automatic, an hour costs the same", Cache{Automatic: true}, true, 100*300 + 1000*30 + 8*100*330},
		{"prices of the model", Cache{Prices: Prices{Read: 0.5, Write: 3, WriteLong: 4}}, false, 500*300 + 3000*30 + 8*500*330},
	}
	for _, tt := range tests {
		s := newScene(t, Options{})
		s.file("a", "1", 90)
		s.user(10)
		s.send()
		s.reply(20)
		s.user(10)
		req := s.request()
		req.Cache = tt.cache
		d := s.tracker.layout.(*log).draft(&req, moment{1, 1}, tt.long)
		if got := d.weigh(3); got.price != tt.want || got.size != 330 || got.dead != 0 {
			t.Errorf("%s: %+v, want price %d", tt.name, got, tt.want)
		}
	}
}

func TestCheapest(t *testing.T) {
	all := []candidate{{keep: 9, size: 90, price: 5}, {keep: 5, size: 70, price: 5}, {keep: 0, size: 10, price: 6}}
	for size, want := range map[int]int{100: 9, 80: 5, 20: 0} {
		if got := cheapest(all, size); got.keep != want {
			t.Errorf("at most %d tokens: %d kept, want %d", size, got.keep, want)
		}
	}
}

// Candidates are the newest 16 marked prefixes up to the limit that are in the mirror, and 0.
func TestCandidates(t *testing.T) {
	s := newScene(t, Options{Lifetime: Lifetime1h})
	for range 30 {
		s.turn()
	}
	d := func() *draft {
		req := s.request()
		return s.tracker.layout.(*log).draft(&req, moment{30, 30}, false)
	}
	all := d().candidates(len(s.tracker.Entries()))
	if len(all) != maxCandidates+1 || all[0] != len(s.tracker.Entries()) || all[maxCandidates] != 0 {
		t.Errorf("candidates %v", all)
	}
	for _, keep := range d().candidates(10) {
		if keep > 10 {
			t.Errorf("candidate %d beyond the limit", keep)
		}
	}
	s.now = s.now.Add(57 * time.Minute) // the next turn is the last one to use a turn's tail: five are alive, and the start
	if got := d().candidates(len(s.tracker.Entries())); len(got) != 7 {
		t.Errorf("candidates %v after a pause", got)
	}
	s.now = s.now.Add(4 * time.Minute)
	if got := d().candidates(len(s.tracker.Entries())); len(got) != 1 {
		t.Errorf("candidates %v after an hour", got)
	}
}

// Requests to providers that cache automatically have no marks, and are cut right before unused entries.
func TestAutomaticCache(t *testing.T) {
	s := newScene(t, Options{})
	s.req.Cache = Cache{Automatic: true, Minimum: testMinimum}
	s.outline("x", "1", 10)
	s.file("big", "1", 5000)
	s.file("small", "1", 100)
	s.turn()
	s.now = s.now.Add(3 * time.Hour) // the log continues, as the lifetime of the cache is unknown
	if p := s.plan(); p.Expect != 0 {
		t.Errorf("expect %d after three hours", p.Expect)
	}
	s.send()
	s.file("small", "2", 100)
	p := s.turn()
	s.wantLayout(p, "system| outline:x| file:big=1 file:small=1| msg:1| msg:2| file:small+2| msg:3|")
	if p.Expect != 200+10+5100+10+20 {
		t.Errorf("expect %d", p.Expect)
	}
	s.drop("file:big")
	p = s.turn()
	s.wantLayout(p, "system| outline:x| msg:1| msg:2| file:small=2| msg:3| msg:4| msg:5|")
	if p.Cut != CutCheap || p.Kept != 2 {
		t.Errorf("cut %q, kept %d", p.Cut, p.Kept)
	}
}

// A model that got no request before has nothing of the session cached, whatever another model has.
func TestNothingIsKeptForAnotherCache(t *testing.T) {
	for _, layout := range []string{LayoutLog, LayoutRipple} {
		s := newScene(t, Options{Layout: layout})
		s.req.Cache = Cache{Automatic: true, Minimum: testMinimum}
		s.file("a", "1", 500)
		s.turn()
		s.file("a", "2", 500)
		s.req.Cache.Cold = true
		p := s.turn()
		if p.Expect != 0 {
			t.Errorf("%s: expect %d", layout, p.Expect)
		}
		if layout == LayoutLog {
			s.wantLayout(p, "system| msg:1| file:a=2| msg:2| msg:3|")
		}
		s.req.Cache.Cold = false
		if p := s.turn(); p.Expect == 0 {
			t.Errorf("%s: no read expected for the second request to the other model", layout)
		}
	}
}

func TestExpectedBlocks(t *testing.T) {
	s := newScene(t, Options{})
	s.put(Item{Key: "tools", Kind: Tools, Tokens: 50})
	s.file("a", "1", 100)
	s.file("b", "1", 100)
	s.turn()
	s.stream[len(s.stream)-1].Blocks = 3 // the reply
	s.turn()
	if p := s.turn(); p.ExpectBlocks != 1+1+1+1+3+1 { // tools, system, files, prompt, reply, prompt
		t.Errorf("%d blocks of %s", p.ExpectBlocks, show(p.Entries))
	}
}

func TestAutomaticCandidatesAreBounded(t *testing.T) {
	s := newScene(t, Options{})
	s.req.Cache = Cache{Automatic: true}
	for i := range 60 {
		s.file(fmt.Sprintf("%02d", i), "1", 1)
	}
	s.user(100_000)
	s.send()
	for i := range 30 {
		s.drop(fmt.Sprintf("file:%02d", 2*i))
	}
	req := s.request()
	d := s.tracker.layout.(*log).draft(&req, moment{1, 1}, false)
	if got := d.candidates(len(d.old)); len(got) != maxCandidates+2 {
		t.Errorf("%d candidates: %v", len(got), got)
	}
}

// Above 80 % of the window a cut is forced only if a tenth of the window is unused or the request does not fit
// otherwise.
func TestForcedCut(t *testing.T) {
	tests := []struct {
		name         string
		window, room int
		dead         int
		cut          Cut
	}{
		{"unknown window", 0, 0, 1000, NoCut},
		{"below 80 %", 15_000, 0, 1000, NoCut},
		{"above, a tenth unused", 10_800, 0, 1100, CutWindow},
		{"above, less than a tenth unused", 10_800, 0, 500, NoCut},
		{"does not fit otherwise", 9_300, 0, 500, CutWindow},
		{"does not fit the room otherwise", 20_000, 9_300, 500, CutWindow},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			s := newScene(t, Options{})
			s.file("dead", "1", tt.dead)
			s.user(8_700)
			s.send()
			s.reply(10)
			s.drop("file:dead")
			s.req.Window, s.req.Room = tt.window, tt.room
			if p := s.turn(); p.Cut != tt.cut || p.Cut == CutWindow && p.Dead > 0 {
				t.Errorf("cut %q with %d tokens, %d dead, want %q", p.Cut, p.Tokens, p.Dead, tt.cut)
			}
		})
	}
}

// If no cut frees enough, the one that frees most is made. It is not repeated without effect.
func TestForcedCutThatFreesTooLittle(t *testing.T) {
	s := newScene(t, Options{})
	s.file("a", "1", 9_000)
	s.turn()
	s.req.Window = 5000
	if p := s.turn(); p.Cut != NoCut || p.Kept == 0 {
		t.Errorf("cut %q although nothing is unused", p.Cut)
	}
}

func TestLogIsBounded(t *testing.T) {
	s := newScene(t, Options{})
	l := s.tracker.layout.(*log)
	s.turn()
	for len(l.entries) < maxEntries {
		l.entries = append(l.entries, Entry{Kind: Note, Key: "note", Blob: "note", BlockEnd: true, Blocks: 1, Dead: true})
	}
	seal(l.entries, 0)
	if p := s.turn(); p.Cut != CutWindow || len(p.Entries) > 10 {
		t.Errorf("cut %q, %d entries", p.Cut, len(p.Entries))
	}
}

// Lifetime auto starts with five minutes and changes to an hour after the first pause between five and sixty minutes.
func TestLifetime(t *testing.T) {
	tests := []struct {
		setting string
		pauses  []time.Duration
		want    string // for each request
	}{
		{LifetimeAuto, []time.Duration{time.Hour, 5 * time.Minute, 61 * time.Minute, 5*time.Minute + 1, time.Minute}, "sssll"},
		{LifetimeAuto, []time.Duration{0, time.Hour, 2 * time.Hour}, "sll"},
		{Lifetime5m, []time.Duration{0, 30 * time.Minute}, "ss"},
		{Lifetime1h, []time.Duration{0, time.Minute}, "ll"},
	}
	for _, tt := range tests {
		s := newScene(t, Options{Lifetime: tt.setting})
		got := ""
		for _, pause := range tt.pauses {
			s.now = s.now.Add(pause)
			s.user(300)
			if s.send().Long {
				got += "l"
			} else {
				got += "s"
			}
			s.restart()
		}
		if got != tt.want {
			t.Errorf("%s: pauses %v give %s, want %s", tt.setting, tt.pauses, got, tt.want)
		}
	}
}

func TestMarks(t *testing.T) {
	tests := []struct {
		name string
		do   func(s *scene)
		want string
	}{
		{"end of the outlines, just before the first message, the tail", func(s *scene) {
			s.outline("x", "1", 10)
			s.file("a", "1", 10)
		}, "system| outline:x|^ file:a=1|^ msg:1|^"},
		{"none on a prefix below the minimum plus a tenth", func(s *scene) {
			s.put(Item{Key: "system", Kind: System, Tokens: 109})
			s.file("a", "1", 1)
		}, "system| file:a=1|^ msg:1|^"},
		{"none on an empty block", func(s *scene) {
			s.put(Item{Key: "doc:empty", Kind: Document})
		}, "system|^ doc:empty| msg:1|^"},
		{"none on thinking", func(s *scene) {
			s.user(5)
			s.say(Item{Tokens: 20, Unmarkable: true})
			s.stream = s.stream[:2]
		}, "system|^ msg:1|^ msg:2|"},
	}
	for _, tt := range tests {
		s := newScene(t, Options{})
		tt.do(s)
		if len(s.stream) == 0 {
			s.user(5)
		}
		if got := show(s.plan().Entries); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// An outdated file is diffed at most once per candidate and once for the layout.
func TestDiffsAskedFor(t *testing.T) {
	s := newScene(t, Options{Lifetime: Lifetime1h})
	asked := 0
	s.req.Diff = func(key, from, to string) (string, int, bool) {
		asked++
		return tinyDiff(key, from, to)
	}
	const files = 10
	for turn := range 60 {
		for i := range files {
			s.file(fmt.Sprint(i), fmt.Sprint(turn), 1000)
		}
		asked = 0
		s.turn()
		if most := files * (maxCandidates + 2); asked > most {
			t.Fatalf("request %d made %d diffs, want at most %d", turn, asked, most)
		}
	}
}
