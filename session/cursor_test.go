package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"strata/history"
)

// stage is a session whose mailbox is played by the test: what is said on it goes the ways of the real one.
type stage struct {
	*Session
	t     *testing.T
	store *fakeStore
	stop  chan struct{}
	ended chan struct{}
}

// newStage returns a session whose event log holds the given number of events.
func newStage(t *testing.T, events int) *stage {
	m := manage(t, testWindow)
	m.deps.Meter = noMeter{}
	st := &stage{Session: newSession(m.deps, "sess_1"), t: t, store: m.store, stop: make(chan struct{}), ended: make(chan struct{})}
	st.log, st.context, st.phase = newEventLog(events, 1<<20), m.ContextManager, live
	go func() {
		defer close(st.ended)
		for {
			select {
			case <-st.inbox.ready:
				for _, j := range st.inbox.take() {
					j.run()
				}
			case <-st.stop:
				return
			}
		}
	}()
	return st
}

func (st *stage) end() {
	close(st.stop)
	<-st.ended
	st.cancel()
	st.wg.Wait()
}

type noMeter struct{}

func (noMeter) TurnStarted()                                            {}
func (noMeter) TurnFinished(history.TurnStatus, history.Usage, float64) {}
func (noMeter) Deltas(int)                                              {}

// user stores a message of the user and tells it.
func (st *stage) user(words string, author *Cursor) {
	st.onMailbox(func() {
		m := history.Message{ID: st.deps.NewID("msg_"), Seq: st.context.NextSeq(), Role: history.RoleUser}
		for _, w := range strings.SplitAfter(words, " ") {
			m.Blocks = append(m.Blocks, text(w))
		}
		st.put(m)
		st.emitMessage(&m, author)
	})
}

func (st *stage) put(m history.Message) {
	st.store.messages[m.Seq] = m
	st.context.append([]history.Message{m})
}

// begin starts an answer.
func (st *stage) begin() {
	st.onMailbox(func() {
		st.turn = &turn{record: history.Turn{ID: st.deps.NewID("turn_"), ReplyID: st.deps.NewID("msg_")}, stored: true}
		st.emit(Event{Kind: EventTurnStarted, Turn: st.turn.record.ID, Data: TurnStarted{}})
	})
}

// delta adds to the answer.
func (st *stage) delta(kind EventKind, words string) {
	st.onMailbox(func() {
		if kind == EventText {
			st.emitText(st.turn, kind, &st.turn.text, words)
		} else {
			st.emitText(st.turn, kind, &st.turn.thought, words)
		}
	})
}

// finishAnswer stores the answer.
func (st *stage) finishAnswer() {
	st.onMailbox(func() {
		t := st.turn
		st.turn = nil
		var blocks []history.Block
		if t.thought.Len() > 0 {
			blocks = append(blocks, history.Block{Type: history.BlockThinking, Text: t.thought.String()})
		}
		if t.text.Len() > 0 {
			blocks = append(blocks, text(t.text.String()))
		}
		if len(blocks) > 0 {
			st.put(history.Message{ID: t.record.ReplyID, Seq: st.context.NextSeq(), Turn: t.record.ID, Role: history.RoleAssistant, Blocks: blocks})
		}
		st.emit(Event{Kind: EventSaved, Data: SaveInfo{}, settled: st.context.LastSeq()})
		st.emit(Event{Kind: EventUsage, Data: UsageInfo{}})
		st.emit(Event{Kind: EventTurnFinished, Data: TurnFinished{}, settled: st.context.LastSeq()})
	})
}

// client is a subscriber and what it was shown: text by message and kind.
type client struct {
	st    *stage
	c     *Cursor
	shown map[string]string
	last  uint64 // newest event
	count bool   // it is attached, so that it counts
}

func (st *stage) client() *client {
	return &client{st: st, c: st.NewCursor(func() {}), shown: map[string]string{}}
}

// next takes one event and reports whether there was one.
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

