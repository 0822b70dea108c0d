package stability

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seed  = flag.Uint64("seed", 1, "seed of the first random session")
	walks = flag.Int("walks", 200/less, "number of random sessions")
)

// TestRandomSessions walks through random sessions and checks the invariants at every request.
func TestRandomSessions(t *testing.T) {
	told := 0
	for i := range *walks {
		n := *seed + uint64(i)
		opt := Options{Layout: []string{LayoutLog, LayoutRipple}[i%2], Target: 150 * (i / 2 % 3)}
		opt.Strict = i%8 == 6
		opt.Lifetime = []string{LifetimeAuto, Lifetime5m, Lifetime1h}[i/2%3]
		if !t.Run(fmt.Sprintf("seed=%d", n), func(t *testing.T) { told += walk(t, opt, n) }) {
			t.Fatalf("repeat with -args -walks=%d -seed=%d", i+1, *seed)
		}
	}
	if *walks >= 20 && told == 0 {
		t.Error("no message told the present text of a file")
	}
}

// walker makes random changes to a session.
type walker struct {
	*scene
	r     *rand.Rand
	revs  int
	last  *Plan
	shown map[string]string // items of the last request, without the conversation

	restarted bool            // the cache may contain prefixes unknown to the mirror
	versioned map[string]bool // revisions of which messages can tell
	toldFiles int             // requests in which messages alone told the present text of a file
}

// walk returns how often messages alone told the present text of a file.
func walk(t *testing.T, opt Options, seed uint64) (told int) {
	w := &walker{versioned: map[string]bool{}, scene: newScene(t, opt), r: rand.New(rand.NewPCG(seed, 1))}
	w.req.Cache.Automatic = w.r.IntN(6) == 0
	if w.r.IntN(2) == 0 {
		w.put(Item{Key: "tools", Kind: Tools, Tokens: 100})
	}
	w.req.Window = []int{0, 0, 4000}[w.r.IntN(3)]
	w.req.Diff = func(key, from, to string) (string, int, bool) {
		sum := len(from)*7 + len(to)*3 + int(to[len(to)-1])
		return fmt.Sprintf("%s: %s>%s", key, from, to), sum % 90, sum%11 != 0
	}
	indexed := w.r.IntN(2) * w.r.IntN(9) // the request from which the workspace has outlines
	w.req.Clusters = [][]string{{"outline:1", "outline:2"}, {"outline:5", "outline:9", "outline:2"}}
	for i := range 15 {
		if i == indexed {
			w.index()
		}
		for range w.r.IntN(4) {
			w.act()
		}
		w.now = w.now.Add(time.Duration(w.r.ExpFloat64() * float64(3*time.Minute)))
		w.user(w.r.IntN(60))
		w.request()
		w.check()
		if w.r.IntN(10) == 0 {
			continue // the request failed
		}
		switch w.r.IntN(8) {
		case 0:
			w.restart()
			w.restarted = true
		case 1:
			w.restore(w.state())
		}
		w.sent()
		w.steps(w.r.IntN(3) * w.r.IntN(5))
		if w.r.IntN(8) > 0 { // otherwise the turn was cancelled
			w.say(Item{Tokens: w.r.IntN(200), Blocks: w.r.IntN(30), Unmarkable: w.r.IntN(5) == 0})
		}
	}
	return w.toldFiles
}

// steps adds n replies with calls and their results, each followed by its request. Some requests fail and are repeated.
func (w *walker) steps(n int) {
	w.t.Helper()
	for range n {
		w.say(Item{Tokens: w.r.IntN(400), Blocks: 2 + w.r.IntN(30), Open: true})
		for range w.r.IntN(3) {
			w.change()
		}
		for fails := true; fails; fails = w.r.IntN(10) == 0 {
			for range w.r.IntN(4) / 2 {
				w.act()
			}
			w.now = w.now.Add(time.Duration(w.r.ExpFloat64() * float64(20*time.Second)))
			w.request()
			w.check()
		}
		if w.r.IntN(12) == 0 {
			w.restart()
			w.restarted = true
		}
		w.sent()
	}
}

