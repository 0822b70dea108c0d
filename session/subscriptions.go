package session

import (
	"context"
	"fmt"

	"strata/history"
	"strata/session/asking"
	"strata/session/clients"
	"strata/session/events"
	"strata/session/mailbox"
)

// snapshotBytes limits the messages and the running text of a snapshot, each. Older messages are read page by page; the
// rest of the running text follows as deltas.
const snapshotBytes = 128 << 10

// Attached is where a subscription starts.
type Attached struct {
	Epoch    string    `json:"epoch"`
	Seq      uint64    `json:"seq"`      // newest event
	Running  string    `json:"running"`  // id of the running turn, empty for none
	Complete bool      `json:"complete"` // every event after Since follows
	Snapshot *Snapshot `json:"snapshot"` // the present state unless Complete, otherwise nil
}

// Snapshot is the present state of a session.
type Snapshot struct {
	Session  history.Session
	Config   history.Config // choices in force, defaults filled in
	Totals   history.Totals
	Messages []history.Message    // the newest, at most 128 KiB or one
	Fates    []history.Visibility // visibility of each message in the working history
	Summary  history.Summary      // replaces the compacted messages in the view
	Older    int64                // sequence number to list older messages before; 0 for none
	Running  *events.Running      // nil while no turn runs
	Compacts string               // id of the running compaction
	Unsaved  bool                 // a turn's result is not stored yet
	Notices  []string             // for clients that open the session
}

// List is one page of the transcript.
type List struct {
	Messages []history.Message
	Fates    []history.Visibility // visibility of each message in the working history
	Summary  history.Summary      // replaces the compacted messages in the view
	Older    int64                // sequence number to list before for the page of older messages, 0 for none
}

// subscriptions are the ways to follow a session and to read its transcript. They belong to the mailbox.
type subscriptions struct {
	*core
	shown     func() (running *events.Running, unsaved bool) // the reply that is not in the transcript yet
	compacts  func() string                                  // id of the running compaction
	tellUsage func()                                         // tells how full the window is
	clients   clients.Choice
	asking    *asking.Asking
}

// standing returns everything that the session has said so far.
func (s *subscriptions) standing() events.Standing {
	running, _ := s.shown()
	return events.Standing{Seq: s.events.End(), Heads: s.context.Transcript(), Running: running}
}

// NewCursor returns a cursor without a position: Prompt, Subscribe, Replay or Attach give it one. wake is called whenever
// there may be an event; it must not block.
func (s *subscriptions) NewCursor(wake func()) *events.Cursor { return s.events.NewCursor(wake) }

// subscribe makes c a subscriber at the log's end, unless it is one already. It receives the notices first.
func (s *subscriptions) subscribe(c *events.Cursor) {
	s.events.Subscribe(c, s.standing(), s.noticeEvents())
	s.ask()
}

// noticeEvents returns the notices of a snapshot for a subscriber that gets no snapshot.
func (s *subscriptions) noticeEvents() []events.Event {
	var notices []events.Event
	for _, text := range s.choices.AllNotices() {
		notices = append(notices, events.Event{Kind: events.Notice, Text: text})
	}
	return notices
}

// Subscribe makes c a subscriber at the log's end. The reply comes before its first event.
func (s *subscriptions) Subscribe(c *events.Cursor, reply func(Info, error)) {
	mailbox.Ask(s.mailbox, reply, func() {
		reply(s.info(), nil)
		s.subscribe(c)
	})
}

// Resume is Subscribe for a client that opens a stored session: c also receives the title and how full the window is.
func (s *subscriptions) Resume(c *events.Cursor, reply func(Info, error)) {
	mailbox.Ask(s.mailbox, reply, func() {
		reply(s.info(), nil)
		s.events.Subscribe(c, s.standing(), s.present())
		s.ask()
		s.tellUsage()
	})
}

// present returns what a client that opens a stored session needs to know besides its messages: the notices and the title.
func (s *subscriptions) present() []events.Event {
	present := s.noticeEvents()
	if r := s.choices.Record; r.Title != "" {
		present = append(present, events.Event{Kind: events.Info, Data: events.TitleInfo{Title: r.Title, UpdatedAt: r.UpdatedAt}})
	}
	return present
}

// Join makes a client that is about to subscribe serve the session's requests, until Unsubscribe.
func (s *subscriptions) Join(client clients.Client) { s.tell(func() { s.clients.Add(client) }) }

