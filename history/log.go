package history

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Log is a session's transcript, as heads, and the working history: the transcript with its edits applied.
// It holds no content of messages, which remains in the store.
//
// The working history is a pure function of the messages and edits up to a sequence number. A Log is not safe for
// concurrent use.
type Log struct {
	heads []Head
	edits []Edit
	view  // its unanswered messages are those of all edits
}

// view is the working history after some sequence number.
type view struct {
	messages []Viewed
	summary  Summary
	evicted  []Head // messages removed to fit the window, in the order of removal
	shed     []shed // the edits in force that removed or truncated messages to fit the window
	omitted  int    // messages removed other than by a summary, clear or replace, including evicted ones

	exchanges int  // user messages since the last clear, in view or not, less those that left without a reply
	first     Head // the first of them; zero for none

	unanswered map[string]string      // ids of the edits that note it, by message; shared by all views of a log
	documents  map[string]DocumentCut // by name; replaced, never modified
	undoable   []string               // ids of the edits that can be undone, oldest first
}

// shed is an edit that removed or truncated messages to fit the window.
type shed struct {
	edit    string // id
	removed bool   // it removed messages
}

// Viewed is a message of the working history. Its Tokens are those of the view.
type Viewed struct {
	Head
	Patches  []Patch // in the order of the edits
	Exchange int     // number of its exchange since the last clear, from 1; 0: before the first
	Kept     bool    // neither evicted nor compacted, since a user wants it so
}

// SameViewed reports whether two messages of views are shown with the same content, and are kept alike.
func SameViewed(a, b *Viewed) bool {
	return a.Head == b.Head && a.Kept == b.Kept && slices.Equal(a.Patches, b.Patches)
}

// Summary replaces the compacted part of the history. The zero value means none.
type Summary struct {
	Edit      string // id of the newest compaction
	Text      string
	Tokens    int
	Messages  int   // number of messages that it replaces
	Since     int64 // sequence number of the oldest of them
	Exchanges int   // number of user messages among them
	Through   int   // number of the newest exchange among them
}

// NewLog returns the log of stored heads and edits, which must be sorted by sequence number.
func NewLog(heads []Head, edits []Edit) *Log {
	l := &Log{heads: heads, edits: edits, view: view{unanswered: make(map[string]string)}}
	for i := range edits {
		l.note(&edits[i])
	}
	l.view = l.at(l.LastSeq())
	return l
}

// Append appends messages to the transcript and the view.
func (l *Log) Append(heads ...Head) {
	l.heads = append(l.heads, heads...)
	for _, h := range heads {
		l.append(h)
	}
}

// With returns the log with one more message, and leaves l as it is. Both can be appended to afterwards. They share the
// notes of messages without a reply, so they belong to the same goroutine.
func (l *Log) With(h Head) *Log {
	next := *l
	next.Append(h)
	l.heads, l.edits, l.messages = slices.Clip(l.heads), slices.Clip(l.edits), slices.Clip(l.messages) // next uses the memory after them
	return &next
}

// Copy returns a copy of the log. Changes of either leave the other as it is.
func (l *Log) Copy() *Log {
	c := *l
	c.heads, c.edits, c.messages, c.unanswered = slices.Clip(l.heads), slices.Clip(l.edits), slices.Clip(l.messages), maps.Clone(l.unanswered)
	return &c
}

// note notes the messages of an edit that says that they have no reply.
func (l *Log) note(e *Edit) {
	if e.Kind != EditUnanswered {
		return
	}
	for _, id := range e.Messages {
		l.unanswered[id] = e.ID
	}
}

func (v *view) append(h Head) {
	if n := len(v.messages); n > 0 && v.givesWay(&v.messages[n-1], &h) {
		v.messages = v.messages[: n-1 : n-1]
	}
	v.add(h)
}

// givesWay reports whether the newest message of the view is a prompt without a reply that leaves because of the next
// message. It is then counted no more.
func (v *view) givesWay(newest *Viewed, next *Head) bool {
	if next.Role != RoleUser || newest.Role != RoleUser || v.unanswered[newest.ID] == "" {
		return false
	}
	v.exchanges--
	if v.first.ID == newest.ID {
		v.first = Head{}
	}
	return true
}

