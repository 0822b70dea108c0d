// Package mailbox runs the jobs of one owner on one goroutine, so that the owner's state needs no lock: requests in the
// order in which they came, changes that need I/O one at a time, and the goroutines that do the I/O.
//
// It must never block on its owner's work: what may block runs in a goroutine of the mailbox, and its result comes back
// as a job.
package mailbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Errors that refuse a request, wrapped with a subject.
var (
	ErrClosed   = errors.New("the session is closed")
	ErrOverload = errors.New("too many requests wait for the session")
	ErrInvalid  = errors.New("invalid request")
)

// feedLength is how many results of a stream wait at most: a stream that is faster than the mailbox has to wait.
const feedLength = 64

// Mailbox is the goroutine of one owner with its queues. Run is that goroutine. Methods may be called from any goroutine
// unless they say that they belong to the mailbox, which means: to the functions that it runs.
type Mailbox struct {
	name string
	log  *slog.Logger
	idle func()

	inbox *inbox
	feed  chan func()
	wg    sync.WaitGroup // goroutines of Spawn
	ctx   context.Context
	stop  context.CancelFunc

	// These belong to the mailbox.
	open  bool // takes requests
	ended bool
	taken int  // jobs that were taken from the inbox and wait for their turn
	busy  bool // an operation is under way
	ops   []Op // waiting
}

// New returns a mailbox that takes jobs but runs none before Run. name is the owner's in errors and in the log. idle runs
// on the mailbox after each operation.
func New(name string, log *slog.Logger, idle func()) *Mailbox {
	m := &Mailbox{name: name, log: log, idle: idle, inbox: newInbox(), feed: make(chan func(), feedLength)}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// Run runs jobs until End.
func (m *Mailbox) Run() {
	for !m.ended {
		select {
		case <-m.inbox.ready:
			jobs := m.inbox.take()
			for i, j := range jobs {
				m.taken = len(jobs) - i - 1
				m.do(j)
			}
		case run := <-m.feed:
			m.do(job{run: run})
		}
	}
}

// do runs one job. A panic of the job ends neither the mailbox nor the program.
func (m *Mailbox) do(j job) {
	if err := m.Guard(j.run); err != nil && j.fail != nil {
		j.fail(err)
	}
}

// Open lets requests run, until Refuse. It belongs to the mailbox.
func (m *Mailbox) Open() { m.open = true }

// Refuse lets requests that are waiting fail with ErrClosed. It belongs to the mailbox.
func (m *Mailbox) Refuse() { m.open = false }

// CheckIdle runs the owner's idle function. It belongs to the mailbox.
func (m *Mailbox) CheckIdle() { m.idle() }

// IsOpen reports whether requests run. It belongs to the mailbox.
func (m *Mailbox) IsOpen() bool { return m.open }

// Context ends with the mailbox.
func (m *Mailbox) Context() context.Context { return m.ctx }

// Post queues a request. fail is called, here or on the mailbox, if the request cannot run.
func (m *Mailbox) Post(run func(), fail func(error)) {
	closed := func() { fail(fmt.Errorf("%s: %w", m.name, ErrClosed)) }
	switch m.inbox.put(job{fail: fail, run: func() {
		if m.open {
			run()
		} else {
			closed()
		}
	}}) {
	case putShut:
		if err := m.inbox.refusal(); err != nil {
			fail(err)
			return
		}
		closed()
	case putFull:
		fail(m.overload())
	}
}

func (m *Mailbox) overload() error { return fmt.Errorf("%s: %w", m.name, ErrOverload) }

// Tell queues a job that must not be lost: a result, a cancellation, the end of a subscription. It reports false after
// End. fail, which may be nil, is called if the mailbox ends before the job has run.
func (m *Mailbox) Tell(run func(), fail func(error)) bool {
	return m.inbox.putOwn(job{run: run, fail: fail})
}

// Feed queues a result of a stream that must not outrun the mailbox: it waits while too many results are waiting. Only for
// goroutines that the mailbox outlives.
func (m *Mailbox) Feed(run func()) { m.feed <- run }

// Wait runs a job on the mailbox and waits for it. Only for goroutines that the mailbox outlives.
func (m *Mailbox) Wait(run func()) {
	ran := make(chan struct{})
	m.Tell(func() {
		defer close(ran)
		run()
	}, nil)
	<-ran
}

// Spawn runs work in a goroutine that End waits for.
func (m *Mailbox) Spawn(work func()) { m.wg.Go(work) }

// Shut refuses further requests.
func (m *Mailbox) Shut() { m.inbox.close() }

// ShutIfEmpty refuses further requests unless some are waiting, and reports whether it did. It belongs to the mailbox.
func (m *Mailbox) ShutIfEmpty() bool { return m.taken == 0 && m.inbox.closeIfEmpty() }

// IsShut reports whether requests are refused.
func (m *Mailbox) IsShut() bool { return m.inbox.isShut() }

// End ends the mailbox: it ends the context, waits for the goroutines, and fails the waiting jobs with err. Run returns
// after the job that called End. Later requests fail with err too. It belongs to the mailbox.
func (m *Mailbox) End(err error) {
	m.ended = true
	m.stop()
	m.wg.Wait()
	for _, j := range m.inbox.drain(err) {
		if j.fail != nil {
			j.fail(err)
		}
	}
}

// Guard runs do and turns a panic into an error, so that a hostile file or message ends neither the owner nor the
// program. The panic is logged.
func (m *Mailbox) Guard(do func()) (err error) {
	defer m.Rescue(&err)
	do()
	return nil
}

// Rescue is deferred around code that must not end the program: a panic is logged and becomes *err.
func (m *Mailbox) Rescue(err *error) {
	if r := recover(); r != nil {
		m.log.Error("panic", slog.String("of", m.name), slog.Any("panic", r), slog.String("stack", string(debug.Stack())))
		*err = fmt.Errorf("%s: internal error", m.name)
	}
}
