// Package server is the HTTP listener and all that it serves: the method table, the registry of sessions, connections,
// and the order of shutdown. Below it, access decides who may connect, wire holds the types of the protocol, and
// transfer exports and imports sessions.
//
// It connects the wire with sessions and holds no state of a session. It must never log a token, a key or a user's text.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"strata/historystore"
	"strata/historystore/outlines"
	"strata/server/budgets"
	"strata/server/wire"
)

// Server is one server on one database. Run serves until its context ends.
type Server struct {
	*backend
	methods map[string]method
}

// New returns a server on an open store, which the caller closes after Run has returned.
func New(store *historystore.Store, opt Options) (*Server, error) {
	b, err := newBackend(store, opt)
	if err != nil {
		return nil, err
	}
	return &Server{backend: b, methods: methodTable()}, nil
}

// Run listens and serves until ctx ends, then shuts down in order: it refuses new work, stores running turns as
// interrupted, ends sessions, and closes sockets with 1001. It returns when all of that is done. Run is called once.
func (s *Server) Run(ctx context.Context) error {
	if _, err := s.recovery.restore(ctx, ""); err != nil {
		return err
	}
	var listener net.Listener
	var err error
	if s.endpoint, listener, err = listen(s.Options, s.rotated); err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	if err := s.announce(); err != nil {
		listener.Close()
		return err
	}
	defer s.withdraw()

	connections, drop := context.WithCancel(context.Background())
	defer drop()
	web := &http.Server{
		Handler:           s.routes(connections),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	s.background.Go(func() { s.keepHouse(ctx) })
	s.background.Go(func() { s.watchAccess(ctx) })
	s.background.Go(func() { s.monitors.Run(ctx) })
	s.background.Go(func() { s.watchBudgets(ctx) })
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()

	select {
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.stop()
	return errors.Join(err, s.within(shutdownLimit, func() {
		s.shutdown(web, drop)
		s.background.Wait()
	}))
}

// shutdownLimit is how long a shutdown may take. Each step of it has a limit of its own; this one is for whatever does not
// end with its context. All that clients were told is stored then, and the replies that were running as far as they were
// saved.
const shutdownLimit = 12 * time.Second

// errStuck is the end of a server that has given up to shut down in order.
var errStuck = fmt.Errorf("the shutdown was ended after %v: something does not end; what was stored is complete", shutdownLimit)

// within runs the shutdown. After the limit it returns errStuck, and the rest is left to the end of the process.
func (s *Server) within(limit time.Duration, shutdown func()) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		shutdown()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		s.Log.Error("shutdown not completed", slog.Int("sessions", s.sessions.count()), slog.Int("connections", s.clients.count()))
		return errStuck
	}
}

// shutdown ends everything in order: first the listener, and sessions before sockets, so that clients receive the
// results of their turns.
func (s *Server) shutdown(web *http.Server, drop func()) {
	s.Log.Info("shutting down")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.Log.Warn("listener not closed cleanly", slog.Any("error", err))
	}
	s.sessions.shutdown()
	s.pool.Close()
	s.outlines.Close()
	s.clients.farewell()
	drop()
	s.clients.wait()
	web.Close()
}

// firstPurge is the time from the start to the first purge, which would delay the first sessions.
const firstPurge = 10 * time.Second

// keepHouse unloads idle sessions, purges deleted ones, and ends a server without connections after ExitIdle.
func (s *Server) keepHouse(ctx context.Context) {
	tick := time.NewTicker(housekeeping(s.Options))
	defer tick.Stop()
	nextPurge := s.now().Add(firstPurge)
	for {
		now := s.now()
		s.sessions.unloadIdle(now.Add(-s.IdleUnload))
		if !now.Before(nextPurge) {
			nextPurge = now.Add(time.Hour)
			s.purge(ctx, now.Add(-s.Retention))
		}
		if s.ExitIdle > 0 && s.clients.idleFor(now) >= s.ExitIdle && s.sessions.count() == 0 {
			s.stop()
			return
		}
		select {
		case <-tick.C:
		case <-s.bin.Due():
			nextPurge = s.now()
		case <-ctx.Done():
			return
		}
	}
}

// housekeeping returns the interval of keepHouse: short enough for the shortest of its delays.
func housekeeping(opt Options) time.Duration {
	every := min(time.Minute, opt.IdleUnload/4)
	if opt.ExitIdle > 0 {
		every = min(every, opt.ExitIdle/4)
	}
	return max(every, 10*time.Millisecond)
}

// purge deletes sessions deleted before a time, outlines that nobody has used for long, and old requests.
func (s *Server) purge(ctx context.Context, before time.Time) {
	switch n, err := s.store.Purge(ctx, before); {
	case err != nil && ctx.Err() == nil:
		s.Log.Warn("deleted sessions not purged", slog.Any("error", err))
	case n > 0:
		s.Log.Info("deleted sessions purged", slog.Int("sessions", n))
	}
	n, err := s.store.OutlineStore().Purge(ctx, s.now().Add(-outlines.Retention), outlines.MaxBytes)
	switch {
	case err != nil && ctx.Err() == nil:
		s.Log.Warn("unused outlines not purged", slog.Any("error", err))
	case n > 0:
		s.Log.Info("unused outlines purged", slog.Int("outlines", n))
	}
	n, err = historystore.RequestsOf(s.store).Purge(ctx, s.now().Add(-s.RequestAge), s.RequestBytes)
	switch {
	case err != nil && ctx.Err() == nil:
		s.Log.Warn("old requests not purged", slog.Any("error", err))
	case n > 0:
		s.Log.Debug("old requests purged", slog.Int("requests", n))
	}
}

// watchBudgets warns of budgets that are nearly spent, or exceeded, until ctx ends.
func (s *Server) watchBudgets(ctx context.Context) {
	s.budgets.Run(ctx, func(b wire.BudgetState) {
		s.monitors.Send(wire.ServerEvent{Type: "budget", Budget: &b, Text: budgets.Text(&b)})
		for _, id := range s.monitors.Working() {
			if running, loaded := s.sessions.get(id); loaded {
				running.NotifyIn(s.budgets.Take)
			}
		}
	}, func(err error) { s.Log.Warn("budgets not compared", slog.Any("error", err)) })
}
