// Package following serves the clients that follow a session: its state when they open it, their subscriptions to its events,
// and the pages of its transcript.
//
// It must never change the session.
package following

import (
	"context"
	"fmt"

	"strata/history"
	"strata/session/choices"
	"strata/session/current"
	"strata/session/events"
	"strata/session/mailbox"
)

// SnapshotBytes limits the messages and the running text of a snapshot, each. Older messages are read page by page; the
// rest of the running text follows as deltas.
const SnapshotBytes = 128 << 10

// Host is the part of a session that its followers use. Its methods belong to the mailbox.
type Host interface {
	// Info returns the state of the session for clients.
	Info() Info
	Choices() *choices.Choices
	Context() *current.Manager

	// Standing returns everything that the session has said so far.
	Standing() events.Standing
	// Unsaved returns the turn whose result is not stored yet, nil for none.
	Unsaved() *history.Turn
	// Compacts returns the id of the running compaction, empty for none.
	Compacts() string

	// TellUsage sends subscribers the use of the window.
	TellUsage()
	// Subscribed is called after the events that a new subscriber receives first.
	Subscribed()
}

// Store is what followers read of the database. Every method may block and returns when ctx ends.
type Store interface {
	events.Messages
	turnStore
}

// Following subscribes clients to a session and reads its transcript. It belongs to the session's mailbox; the methods with a
// reply can be called from any goroutine.
type Following struct {
	session string
	host    Host
	store   Store
	mailbox *mailbox.Mailbox
	events  *events.Stream
}

// New returns the Following of a session.
func New(session string, host Host, store Store, box *mailbox.Mailbox, stream *events.Stream) *Following {
	return &Following{session: session, host: host, store: store, mailbox: box, events: stream}
}

// NewCursor returns a cursor without a position: Prompt, Subscribe, Replay or Attach give it one. wake is called whenever
// there may be an event; it must not block.
func (f *Following) NewCursor(wake func()) *events.Cursor { return f.events.NewCursor(wake) }

// Enter makes c a subscriber at the log's end, unless it is one already. It receives the notices first. Enter belongs to the
// mailbox.
func (f *Following) Enter(c *events.Cursor) {
	f.events.Subscribe(c, f.host.Standing(), f.notices())
	f.host.Subscribed()
}

// notices returns the notices of a snapshot for a subscriber that gets no snapshot.
func (f *Following) notices() []events.Event {
	var notices []events.Event
	for _, text := range f.host.Choices().AllNotices() {
		notices = append(notices, events.Event{Kind: events.Notice, Text: text})
	}
	return notices
}

// Subscribe makes c a subscriber at the log's end. The reply comes before its first event.
func (f *Following) Subscribe(c *events.Cursor, reply func(Info, error)) {
	mailbox.Ask(f.mailbox, reply, func() {
		reply(f.host.Info(), nil)
		f.Enter(c)
	})
}

// Resume is Subscribe for a client that opens a stored session: c also receives the title and the use of the window.
func (f *Following) Resume(c *events.Cursor, reply func(Info, error)) {
	mailbox.Ask(f.mailbox, reply, func() {
		reply(f.host.Info(), nil)
		f.events.Subscribe(c, f.host.Standing(), f.present())
		f.host.Subscribed()
		f.host.TellUsage()
	})
}

// present returns the events for a client that opens a stored session, besides its messages: the notices and the title.
func (f *Following) present() []events.Event {
	present := f.notices()
	if r := f.host.Choices().Record; r.Title != "" {
		present = append(present, events.Event{Kind: events.Info, Data: events.TitleInfo{Title: r.Title, UpdatedAt: r.UpdatedAt}})
	}
	return present
}

// Replay makes c a subscriber that receives the whole transcript, including the running reply, the title, the use of the
// window, and then all later events.
func (f *Following) Replay(c *events.Cursor, reply func(Info, error)) {
	mailbox.Ask(f.mailbox, reply, func() {
		// The next request is built after the replay: both need the messages, and the user waits for the replay.
		f.events.Replay(c, f.host.Standing(), f.present(), func() { f.mailbox.Tell(f.host.TellUsage, nil) })
		f.host.Subscribed()
		reply(f.host.Info(), nil)
	})
}

// Attach makes c a subscriber that receives all kinds of events. If the log still holds every event after since, those
// follow the reply; otherwise the reply has a snapshot, and the events after it follow.
func (f *Following) Attach(c *events.Cursor, since events.Since, reply func(Attached, error)) {
	mailbox.Ask(f.mailbox, reply, func() {
		now := f.host.Standing()
		a := Attached{Epoch: f.events.Epoch(), Seq: now.Seq}
		if now.Running != nil && f.host.Unsaved() == nil {
			a.Running = now.Running.Turn
		}
		if f.events.Reaches(since) {
			a.Complete = true
			f.events.Continue(c, since, func() { reply(a, nil) })
			f.host.Subscribed()
			return
		}
		f.attachWithSnapshot(c, a, now, reply)
	})
}

// attachWithSnapshot reads the newest messages for the snapshot. The position in the log is taken before that, so that no
// event is missed or sent twice.
func (f *Following) attachWithSnapshot(c *events.Cursor, a Attached, now events.Standing, reply func(Attached, error)) {
	own := f.host.Choices()
	snap := &Snapshot{
		Session: own.Record, Config: own.Config(), Totals: f.host.Context().Totals(), Unsaved: f.host.Unsaved() != nil, Compacts: f.host.Compacts(), Notices: own.AllNotices(),
	}
	newest, older := history.NewestPage(now.Heads, SnapshotBytes)
	snap.Older = older
	snap.Fates, snap.Summary = f.host.Context().Fates(newest)
	if now.Running != nil {
		snap.Running = now.Running.Shortened(SnapshotBytes)
	}
	hold, unsaved := f.events.Hold(c, now, snap.Running), f.host.Unsaved()
	unread := func(err error) {
		reply(Attached{}, err)
		hold.Abandon()
	}
	f.mailbox.Spawn(func() {
		messages, ends, err := f.read(f.mailbox.Context(), newest, unsaved)
		f.mailbox.Tell(func() {
			if err != nil {
				unread(fmt.Errorf("snapshot of session %s: %w", f.session, err))
				return
			}
			snap.Messages, snap.Ends = messages, ends
			a.Snapshot = snap
			reply(a, nil)
			hold.Place()
			f.host.Subscribed()
		}, unread)
	})
}

// Detach makes an attached subscriber an ordinary one.
func (f *Following) Detach(c *events.Cursor, reply func(error)) {
	f.mailbox.Post(func() {
		f.events.Detach(c)
		reply(nil)
	}, reply)
}

// List returns messages with sequence numbers below before (0: the newest), oldest first: at most limit and at most 128 KiB,
// but at least one.
func (f *Following) List(before int64, limit int, reply func(List, error)) {
	mailbox.Ask(f.mailbox, reply, func() {
		heads := f.host.Context().Transcript()
		for len(heads) > 0 && before > 0 && heads[len(heads)-1].Seq >= before {
			heads = heads[:len(heads)-1]
		}
		seqs, older := history.NewestPage(heads, SnapshotBytes)
		if len(seqs) > limit {
			seqs = seqs[len(seqs)-limit:]
			older = seqs[0]
		}
		list := List{Older: older}
		list.Fates, list.Summary = f.host.Context().Fates(seqs)
		unsaved := f.host.Unsaved()
		f.mailbox.Spawn(func() {
			var err error
			list.Messages, list.Ends, err = f.read(context.WithoutCancel(f.mailbox.Context()), seqs, unsaved)
			reply(list, err)
		})
	})
}
