// Package stability decides what a request to a model looks like: in which order its items stand, which of them are
// sent again byte for byte, and where the marks for the provider's prompt cache are.
//
// A Tracker counts for how many replies each item of a session has stayed unchanged, and drives a Layout. Planning is
// a function of the state and the request. When the provider begins to answer, the Mirror of its cache learns from
// the usage that it reports; when the answer is there, Commit makes the plan the state. The package must never do I/O,
// read a clock, or see the text of an item: it works on hashes and sizes.
package stability

import (
	"errors"
	"fmt"
	"time"
)

// Layout orders the items of a request and places the marks. The two are `log` and `ripple`.
type Layout interface {
	// Plan lays out the request with the given number, counted from 0. It leaves the layout's state alone.
	// long asks for marks with the long lifetime.
	Plan(req *Request, number int, long bool) *Plan
	// Commit makes p, planned from the present state, the state: its request was answered.
	Commit(p *Plan)

	save() any                             // what is stored of the state, for JSON
	load(saved []byte, answered int) error // the reverse, for an empty layout
	sent() []Entry                         // the entries last answered
}

// The names of the layouts.
const (
	LayoutLog    = "log"
	LayoutRipple = "ripple"
)

// The lifetimes that can be asked for. LifetimeAuto starts with five minutes; after the first pause
// that an hour would have bridged it asks for an hour.
const (
	LifetimeAuto = "auto"
	Lifetime5m   = "5m"
	Lifetime1h   = "1h"
)

// Options are a session's settings.
type Options struct {
	Layout   string // LayoutLog (default) or LayoutRipple
	Lifetime string // LifetimeAuto (default), Lifetime5m or Lifetime1h
	Strict   bool   // log: cut at once when a file is taken out
	Target   int    // tokens that make a tier worth a mark; 0 turns anchors, folding and graduation of history off
	Turns    int    // log: further turns that a session is expected to have; 0: 8
}

// DefaultTarget is one and a half times 1,024, the shortest prefix that is cached.
const DefaultTarget = 1536

// defaultTurns is for how many turns a cut is expected to pay.
const defaultTurns = 8

// maxTurns bounds it, so that no price can overflow.
const maxTurns = 100

// ErrStale is returned, wrapped, for a plan that was not made from the present state.
var ErrStale = errors.New("plan does not fit the present state")

// Tracker counts how long the items of a session have been stable and plans its requests.
// It is used by one goroutine.
type Tracker struct {
	lifetime string
	kind     string
	layout   Layout

	answered int       // requests so far
	last     time.Time // of the newest of them
	long     bool      // the long lifetime is in use
}

// New returns the tracker of a session that has sent nothing.
func New(opt Options) (*Tracker, error) {
	t := &Tracker{lifetime: opt.Lifetime, kind: opt.Layout}
	switch opt.Layout {
	case "", LayoutLog:
		t.kind = LayoutLog
		if opt.Turns == 0 {
			opt.Turns = defaultTurns
		}
		t.layout = &log{strict: opt.Strict, turns: opt.Turns, target: opt.Target}
	case LayoutRipple:
		t.layout = &ripple{target: opt.Target}
	default:
		return nil, fmt.Errorf("layout %q: want %s or %s", opt.Layout, LayoutLog, LayoutRipple)
	}
	if opt.Target < 0 || opt.Turns < 0 || opt.Turns > maxTurns {
		return nil, fmt.Errorf("target of %d tokens, %d turns: want 0 or more, and at most %d turns", opt.Target, opt.Turns, maxTurns)
	}
	switch opt.Lifetime {
	case "":
		t.lifetime = LifetimeAuto
	case LifetimeAuto, Lifetime5m:
	case Lifetime1h:
		t.long = true
	default:
		return nil, fmt.Errorf("lifetime %q: want %s, %s or %s", opt.Lifetime, LifetimeAuto, Lifetime5m, Lifetime1h)
	}
	return t, nil
}

// Plan lays out the next request. It changes nothing: any number of plans may be made, and at most one is committed.
func (t *Tracker) Plan(req Request) (*Plan, error) {
	if err := req.check(); err != nil {
		return nil, fmt.Errorf("plan request: %w", err)
	}
	long := t.wantsLong(req.Now)
	p := t.layout.Plan(&req, t.answered, long)
	p.Long, p.at, p.of, p.number = long, req.Now, t, t.answered
	for i := range p.Entries {
		p.Tokens += p.Entries[i].Tokens
	}
	p.expect(&req.Cache, req.Now.Sub(t.last))
	return p, nil
}

func (t *Tracker) wantsLong(now time.Time) bool {
	if t.lifetime != LifetimeAuto || t.long || t.answered == 0 {
		return t.long
	}
	pause := now.Sub(t.last)
	return pause > shortLife && pause <= longLife
}

// Commit tells t that the request of p was answered. It counts one reply for every item.
func (t *Tracker) Commit(p *Plan) error {
	if p.of != t || p.number != t.answered {
		return fmt.Errorf("commit request %d after %d: %w", p.number, t.answered, ErrStale)
	}
	t.layout.Commit(p)
	t.answered++
	t.last, t.long = p.at, p.Long
	return nil
}

// Entries returns the layout of the request last answered: what a caller must be able to render again. Read, do not write.
func (t *Tracker) Entries() []Entry { return t.layout.sent() }