// sent sends the request, and keeps it to compare the next one with it.
func (w *walker) sent() {
	w.t.Helper()
	w.last, w.shown = w.send(), map[string]string{}
	for _, it := range w.items {
		w.shown[it.Key] = it.Hash + it.Rev
	}
}

// index adds the outlines of the files that are not in full context.
func (w *walker) index() {
	for i := range 12 {
		path := fmt.Sprint(i)
		if !slices.ContainsFunc(w.items, func(it Item) bool { return it.Key == "file:"+path }) {
			w.outline(path, "0", 20+i)
		}
	}
}

// change changes a file by the newest message. Some changes are those of a file that somebody else has changed before, or not
// completely in the message. Some files are changed again before the next request, maybe back, or by somebody else.
func (w *walker) change() {
	var files []Item
	for _, it := range w.items {
		if it.Version != "" {
			files = append(files, it)
		}
	}
	if len(files) == 0 {
		return
	}
	it := files[w.r.IntN(len(files))]
	m := &w.stream[len(w.stream)-1]
	for range 1 + w.r.IntN(2) {
		from := it.Version
		switch w.r.IntN(12) {
		case 0:
			from = w.rev()
		case 1:
			from = strings.TrimRight(it.Rev, "~") + "r" // of no version
		}
		to := w.rev()
		m.Moves = append(m.Moves, Move{it.Key, from, to})
		if w.r.IntN(4) == 0 { // one that is undone by the model
			m.Moves = append(m.Moves, Move{it.Key, to, from})
			to = from
		}
		if w.r.IntN(12) == 0 {
			m.Moves[len(m.Moves)-1].To = ""
		}
		it.Version = to
	}
	rev := it.Version
	switch w.r.IntN(8) {
	case 0:
		rev = strings.TrimRight(it.Rev, "~") // somebody puts it back
	case 1:
		rev = w.rev() // or changes it
	case 2:
		rev += "~" // or its line ends
	}
	w.text(strings.TrimPrefix(it.Key, "file:"), rev, max(it.Tokens+w.r.IntN(20)-10, 1))
}

// text sets the text of a file that messages can tell of. Revisions that differ in their line ends only have one version.
func (w *walker) text(path, rev string, tokens int) {
	w.drop("outline:" + path)
	w.put(Item{Key: "file:" + path, Kind: File, Rev: rev, Version: strings.TrimRight(rev, "~"), Tokens: tokens})
	w.versioned[rev] = true
}

func (w *walker) rev() string {
	w.revs++
	return fmt.Sprintf("r%d", w.revs)
}

func (w *walker) act() {
	path := fmt.Sprint(w.r.IntN(14))
	tokens := 20 + w.r.IntN(300)
	switch w.r.IntN(16) {
	case 0:
		w.file(path, w.rev(), tokens)
	case 1, 2:
		w.text(path, w.rev(), 10*tokens)
	case 3:
		w.outline(path, w.rev(), tokens/5)
	case 4, 5, 6, 7: // edit a full file
		for _, it := range w.items {
			if path := strings.TrimPrefix(it.Key, "file:"); it.Kind == File && w.r.IntN(3) == 0 {
				if it.Version == "" {
					w.file(path, w.rev(), tokens)
				} else {
					w.text(path, w.rev(), 10*tokens)
				}
				break
			}
		}
	case 8:
		rev := w.rev()
		for _, it := range w.items {
			if it.Key == "file:"+path && w.r.IntN(2) == 0 {
				rev = it.Rev
			}
		}
		w.put(Item{Key: "file:" + path, Kind: File, Hash: hash("part of " + path + rev), Rev: rev, Tokens: tokens, Partial: true})
		w.drop("outline:" + path)
	case 9:
		w.drop("file:" + path)
		w.drop("outline:" + path)
	case 10:
		w.put(Item{Key: "doc:" + path, Kind: Document, Hash: hash(w.rev()), Tokens: tokens / 3})
	case 11:
		w.drop("doc:" + path)
	case 12:
		w.note(w.rev(), 8)
	case 13: // compaction
		if len(w.stream) > 4 {
			w.compact(w.r.IntN(4))
		}
	case 14: // a copy in an old message becomes a notice, or the view is restored
		if len(w.stream) > 2 {
			i := w.r.IntN(len(w.stream))
			w.stream = slices.Clone(w.stream)
			w.stream[i].Hash, w.stream[i].Tokens = hash(w.rev()), 5
			moves := slices.Clone(w.stream[i].Moves)
			for j := range moves {
				moves[j].To = ""
			}
			w.stream[i].Moves = moves
			if w.r.IntN(3) == 0 {
				w.stream = w.stream[:i]
			}
		}
	case 15:
		if w.r.IntN(6) == 0 {
			w.put(Item{Key: "system", Kind: System, Hash: hash(w.rev()), Tokens: 200 + tokens})
		}
	}
}

