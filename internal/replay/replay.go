package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"strata/stability"
)

// Request is a printed request.
type Request struct {
	Gap   float64 `json:"gap"`            // minutes since the last request
	Step  int     `json:"step,omitempty"` // steps of the turn before the request
	Items []Item  `json:"items"`
}

// Item is an item of a printed request.
type Item struct {
	Hash   string `json:"h"`
	Tokens int    `json:"tok"`
	End    bool   `json:"end"`              // a block ends here
	Mark   bool   `json:"bp"`               // has a cache mark at its end
	Long   bool   `json:"long"`             // the mark has a lifetime of an hour
	Blocks int    `json:"blocks,omitempty"` // of an item with several, all ended; 0: 1
}

// minCached is the length of the shortest prefix that can be cached by the billing rules, in tokens.
const minCached = 1024

// epoch is the start time of every replayed session.
var epoch = time.Unix(0, 0).UTC()

// Options are the options of a replayed session.
type Options struct {
	stability.Options

	// Unclustered means that no outlines form clusters. By default the outlines of a folder do, as a trace has no
	// references between files.
	Unclustered bool
}

// RippleUnclustered is the name of the layout `ripple` without clusters.
const RippleUnclustered = "ripple-unclustered"

// Layouts are the names for Defaults.
var Layouts = []string{stability.LayoutLog, stability.LayoutRipple, RippleUnclustered}

// Defaults returns the default options of a session with the given layout, one of Layouts.
func Defaults(layout string) Options {
	opt := Options{Options: stability.Options{Layout: layout, Target: stability.DefaultTarget}}
	if layout == RippleUnclustered {
		opt.Layout, opt.Unclustered = stability.LayoutRipple, true
	}
	return opt
}

// Replay reads a trace from r, lays out its requests, and writes each as a line of JSON to w.
// An error in the trace contains its line number; the requests before that line have been written.
func Replay(r io.Reader, w io.Writer, opt Options) error {
	t, err := openTrace(r)
	if err != nil {
		return err
	}
	s, err := newSession(&t.header, opt)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	for {
		u, err := t.next()
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		err = s.turn(&u, func(gap float64, step int, plan *stability.Plan) error {
			return enc.Encode(printed(gap, step, plan))
		})
		if err != nil {
			return errors.Join(t.at(err), out.Flush())
		}
	}
}

// session is a session being replayed.
type session struct {
	world    *world
	tracker  *stability.Tracker
	mirror   *stability.Mirror
	clusters [][]string
	now      time.Time
}

func newSession(h *header, opt Options) (*session, error) {
	tracker, err := stability.New(opt.Options)
	if err != nil {
		return nil, err
	}
	s := &session{world: newWorld(h), tracker: tracker, mirror: stability.NewMirror(), now: epoch}
	if !opt.Unclustered {
		s.clusters = clusters(h)
	}
	return s, nil
}

// turn replays one turn and calls on for each of its requests: with the minutes since the last request, the number of steps
// before it, and its layout.
func (s *session) turn(u *turn, on func(gap float64, step int, plan *stability.Plan) error) error {
	s.world.ask(u)
	gap := u.Gap
	for n := 0; ; n++ {
		plan, err := s.request(gap)
		if err != nil {
			return err
		}
		if err := on(gap, n, plan); err != nil {
			return fmt.Errorf("request after %d steps: %w", n, err)
		}
		if n == len(u.Steps) {
			s.world.answer(u)
			return nil
		}
		s.world.act(u.Steps[n], n)
		gap = u.Steps[n][stepGap]
	}
}

// request lays out the next request, some minutes after the last one.
func (s *session) request(gap float64) (*stability.Plan, error) {
	s.now = s.now.Add(time.Duration(gap * float64(time.Minute)))
	plan, err := s.tracker.Plan(stability.Request{
		Now: s.now, Items: s.world.items(), Clusters: s.clusters, Diff: s.world.diff,
		Cache: stability.Cache{Mirror: s.mirror, Minimum: minCached},
	})
	if err != nil {
		return nil, err
	}
	// There is no provider that reports usage: the expectation is assumed to be met.
	s.mirror.Answered(plan, stability.Usage{Read: plan.Expect, Write: plan.Tokens - plan.Expect, Input: plan.Tokens})
	return plan, s.tracker.Commit(plan)
}

func printed(gap float64, step int, plan *stability.Plan) Request {
	out := Request{Gap: gap, Step: step, Items: make([]Item, len(plan.Entries))}
	for i := range plan.Entries {
		e := &plan.Entries[i]
		out.Items[i] = Item{e.Blob, e.Tokens, e.BlockEnd, e.Mark, e.Mark && plan.Long, 0}
		if e.Blocks > 1 {
			out.Items[i].Blocks = e.Blocks
		}
	}
	return out
}