// ask asks clients that have subscribed the open question, behind the events that they receive.
func (s *subscriptions) ask() {
	for _, client := range s.clients.All(clients.Permissions) {
		s.asking.Subscribed(client)
	}
}

// Unsubscribe ends c's subscription, which is that of a client.
func (s *subscriptions) Unsubscribe(c *events.Cursor, client clients.Client) {
	s.tell(func() {
		s.events.Unsubscribe(c)
		s.clients.Remove(client)
		s.asking.Left(client)
		s.used()
	})
}

// Replay makes c a subscriber that receives the whole transcript, the running reply included, the title, how full the
// window is, and then all later events.
func (s *subscriptions) Replay(c *events.Cursor, reply func(Info, error)) {
	mailbox.Ask(s.mailbox, reply, func() {
		// The next request is built after the replay: both need the messages, and the user waits for the replay.
		s.events.Replay(c, s.standing(), s.present(), func() { s.tell(s.tellUsage) })
		s.ask()
		reply(s.info(), nil)
	})
}

// Attach makes c a subscriber that receives all kinds of events. If the log still holds every event after since, those
// follow the reply; otherwise the reply has a snapshot, and the events after it follow.
func (s *subscriptions) Attach(c *events.Cursor, since events.Since, reply func(Attached, error)) {
	mailbox.Ask(s.mailbox, reply, func() {
		now := s.standing()
		running, unsaved := s.shown()
		a := Attached{Epoch: s.events.Epoch(), Seq: now.Seq}
		if running != nil && !unsaved {
			a.Running = running.Turn
		}
		if s.events.Reaches(since) {
			a.Complete = true
			s.events.Continue(c, since, func() { reply(a, nil) })
			s.ask()
			return
		}
		s.attachWithSnapshot(c, a, now, unsaved, reply)
	})
}

// attachWithSnapshot reads the newest messages for the snapshot. The position in the log is taken before that, so that no
// event is missed or sent twice.
func (s *subscriptions) attachWithSnapshot(c *events.Cursor, a Attached, now events.Standing, unsaved bool, reply func(Attached, error)) {
	snap := &Snapshot{
		Session: s.choices.Record, Config: s.choices.Config(), Totals: s.context.Totals(), Unsaved: unsaved, Compacts: s.compacts(), Notices: s.choices.AllNotices(),
	}
	newest, older := history.NewestPage(now.Heads, snapshotBytes)
	snap.Older = older
	snap.Fates, snap.Summary = s.context.Fates(newest)
	if now.Running != nil {
		snap.Running = now.Running.Shortened(snapshotBytes)
	}
	hold := s.events.Hold(c, now, snap.Running)
	unread := func(err error) {
		reply(Attached{}, err)
		hold.Abandon()
	}
	s.mailbox.Spawn(func() {
		messages, err := s.deps.Store.Messages(s.mailbox.Context(), s.id, newest)
		s.mailbox.Tell(func() {
			if err != nil {
				unread(fmt.Errorf("snapshot of session %s: %w", s.id, err))
				return
			}
			snap.Messages = messages
			a.Snapshot = snap
			reply(a, nil)
			hold.Place()
			s.ask()
		}, unread)
	})
}

// Detach makes an attached subscriber an ordinary one.
func (s *subscriptions) Detach(c *events.Cursor, reply func(error)) {
	s.mailbox.Post(func() {
		s.events.Detach(c)
		reply(nil)
	}, reply)
}

// List returns messages with sequence numbers below before (0: the newest), oldest first: at most limit and at most 128 KiB,
// but at least one.
func (s *subscriptions) List(before int64, limit int, reply func(List, error)) {
	mailbox.Ask(s.mailbox, reply, func() {
		heads := s.context.Transcript()
		for len(heads) > 0 && before > 0 && heads[len(heads)-1].Seq >= before {
			heads = heads[:len(heads)-1]
		}
		seqs, older := history.NewestPage(heads, snapshotBytes)
		if len(seqs) > limit {
			seqs = seqs[len(seqs)-limit:]
			older = seqs[0]
		}
		list := List{Older: older}
		list.Fates, list.Summary = s.context.Fates(seqs)
		s.mailbox.Spawn(func() {
			messages, err := s.deps.Store.Messages(context.WithoutCancel(s.mailbox.Context()), s.id, seqs)
			list.Messages = messages
			reply(list, err)
		})
	})
}
