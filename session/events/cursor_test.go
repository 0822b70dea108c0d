package events

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
)

// stage is a stream whose session is simulated by the test.
type stage struct {
	*Stream
	t        *testing.T
	jobs     chan func()
	ended    chan struct{}
	messages map[int64]history.Message
	heads    []history.Head
	running  *Running
	ids      int
	pages    []int // lengths of the pages read
}

// newStage returns a stream whose log keeps the given number of events.
func newStage(t *testing.T, events int) *stage {
	st := &stage{t: t, jobs: make(chan func(), 10), ended: make(chan struct{}), messages: map[int64]history.Message{}}
	st.Stream = New("sess_1", "epoch", st, func(ctx context.Context) (now Standing, err error) {
		answers := make(chan Standing, 1)
		st.jobs <- func() { answers <- st.now() }
		select {
		case now := <-answers:
			return now, nil
		case <-ctx.Done():
			return Standing{}, ctx.Err()
		}
	})
	st.log = newEventLog(events, 1<<20)
	go func() {
		defer close(st.ended)
		for job := range st.jobs {
			job()
		}
	}()
	return st
}

func (st *stage) now() Standing {
	now := Standing{Seq: st.End(), Heads: st.heads[:len(st.heads):len(st.heads)]}
	if st.running != nil {
		running := *st.running
		now.Running = &running
	}
	return now
}

// Messages implements Messages. The test changes them only while no cursor reads, and reads one cursor at a time.
func (st *stage) Messages(_ context.Context, _ string, seqs []int64) ([]history.Message, error) {
	st.pages = append(st.pages, len(seqs))
	messages := make([]history.Message, len(seqs))
	for i, seq := range seqs {
		messages[i] = st.messages[seq]
	}
	return messages, nil
}

func (st *stage) onMailbox(do func()) {
	ran := make(chan struct{})
	st.jobs <- func() {
		defer close(ran)
		do()
	}
	<-ran
}

func (st *stage) end() {
	close(st.jobs)
	<-st.ended
}

func (st *stage) id(prefix string) string {
	st.ids++
	return fmt.Sprint(prefix, st.ids)
}

func text(words string) history.Block { return history.Block{Type: history.BlockText, Text: words} }

// user stores a message of the user and emits it.
func (st *stage) user(words string, author *Cursor) {
	st.onMailbox(func() {
		m := history.Message{ID: st.id("msg_"), Role: history.RoleUser}
		for _, w := range strings.SplitAfter(words, " ") {
			m.Blocks = append(m.Blocks, text(w))
		}
		m.Seq = st.put(m)
		st.EmitMessage(&m, author)
	})
}

func (st *stage) put(m history.Message) int64 {
	m.Seq = int64(len(st.heads) + 1)
	st.messages[m.Seq] = m
	st.heads = append(st.heads, history.Head{ID: m.ID, Seq: m.Seq, Bytes: 100})
	return m.Seq
}

// begin starts a reply.
func (st *stage) begin() {
	st.onMailbox(func() {
		st.running = &Running{Turn: st.id("turn_"), Message: st.id("msg_")}
		st.Emit(Event{Kind: TurnStarted, Turn: st.running.Turn})
	})
}

// delta adds to the reply.
func (st *stage) delta(kind Kind, words string) {
	st.onMailbox(func() {
		st.EmitDelta(kind, st.running, words)
		if kind == Text {
			st.running.Text += words
		} else {
			st.running.Thought += words
		}
	})
}

// call announces a call in the reply.
func (st *stage) call(id string) {
	st.onMailbox(func() {
		block := &history.Block{Type: history.BlockToolCall, CallID: id}
		st.EmitCall(st.running, block)
		st.running.Calls = append(st.running.Calls, block)
	})
}

