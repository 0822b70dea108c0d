package events

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"strata/history"
)

func textEvent(message, text string) Event {
	return Event{Kind: Text, Message: message, Text: text}
}

func TestEventLogIsBoundedByCount(t *testing.T) {
	for _, bound := range []int{1, 2, 16, 17, 100} {
		l := newEventLog(bound, 1<<20)
		for n := range uint64(3*bound + 1) {
			if seq := l.append(textEvent("m", "x")); seq != n+1 {
				t.Fatalf("event %d has the number %d", n+1, seq)
			}
			if held := min(int(n)+1, bound); l.count != held || len(l.ring) > bound {
				t.Fatalf("bound %d: %d events in a ring of %d", bound, l.count, len(l.ring))
			}
		}
	}
}

func TestEventLogIsBoundedByBytes(t *testing.T) {
	const bound = 10 * (eventOverhead + 1000)
	l := newEventLog(1000, bound)
	for range 100 {
		l.append(textEvent("m", strings.Repeat("x", 1000)))
		if l.bytes > bound {
			t.Fatalf("%d bytes of %d", l.bytes, bound)
		}
	}
	if l.count != 10 || l.bytes != bound {
		t.Errorf("%d events with %d bytes", l.count, l.bytes)
	}
	l.append(textEvent("m", strings.Repeat("x", 2*bound))) // a single event above the limit is kept
	if l.count != 1 {
		t.Errorf("%d events", l.count)
	}
	l.append(textEvent("m", "small"))
	if l.count != 1 || l.bytes != eventOverhead+5 {
		t.Errorf("%d events with %d bytes", l.count, l.bytes)
	}
	block := history.Block{Content: []history.Block{{Text: "abc", Data: []byte("defg")}}, Args: "{}", Text: "x"}
	if e := (Event{Block: &block}); e.size() != eventOverhead+3+4+2+1 {
		t.Errorf("a block counts %d bytes", e.size()-eventOverhead)
	}
}

// The log equals a list of all events, truncated to the newest.
func TestEventLogIsTheEndOfAList(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		maxEvents, maxBytes := 1+r.IntN(40), eventOverhead+r.IntN(40*eventOverhead)
		l := newEventLog(maxEvents, maxBytes)
		var all []Event
		for range r.IntN(200) {
			e := textEvent("m", strings.Repeat("x", r.IntN(2*eventOverhead)))
			e.Seq = l.append(e)
			all = append(all, e)
		}
		held, bytes := 0, 0
		for i := len(all) - 1; i >= 0 && held < maxEvents && (held == 0 || bytes+all[i].size() <= maxBytes); i-- {
			held, bytes = held+1, bytes+all[i].size()
		}
		if l.count != held || l.bytes != bytes || l.end() != uint64(len(all)) {
			t.Fatalf("seed %d: %d events with %d bytes, want %d with %d", seed, l.count, l.bytes, held, bytes)
		}
		for seq := uint64(0); seq <= uint64(len(all))+1; seq++ {
			e, state := l.read(seq)
			want := readEvent
			switch {
			case seq > uint64(len(all)):
				want = readNone
			case seq <= uint64(len(all)-held):
				want = readBehind
			}
			if state != want || state == readEvent && (e.Seq != seq || e.First != seq || e.Text != all[seq-1].Text) {
				t.Fatalf("seed %d: event %d of %d is %d, state %d", seed, seq, len(all), e.Seq, state)
			}
			if got := l.reaches(seq); got != (seq <= uint64(len(all)) && seq >= uint64(len(all)-held)) {
				t.Fatalf("seed %d: reaches %d: %v", seed, seq, got)
			}
		}
	}
}

func TestEventLogReachesNothingThatNeverWas(t *testing.T) {
	l := newEventLog(4, 1<<20)
	if !l.reaches(0) || l.reaches(1) || l.reaches(1<<63) || l.reaches(^uint64(0)) {
		t.Error("an empty log")
	}
	for range 10 {
		l.append(Event{})
	}
	for after, want := range map[uint64]bool{0: false, 5: false, 6: true, 10: true, 11: false, 1 << 63: false, ^uint64(0): false, ^uint64(0) - 3: false} {
		if l.reaches(after) != want {
			t.Errorf("reaches %d: %v", after, !want)
		}
	}
}

func TestEventLogThatIsClosed(t *testing.T) {
	l := newEventLog(4, 1<<20)
	l.append(textEvent("m", "x"))
	l.close()
	if _, state := l.read(1); state != readEvent {
		t.Error("its last event is missing")
	}
	if _, state := l.read(2); state != readClosed {
		t.Error("it has no end")
	}
}

func TestReadRunMergesAdjacentDeltasOnly(t *testing.T) {
	l := newEventLog(100, 1<<20)
	for _, e := range []Event{
		textEvent("m", "a"), textEvent("m", "b"), {Kind: Thought, Message: "m", Text: "c"}, textEvent("m", "d"), textEvent("n", "e"),
		{Kind: Usage}, textEvent("n", "f"), textEvent("n", "g"), {Kind: Notice, Text: "h"}, {Kind: Notice, Text: "i"},
	} {
		l.append(e)
	}
	var got []string
	for seq := uint64(1); ; {
		e, state := l.readRun(seq, 100)
		if state != readEvent {
			break
		}
		if e.First != seq || e.Seq < e.First {
			t.Errorf("event %d covers %d to %d", seq, e.First, e.Seq)
		}
		got = append(got, e.Text)
		seq = e.Seq + 1
	}
	if s := strings.Join(got, "|"); s != "ab|c|d|e||fg|h|i" {
		t.Errorf("merged to %s", s)
	}
	if e, _ := l.readRun(7, 1); e.Text != "f" {
		t.Errorf("above the bound: %q", e.Text)
	}
	if e, _ := l.readRun(7, 2); e.Text != "fg" {
		t.Errorf("within the bound: %q", e.Text)
	}
}

// While the mailbox appends, readers receive every event in order, or learn that they fell behind.
func TestEventLogIsReadWhileItIsWritten(t *testing.T) {
	const events = 2000
	l := newEventLog(32, 1<<20)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for seq := uint64(1); ; {
				switch e, state := l.readRun(seq, 5); state {
				case readClosed:
					if seq != events+1 {
						t.Errorf("the log ended at %d", seq)
					}
					return
				case readBehind:
					seq = l.end()
				case readEvent:
					if e.First != seq {
						t.Errorf("requested %d, got %d", seq, e.First)
					}
					seq = e.Seq + 1
				}
			}
		})
	}
	for range events {
		l.append(textEvent("m", "x"))
	}
	l.close()
	readers.Wait()
}
