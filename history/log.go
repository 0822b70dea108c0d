package history

import (
	"maps"
	"slices"
)

// Log is a session's transcript, as heads, and the working history: what the edits made of it.
// It holds no content: the bodies of messages stay in the store.
//
// A Log is not safe for concurrent use.
type Log struct {
	heads []Head
	edits []Edit
	view  []Viewed
	clear int    // heads before the last clear
	shed  []Head // messages since then that left the view to fit the window

	documents map[string]DocumentCut // by name; replaced, never changed
}

// Viewed is a message of the working history. Its Tokens are those that the view shows.
type Viewed struct {
	Head
	Patches []Patch // what is shown differently, in the order of the edits
}

// NewLog folds stored heads and edits, each in the order of their sequence numbers.
func NewLog(heads []Head, edits []Edit) *Log {
	l := &Log{}
	for _, e := range edits {
		n, _ := slices.BinarySearchFunc(heads, e.Seq, func(h Head, seq int64) int { return int(h.Seq - seq) })
		l.Append(heads[:n]...)
		heads = heads[n:]
		l.Apply(e)
	}
	l.Append(heads...)
	return l
}

// Append adds messages at the end of the transcript and of the view.
func (l *Log) Append(heads ...Head) {
	l.heads = append(l.heads, heads...)
	for _, h := range heads {
		l.view = append(l.view, Viewed{Head: h})
	}
}

// Apply makes an edit take effect on the view.
func (l *Log) Apply(e Edit) {
	l.edits = append(l.edits, e)
	if e.Kind == EditClear {
		l.view, l.shed, l.clear = nil, nil, len(l.heads)
		return
	}
	l.cutDocuments(e.Documents)
	view := make([]Viewed, 0, len(l.view))
	gone := set(e.Messages)
	patches := byMessage(e.Patches)
	for _, v := range l.view {
		if gone[v.ID] {
			if e.Kind == EditTruncate {
				l.shed = append(l.shed, v.Head)
			}
			continue
		}
		for _, p := range patches[v.ID] {
			v.Patches = append(v.Patches[:len(v.Patches):len(v.Patches)], p)
			v.Tokens = max(v.Tokens-p.Saved, 0)
		}
		view = append(view, v)
	}
	l.view = view
}

func (l *Log) cutDocuments(cuts []DocumentCut) {
	if len(cuts) == 0 {
		return
	}
	l.documents = maps.Clone(l.documents)
	if l.documents == nil {
		l.documents = make(map[string]DocumentCut, len(cuts))
	}
	for _, c := range cuts {
		l.documents[c.Name] = c
	}
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

// Transcript returns all messages ever appended. The slice is the log's own: it must not be changed,
// and stays valid after later appends.
func (l *Log) Transcript() []Head { return l.heads[:len(l.heads):len(l.heads)] }

// View returns the messages of the working history, in order. The slice must not be changed, and stays
// valid after later appends and edits.
func (l *Log) View() []Viewed { return l.view[:len(l.view):len(l.view)] }

// Edits returns all edits, in order. The slice must not be changed.
func (l *Log) Edits() []Edit { return l.edits[:len(l.edits):len(l.edits)] }

// Find returns the message with the given sequence number as the working history shows it.
func (l *Log) Find(seq int64) (Viewed, bool) {
	i, found := slices.BinarySearchFunc(l.view, seq, func(v Viewed, seq int64) int { return int(v.Seq - seq) })
	if !found {
		return Viewed{}, false
	}
	return l.view[i], true
}

// Omitted returns how many messages since the last clear the working history does not hold.
func (l *Log) Omitted() int { return len(l.heads) - l.clear - len(l.view) }

// Shed returns the messages since the last clear that left the view to fit the window, in the order in
// which they left. The slice must not be changed, and stays valid after later edits.
func (l *Log) Shed() []Head { return l.shed[:len(l.shed):len(l.shed)] }

// Documents returns the newest cut of each document that was cut, by name. The map must not be changed,
// and stays valid after later edits.
func (l *Log) Documents() map[string]DocumentCut { return l.documents }

// Tokens returns the tokens of the working history.
func (l *Log) Tokens() int {
	sum := 0
	for _, v := range l.view {
		sum += v.Tokens
	}
	return sum
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