// finishAnswer stores the reply.
func (st *stage) finishAnswer() {
	st.onMailbox(func() {
		r := st.running
		st.running = nil
		var blocks []history.Block
		if r.Thought != "" {
			blocks = append(blocks, history.Block{Type: history.BlockThinking, Text: r.Thought})
		}
		if r.Text != "" {
			blocks = append(blocks, text(r.Text))
		}
		if len(blocks) > 0 {
			st.put(history.Message{ID: r.Message, Turn: r.Turn, Role: history.RoleAssistant, Blocks: blocks})
		}
		st.Emit(Event{Kind: Saved, Settled: int64(len(st.heads))})
		st.Emit(Event{Kind: Usage})
		st.Emit(Event{Kind: TurnFinished, Settled: int64(len(st.heads))})
	})
}

// client is a subscriber with the text that it has received, by message and kind.
type client struct {
	st    *stage
	c     *Cursor
	shown map[string]string
	last  uint64 // newest event
	count bool   // counted, because the client is attached
}

func (st *stage) client() *client {
	return &client{st: st, c: st.NewCursor(func() {}), shown: map[string]string{}}
}

// next reads one event and reports whether there was one.
func (cl *client) next() bool {
	e, ok, err := cl.c.Next(cl.st.t.Context())
	if err != nil {
		cl.st.t.Fatal(err)
	}
	if ok {
		cl.take(&e)
	}
	return ok
}

func (cl *client) take(e *Event) {
	cl.show(e.Message, e)
	if e.Seq == 0 {
		return
	}
	if cl.count && e.First != cl.last+1 {
		cl.st.t.Fatalf("%s %d to %d follows %d", e.Kind, e.First, e.Seq, cl.last)
	}
	cl.last = e.Seq
}

func (cl *client) show(message string, e *Event) {
	switch {
	case e.Block != nil:
		cl.shown[message+" block"] += e.Block.Text
	case e.Kind.delta():
		cl.shown[message+" "+string(e.Kind)] += e.Text
	}
}

func (cl *client) drain() {
	for cl.next() {
	}
}

// stored returns the text that a client must have received: everything except its own message.
func (st *stage) stored() map[string]string {
	shown := &client{st: st, shown: map[string]string{}}
	st.onMailbox(func() {
		for _, h := range st.heads {
			m := st.messages[h.Seq]
			for _, e := range appendEvents(nil, &m) {
				shown.show(m.ID, &e)
			}
		}
		if st.running != nil {
			for _, e := range st.running.events() {
				shown.show(e.Message, &e)
			}
		}
	})
	return shown.shown
}

// reattach continues with a new cursor, like a client that reconnects: from the log, or after a snapshot.
func (cl *client) reattach() {
	cl.c = cl.st.NewCursor(func() {})
	cl.count = true
	since := Since{Epoch: "epoch", After: cl.last}
	cl.st.onMailbox(func() {
		if cl.st.Reaches(since) {
			cl.st.Continue(cl.c, since, func() {})
			return
		}
		now := cl.st.now()
		shown := &Running{}
		cl.last, cl.shown = now.Seq, map[string]string{}
		for _, h := range now.Heads {
			m := cl.st.messages[h.Seq]
			for _, e := range appendEvents(nil, &m) {
				cl.show(m.ID, &e)
			}
		}
		if now.Running != nil {
			shown = now.Running
			for _, e := range shown.events() {
				cl.show(e.Message, &e)
			}
		}
		hold := cl.st.Hold(cl.c, now, shown)
		if _, ok, err := cl.c.Next(cl.st.t.Context()); ok || err != nil {
			cl.st.t.Errorf("before the snapshot: %v, %v", ok, err)
		}
		hold.Place()
	})
}

// A subscriber that falls behind the log at any point of a reply receives exactly the missed text.
func TestResyncSendsExactlyWhatIsMissing(t *testing.T) {
	words := []string{"añ", "b", "漢字", "", "c😀", "d", "ee"}
	for seen := range len(words) + 1 {
		for _, settled := range []bool{false, true} {
			for _, attached := range []bool{false, true} {
				st := newStage(t, 3)
				cl := st.client()
				st.onMailbox(func() { st.Subscribe(cl.c, st.now(), nil) })
				if attached {
					cl.reattach()
				}
				st.begin()
				for i, w := range words {
					kind := Text
					if i%3 == 1 {
						kind = Thought
					}
					st.delta(kind, w)
					if i < seen {
						cl.drain()
					}
				}
				if settled {
					st.finishAnswer()
					st.user("more", nil)
				}
				cl.drain()
				if diff := cmp.Diff(st.stored(), cl.shown); diff != "" {
					t.Errorf("%d seen, settled %v, attached %v: %s", seen, settled, attached, diff)
				}
				st.end()
			}
		}
	}
}