// check plans the request, from the state and from its stored form, and checks the invariants.
func (w *walker) check() {
	w.t.Helper()
	p := w.plan()
	again := *w.scene
	again.restart()
	if a, b := describe(p), describe(again.plan()); a != b {
		w.t.Fatalf("a restart changes the request:\n%s\n%s", a, b)
	}
	w.checkContent(p)
	w.checkMarks(p)
	if w.last != nil && w.opt.Layout == LayoutLog {
		w.checkKept(p)
	}
	if n := len(w.stream); w.last != nil && n > 0 && w.stream[n-1].Open {
		w.checkInside(p)
	}
	if w.req.Cache.Automatic {
		return
	}
	dry := *w.cache
	dry.until, dry.life = map[string]time.Time{}, map[string]time.Duration{}
	for k := range w.cache.until {
		dry.until[k], dry.life[k] = w.cache.until[k], w.cache.life[k]
	}
	if u := dry.serve(p, w.now); u.Read < p.Expect || u.Read > p.Expect && !w.restarted {
		w.t.Fatalf("read %d tokens from the cache, expected %d: %s", u.Read, p.Expect, show(p.Entries))
	}
}

// describe renders a plan, except for the expected read.
func describe(p *Plan) string {
	views := p.Breakdown()
	for i := range views {
		views[i].Cached = 0 // depends on the mirror's records of other sessions and of former layouts
	}
	return fmt.Sprintf("%s\nkept %d of %d, dead %d, cut %q, long %t, %v, %v",
		show(p.Entries), p.Kept, p.Tokens, p.Dead, p.Cut, p.Long, p.Changes(), views)
}

// checkContent compares the used entries to the items: each is shown once, in its current form, and messages in order.
func (w *walker) checkContent(p *Plan) {
	w.t.Helper()
	revs := w.read(p)
	live := map[string][]string{}
	var stream, want []string
	tokens := 0
	for _, e := range p.Entries {
		tokens += e.Tokens
		switch {
		case e.Dead, e.Kind == Diff:
		case e.Kind.inConversation():
			stream = append(stream, e.Key+e.Blob)
		default:
			live[e.Key] = append(live[e.Key], e.Blob)
		}
	}
	for _, it := range w.items {
		switch shown := live[it.Key]; {
		case len(shown) != 1:
			w.t.Fatalf("%s is shown %d times: %s", it.Key, len(shown), show(p.Entries))
		case it.Kind == File && !it.Partial && revs[it.Key] != it.Rev && (it.Version == "" || revs[it.Key] != it.Version):
			w.t.Fatalf("%s is shown at revision %s, want %s: %s", it.Key, revs[it.Key], it.Rev, show(p.Entries))
		case (it.Kind != File || it.Partial) && shown[0] != it.Hash:
			w.t.Fatalf("%s is not shown in its current form", it.Key)
		}
		delete(live, it.Key)
	}
	if len(live) > 0 {
		w.t.Fatalf("not needed, but not marked as unused: %v", live)
	}
	for _, it := range w.stream {
		want = append(want, it.Key+it.Hash)
	}
	if !slices.Equal(stream, want) {
		w.t.Fatalf("messages %v, want %v", stream, want)
	}
	for _, v := range p.Breakdown() {
		tokens -= v.Tokens
	}
	if tokens != 0 {
		w.t.Fatalf("the breakdown misses %d tokens", tokens)
	}
}