func (v *view) add(h Head) {
	if h.Role == RoleUser {
		if v.exchanges == 0 {
			v.first = h
		}
		v.exchanges++
	}
	v.messages = append(v.messages, Viewed{Head: h, Exchange: v.exchanges})
}

// Apply appends an edit and applies it to the view.
func (l *Log) Apply(e Edit) {
	l.edits = append(l.edits, e)
	l.note(&e)
	if e.Kind == EditRestore || e.Kind.Arranges() {
		l.view = l.at(e.Seq)
		return
	}
	l.view.apply(&e, l.rewrite)
}

// at returns the view after the given sequence number.
func (l *Log) at(seq int64) view { return foldOf(l.effective(seq), l.unanswered) }

// event is a message or an edit.
type event struct {
	head *Head
	edit *Edit
}

// effective returns the messages and edits that result in the view after seq, in order. It walks backwards from seq,
// continues at the target of each restore, and skips undone edits.
func (l *Log) effective(seq int64) []event {
	h, e := l.before(seq)
	events := make([]event, 0, h+e+2)
	undone := make(map[string]bool)
	for h >= 0 || e >= 0 {
		if e < 0 || (h >= 0 && l.heads[h].Seq > l.edits[e].Seq) {
			events = append(events, event{head: &l.heads[h]})
			h--
			continue
		}
		edit := &l.edits[e]
		e--
		switch {
		case undone[edit.ID]:
		case edit.Undoes != "":
			undone[edit.Undoes] = true
			events = append(events, event{edit: edit})
		case edit.Kind == EditRestore:
			events = append(events, event{edit: edit})
			h, e = l.before(min(edit.To, edit.Seq-1))
		default:
			events = append(events, event{edit: edit})
		}
	}
	slices.Reverse(events)
	return events
}

