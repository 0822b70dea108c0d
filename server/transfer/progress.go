package transfer

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	"strata/history"
	"strata/server/wire"
)

// maxCalls limits the tool calls of an imported session, which are kept in memory until the import is complete.
const maxCalls = 1_000_000

// pages are the pages of an import so far.
type pages struct {
	before, after progress // the newest page
	newest        [sha256.Size]byte
}

// with returns the pages with one more, from an index on. The newest page can come again: its response may have been lost.
func (p pages) with(page []Line, from int) (pages, error) {
	raw, err := json.Marshal(page)
	if err != nil {
		return p, err
	}
	next := pages{before: p.after, newest: sha256.Sum256(raw)}
	if next.newest == p.newest {
		next.before = p.before
	}
	next.after, err = next.before.with(page, from)
	return next, err
}

// progress is what an import has to know of earlier pages. It is never modified.
type progress struct {
	calls    history.Calls
	restores []int64 // sequence numbers of the edits that restore an earlier state
	seq      int64   // of the newest message
}

// with returns the progress after the lines of a page from an index on. It returns an error for a tool result without a
// call, or for a call that has a result. If an earlier state was restored in between, a call may have a result again.
func (p progress) with(page []Line, from int) (progress, error) {
	next := progress{calls: p.calls.Clone(), restores: slices.Clone(p.restores), seq: p.seq}
	for i := from; i < len(page); i++ {
		if e := page[i].Edit; e != nil && e.Kind == history.EditRestore {
			next.restores = append(next.restores, e.Seq)
		}
		m := page[i].Message
		if m == nil {
			continue
		}
		if slices.ContainsFunc(next.restores, func(seq int64) bool { return seq > next.seq && seq < m.Seq }) {
			next.calls.Restored()
		}
		if _, err := next.calls.Take(m); err != nil {
			return p, wire.InvalidParams("lines[%d].message.blocks%s", i, err)
		}
		next.seq = m.Seq
		if next.calls.Len() > maxCalls {
			return p, wire.InvalidParams("lines[%d]: the session has more than %d tool calls", i, maxCalls)
		}
	}
	return next, nil
}
