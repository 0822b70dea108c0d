package stability

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"
)

// testMinimum is the tokens of the shortest prefix that the fake provider caches.
const testMinimum = 100

// scene is a session in a test: the contents of its next request, its tracker, and the provider's cache.
type scene struct {
	t       *testing.T
	opt     Options
	tracker *Tracker
	mirror  *Mirror
	cache   *fakeCache
	req     Request // without Now and Items
	now     time.Time
	items   []Item // except the conversation
	stream  []Item
	said    int
}

func newScene(t *testing.T, opt Options) *scene {
	t.Helper()
	tracker, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, opt: opt, tracker: tracker, mirror: NewMirror(), cache: newFakeCache(testMinimum), now: time.Unix(1_700_000_000, 0)}
	s.req.Diff = tinyDiff
	s.req.Cache = Cache{Mirror: s.mirror, Minimum: testMinimum}
	s.put(Item{Key: "system", Kind: System, Tokens: 200})
	return s
}

// tinyDiff returns diffs of ten tokens between any two revisions. The hash names both.
func tinyDiff(key, from, to string) (string, int, bool) {
	return fmt.Sprintf("%s: %s>%s", key, from, to), 10, true
}

// put adds an item or replaces the one with the same key. It derives the hash from the other fields.
func (s *scene) put(it Item) {
	if it.Hash == "" {
		it.Hash = hash(it.Key + "@" + it.Rev)
	}
	for i := range s.items {
		if s.items[i].Key == it.Key {
			s.items[i] = it
			return
		}
	}
	s.items = append(s.items, it)
}