var (
	walkSeed = flag.Uint64("seed", 0, "seed of the first random schedule")
	walks    = flag.Int("walks", 400, "how many random schedules")
)

// After any order of events, each subscriber has received all stored text exactly once.
func TestSubscribersEndWithTheTranscript(t *testing.T) {
	for seed := *walkSeed; seed < *walkSeed+uint64(*walks); seed++ {
		playSchedule(t, rand.New(rand.NewPCG(seed, 3)), seed)
	}
}

func playSchedule(t *testing.T, r *rand.Rand, seed uint64) {
	st := newStage(t, 1+r.IntN(12))
	defer st.end()
	clients := make([]*client, 3)
	for i := range clients {
		clients[i] = st.client()
		st.onMailbox(func() { st.Subscribe(clients[i].c, st.now(), nil) })
	}
	clients[1].reattach()
	own := map[string]bool{}
	for range 20 + r.IntN(100) {
		cl := clients[r.IntN(len(clients))]
		running := st.running != nil // only onMailbox changes it, and it has returned
		switch n := r.IntN(10); {
		case n < 4 && running:
			st.delta([]Kind{Text, Thought}[r.IntN(2)], []string{"x", "üü", "漢", "long words"}[r.IntN(4)])
		case n == 4 && running:
			st.finishAnswer()
		case n < 3:
			st.user(fmt.Sprint("words ", r.IntN(100)), nil)
			if r.IntN(2) == 0 {
				st.begin()
			}
		case n == 5:
			st.onMailbox(func() { st.Emit(Event{Kind: Notice, Text: "notice"}) })
		case n == 6 && cl != clients[2]:
			cl.reattach()
		case n == 7 && cl == clients[2] && !running:
			st.user("my words", cl.c)
			own[st.lastMessage()] = true
		case n == 8:
			cl.drain()
		default:
			cl.next()
		}
	}
	want := st.stored()
	for i, cl := range clients {
		cl.drain()
		mine := maps.Clone(want)
		if i == 2 {
			for id := range own {
				delete(mine, id+" block")
			}
		}
		if diff := cmp.Diff(mine, cl.shown); diff != "" {
			t.Fatalf("seed %d, client %d: %s", seed, i, diff)
		}
	}
}

func (st *stage) lastMessage() (id string) {
	st.onMailbox(func() { id = st.heads[len(st.heads)-1].ID })
	return id
}

func TestReplaySendsTheWholeTranscriptOnce(t *testing.T) {
	st := newStage(t, 2)
	defer st.end()
	for i := range 5 {
		st.user(fmt.Sprint("words ", i), nil)
		st.begin()
		st.delta(Thought, "hm")
		st.delta(Text, strings.Repeat("ä", maxChunk))
		st.finishAnswer()
	}
	st.begin()
	st.delta(Text, "running")
	cl := st.client()
	st.onMailbox(func() { st.Replay(cl.c, st.now(), nil, nil) })
	st.delta(Text, " on")
	cl.drain()
	if diff := cmp.Diff(st.stored(), cl.shown); diff != "" {
		t.Error(diff)
	}
}