// stored is what a client should have been shown that has missed nothing, but for its own message.
func (st *stage) stored() map[string]string {
	shown := &client{st: st, shown: map[string]string{}}
	st.onMailbox(func() {
		for _, h := range st.context.Transcript() {
			m := st.store.messages[h.Seq]
			for _, e := range messageEvents(&m) {
				shown.show(m.ID, &e)
			}
		}
		if st.turn != nil {
			for _, e := range st.turn.running().events() {
				shown.show(e.Message, &e)
			}
		}
	})
	return shown.shown
}

// reattach goes on on a new cursor, as a client that comes back does.
func (cl *client) reattach() {
	type answer struct {
		a   Attached
		err error
	}
	answers := make(chan answer, 1)
	cl.c = cl.st.NewCursor(func() {})
	since := Since{Epoch: cl.st.epoch, After: cl.last}
	cl.st.Attach(cl.c, since, func(a Attached, err error) { answers <- answer{a, err} })
	got := <-answers
	cl.st.onMailbox(func() {}) // the place is taken behind the answer
	if got.err != nil {
		cl.st.t.Fatal(got.err)
	}
	cl.count = true
	if got.a.Complete {
		return
	}
	cl.last, cl.shown = got.a.Seq, map[string]string{}
	snap := got.a.Snapshot
	for i := range snap.Messages {
		for _, e := range messageEvents(&snap.Messages[i]) {
			cl.show(snap.Messages[i].ID, &e)
		}
	}
	if snap.Running != nil {
		for _, e := range snap.Running.events() {
			cl.show(e.Message, &e)
		}
	}
}

