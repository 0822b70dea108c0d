package transfer

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"strata/history"
	"strata/server/wire"
)

// maxCalls limits the tool calls of an imported session, which are kept in memory until the import is complete.
const maxCalls = 1_000_000

// openImport is what an import has stored so far.
type openImport struct {
	mu     sync.Mutex // held while a page is stored
	newest newestPage
}

// newestPage is the newest page of an import. It is never modified.
type newestPage struct {
	before, after progress
	stored        []lineName // the first lines, those that are stored
}

// lineName is the hash of a line.
type lineName [sha256.Size]byte

// names returns the names of a page's lines.
func (p *importPage) names() []lineName {
	names := make([]lineName, len(p.lines))
	for i := range p.lines {
		raw, _ := json.Marshal(&p.lines[i]) // a line was read from JSON
		names[i] = sha256.Sum256(raw)
	}
	return names
}

// next returns the newest page if a page is stored next, which may be the newest one once more. The caller holds mu.
func (so *openImport) next(names []lineName, p importPage) (newestPage, error) {
	next := newestPage{before: so.newest.after}
	if stored := so.newest.stored; len(stored) > 0 && len(stored) <= len(names) && slices.Equal(stored, names[:len(stored)]) {
		next = so.newest
	}
	var err error
	next.after, err = next.before.with(p)
	return next, err
}

// progress is what an import has to know of earlier pages. It is never modified.
type progress struct {
	calls    history.Calls
	restores []int64 // sequence numbers of the edits that restore an earlier state
	seq      int64   // of the newest message
}

// with returns the progress after a page. It returns an error for a tool result without a call, or for a call that has a
// result. If an earlier state was restored in between, a call may have a result again.
func (p progress) with(page importPage) (progress, error) {
	next := progress{calls: p.calls.Clone(), restores: slices.Clone(p.restores), seq: p.seq}
	for i := range page.lines {
		if e := page.lines[i].Edit; e != nil && e.Kind == history.EditRestore {
			next.restores = append(next.restores, e.Seq)
		}
		m := page.lines[i].Message
		if m == nil {
			continue
		}
		if slices.ContainsFunc(next.restores, func(seq int64) bool { return seq > next.seq && seq < m.Seq }) {
			next.calls.Restored()
		}
		if _, err := next.calls.Take(m); err != nil {
			return p, wire.InvalidParams("params.lines[%d].message.blocks%s", page.first+i, err)
		}
		next.seq = m.Seq
		if next.calls.Len() > maxCalls {
			return p, wire.InvalidParams("params.lines[%d]: the session has more than %d tool calls", page.first+i, maxCalls)
		}
	}
	return next, nil
}
