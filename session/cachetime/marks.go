package cachetime

import (
	"cmp"
	"slices"
	"time"

	"strata/history"
	"strata/stability"
)

// MaxCalls is the maximum number of calls whose past is reported, and MaxMarks that of the marks: the newest ones.
const (
	MaxCalls = 500
	MaxMarks = 500
)

// MarkKind is the kind of a mark.
type MarkKind string

// The kinds of marks.
const (
	Edited    MarkKind = "edit"
	Compacted MarkKind = "compaction"
	Expired   MarkKind = "expiry"
)

// Mark is a moment at which the cache lost, or can have lost, a part of what the next request contains.
type Mark struct {
	At       time.Time        `json:"at"`
	Kind     MarkKind         `json:"kind"`
	EditID   string           `json:"editId,omitempty"`
	Edit     history.EditKind `json:"edit,omitempty"`     // kind of the edit
	Strategy string           `json:"strategy,omitempty"` // of a compaction
}

// lives returns for how long a call's request stays in the cache, by the calls before it.
type lives struct {
	automatic, none bool
	setting         string // stability.Lifetime*
	long            bool   // of LifetimeAuto: there was a pause that only the long lifetime survives
}

// of returns the lifetime for a call after a pause.
func (l *lives) of(pause time.Duration) time.Duration {
	switch {
	case l.automatic:
		return stability.LongLife
	case l.setting == stability.Lifetime5m:
		return stability.ShortLife
	case l.setting == stability.Lifetime1h:
		return stability.LongLife
	}
	if l.long = l.long || pause > stability.ShortLife && pause <= stability.LongLife; l.long {
		return stability.LongLife
	}
	return stability.ShortLife
}

// marks returns the expiries between calls and since the last one, and the edits, since the first call.
func marks(l *lives, calls []history.Call, edits []history.Edit, now time.Time) []Mark {
	out := []Mark{}
	if !l.none {
		out = expiries(l, calls, now)
	}
	for i := range edits {
		if e := &edits[i]; len(calls) > 0 && !e.At.Before(calls[0].At) && e.Kind != history.EditUnanswered {
			m := Mark{At: e.At, Kind: Edited, EditID: e.ID, Edit: e.Kind}
			if e.Kind == history.EditCompact {
				m.Kind, m.Strategy = Compacted, e.Strategy
			}
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Mark) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.EditID, b.EditID)) })
	return out[max(len(out)-MaxMarks, 0):]
}

// expiries returns the moments at which the cache forgot what the calls before had sent.
func expiries(l *lives, calls []history.Call, now time.Time) []Mark {
	out := []Mark{}
	var last, until time.Time // of the newest use of the cache
	for i := range calls {
		c := &calls[i]
		if c.Purpose != history.PurposeTurn && c.Purpose != history.PurposeFrontend || c.Usage.CacheRead+c.Usage.CacheWrite == 0 {
			continue
		}
		sent := c.At.Add(-time.Duration(c.Duration) * time.Millisecond)
		pause := time.Duration(0)
		if !last.IsZero() {
			pause = sent.Sub(last)
			if sent.After(until) {
				out = append(out, Mark{At: until, Kind: Expired})
			}
		}
		last, until = sent, sent.Add(l.of(pause))
	}
	if !last.IsZero() && now.After(until) {
		out = append(out, Mark{At: until, Kind: Expired})
	}
	return out
}