// A subscriber that falls off the log at any point of an answer is sent exactly what it has missed.
func TestResyncSendsExactlyWhatIsMissing(t *testing.T) {
	words := []string{"añ", "b", "漢字", "", "c😀", "d", "ee"}
	for seen := range len(words) + 1 {
		for _, settled := range []bool{false, true} {
			for _, attached := range []bool{false, true} {
				st := newStage(t, 3)
				cl := st.client()
				st.onMailbox(func() { st.subscribe(cl.c) })
				if attached {
					cl.reattach()
				}
				st.begin()
				for i, w := range words {
					kind := EventText
					if i%3 == 1 {
						kind = EventThought
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

// Whatever happens in whatever order, each subscriber ends with what is stored, each piece once.
func TestSubscribersEndWithTheTranscript(t *testing.T) {
	runs := 400
	if testing.Short() {
		runs = 40
	}
	for seed := range uint64(runs) {
		playSchedule(t, rand.New(rand.NewPCG(seed, 3)), seed)
	}
}

func playSchedule(t *testing.T, r *rand.Rand, seed uint64) {
	st := newStage(t, 1+r.IntN(12))
	defer st.end()
	clients := make([]*client, 3)
	for i := range clients {
		clients[i] = st.client()
		st.onMailbox(func() { st.subscribe(clients[i].c) })
	}
	clients[1].reattach()
	own := map[string]bool{}
	for range 20 + r.IntN(100) {
		cl := clients[r.IntN(len(clients))]
		running := st.turn != nil // only onMailbox changes it, and that has returned
		switch n := r.IntN(10); {
		case n < 4 && running:
			st.delta([]EventKind{EventText, EventThought}[r.IntN(2)], []string{"x", "üü", "漢", "long words"}[r.IntN(4)])
		case n == 4 && running:
			st.finishAnswer()
		case n < 3:
			st.user(fmt.Sprint("words ", r.IntN(100)), nil)
			if r.IntN(2) == 0 {
				st.begin()
			}
		case n == 5:
			st.onMailbox(func() { st.emit(Event{Kind: EventNotice, Text: "notice"}) })
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
	st.onMailbox(func() { id = st.context.Transcript()[len(st.context.Transcript())-1].ID })
	return id
}

func TestReplaySendsTheWholeTranscriptOnce(t *testing.T) {
	st := newStage(t, 2)
	defer st.end()
	for i := range 5 {
		st.user(fmt.Sprint("words ", i), nil)
		st.begin()
		st.delta(EventThought, "hm")
		st.delta(EventText, strings.Repeat("ä", maxChunk))
		st.finishAnswer()
	}
	st.begin()
	st.delta(EventText, "running")
	cl := st.client()
	placed := make(chan error, 1)
	st.Replay(cl.c, func(_ Info, err error) { placed <- err })
	if err := <-placed; err != nil {
		t.Fatal(err)
	}
	st.delta(EventText, " on")
	cl.drain()
	if diff := cmp.Diff(st.stored(), cl.shown); diff != "" {
		t.Error(diff)
	}
}

func TestMergedDeltasNeverCrossAnotherEvent(t *testing.T) {
	st := newStage(t, 100)
	defer st.end()
	cl := st.client()
	cl.reattach()
	st.begin()
	st.delta(EventText, "a")
	st.delta(EventText, "b")
	st.onMailbox(func() { st.emit(Event{Kind: EventSaved, Data: SaveInfo{}}) })
	st.delta(EventText, "c")
	st.delta(EventThought, "d")
	st.delta(EventText, "e")
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
		t.Errorf("without a place: %+v %v %v", e, ok, err)
	}
	st.onMailbox(func() { st.subscribe(c) })
	st.onMailbox(func() {
		st.emit(Event{Kind: EventSaved, Data: SaveInfo{}}) // not for this subscriber
		st.emit(Event{Kind: EventSaved, Data: SaveInfo{}})
	})
	if e, ok, err := c.Next(t.Context()); ok || err != nil || e.Seq != 2 {
		t.Errorf("behind events of others: %+v %v %v", e, ok, err)
	}
	st.onMailbox(st.log.close)
	if _, ok, err := c.Next(t.Context()); ok || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v %v", ok, err)
	}
}

func TestResyncEndsWithItsContext(t *testing.T) {
	st := newStage(t, 1)
	defer st.end()
	c := st.NewCursor(func() {})
	st.onMailbox(func() { st.subscribe(c) })
	st.user("one", nil)
	st.user("two", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	held := make(chan struct{})
	st.tell(func() { <-held })
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
		{Event{Kind: EventThought, Message: "m", Text: "xy"}, "y", true},
		{textEvent("m", "cd"), "d", true},
		{textEvent("m", "ef"), "ef", true},
		{Event{Kind: EventBlock, Message: "mine", Block: &history.Block{}}, "", false},
		{Event{Kind: EventBlock, Message: "m", Block: &history.Block{}}, "", false},
		{Event{Kind: EventBlock, Message: "m", Block: &history.Block{}}, "", true},
		{Event{Kind: EventNotice, Message: "m", Text: "n"}, "n", true},
	} {
		if kept := b.trim(&c.e); kept != c.kept || c.e.Text != c.want {
			t.Errorf("%q is left of %s, kept %v", c.e.Text, c.e.Message, kept)
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

func TestLongTextsAreSplitOnCharacters(t *testing.T) {
	for _, c := range []string{"x", "ü", "漢", "😀"} {
		for _, extra := range []string{"", "x", "xx", "xxx"} {
			whole := extra + strings.Repeat(c, 3*maxChunk/len(c))
			pieces := cut(whole)
			if strings.Join(pieces, "") != whole || len(pieces) < 3 || len(pieces) > 4 {
				t.Errorf("%s behind %q: %d pieces", c, extra, len(pieces))
			}
			for _, p := range pieces {
				if len(p) > maxChunk || !utf8.ValidString(p) || p == "" {
					t.Errorf("%s behind %q: a piece of %d bytes, valid %v", c, extra, len(p), utf8.ValidString(p))
				}
			}
		}
	}
	if cut("") != nil || len(cut(strings.Repeat("x", maxChunk))) != 1 {
		t.Error("short texts")
	}
	block := text(strings.Repeat("ü", maxChunk))
	events := split(Event{Kind: EventBlock, Block: &block})
	joined := ""
	for _, e := range events {
		joined += e.Block.Text
	}
	if len(events) < 2 || joined != block.Text {
		t.Errorf("a block of text becomes %d events", len(events))
	}
}

func FuzzCutAt(f *testing.F) {
	f.Add("añ漢😀", 3)
	f.Add("\x80\x80\x80\x80\x80\x80", 5)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n >= len(text) {
			return
		}
		got := cutAt(text, n)
		if !strings.HasPrefix(text, got) || len(got) > n || len(got) < n-utf8.UTFMax {
			t.Errorf("%q cut at %d is %q", text, n, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q cut at %d breaks a character: %q", text, n, got)
		}
	})
}