// before returns the indexes of the last head and the last edit up to seq, -1 for none.
func (l *Log) before(seq int64) (head, edit int) {
	head, _ = slices.BinarySearchFunc(l.heads, seq+1, func(h Head, seq int64) int { return cmp.Compare(h.Seq, seq) })
	edit, _ = slices.BinarySearchFunc(l.edits, seq+1, func(e Edit, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return head - 1, edit - 1
}

// apply applies an edit. rewrite removes messages, patches others and returns the removed ones. For a restore, apply only
// records that it can be undone.
func (v *view) apply(e *Edit, rewrite func(*Edit) []Viewed) {
	switch e.Kind {
	case EditRestore:
		if e.Undoes != "" {
			return // the undone edit is already skipped, and an undo cannot be undone
		}
		v.undoable = append(v.undoable[:len(v.undoable):len(v.undoable)], e.ID)
		return
	case EditReplace:
		*v = view{undoable: v.undoable, documents: v.documents, unanswered: v.unanswered}
		return
	case EditClear:
		*v = view{undoable: append(v.undoable[:len(v.undoable):len(v.undoable)], e.ID), documents: v.documents, unanswered: v.unanswered}
		return
	case EditUnanswered:
		return
	case EditResume:
		rewrite(e)
		return
	case EditResult:
		v.takeResult(e)
		return
	case EditCompact:
		v.undoable = append(v.undoable[:len(v.undoable):len(v.undoable)], e.ID)
		if len(e.Messages) > 0 { // newer ones than those that did not fit
			v.shed = slices.DeleteFunc(slices.Clone(v.shed), func(s shed) bool { return s.removed })
		}
	}
	v.cutDocuments(e.Documents)
	gone := rewrite(e)
	if e.Kind == EditCompact && e.Summary != "" {
		v.summariseEvicted(e)
	}
	if e.Kind == EditTruncate {
		if len(e.Messages)+len(e.Patches) > 0 {
			v.shed = append(v.shed[:len(v.shed):len(v.shed)], shed{e.ID, len(e.Messages) > 0})
		}
		v.evicted = append(v.evicted[:len(v.evicted):len(v.evicted)], headsOf(gone)...)
	}
	if e.Summary == "" {
		v.omitted += len(gone)
		return
	}
	v.summary = Summary{
		Edit: e.ID, Text: e.Summary, Tokens: e.SummaryTokens,
		Messages: v.summary.Messages + len(gone), Exchanges: v.summary.Exchanges + exchanges(gone),
		Since: v.summary.Since, Through: max(v.summary.Through, through(gone)),
	}
	if len(gone) > 0 {
		v.summary.reaches(gone[0].Seq)
	}
}

// reaches notes that the summary also replaces the message with this sequence number.
func (s *Summary) reaches(seq int64) {
	if s.Since == 0 || seq < s.Since {
		s.Since = seq
	}
}

// summariseEvicted notes that a summary also replaces messages that were evicted before.
func (v *view) summariseEvicted(e *Edit) {
	if len(v.evicted) == 0 {
		return
	}
	covered := set(e.Messages)
	still := make([]Head, 0, len(v.evicted))
	for _, h := range v.evicted {
		if !covered[h.ID] {
			still = append(still, h)
			continue
		}
		v.omitted--
		v.summary.Messages++
		v.summary.reaches(h.Seq)
		if h.Role == RoleUser {
			v.summary.Exchanges++
		}
	}
	v.evicted = still
}

// through returns the number of the newest exchange with a removed message, 0 for none.
func through(gone []Viewed) int {
	if len(gone) == 0 {
		return 0
	}
	return gone[len(gone)-1].Exchange
}

func headsOf(messages []Viewed) []Head {
	heads := make([]Head, len(messages))
	for i := range messages {
		heads[i] = messages[i].Head
	}
	return heads
}

// exchanges returns the number of user messages.
func exchanges(messages []Viewed) int {
	n := 0
	for i := range messages {
		if messages[i].Role == RoleUser {
			n++
		}
	}
	return n
}

func (v *view) cutDocuments(cuts []DocumentCut) {
	if len(cuts) == 0 {
		return
	}
	v.documents = maps.Clone(v.documents)
	if v.documents == nil {
		v.documents = make(map[string]DocumentCut, len(cuts))
	}
	for _, c := range cuts {
		v.documents[c.Name] = c
	}
}

// rewrite removes messages, patches others, and returns the removed ones. It does not modify the old slice, which readers
// may hold.
func (v *view) rewrite(e *Edit) (left []Viewed) {
	if len(e.Messages) == 0 && len(e.Patches) == 0 {
		return nil
	}
	gone, patches := set(e.Messages), byMessage(e.Patches)
	kept := make([]Viewed, 0, len(v.messages))
	for _, m := range v.messages {
		if gone[m.ID] {
			left = append(left, m)
			continue
		}
		for _, p := range patches[m.ID] {
			m.patch(p)
		}
		kept = append(kept, m)
	}
	v.messages = kept
	return left
}

// patch adds a patch. It does not modify the old slice of patches, which readers may hold.
func (v *Viewed) patch(p Patch) {
	v.Patches = append(v.Patches[:len(v.Patches):len(v.Patches)], p)
	v.Tokens = max(v.Tokens-p.Saved, 0)
}

func set(ids []string) map[string]bool {
	s := make(map[string]bool, len(ids))
	for _, id := range ids {
		s[id] = true
	}
	return s
}

func byMessage(patches []Patch) map[string][]Patch {
	m := make(map[string][]Patch, len(patches))
	for _, p := range patches {
		m[p.Message] = append(m[p.Message], p)
	}
	return m
}

// Transcript returns all messages ever appended. The slice is shared: it must not be modified, and remains valid after
// later appends.
func (l *Log) Transcript() []Head { return l.heads[:len(l.heads):len(l.heads)] }

// View returns the messages of the working history, in order. The slice must not be modified, and remains valid after
// later appends and edits.
func (v *view) View() []Viewed { return v.messages[:len(v.messages):len(v.messages)] }

// Summary returns the summary of the compacted part of the working history.
func (v *view) Summary() Summary { return v.summary }

// Edits returns all edits, in order. The slice must not be modified.
func (l *Log) Edits() []Edit { return l.edits[:len(l.edits):len(l.edits)] }

// InForce returns the ids of the edits that contribute to the working history. A note that a prompt has no reply is none
// of them.
func (l *Log) InForce() map[string]bool {
	ids := make(map[string]bool)
	for _, e := range l.effective(l.LastSeq()) {
		if e.edit != nil && e.edit.Kind != EditUnanswered {
			ids[e.edit.ID] = true
		}
	}
	return ids
}

// Undoable returns the newest clear, compaction, restore or arrangement by a user that is in force.
func (l *Log) Undoable() (Edit, bool) {
	if len(l.undoable) == 0 {
		return Edit{}, false
	}
	id := l.undoable[len(l.undoable)-1]
	i := slices.IndexFunc(l.edits, func(e Edit) bool { return e.ID == id })
	return l.edits[i], true
}

// Find returns the message with the given sequence number if it is in the working history.
func (v *view) Find(seq int64) (Viewed, bool) {
	i := slices.IndexFunc(v.messages, func(m Viewed) bool { return m.Seq == seq }) // late results are not in this order
	if i < 0 {
		return Viewed{}, false
	}
	return v.messages[i], true
}

// Omitted returns the number of messages removed from the working history other than by a summary, clear or replace.
func (v *view) Omitted() int { return v.omitted }

// Shed returns the messages evicted since the last clear to fit the window, in the order of eviction. The slice must not
// be modified, and remains valid after later edits.
func (v *view) Shed() []Head { return v.evicted[:len(v.evicted):len(v.evicted)] }

// Shedding returns the edits in force that removed or truncated messages to fit the window, oldest first: of those that
// removed messages, the ones since the last clear or compaction.
func (l *Log) Shedding() []Edit {
	edits := make([]Edit, 0, len(l.shed))
	for _, s := range l.shed {
		i := slices.IndexFunc(l.edits, func(e Edit) bool { return e.ID == s.edit })
		edits = append(edits, l.edits[i])
	}
	return edits
}

// Documents returns the newest cut of each truncated document, by name. The map must not be modified, and remains valid
// after later edits.
func (v *view) Documents() map[string]DocumentCut { return v.documents }

// Unreplied returns the edit that notes that a turn failed before the model said anything, without its id; ok is false for
// other turns. A prompt that was sent before the newest message is not noted: it stays where it is.
func (l *Log) Unreplied(t *Turn) (note Edit, ok bool) {
	failed := t.Status == TurnFailed || t.Status == TurnInterrupted
	if n := len(l.heads); !failed || l.unanswered[t.UserID] != "" || n == 0 || l.heads[n-1].ID != t.UserID {
		return Edit{}, false
	}
	return Edit{
		Seq: l.LastSeq() + 1, Kind: EditUnanswered, At: t.EndedAt, Reason: "no reply", Messages: []string{t.UserID},
		Before: l.Tokens(), After: l.Tokens(),
	}, true
}

// Exchanges returns the number of user messages since the last clear, in view or not, less the prompts that left without a
// reply.
func (v *view) Exchanges() int { return v.exchanges }

// First returns the first user message since the last clear, in view or not. ok is false if there is none.
func (v *view) First() (h Head, ok bool) { return v.first, v.exchanges > 0 }

// Tokens returns the tokens of the working history, including its summary.
func (v *view) Tokens() int {
	sum := v.summary.Tokens
	for i := range v.messages {
		sum += v.messages[i].Tokens
	}
	return sum
}

// SeqAt returns the sequence number of the newest message or edit that is not later than a time, 0 for none. Times are
// compared in microseconds, as they are stored.
func (l *Log) SeqAt(at time.Time) int64 {
	until := at.UnixMicro()
	newest := int64(0)
	for i := len(l.heads) - 1; i >= 0 && newest == 0; i-- {
		if l.heads[i].At.UnixMicro() <= until {
			newest = l.heads[i].Seq
		}
	}
	for i := len(l.edits) - 1; i >= 0 && l.edits[i].Seq > newest; i-- {
		if l.edits[i].At.UnixMicro() <= until {
			return l.edits[i].Seq
		}
	}
	return newest
}

// Place returns the place that a sequence number means: the number itself, but the one before a step for a number inside it,
// after which the calls of the step would be without their results.
func (l *Log) Place(seq int64) int64 {
	i, _ := l.before(seq)
	if i < 0 || i+1 == len(l.heads) || l.heads[i+1].Role != RoleTool {
		return seq
	}
	for i > 0 && l.heads[i].Role == RoleTool {
		i--
	}
	if !l.heads[i].HasCalls {
		return seq
	}
	return l.heads[i].Seq - 1
}

// LastSeq returns the highest sequence number of a message or an edit, 0 for an empty session.
func (l *Log) LastSeq() int64 {
	last := int64(0)
	if n := len(l.heads); n > 0 {
		last = l.heads[n-1].Seq
	}
	if n := len(l.edits); n > 0 {
		last = max(last, l.edits[n-1].Seq)
	}
	return last
}
