package events

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// output is the payload of an event of a call.
type output string

func (o output) Size() int { return len(o) }

func outputEvent(call, text string) Event {
	return Event{Kind: CallUpdate, Call: call, Passing: true, Data: output(text)}
}

func resultEvent(call, text string) Event {
	return Event{Kind: CallUpdate, Call: call, Data: output(text)}
}

// The log equals a list from which each event of a call removes the passing one before it, truncated to the newest.
func TestEventLogWithPassingEventsIsTheEndOfAList(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		maxEvents, maxBytes := 1+r.IntN(20), eventOverhead+r.IntN(20*eventOverhead)
		l := newEventLog(maxEvents, maxBytes)
		var list []Event
		floor, bytes := uint64(1), 0
		for seq := uint64(1); seq <= uint64(r.IntN(200)); seq++ {
			e := textEvent("m", strings.Repeat("x", r.IntN(eventOverhead)))
			if r.IntN(3) > 0 {
				e = outputEvent(fmt.Sprint(r.IntN(3)), e.Text)
				e.Passing = r.IntN(8) > 0
			}
			if got := l.append(e); got != seq {
				t.Fatalf("seed %d: event %d has the number %d", seed, seq, got)
			}
			e.Seq = seq
			list = slices.DeleteFunc(list, func(old Event) bool {
				gone := e.Call != "" && old.Call == e.Call && old.Passing
				if gone {
					bytes -= old.size()
				}
				return gone
			})
			for len(list) > 0 && (len(list) == maxEvents || bytes+e.size() > maxBytes) {
				floor, bytes = list[0].Seq+1, bytes-list[0].size()
				list = list[1:]
			}
			list, bytes = append(list, e), bytes+e.size()
			if l.count != len(list) || l.bytes != bytes || len(l.passing) > len(list) {
				t.Fatalf("seed %d: %d events with %d bytes, %d passing; want %d with %d", seed, l.count, l.bytes, len(l.passing), len(list), bytes)
			}
			for from := uint64(0); from <= seq+1; from++ {
				got, state := l.read(from)
				i := slices.IndexFunc(list, func(e Event) bool { return e.Seq >= from })
				want := readEvent
				switch {
				case from > seq:
					want = readNone
				case from < floor:
					want = readBehind
				}
				if state != want || l.reaches(from) != (from+1 >= floor && from <= seq) {
					t.Fatalf("seed %d: of %d to %d, event %d has state %d, reached %t", seed, floor, seq, from, state, l.reaches(from))
				}
				if state == readEvent && (got.First != from || got.Seq != list[i].Seq || got.Text != list[i].Text || got.Data != list[i].Data) {
					t.Fatalf("seed %d: from %d come %d to %d, want up to %d", seed, from, got.First, got.Seq, list[i].Seq)
				}
			}
		}
	}
}

// An hour of output at four times a second costs the log one event, and a subscriber that reads nothing meanwhile neither
// falls off the log nor finds a gap.
func TestOutputOfALongCommandIsBounded(t *testing.T) {
	st := newStage(t, 16)
	defer st.end()
	slow := st.client()
	slow.reattach()
	st.begin()
	slow.drain()
	text := strings.Repeat("x", 4<<10)
	const updates = 4 * 60 * 60
	st.onMailbox(func() {
		for range updates {
			st.Emit(outputEvent("tc_1", text))
		}
	})
	if l := st.log; l.count > 2 || l.bytes > 2*eventOverhead+len(text) || len(l.passing) != 1 {
		t.Errorf("the log has %d events with %d bytes, %d passing", l.count, l.bytes, len(l.passing))
	}
	st.onMailbox(func() { st.Emit(resultEvent("tc_1", "done")) })
	if len(st.log.passing) != 0 {
		t.Errorf("%d events pass after the result", len(st.log.passing))
	}
	e, ok, err := slow.c.Next(t.Context())
	if err != nil || !ok || e.First != 2 || e.Seq != updates+2 || e.Data != output("done") {
		t.Errorf("the subscriber receives %d to %d: %v, %v, %v", e.First, e.Seq, e.Data, ok, err)
	}
}

// A subscriber that has received an output receives the next one. Events between them keep their order and their numbers.
func TestOutputBetweenOtherEvents(t *testing.T) {
	st := newStage(t, 16)
	defer st.end()
	quick, slow := st.client(), st.client()
	quick.reattach()
	slow.reattach()
	got := map[*client][]string{}
	read := func(cl *client) {
		for _, e := range next(t, cl.c) {
			got[cl] = append(got[cl], fmt.Sprintf("%s%s%v %d-%d", e.Kind, e.Text, e.Data, e.First, e.Seq))
		}
	}
	emit := func(all ...Event) {
		st.onMailbox(func() { st.EmitAll(all) })
		read(quick)
	}
	emit(outputEvent("a", "one"))
	emit(Event{Kind: Notice, Text: "n"}, outputEvent("b", "other"))
	emit(outputEvent("a", "two"))
	emit(resultEvent("a", "end"))
	emit(resultEvent("a", "again"))
	read(slow)
	want := []string{"call_updateone 1-1", "noticen<nil> 2-2", "call_updateother 3-3", "call_updatetwo 4-4", "call_updateend 5-5", "call_updateagain 6-6"}
	if diff := cmp.Diff(want, got[quick]); diff != "" {
		t.Errorf("quick: %s", diff)
	}
	want = []string{"noticen<nil> 1-2", "call_updateother 3-3", "call_updateend 4-5", "call_updateagain 6-6"}
	if diff := cmp.Diff(want, got[slow]); diff != "" {
		t.Errorf("slow: %s", diff)
	}
}