// A snapshot can contain only the start of a running reply; the rest follows.
func TestARunningReplyGoesOnAfterASnapshot(t *testing.T) {
	st := newStage(t, 100)
	defer st.end()
	st.begin()
	st.delta(Thought, "hm, yes")
	st.delta(Text, "añ and more")
	st.call("tc_1")
	c := st.NewCursor(func() {})
	var shown *Running
	st.onMailbox(func() {
		now := st.now()
		shown = now.Running.Shortened(2)
		st.Hold(c, now, shown).Place()
	})
	if shown.Thought != "hm" || shown.Text != "a" {
		t.Errorf("%+v", shown)
	}
	st.delta(Text, "!")
	st.call("tc_2")
	var got []string
	for {
		e, ok, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if e.Kind == Block {
			e.Text = " " + e.Block.CallID
		}
		got = append(got, string(e.Kind)+e.Text)
	}
	if diff := cmp.Diff([]string{"thought, yes", "textñ and more", "block tc_1", "text!", "block tc_2"}, got); diff != "" {
		t.Error(diff)
	}
}

// A snapshot that cannot be sent changes nothing, unless another was requested meanwhile.
func TestAHoldThatIsAbandoned(t *testing.T) {
	st := newStage(t, 100)
	defer st.end()
	fresh, old := st.NewCursor(func() {}), st.NewCursor(func() {})
	replied := false
	st.onMailbox(func() {
		st.Subscribe(old, st.now(), nil)
		first, second := st.Hold(fresh, st.now(), nil), st.Hold(old, st.now(), nil)
		old.WhenPositioned(func() { replied = true })
		if replied || !st.Attached() || st.Subscribers() != 2 {
			t.Errorf("replied %v, %d subscribers", replied, st.Subscribers())
		}
		first.Abandon()
		second.Abandon()
	})
	if !replied || st.Attached() || st.Subscribers() != 1 {
		t.Errorf("replied %v, %d subscribers", replied, st.Subscribers())
	}
	st.user("words", nil)
	if e, ok, err := old.Next(t.Context()); !ok || err != nil || e.Kind != Block {
		t.Errorf("%+v, %v, %v", e, ok, err)
	}
	st.onMailbox(func() {
		late := st.Hold(old, st.now(), nil)
		st.Continue(old, Since{Epoch: "epoch", After: st.End()}, func() {})
		late.Abandon()
	})
	if !st.Attached() {
		t.Error("the later request was dropped")
	}
}

func TestMergedDeltasNeverCrossAnotherEvent(t *testing.T) {
	st := newStage(t, 100)
	defer st.end()
	cl := st.client()
	cl.reattach()
	st.begin()
	st.delta(Text, "a")
	st.delta(Text, "b")
	st.onMailbox(func() { st.Emit(Event{Kind: Saved}) })
	st.delta(Text, "c")
	st.delta(Thought, "d")
	st.delta(Text, "e")
	var got []string
	for {
		e, ok, err := cl.c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, fmt.Sprintf("%s%s %d-%d", e.Kind, e.Text, e.First, e.Seq))
	}
	want := []string{"turn_started 1-1", "textab 2-3", "saved 4-4", "textc 5-5", "thoughtd 6-6", "texte 7-7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNextTellsHowFarAllWasDelivered(t *testing.T) {
	st := newStage(t, 100)
	defer st.end()
	c := st.NewCursor(func() {})
	if e, ok, err := c.Next(t.Context()); ok || err != nil || e.Seq != 0 {
		t.Errorf("without a position: %+v %v %v", e, ok, err)
	}
	st.onMailbox(func() { st.Subscribe(c, st.now(), nil) })
	st.onMailbox(func() {
		st.Emit(Event{Kind: Saved}) // not for this subscriber
		st.Emit(Event{Kind: Saved})
	})
	if e, ok, err := c.Next(t.Context()); ok || err != nil || e.Seq != 2 {
		t.Errorf("after events for others: %+v %v %v", e, ok, err)
	}
	st.onMailbox(st.Close)
	if _, ok, err := c.Next(t.Context()); ok || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v %v", ok, err)
	}
}

