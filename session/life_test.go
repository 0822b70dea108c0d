package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/session/choices"
	"strata/session/events"
	"strata/session/following"
	"strata/session/workspace"
)

// Everybody who closes a session is told of its end.
func TestAllWhoCloseASessionAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := act(t)
		result := a.prompt("hello", nil)
		a.asked()
		var told atomic.Int32
		for range 3 {
			a.Close(ReasonDeleted, func() { told.Add(1) })
		}
		<-result
		<-a.Done()
		synctest.Wait()
		_, late := answerOf(a.Info)
		if told.Load() != 3 || !errors.Is(late, ErrClosed) {
			t.Errorf("%d of 3 were told, a late request: %v", told.Load(), late)
		}
	})
}

// A session that a client closes forgets unsaved texts; one that leaves memory for another reason keeps them.
func TestUnsavedTextsOfASessionThatEnds(t *testing.T) {
	for reason, kept := range map[string]bool{ReasonClosed: false, ReasonShutdown: true, ReasonIdle: true} {
		a := act(t)
		text := "unsaved\n"
		if _, err := answerOf(func(reply func(workspace.FileInfo, error)) {
			a.Workspace().AddFile(workspace.FileRequest{Path: "a.go", Content: &text}, reply)
		}); err != nil {
			t.Fatal(err)
		}
		a.Close(reason, func() {})
		<-a.Done()
		if f, ok := a.store.files["a.go"]; (ok && f.Buffer != nil) != kept {
			t.Errorf("%s: %+v", reason, f)
		}
	}
}

// The end of a subscription counts as a use of the session.
func TestASessionStaysForAWhileAfterItsLastSubscriber(t *testing.T) {
	store := newLockedStore()
	a := &acted{t: t, store: store, provider: newProvider()}
	start := time.Unix(1_000_000, 0)
	var now atomic.Int64
	deps := depsOf(store, a.provider, describingHost{})
	deps.Now = func() time.Time { return start.Add(time.Duration(now.Load())) }
	a.Session = created(t, deps)
	c := a.NewCursor(func() {})
	if _, err := answerOf(func(reply func(Info, error)) { a.Subscribe(c, reply) }); err != nil {
		t.Fatal(err)
	}
	now.Store(int64(time.Hour))
	a.Unsubscribe(c, nil)
	a.Unload(start.Add(time.Hour/2), func(bool) {})
	if _, err := answerOf(a.Info); err != nil {
		t.Errorf("unloaded: %v", err)
	}
	a.Unload(start.Add(2*time.Hour), func(bool) {})
	<-a.Done()
}

// The author of an option and the author of a mode each learn one thing from the response; everything else is an event, and a
// mode is an event only if it changed.
func TestWhoReceivesAChangeOfAnOption(t *testing.T) {
	a := &acted{t: t, store: newLockedStore(), provider: newProvider()}
	deps := depsOf(a.store, a.provider, describingHost{})
	withProfiles(t)(deps)
	a.Session = created(t, deps)
	author, reader := a.NewCursor(func() {}), a.NewCursor(func() {})
	a.attach(author)
	a.attach(reader)
	received := func(c *events.Cursor) string {
		var kinds []string
		for _, kind := range drained(t, c) {
			if kind == string(events.Options) || kind == string(events.Mode) {
				kinds = append(kinds, kind)
			}
		}
		return strings.Join(kinds, " ")
	}
	configure := func(option, value string) func(func(Configured, error)) {
		return func(reply func(Configured, error)) { a.Configure(option, value, author, reply) }
	}
	setMode := func(mode string) func(func(Configured, error)) {
		return func(reply func(Configured, error)) { a.SetMode(mode, author, reply) }
	}
	if _, err := answerOf(configure(choices.OptionProfile, "phased")); err != nil {
		t.Fatal(err)
	}
	received(author)
	received(reader)
	info := a.told()
	first, second := info.Phases[0].ID, info.Phases[1].ID
	for _, step := range []struct {
		name           string
		change         func(func(Configured, error))
		author, reader string
	}{
		{"another option", configure(choices.OptionCompaction, "rolling"), "", "options"},
		{"a mode as an option", configure(choices.OptionMode, second), "mode", "options mode"},
		{"the same mode", configure(choices.OptionMode, second), "", "options"},
		{"a mode", setMode(first), "options", "options mode"},
	} {
		if _, err := answerOf(step.change); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if own, other := received(author), received(reader); own != step.author || other != step.reader {
			t.Errorf("%s: the author receives %q, another one %q", step.name, own, other)
		}
	}
}

