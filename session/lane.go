package session

import (
	"context"
	"fmt"

	"strata/history"
	"strata/session/mailbox"
)

// maxPending limits what waits for a session, of each kind.
const maxPending = mailbox.MaxWaiting

type (
	work = mailbox.Work
	step = mailbox.Step
)

// op is a change of the session that needs I/O.
type op struct {
	begin step        // when its turn has come; an error refuses it
	fail  func(error) // on the mailbox, after the first error of a step or work
}

func (s *Session) enqueue(o op) { s.mailbox.Enqueue(mailbox.Op{Begin: o.begin, Fail: o.fail}) }

// post queues a request of a client. fail is called if it cannot run.
func (s *Session) post(run func(), fail func(error)) { s.mailbox.Post(run, fail) }

// tell queues a job that must not be lost while the session lives.
func (s *Session) tell(run func()) { s.mailbox.Tell(run, nil) }

// spawn runs work in a goroutine that the session owns.
func (s *Session) spawn(work func()) { s.mailbox.Spawn(work) }

// onMailbox runs do on the mailbox and waits for it. Only for goroutines of a running turn.
func (s *Session) onMailbox(do func()) { s.mailbox.Wait(do) }

// done ends an operation: do runs on the mailbox.
func done(do func()) step { return mailbox.Done(do) }

// store returns the work that stores a change under the name of the operation, and then runs then on the mailbox.
func (s *Session) store(what string, change history.Change, then func()) work {
	change.Session = s.id
	return func(ctx context.Context) (step, error) {
		if err := s.deps.Store.Commit(ctx, change); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", what, ErrStorage, err)
		}
		return done(then), nil
	}
}