func hash(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// file adds a full file and removes its outline.
func (s *scene) file(path, rev string, tokens int) {
	s.drop("outline:" + path)
	s.put(Item{Key: "file:" + path, Kind: File, Rev: rev, Tokens: tokens})
}

// outline replaces a file with its outline.
func (s *scene) outline(path, rev string, tokens int) {
	s.drop("file:" + path)
	s.put(Item{Key: "outline:" + path, Kind: Outline, Hash: hash("outline " + path + rev), Tokens: tokens})
}

func (s *scene) note(name string, tokens int) {
	s.put(Item{Key: "note:" + name, Kind: Note, Tokens: tokens})
}

func (s *scene) drop(key string) {
	for i := range s.items {
		if s.items[i].Key == key {
			s.items = append(s.items[:i:i], s.items[i+1:]...)
			return
		}
	}
}

func (s *scene) user(tokens int) { s.say(Item{Tokens: tokens, User: true}) }

func (s *scene) reply(tokens int) { s.say(Item{Tokens: tokens}) }

// calls adds a reply with calls and their results.
func (s *scene) calls(tokens int) { s.say(Item{Tokens: tokens, Open: true, Blocks: 2}) }

// step sends the request after the results of calls, and adds a reply with calls.
func (s *scene) step() *Plan {
	s.t.Helper()
	p := s.send()
	s.calls(30)
	return p
}

func (s *scene) say(it Item) {
	s.said++
	it.Kind, it.Key = Message, fmt.Sprintf("msg:%d", s.said)
	it.Hash = hash(it.Key)
	s.stream = append(s.stream, it)
}

// compact replaces all but the newest keep messages with a summary.
func (s *scene) compact(keep int) {
	s.said++
	key := fmt.Sprintf("summary:%d", s.said)
	kept := s.stream[len(s.stream)-keep:]
	s.stream = append([]Item{{Key: key, Kind: Summary, Hash: hash(key), Tokens: 50}}, kept...)
}

// request returns the next request.
func (s *scene) request() Request {
	req := s.req
	req.Now = s.now
	req.Items = append(append([]Item(nil), s.items...), s.stream...)
	return req
}

func (s *scene) plan() *Plan {
	s.t.Helper()
	p, err := s.tracker.Plan(s.request())
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// send plans the request, sends it to the fake provider and commits it.
func (s *scene) send() *Plan {
	s.t.Helper()
	p := s.plan()
	s.mirror.Answered(p, s.cache.serve(p, s.now))
	if err := s.tracker.Commit(p); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// turn adds a prompt, sends the request and adds a reply, a minute after the last turn.
func (s *scene) turn() *Plan {
	s.t.Helper()
	s.now = s.now.Add(time.Minute)
	s.user(10)
	p := s.send()
	s.reply(20)
	return p
}

// restart stores the session and restores it with an empty mirror, as a new process does.
func (s *scene) restart() {
	s.t.Helper()
	bytes := s.state()
	s.mirror = NewMirror()
	s.req.Cache.Mirror = s.mirror
	s.restore(bytes)
}

func (s *scene) state() Stored {
	s.t.Helper()
	stored, err := s.tracker.State(s.mirror)
	if err != nil {
		s.t.Fatal(err)
	}
	return stored
}

// String returns a stored form as text.
func (s Stored) String() string {
	return string(s.Head) + "\n" + string(bytes.Join(s.Rows, []byte("\n")))
}

func (s *scene) restore(stored Stored) {
	s.t.Helper()
	var err error
	if s.tracker, err = Restore(s.opt, stored, s.mirror); err != nil {
		s.t.Fatal(err)
	}
}

// show renders a layout: one word for each entry, "|" at block ends, "^" at marks, "†" on unused entries.
func show(entries []Entry) string {
	var out []string
	for i := range entries {
		e := &entries[i]
		word := e.Key
		if e.Kind == Diff {
			word += "+" + e.Rev
		} else if e.Kind == Base {
			word += "=" + e.Rev
		}
		if e.Dead {
			word += "†"
		}
		if e.BlockEnd {
			word += "|"
		}
		if e.Mark {
			word += "^"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func (s *scene) wantLayout(p *Plan, want string) {
	s.t.Helper()
	if got := show(p.Entries); got != want {
		s.t.Errorf("layout\n got %s\nwant %s", got, want)
	}
}

// find returns the entries of a key.
func find(p *Plan, key string) []Entry {
	var out []Entry
	for _, e := range p.Entries {
		if e.Key == key {
			out = append(out, e)
		}
	}
	return out
}

// fakeCache is a prompt cache that follows Anthropic's billing rules. It shares no code with the mirror.
type fakeCache struct {
	minimum int
	until   map[string]time.Time
	life    map[string]time.Duration
}

func newFakeCache(minimum int) *fakeCache {
	return &fakeCache{minimum, map[string]time.Time{}, map[string]time.Duration{}}
}

// serve processes a request and returns the usage that the provider would report.
func (c *fakeCache) serve(p *Plan, now time.Time) Usage {
	type place struct {
		name          string
		tokens, block int
		mark          bool
	}
	var places []place
	text, tokens, block := "", 0, 0
	for _, e := range p.Entries {
		text = hash(text + strings.Repeat(":", int(e.Before)) + e.Blob)
		tokens += e.Tokens
		if e.Before != NotSeparated { // a reply before the entry
			block++
		}
		if e.BlockEnd {
			text = hash(text + "end of block")
			block += e.Blocks
			places = append(places, place{text, tokens, block, e.Mark})
		}
	}
	alive := func(i int) bool {
		until, ok := c.until[places[i].name]
		return ok && !now.After(until)
	}
	use := func(i int) {
		life := 5 * time.Minute
		if p.Long {
			life = time.Hour
		}
		if alive(i) {
			life = c.life[places[i].name]
		}
		c.until[places[i].name], c.life[places[i].name] = now.Add(life), life
	}
	hit, last := -1, -1
	for m := range places {
		if !places[m].mark || places[m].tokens < c.minimum {
			continue
		}
		last = m
		for i := m; i >= 0 && places[m].block-places[i].block < 20; i-- {
			if i > hit && alive(i) {
				hit = i
			}
		}
	}
	u := Usage{Input: tokens}
	if hit >= 0 {
		u.Read = places[hit].tokens
		use(hit)
	}
	if last > hit {
		u.Write = places[last].tokens - u.Read
	}
	for i := range places {
		if places[i].mark && places[i].tokens >= c.minimum {
			use(i)
		}
	}
	return u
}
