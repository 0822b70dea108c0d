package events

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// next returns the events that a cursor has ready.
func next(t *testing.T, c *Cursor) (all []Event) {
	t.Helper()
	for {
		e, ok, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		all = append(all, e)
	}
}

// A snapshot that is sent late moves no cursor that was asked to be elsewhere since, and attaches none that was detached.
func TestALateSnapshotChangesNothingElse(t *testing.T) {
	st := newStage(t, 100)
	defer st.end()
	moved, detached := st.NewCursor(func() {}), st.NewCursor(func() {})
	st.onMailbox(func() {
		st.Emit(Event{Kind: Saved})
		late, other := st.Hold(moved, st.now(), nil), st.Hold(detached, st.now(), nil)
		st.Emit(Event{Kind: Usage})
		st.Emit(Event{Kind: Saved})
		st.Continue(moved, Since{Epoch: "epoch", After: 2}, func() {})
		st.Detach(detached)
		late.Place()
		other.Place()
	})
	if got := next(t, moved); len(got) != 1 || got[0].Seq != 3 {
		t.Errorf("after event 2 come %+v", got)
	}
	if got := next(t, detached); len(got) != 1 || got[0].Kind != Usage {
		t.Errorf("an ordinary subscriber receives %+v", got)
	}
}

// An attached subscriber, which counts, learns with the next event that those before it were not for it, also if it fell off
// the log meanwhile. An ordinary one does not count.
func TestEventsThatWereNotForASubscriber(t *testing.T) {
	st := newStage(t, 8)
	defer st.end()
	attached, ordinary, fallen := st.NewCursor(func() {}), st.NewCursor(func() {}), st.NewCursor(func() {})
	st.onMailbox(func() {
		st.Emit(Event{Kind: Saved})
		for _, c := range []*Cursor{attached, fallen} {
			st.Continue(c, Since{Epoch: "epoch", After: 1}, func() {})
		}
		st.Subscribe(ordinary, st.now(), nil)
		for _, c := range []*Cursor{attached, ordinary, fallen} {
			st.Emit(Event{Kind: Usage, Origin: c.Identity()})
		}
	})
	if got := next(t, fallen); len(got) != 2 { // and event 4 is its own
		t.Fatalf("%+v", got)
	}
	st.onMailbox(func() { st.Emit(Event{Kind: Usage}) })
	if got := next(t, attached); len(got) != 3 || got[0].First != 2 || got[0].Seq != 3 {
		t.Errorf("the attached one receives %+v", got)
	}
	for _, e := range next(t, ordinary) {
		if e.First != e.Seq {
			t.Errorf("the ordinary one receives %d-%d", e.First, e.Seq)
		}
	}
	st.onMailbox(func() {
		for range 9 {
			st.Emit(Event{Kind: Usage})
		}
	})
	if got := next(t, fallen); len(got) != 1 || got[0].Kind != Resynced || got[0].First != 4 || got[0].Seq != 14 {
		t.Errorf("the one that fell off the log receives %+v", got)
	}
}

// A subscriber that wants its own messages receives each of them once while it is attached, also if it fell off the log
// meanwhile, but none of the other events that it has caused.
func TestOwnMessagesAreSentOnRequest(t *testing.T) {
	st := newStage(t, 4)
	defer st.end()
	own, ordinary := st.client(), st.client()
	st.onMailbox(func() {
		for _, cl := range []*client{own, ordinary} {
			cl.c.ReceiveOwn(true)
		}
		st.Continue(own.c, Since{Epoch: "epoch"}, func() {})
		st.Subscribe(ordinary.c, st.now(), nil)
	})
	st.user("one two", own.c)
	st.user("not attached", ordinary.c)
	if got := next(t, ordinary.c); len(got) != 2 || got[0].Origin != own.c.Identity() {
		t.Errorf("one that is not attached receives %+v", got)
	}
	own.drain()
	if diff := cmp.Diff(st.stored(), own.shown); diff != "" {
		t.Error(diff)
	}
	st.onMailbox(func() { st.Emit(Event{Kind: Usage, Origin: own.c.Identity()}) })
	if got := next(t, own.c); len(got) != 0 {
		t.Errorf("it receives %+v", got)
	}
	for range 6 {
		st.user("more", own.c)
	}
	own.drain()
	if diff := cmp.Diff(st.stored(), own.shown); diff != "" {
		t.Errorf("after it fell off the log: %s", diff)
	}
}

// The author of a message receives none of its parts, and a long text that was sent in part goes on where it was left.
func TestPartsOfMessagesAreSentOnce(t *testing.T) {
	st := newStage(t, 8)
	defer st.end()
	author, reader := st.NewCursor(func() {}), st.NewCursor(func() {})
	st.onMailbox(func() {
		st.Subscribe(author, st.now(), nil)
		st.Subscribe(reader, st.now(), nil)
	})
	st.user("a b c", author)
	if got := next(t, author); len(got) != 0 {
		t.Errorf("the author receives %+v", got)
	}
	if got := next(t, reader); len(got) != 3 {
		t.Errorf("another one receives %+v", got)
	}

	st.begin()
	long := strings.Repeat("a", maxChunk) + strings.Repeat("b", maxChunk) + strings.Repeat("c", maxChunk)
	st.delta(Text, long)
	var got strings.Builder
	for range 2 {
		e, ok, err := reader.Next(t.Context())
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		got.WriteString(e.Text)
	}
	for range 9 {
		st.delta(Text, "d")
	}
	for _, e := range next(t, reader) {
		got.WriteString(e.Text)
	}
	if want := long + strings.Repeat("d", 9); got.String() != want {
		t.Errorf("%d bytes arrive of %d", got.Len(), len(want))
	}
}