// readStore counts the reads of messages. It holds them up or fails them if it is told to.
type readStore struct {
	*lockedStore
	reads atomic.Int32
	fails atomic.Bool
	held  atomic.Pointer[chan struct{}]
}

func (s *readStore) Messages(ctx context.Context, session string, seqs []int64) ([]history.Message, error) {
	s.reads.Add(1)
	if gate := s.held.Load(); gate != nil {
		<-*gate
	}
	if s.fails.Load() {
		return nil, errors.New("the disk is gone")
	}
	return s.lockedStore.Messages(ctx, session, seqs)
}

func actReading(t *testing.T) (*acted, *readStore) {
	s := &readStore{lockedStore: newLockedStore()}
	a := &acted{t: t, store: s.lockedStore, provider: newProvider()}
	a.Session = loneOf(t, s, a.provider, describingHost{})
	return a, s
}

// A snapshot that cannot be read leaves its subscriber as it was: it still receives the events and results of turns.
func TestAnAttachThatFailsLeavesTheSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := actReading(t)
		a.talk("one")
		c := a.NewCursor(func() {})
		if _, err := answerOf(func(reply func(Info, error)) { a.Subscribe(c, reply) }); err != nil {
			t.Fatal(err)
		}
		s.fails.Store(true)
		if _, err := answerOf(func(reply func(Attached, error)) { a.Attach(c, events.Since{}, reply) }); err == nil {
			t.Error("attached without a snapshot")
		}
		s.fails.Store(false)
		result := a.prompt("two", c)
		call := a.asked()
		call.say("done")
		call.end("done")
		if r := <-result; r.err != nil {
			t.Error(r.err)
		}
		if kinds := drained(t, c); !slices.Contains(kinds, string(events.Text)) {
			t.Errorf("received %q", kinds)
		}
	})
}

// The running text of a snapshot is bounded; the rest of it follows as events.
func TestTheRunningTextOfASnapshotIsBounded(t *testing.T) {
	a := act(t)
	result := a.prompt("hello", nil)
	call := a.asked()
	const size = 3 * following.SnapshotBytes
	call.say(strings.Repeat("x", size))
	c := a.NewCursor(func() {})
	attached, err := answerOf(func(reply func(Attached, error)) { a.Attach(c, events.Since{}, reply) })
	if err != nil || len(attached.Snapshot.Running.Text) != following.SnapshotBytes {
		t.Fatalf("%d bytes in the snapshot, %v", len(attached.Snapshot.Running.Text), err)
	}
	a.told() // the events follow the response
	follows := 0
	for {
		e, ok, err := c.Next(t.Context())
		if err != nil || !ok {
			break
		}
		if e.Kind == events.Text {
			follows += len(e.Text)
		}
	}
	if follows != size-following.SnapshotBytes {
		t.Errorf("%d bytes follow", follows)
	}
	call.end("x")
	<-result
}

// Changes that come while the usage is being counted are counted together afterwards; the last event tells the present usage.
func TestTheUsageOfTheLastChangeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := actReading(t)
		reader := a.NewCursor(func() {})
		a.attach(reader)
		gate := make(chan struct{})
		s.held.Store(&gate)
		const changes = 4
		for range changes {
			if _, err := answerOf(func(reply func([]string, error)) {
				a.Append([]history.Message{said(history.RoleUser, wordsOf(100))}, nil, reply)
			}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		s.held.Store(nil)
		close(gate)
		synctest.Wait()
		var used []int
		for {
			e, ok, err := reader.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if e.Kind == events.Usage {
				used = append(used, e.Data.(events.UsageInfo).Used)
			}
		}
		if n := len(used); n != 2 || used[n-1] < changes*100 {
			t.Errorf("the usage is told as %d", used)
		}
	})
}

// The next request is planned for the tiers of attached subscribers only: nobody else receives them.
func TestWithoutASubscriberNoRequestIsPlannedForTiers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := map[bool]int32{}
		for _, attached := range []bool{false, true} {
			a, s := actReading(t)
			if attached {
				a.attach(a.NewCursor(func() {}))
			}
			a.talk("one", "two")
			synctest.Wait()
			reads[attached] = s.reads.Load()
		}
		if reads[false] >= reads[true] {
			t.Errorf("messages are read %d times, with a subscriber %d times", reads[false], reads[true])
		}
	})
}