func TestResyncEndsWithItsContext(t *testing.T) {
	st := newStage(t, 1)
	defer st.end()
	c := st.NewCursor(func() {})
	st.onMailbox(func() { st.Subscribe(c, st.now(), nil) })
	st.user("one", nil)
	st.user("two", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	held := make(chan struct{})
	st.jobs <- func() { <-held }
	if _, _, err := c.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(held)
	cl := &client{st: st, c: c, shown: map[string]string{}}
	cl.drain()
	if diff := cmp.Diff(st.stored(), cl.shown); diff != "" {
		t.Errorf("afterwards: %s", diff)
	}
}

func TestTrimTakesWhatWasSent(t *testing.T) {
	b := backlog{own: map[string]bool{"mine": true}, skip: progress{message: "m", sent: sent{text: 3, thought: 1, blocks: 1}}}
	for _, c := range []struct {
		e    Event
		want string
		kept bool
	}{
		{textEvent("other", "all"), "all", true},
		{textEvent("m", "ab"), "", false},
		{Event{Kind: Thought, Message: "m", Text: "xy"}, "y", true},
		{textEvent("m", "cd"), "d", true},
		{textEvent("m", "ef"), "ef", true},
		{Event{Kind: Block, Message: "mine", Block: &history.Block{}}, "", false},
		{Event{Kind: Block, Message: "m", Block: &history.Block{}}, "", false},
		{Event{Kind: Block, Message: "m", Block: &history.Block{}}, "", true},
		{Event{Kind: Notice, Message: "m", Text: "n"}, "n", true},
	} {
		if kept := b.trim(&c.e); kept != c.kept || c.e.Text != c.want {
			t.Errorf("%q remains of %s, kept %v", c.e.Text, c.e.Message, kept)
		}
	}
}

func TestOwnMessagesAreRememberedWithinABound(t *testing.T) {
	c := &Cursor{}
	for i := range 2 * maxOwn {
		c.claim(fmt.Sprint(i))
	}
	if own := c.claimed(); len(own) != maxOwn || !own[fmt.Sprint(2*maxOwn-1)] || own["0"] {
		t.Errorf("%d are remembered", len(own))
	}
}

func TestLongBlocksAreSplit(t *testing.T) {
	block := text(strings.Repeat("ü", maxChunk))
	events := appendSplit(nil, Event{Kind: Block, Block: &block})
	joined := ""
	for _, e := range events {
		joined += e.Block.Text
		if len(e.Block.Text) > maxChunk {
			t.Errorf("a block of %d bytes", len(e.Block.Text))
		}
	}
	if len(events) < 2 || joined != block.Text {
		t.Errorf("a block of text becomes %d events", len(events))
	}
}

// The first page of a replay is small, and the end of the replay is told once: when all was delivered, or when the cursor
// is moved before.
func TestReplayInPagesTellsItsEnd(t *testing.T) {
	st := newStage(t, 2)
	defer st.end()
	const messages = 2 * pageBytes / 100 // of 100 bytes each
	for range messages {
		st.onMailbox(func() {
			st.put(history.Message{ID: st.id("msg_"), Role: history.RoleUser, Blocks: []history.Block{text("words")}})
		})
	}
	ended := 0
	replay := func(c *Cursor) { st.onMailbox(func() { st.Replay(c, st.now(), nil, func() { ended++ }) }) }
	c := st.NewCursor(func() {})
	replay(c)
	for n := range messages {
		if _, ok, err := c.Next(t.Context()); !ok || err != nil || ended != 0 {
			t.Fatalf("message %d: %t, %v, ended %d times", n, ok, err, ended)
		}
	}
	for range 2 {
		if _, ok, err := c.Next(t.Context()); ok || err != nil || ended != 1 {
			t.Fatalf("after the replay: %t, %v, ended %d times", ok, err, ended)
		}
	}
	if want := []int{firstPageBytes / 100, pageBytes / 100}; !slices.Equal(st.pages[:2], want) {
		t.Errorf("pages of %d messages, want %d", st.pages[:2], want)
	}

	for ended = 0; ended < 2; { // moved before and after it was taken over
		replay(c)
		if ended == 1 {
			if _, ok, err := c.Next(t.Context()); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		before := ended
		st.onMailbox(func() { c.moveTo(position{next: st.End() + 1}) })
		if _, _, err := c.Next(t.Context()); err != nil || ended != before+1 {
			t.Fatalf("moved: %v, ended %d times after %d", err, ended, before)
		}
	}
}