// Whatever the speed of a subscriber, also of one that falls off the log, comes late or comes again, it ends with the last
// state of each call and with all text; one that counts finds no gap.
func TestSubscribersEndWithTheLastStateOfEachCall(t *testing.T) {
	for seed := *walkSeed; seed < *walkSeed+uint64(*walks); seed++ {
		playOutputs(t, rand.New(rand.NewPCG(seed, 5)), seed)
	}
}

// watcher is a client with the newest state of each call.
type watcher struct {
	*client
	calls map[string]any
}

func (w *watcher) next() bool {
	e, ok, err := w.c.Next(w.st.t.Context())
	if err != nil {
		w.st.t.Fatal(err)
	}
	if ok {
		if e.Call != "" {
			w.calls[e.Call] = e.Data
		}
		w.take(&e)
	}
	return ok
}

// arrive reads what comes without numbers: a client that attaches again before has not received what its number stands for.
func (w *watcher) arrive() {
	for w.next() && (len(w.c.backlog.ready) > 0 || len(w.c.backlog.tail) > 0) {
	}
}

func playOutputs(t *testing.T, r *rand.Rand, seed uint64) {
	st := newStage(t, 1+r.IntN(12))
	defer st.end()
	st.begin()
	come := func() *watcher {
		w := &watcher{st.client(), map[string]any{}}
		st.onMailbox(func() { st.Subscribe(w.c, st.now(), st.running.Open) })
		return w
	}
	tell := func(e Event) {
		st.onMailbox(func() {
			st.Emit(e)
			st.running.Open = slices.DeleteFunc(slices.Clone(st.running.Open), func(old Event) bool { return old.Call == e.Call })
			st.running.Open = append(st.running.Open, e)
		})
	}
	early := []*watcher{come(), come(), come()}
	early[0].reattach()
	watchers := early
	calls := map[string]any{}
	for n := range 20 + r.IntN(200) {
		w := watchers[r.IntN(len(watchers))]
		call, now := fmt.Sprint("tc_", r.IntN(3)), output(fmt.Sprint("output ", n))
		switch r.IntN(10) {
		case 0, 1, 2, 3:
			tell(Event{Kind: CallUpdate, Call: call, Passing: r.IntN(8) > 0, Data: now})
			calls[call] = now
		case 4:
			st.delta([]Kind{Text, Thought}[r.IntN(2)], "more words")
		case 5:
			st.onMailbox(func() { st.Emit(Event{Kind: Saved}) })
		case 6:
			w.arrive()
			w.reattach()
		case 7:
			watchers = append(watchers, come())
		default:
			w.next()
		}
	}
	for i, w := range watchers {
		for w.next() {
		}
		if diff := cmp.Diff(calls, w.calls); diff != "" {
			t.Fatalf("seed %d, watcher %d: %s", seed, i, diff)
		}
		if diff := cmp.Diff(st.stored(), w.shown); diff != "" && i < len(early) { // those who come late do not ask for earlier text
			t.Fatalf("seed %d, watcher %d: %s", seed, i, diff)
		}
	}
}

// While output is appended, readers receive states in order without a gap, and end with the last one.
func TestOutputIsReadWhileItIsWritten(t *testing.T) {
	const events = 2000
	l := newEventLog(32, 1<<20)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			newest := 0
			for seq := uint64(1); ; {
				switch e, state := l.readRun(seq, 100); state {
				case readClosed:
					if newest != events {
						t.Errorf("the last output is %d", newest)
					}
					return
				case readBehind:
					t.Error("the log dropped an event that does not pass")
					return
				case readEvent:
					if n, ok := e.Data.(int); e.First != seq || ok && n <= newest {
						t.Errorf("from %d come %d to %d: output %d follows %d", seq, e.First, e.Seq, n, newest)
					} else if ok {
						newest = n
					}
					seq = e.Seq + 1
				}
			}
		})
	}
	for n := range events {
		l.append(Event{Kind: CallUpdate, Call: "tc_1", Passing: n+1 < events, Data: n + 1})
		if n%100 == 0 {
			l.append(Event{Kind: Saved})
		}
	}
	l.close()
	readers.Wait()
}
