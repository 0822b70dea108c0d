package session

import (
	"context"
	"fmt"

	"strata/history"
)

// snapshotBytes bounds the messages and the running text that a snapshot holds, each. What is older is
// had by paging through the history; what of the running text is missing follows as deltas.
const snapshotBytes = 128 << 10

// Since says what a subscriber that attaches has seen already: events of epoch up to After.
// The zero value is a subscriber that has seen nothing.
type Since struct {
	Epoch string
	After uint64
}

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
	Running  *runningText      // nil while no turn runs
	Unsaved  bool              // an ending waits to be stored
	Notices  []string          // what whoever opens the session should know
}

// subscribe makes c a subscriber that goes on at the log's end, unless it is one already. It is told the notices first.
func (s *Session) subscribe(c *Cursor) {
	if _, ok := s.subs[c]; ok {
		return
	}
	s.subs[c] = false
	st := s.stand()
	c.place(position{next: st.seq + 1, backlog: backlog{tail: s.noticeEvents()}, progress: st.progress()})
}

// noticeEvents tells a subscriber that gets no snapshot what one would hold.
func (s *Session) noticeEvents() []Event {
	var events []Event
	for _, text := range s.allNotices() {
		events = append(events, Event{Kind: EventNotice, Text: text})
	}
	return events
}

// Subscribe makes c a subscriber that goes on behind everything said so far.
func (s *Session) Subscribe(c *Cursor, reply func(Info, error)) {
	s.post(func() {
		s.subscribe(c)
		reply(s.info(), nil)
	}, func(err error) { reply(Info{}, err) })
}

// Unsubscribe ends c's subscription.
func (s *Session) Unsubscribe(c *Cursor) {
	s.tell(func() {
		delete(s.subs, c)
		s.active = s.deps.Now()
	})
}

// Replay makes c a subscriber that is sent the whole transcript, the running answer included, and then
// what follows.
func (s *Session) Replay(c *Cursor, reply func(Info, error)) {
	s.post(func() {
		st := s.stand()
		attached := s.subs[c]
		s.subs[c] = attached
		all := st.since(progress{})
		all.tail = append(all.tail, s.noticeEvents()...)
		c.place(position{attached: attached, next: st.seq + 1, backlog: all, progress: st.progress()})
		reply(s.info(), nil)
	}, func(err error) { reply(Info{}, err) })
}

// Attach makes c a subscriber that sees all kinds of events. If the log still holds everything behind
// what since says was seen, those events follow; otherwise the answer holds a snapshot, and the events
// behind it follow. place is called on the mailbox after the answer was handed over.
func (s *Session) Attach(c *Cursor, since Since, reply func(Attached, error)) {
	fail := func(err error) { reply(Attached{}, err) }
	s.post(func() { s.attach(c, since, reply, fail) }, fail)
}

func (s *Session) attach(c *Cursor, since Since, reply func(Attached, error), fail func(error)) {
	st := s.stand()
	a := Attached{Epoch: s.epoch, Seq: st.seq}
	if s.turn != nil && st.running != nil {
		a.Running = st.running.Turn
	}
	if since.Epoch == s.epoch && s.log.reaches(since.After) {
		a.Complete = true
		s.subs[c] = true
		c.pause()
		reply(a, nil)
		c.place(position{attached: true, next: since.After + 1, progress: s.log.progressAt(since.After)})
		return
	}
	s.attachWithSnapshot(c, a, st, reply, fail)
}

// attachWithSnapshot reads the newest messages for the snapshot. The place in the log is taken now, so
// that nothing is missed or sent twice while they are read.
func (s *Session) attachWithSnapshot(c *Cursor, a Attached, st standing, reply func(Attached, error), fail func(error)) {
	snap := &Snapshot{Session: s.record, Config: s.config(), Totals: s.context.Totals(), Unsaved: s.unsaved != nil, Notices: s.allNotices()}
	newest, older := newestPage(st.heads)
	snap.Older = older
	snap.Fates, snap.Summary = s.context.Fates(newest)
	place := position{attached: true, next: st.seq + 1, progress: st.progress()}
	if r := st.running; r != nil {
		shown := *r
		shown.Thought, shown.Text = firstBytes(r.Thought, snapshotBytes), firstBytes(r.Text, snapshotBytes)
		snap.Running = &shown
		place.backlog = standing{session: s.id, running: r}.since(progress{message: r.Message, sent: sent{text: len(shown.Text), thought: len(shown.Thought)}})
	}
	abandon := s.attachLater(c)
	counts := c.pause()
	unread := func(err error) {
		fail(err)
		if counts() {
			abandon()
			c.resume()
		}
	}
	s.spawn(func() {
		messages, err := s.deps.Store.Messages(s.ctx, s.id, newest)
		s.inbox.putOwn(job{fail: unread, run: func() {
			if err != nil {
				unread(fmt.Errorf("snapshot of session %s: %w", s.id, err))
				return
			}
			snap.Messages = messages
			a.Snapshot = snap
			reply(a, nil)
			if counts() {
				place.attached = s.subs[c]
				c.place(place)
			}
		}})
	})
}

// attachLater makes c an attached subscriber whose place is still to come. The function that it returns
// makes it what it was before.
func (s *Session) attachLater(c *Cursor) (abandon func()) {
	attached, subscribed := s.subs[c]
	s.subs[c] = true
	return func() {
		if _, still := s.subs[c]; !still {
			return
		}
		s.subs[c] = attached
		if !subscribed {
			delete(s.subs, c)
		}
	}
}

// newestPage returns the sequence numbers of the newest messages that fit snapshotBytes, at least one,
// and the number of the oldest of them where there are older ones.
func newestPage(heads []history.Head) (seqs []int64, older int64) {
	size, from := 0, len(heads)
	for from > 0 && (from == len(heads) || size+heads[from-1].Bytes <= snapshotBytes) {
		from--
		size += heads[from].Bytes
	}
	for _, h := range heads[from:] {
		seqs = append(seqs, h.Seq)
	}
	if from > 0 {
		older = heads[from].Seq
	}
	return seqs, older
}

// firstBytes returns the first n bytes of text, less what would cut a character.
func firstBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return cutAt(text, n)
}

// Detach makes an attached subscriber an ordinary one.
func (s *Session) Detach(c *Cursor, reply func(error)) {
	s.post(func() {
		if s.subs[c] {
			s.subs[c] = false
			c.demote()
		}
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
		seqs, older := newestPage(heads)
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
