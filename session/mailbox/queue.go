package mailbox

import (
	"context"
)

// Work is a part of an operation that may block. It runs in a goroutine of the mailbox, on copies, and returns the step
// that takes its outcome.
type Work func(ctx context.Context) (Step, error)

// Step is a part of an operation that runs on the mailbox. It returns the work that follows, nil at the end.
type Step func() (Work, error)

// Op is a change that needs I/O. Ops run one at a time in the order in which they came, so that a client's requests take
// effect in the order in which they were sent. Queries and cancellations do not wait for them.
type Op struct {
	Begin Step        // when its turn has come; an error refuses it
	Fail  func(error) // on the mailbox, after the first error of a step or of work
}

// Done returns the step that ends an operation with do.
func Done(do func()) Step {
	return func() (Work, error) {
		do()
		return nil, nil
	}
}

// Busy reports whether an operation is under way or waiting. It belongs to the mailbox.
func (m *Mailbox) Busy() bool { return m.busy || len(m.ops) > 0 }

// Enqueue adds an operation to the queue. It belongs to the mailbox.
func (m *Mailbox) Enqueue(o Op) {
	if len(m.ops) >= MaxWaiting {
		o.Fail(m.overload())
		return
	}
	m.ops = append(m.ops, o)
	m.advance()
}

// advance starts the next operation unless one is under way.
func (m *Mailbox) advance() {
	for !m.busy && len(m.ops) > 0 {
		o := m.ops[0]
		m.ops[0] = Op{} // the array must not keep what the operation refers to
		m.ops = m.ops[1:]
		m.proceed(o, o.Begin)
	}
	m.idle()
}

// proceed takes a step of an operation and starts the work that follows.
func (m *Mailbox) proceed(o Op, step Step) {
	m.busy = true
	next, err := m.take(step)
	if err == nil && next != nil {
		m.Spawn(func() { m.perform(o, next) })
		return
	}
	m.busy = false
	if err != nil {
		o.Fail(err)
	}
}

// perform does an operation's work and hands the outcome to the mailbox.
func (m *Mailbox) perform(o Op, work Work) {
	step, err := m.work(work)
	if err != nil {
		step = func() (Work, error) { return nil, err }
	}
	m.Tell(func() {
		m.proceed(o, step)
		m.advance()
	}, nil)
}

func (m *Mailbox) take(step Step) (next Work, err error) {
	defer m.Rescue(&err)
	return step()
}

func (m *Mailbox) work(work Work) (step Step, err error) {
	defer m.Rescue(&err)
	return work(m.ctx)
}

// Ask runs a request on the mailbox that calls reply, or replies with the error that refuses it.
func Ask[T any](m *Mailbox, reply func(T, error), run func()) {
	m.Post(run, func(err error) {
		var none T
		reply(none, err)
	})
}

// Change runs an operation that calls reply at its end, or replies with the error that refuses or ends it.
func Change[T any](m *Mailbox, reply func(T, error), begin Step) {
	fail := func(err error) {
		var none T
		reply(none, err)
	}
	m.Post(func() { m.Enqueue(Op{Begin: begin, Fail: fail}) }, fail)
}
