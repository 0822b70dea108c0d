package session

import (
	"context"
	"fmt"

	"strata/history"
	"strata/session/events"
)

// snapshotBytes bounds the messages and the running text that a snapshot holds, each. What is older is
// had by paging through the history; what of the running text is missing follows as deltas.
const snapshotBytes = 128 << 10

// Attached is where a subscription starts.
type Attached struct {
	Epoch    string    `json:"epoch"`
	Seq      uint64    `json:"seq"`      // newest event
	Running  string    `json:"running"`  // id of the running turn, empty for none
	Complete bool      `json:"complete"` // every event behind Since follows
	Snapshot *Snapshot `json:"snapshot"` // the present state where Complete is false, nil otherwise
}

// Snapshot is the present state of a session.
type Snapshot struct {
	Session  history.Session
	Config   history.Config // choices in force, defaults filled in
	Totals   history.Totals
	Messages []history.Message // the newest, at most 128 KiB or one
	Fates    []history.Visibility    // of each message, what the working history does to it
	Summary  history.Summary   // what stands in the view for messages that were compacted
	Older    int64             // sequence number before which older messages are had from List; 0 for none
	Running  *events.Running   // nil while no turn runs
	Unsaved  bool              // an ending waits to be stored
	Notices  []string          // what whoever opens the session should know
}

// NewCursor returns a cursor without a position: Prompt, Subscribe, Replay or Attach give it one. wake is called whenever
// there may be an event; it must not block.
func (s *Session) NewCursor(wake func()) *Cursor { return s.events.NewCursor(wake) }

// subscribe makes c a subscriber at the log's end, unless it is one already. It receives the notices first.
func (s *Session) subscribe(c *Cursor) { s.events.Subscribe(c, s.stand(), s.noticeEvents()) }

// noticeEvents returns the notices of a snapshot for a subscriber that gets no snapshot.
func (s *Session) noticeEvents() []Event {
	var notices []Event
	for _, text := range s.allNotices() {
		notices = append(notices, Event{Kind: EventNotice, Text: text})
	}
	return notices
}

// Subscribe makes c a subscriber at the log's end.
func (s *Session) Subscribe(c *Cursor, reply func(Info, error)) {
	s.post(func() {
		s.subscribe(c)
		reply(s.info(), nil)
	}, func(err error) { reply(Info{}, err) })
}

// Unsubscribe ends c's subscription.
func (s *Session) Unsubscribe(c *Cursor) {
	s.tell(func() {
		s.events.Unsubscribe(c)
		s.active = s.deps.Now()
	})
}

// Replay makes c a subscriber that receives the whole transcript, the running reply included, and then all later events.
func (s *Session) Replay(c *Cursor, reply func(Info, error)) {
	s.post(func() {
		s.events.Replay(c, s.stand(), s.noticeEvents())
		reply(s.info(), nil)
	}, func(err error) { reply(Info{}, err) })
}

// Attach makes c a subscriber that receives all kinds of events. If the log still holds every event after since, those
// follow the reply; otherwise the reply has a snapshot, and the events after it follow.
func (s *Session) Attach(c *Cursor, since Since, reply func(Attached, error)) {
	fail := func(err error) { reply(Attached{}, err) }
	s.post(func() {
		st := s.stand()
		a := Attached{Epoch: s.Epoch(), Seq: st.Seq}
		if s.turn != nil && st.Running != nil {
			a.Running = st.Running.Turn
		}
		if s.events.Reaches(since) {
			a.Complete = true
			s.events.Continue(c, since, func() { reply(a, nil) })
			return
		}
		s.attachWithSnapshot(c, a, st, reply, fail)
	}, fail)
}

// attachWithSnapshot reads the newest messages for the snapshot. The position in the log is taken before that, so that
// no event is missed or sent twice.
func (s *Session) attachWithSnapshot(c *Cursor, a Attached, st events.Standing, reply func(Attached, error), fail func(error)) {
	snap := &Snapshot{Session: s.record, Config: s.config(), Totals: s.context.Totals(), Unsaved: s.unsaved != nil, Notices: s.allNotices()}
	newest, older := history.NewestPage(st.Heads, snapshotBytes)
	snap.Older = older
	snap.Fates, snap.Summary = s.context.Fates(newest)
	if st.Running != nil {
		snap.Running = st.Running.Shortened(snapshotBytes)
	}
	hold := s.events.Hold(c, st, snap.Running)
	unread := func(err error) {
		fail(err)
		hold.Abandon()
	}
	s.spawn(func() {
		messages, err := s.deps.Store.Messages(s.ctx, s.id, newest)
		s.mailbox.Tell(func() {
			if err != nil {
				unread(fmt.Errorf("snapshot of session %s: %w", s.id, err))
				return
			}
			snap.Messages = messages
			a.Snapshot = snap
			reply(a, nil)
			hold.Place()
		}, unread)
	})
}

// Detach makes an attached subscriber an ordinary one.
func (s *Session) Detach(c *Cursor, reply func(error)) {
	s.post(func() {
		s.events.Detach(c)
		reply(nil)
	}, reply)
}

// List is one page of the transcript.
type List struct {
	Messages []history.Message
	Fates    []history.Visibility  // of each message, what the working history does to it
	Summary  history.Summary // what stands in the view for messages that were compacted
	Older    int64           // sequence number to list before for the page of older ones, 0 for none
}

// List returns messages with sequence numbers below before (0: the newest), oldest first: at most limit
// and at most 128 KiB, but at least one.
func (s *Session) List(before int64, limit int, reply func(List, error)) {
	fail := func(err error) { reply(List{}, err) }
	s.post(func() {
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
		s.spawn(func() {
			messages, err := s.deps.Store.Messages(context.WithoutCancel(s.ctx), s.id, seqs)
			list.Messages = messages
			reply(list, err)
		})
	}, fail)
}
