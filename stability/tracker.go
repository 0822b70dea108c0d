// Package stability lays out requests to a model: the order of the items, which of them are sent again byte for byte,
// and the positions of marks for the provider's prompt cache.
//
// A Tracker counts for how many turns each item of a session has been unchanged, and drives a Layout. A plan depends
// only on the state and the request. When the provider starts its reply, the Mirror of its cache is updated from the
// reported usage; when the reply is complete, Commit makes the plan the new state. The package must never do I/O, read
// a clock, or see the text of an item: it works on hashes and sizes.
package stability

import (
	"errors"
	"fmt"
	"time"
)

// Layout orders the items of a request and places the marks. The implementations are `log` and `ripple`.
type Layout interface {
	// Plan lays out the request at now. It does not change the state.
	// long requests marks with the long lifetime. first has the tiers of outlines in their first placement.
	Plan(req *Request, now moment, long bool, first map[string]Tier) *Plan
	// Commit makes p the new state. p must be planned from the current state.
	Commit(p *Plan)

	save() (inner any, rows [][]byte)     // returns the state as a value to encode as JSON, or as rows of JSON
	load(saved []byte, next moment) error // restores the state before the request at next into an empty layout
	sent() []Entry                        // returns the entries of the last committed plan
	conversation() *sent                  // returns what is known of the conversation in them
}

// The names of the layouts.
const (
	LayoutLog    = "log"
	LayoutRipple = "ripple"
)

// The lifetimes of cached prefixes. LifetimeAuto starts with five minutes and changes to an hour after the first pause
// between five minutes and an hour.
const (
	LifetimeAuto = "auto"
	Lifetime5m   = "5m"
	Lifetime1h   = "1h"
)

// Options are a session's settings.
type Options struct {
	Layout   string // LayoutLog (default) or LayoutRipple
	Lifetime string // LifetimeAuto (default), Lifetime5m or Lifetime1h
	Strict   bool   // log: rebuild as soon as a file is removed
	Target   int    // tokens that make a tier worth a mark; 0 disables anchors, folding and graduation of history
	Further  int    // log: expected number of further requests, used to weigh a rebuild; 0: 8, with tools 20
}

// DefaultTarget is one and a half times 1,024, the tokens of the shortest prefix that can be cached.
const DefaultTarget = 1536

// maxFurther is the maximum of Options.Further. It prevents overflows in prices.
const maxFurther = 100

// ErrStale is returned, wrapped, for a plan that was not made from the current state.
var ErrStale = errors.New("the plan does not fit the current state")

// Tracker counts for how many turns the items of a session have been unchanged and plans its requests.
// It is not safe for concurrent use.
type Tracker struct {
	lifetime string
	kind     string
	target   int
	layout   Layout

	progress *progress
}

// New returns the tracker of a session that has sent no request. It returns an error for invalid options.
func New(opt Options) (*Tracker, error) {
	t := &Tracker{lifetime: opt.Lifetime, kind: opt.Layout, target: opt.Target, progress: &progress{long: opt.Lifetime == Lifetime1h}}
	switch opt.Layout {
	case "", LayoutLog:
		t.kind = LayoutLog
		t.layout = &log{strict: opt.Strict, further: opt.Further}
	case LayoutRipple:
		t.layout = &ripple{target: opt.Target}
	default:
		return nil, fmt.Errorf("unknown layout %q; use %s or %s", opt.Layout, LayoutLog, LayoutRipple)
	}
	if opt.Target < 0 || opt.Further < 0 || opt.Further > maxFurther {
		return nil, fmt.Errorf("target of %d tokens, %d further requests: must not be negative, at most %d requests", opt.Target, opt.Further, maxFurther)
	}
	switch opt.Lifetime {
	case "":
		t.lifetime = LifetimeAuto
	case LifetimeAuto, Lifetime5m, Lifetime1h:
	default:
		return nil, fmt.Errorf("unknown lifetime %q; use %s, %s or %s", opt.Lifetime, LifetimeAuto, Lifetime5m, Lifetime1h)
	}
	return t, nil
}

// Plan lays out the next request. It does not change the state: any number of plans may be made, and at most one
// committed. It returns an error for an invalid request.
func (t *Tracker) Plan(req Request) (*Plan, error) {
	err := req.check()
	if err == nil {
		err = req.checkKeys(t.layout.conversation())
	}
	if err != nil {
		return nil, fmt.Errorf("plan request: %w", err)
	}
	long := t.wantsLong(req.Now)
	inside := t.progress.answered > 0 && req.insideTurn()
	first, placed := t.firstTiers(&req, inside)
	p := t.layout.Plan(&req, t.progress.next(inside), long, first)
	p.Long, p.inside, p.placed, p.at, p.after = long, inside, placed, req.Now, t.progress
	for i := range p.Entries {
		p.Tokens += p.Entries[i].Tokens
	}
	p.expect(&req.Cache, req.Now.Sub(t.progress.last))
	return p, nil
}

func (t *Tracker) wantsLong(now time.Time) bool {
	if t.lifetime != LifetimeAuto || t.progress.long || t.progress.answered == 0 {
		return t.progress.long
	}
	pause := now.Sub(t.progress.last)
	return pause > ShortLife && pause <= LongLife
}

// Commit makes p the new state after its request got a reply.
// It returns ErrStale, wrapped, if p was not planned from the current state.
func (t *Tracker) Commit(p *Plan) error {
	if p.after != t.progress {
		return fmt.Errorf("commit after %d requests: %w", t.progress.answered, ErrStale)
	}
	t.layout.Commit(p)
	steps := t.progress.next(p.inside).steps()
	t.progress = &progress{answered: t.progress.answered + 1, steps: steps, last: p.at, long: p.Long, placed: p.placed}
	return nil
}

// Entries returns the layout of the last committed request. The caller must be able to render these entries again.
// The result must not be modified.
func (t *Tracker) Entries() []Entry { return t.layout.sent() }
