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
	Gap   float64 `json:"gap"` // minutes since the last request
	Items []Item  `json:"items"`
}

// Item is an item of a printed request.
type Item struct {
	Hash   string `json:"h"`
	Tokens int    `json:"tok"`
	End    bool   `json:"end"`  // a block ends here
	Mark   bool   `json:"bp"`   // has a cache mark at its end
	Long   bool   `json:"long"` // the mark has a lifetime of an hour
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
		plan, err := s.turn(&u)
		if err != nil {
			return errors.Join(t.at(err), out.Flush())
		}
		if err := enc.Encode(printed(u.Gap, plan)); err != nil {
			return fmt.Errorf("write request: %w", err)
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

// turn replays one turn and returns the layout of its request.
func (s *session) turn(u *turn) (*stability.Plan, error) {
	s.now = s.now.Add(time.Duration(u.Gap * float64(time.Minute)))
	s.world.ask(u)
	plan, err := s.tracker.Plan(stability.Request{
		Now: s.now, Items: s.world.items(), Clusters: s.clusters, Diff: s.world.diff,
		Cache: stability.Cache{Mirror: s.mirror, Minimum: minCached},
	})
	if err != nil {
		return nil, err
	}
	// There is no provider that reports usage: the expectation is assumed to be met.
	s.mirror.Answered(plan, stability.Usage{Read: plan.Expect, Write: plan.Tokens - plan.Expect, Input: plan.Tokens})
	if err := s.tracker.Commit(plan); err != nil {
		return nil, err
	}
	s.world.answer(u)
	return plan, nil
}

func printed(gap float64, plan *stability.Plan) Request {
	out := Request{Gap: gap, Items: make([]Item, len(plan.Entries))}
	for i := range plan.Entries {
		e := &plan.Entries[i]
		out.Items[i] = Item{e.Blob, e.Tokens, e.BlockEnd, e.Mark, e.Mark && plan.Long}
	}
	return out
}