// read returns the revision of each file that a reader knows who reads a request in order, or the version if a message told it.
// A reader is lost, with the revision "?", after a change of a version that is another one than the known. Revisions of files
// of which messages cannot tell are taken from their entries only, as if no message changed them.
func (w *walker) read(p *Plan) map[string]string {
	w.t.Helper()
	moves := map[string][]Move{}
	for _, it := range w.stream {
		moves[it.Key] = it.Moves
	}
	revs, byMessage := map[string]string{}, map[string]bool{}
	for _, e := range p.Entries {
		switch {
		case e.Kind == Base:
			revs[e.Key], byMessage[e.Key] = e.Rev, false
		case e.Kind == Diff:
			if from, to, ok := strings.Cut(strings.TrimPrefix(e.Blob, e.Key+": "), ">"); !ok || to != e.Rev ||
				from != revs[e.Key] && !(byMessage[e.Key] && strings.TrimRight(from, "~") == revs[e.Key]) {
				w.t.Fatalf("diff %s, but the revision is %s", e.Blob, revs[e.Key])
			}
			revs[e.Key], byMessage[e.Key] = e.Rev, false
		}
		if w.opt.Layout == LayoutRipple {
			continue // a file stands before all messages, with its present text
		}
		for _, m := range moves[e.Key] {
			known := revs[m.Key]
			switch {
			case known == "" || !w.versioned[known]:
			case strings.TrimRight(known, "~") == m.From && m.To != "":
				revs[m.Key], byMessage[m.Key] = m.To, true
				w.versioned[m.To] = true
			default:
				revs[m.Key] = "?"
				w.versioned["?"] = true
			}
		}
	}
	for _, it := range w.items {
		if byMessage[it.Key] && it.Version == revs[it.Key] {
			w.toldFiles++
		}
	}
	return revs
}

func (w *walker) checkMarks(p *Plan) {
	w.t.Helper()
	marks, tokens := 0, 0
	for _, e := range p.Entries {
		tokens += e.Tokens
		if !e.Mark {
			continue
		}
		marks++
		if !e.BlockEnd || e.Tokens == 0 || e.unmarkable || tokens < testMinimum*11/10 || w.req.Cache.Automatic {
			w.t.Fatalf("forbidden mark on %s, at %d tokens", e.Key, tokens)
		}
	}
	if marks > 4 {
		w.t.Fatalf("%d marks", marks)
	}
	if n := len(p.Entries); n > 0 && !p.Entries[n-1].BlockEnd {
		w.t.Fatal("the last block is open")
	}
}

// checkInside verifies that inside a turn an item that has not changed keeps its N and its tier.
func (w *walker) checkInside(p *Plan) {
	w.t.Helper()
	before := labelsOf(w.last)
	now := labelsOf(p)
	for _, it := range w.items {
		if was, is := before[it.Key], now[it.Key]; w.shown[it.Key] == it.Hash+it.Rev && was != is {
			w.t.Fatalf("%s moves inside a turn: %s, then %s", it.Key, was, is)
		}
	}
}

// labelsOf returns N and tier of each item that is used.
func labelsOf(p *Plan) map[string]string {
	all := make(map[string]string)
	for _, e := range p.Entries {
		if !e.Dead {
			all[e.Key] = fmt.Sprintf("N %d in %s", e.N, e.Tier)
		}
	}
	return all
}

// checkKept verifies that the kept entries are byte for byte those sent before.
func (w *walker) checkKept(p *Plan) {
	w.t.Helper()
	for i := range p.Kept {
		if a, b := &w.last.Entries[i], &p.Entries[i]; a.Blob != b.Blob || a.BlockEnd != b.BlockEnd && !w.req.Cache.Automatic {
			w.t.Fatalf("entry %d was %s, is now %s", i, a.Key, b.Key)
		}
	}
}
