package stability

import "time"

// Plan is the layout of one request. Its slices belong to the tracker and must not be modified.
type Plan struct {
	Entries []Entry // in order

	Kept   int // leading entries repeated from the last request, byte for byte
	Tokens int // of all entries
	Dead   int // of unused entries
	Expect int // tokens expected to be read from the provider's cache

	ExpectBlocks int // content blocks of the expected read, tools counted as one; 0 if the provider accepts no marks

	Cut  Cut  // why the entries after Kept were rebuilt
	Long bool // the marks have a lifetime of an hour

	at        time.Time
	until     time.Time     // when the expected read is forgotten; zero if nothing is expected
	life      time.Duration // of the expected read; 0: not known
	automatic bool
	hit       prefix    // of the expected read
	after     *progress // of the tracker that made the plan
	inside    bool      // it continues the turn of the request before
	placed    bool      // with it, or before, the session's first outlines were placed
	next      any       // the layout's state after Commit
	changes   func() []TierChange
}

// Changes returns the changes since the last committed request, sorted by key; none for the first request.
func (p *Plan) Changes() []TierChange {
	if p.changes == nil {
		return nil
	}
	return p.changes()
}

// Cut is the reason why a request does not only append to the last one.
type Cut string

// The reasons. NoCut is a pure append. The layout `ripple` gives no reasons.
const (
	NoCut     Cut = ""
	CutFirst  Cut = "first request"
	CutCold   Cut = "the request is no longer cached"
	CutEdit   Cut = "content was removed from the view"
	CutStrict Cut = "a file was removed"
	CutCheap  Cut = "a rebuild is cheaper"
	CutWindow Cut = "the window is nearly full"
)

// moment is a point in a session: a request and the turn that it belongs to, both counted from 0. A turn has several requests
// if the model calls tools.
type moment struct{ request, turn int }

// back returns the moment n turns of one request before.
func (m moment) back(n int) moment { return moment{m.request - n, m.turn - n} }

// steps returns the number of requests up to m that continued a turn.
func (m moment) steps() int { return m.request - m.turn }

// progress is how far a tracker has come. It never changes: each Commit makes a new one, so a plan that holds the
// tracker's progress was made from its current state.
type progress struct {
	answered int       // committed requests
	steps    int       // of them, those inside a turn
	last     time.Time // time of the newest one
	long     bool      // the long lifetime is in use
	placed   bool      // the session's first outlines were placed
}

// next returns the moment of the next request, which continues the newest turn if inside is set.
func (p *progress) next(inside bool) moment {
	steps := p.steps
	if inside && p.answered > 0 {
		steps++
	}
	return moment{p.answered, p.answered - steps}
}
