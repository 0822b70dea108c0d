package session

import (
	"context"
	"fmt"

	"strata/history"
)

// work is a part of an operation that may block. It runs in a goroutine that the session owns, on what
// was copied for it, and returns what is to be done with its outcome on the mailbox.
type work func(ctx context.Context) (step, error)

// step takes the outcome of work on the mailbox, and returns the work that follows; nil at the end.
type step func() (work, error)

// op is a change of the session that needs I/O. Ops run one at a time in the order they came, so that
// what a client sends in a row takes effect in a row; queries and cancels do not wait for them.
type op struct {
	begin step        // when its turn has come; an error refuses it
	fail  func(error) // on the mailbox, after the first error of a step or work
}

// lane is the queue of a session's operations. It belongs to the mailbox.
type lane struct {
	busy bool
	ops  []op
}

// enqueue adds an operation to the lane.
func (s *Session) enqueue(o op) {
	if len(s.lane.ops) >= maxPending {
		o.fail(fmt.Errorf("session %s: %w", s.id, ErrOverload))
		return
	}
	s.lane.ops = append(s.lane.ops, o)
	s.advance()
}

// advance starts the next operation if none runs.
func (s *Session) advance() {
	for !s.lane.busy && len(s.lane.ops) > 0 {
		o := s.lane.ops[0]
		s.lane.ops = s.lane.ops[1:]
		s.proceed(o, o.begin)
	}
	s.endIfIdle()
}

// proceed takes one step of an operation, and starts the work behind it.
func (s *Session) proceed(o op, do step) {
	s.lane.busy = true
	next, err := s.attempt(do)
	if err == nil && next != nil {
		s.spawn(func() { s.perform(o, next) })
		return
	}
	s.lane.busy = false
	if err != nil {
		o.fail(err)
	}
}

// perform runs an operation's work and hands the outcome back to the mailbox.
func (s *Session) perform(o op, w work) {
	do, err := s.guard(w)
	if err != nil {
		do = func() (work, error) { return nil, err }
	}
	s.tell(func() {
		s.proceed(o, do)
		s.advance()
	})
}

// guard turns a panic of w into an error, so that a hostile file or message cannot end the server.
func (s *Session) guard(w work) (do step, err error) {
	defer s.rescue(&err)
	return w(s.ctx)
}

// attempt turns a panic of a step into an error: the lane goes on with the next operation.
func (s *Session) attempt(do step) (next work, err error) {
	defer s.rescue(&err)
	return do()
}

// rescue is deferred around code that must end neither the session nor the server: a panic becomes *err.
func (s *Session) rescue(err *error) {
	if r := recover(); r != nil {
		*err = s.panicked(r)
	}
}

// done ends an operation: do runs on the mailbox.
func done(do func()) step {
	return func() (work, error) {
		do()
		return nil, nil
	}
}

// store returns the work that stores a change under the name of what is being done, and then does then
// on the mailbox.
func (s *Session) store(what string, change history.Change, then func()) work {
	change.Session = s.id
	return func(ctx context.Context) (step, error) {
		if err := s.deps.Store.Commit(ctx, change); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", what, ErrStorage, err)
		}
		return done(then), nil
	}
}
