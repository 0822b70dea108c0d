// Package mailbox runs the jobs of one owner on one goroutine at a time, so that the owner's state needs no lock: requests
// in the order in which they came, changes that need I/O one at a time, and the goroutines that do the I/O.
//
// It must never block on its owner's work: what may block runs in a goroutine of the mailbox, and its result comes back
// as a job.
package mailbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Errors that refuse a request, wrapped with a subject.
var (
	ErrClosed   = errors.New("the session is closed")
	ErrOverload = errors.New("too many requests wait for the session")
	ErrInvalid  = errors.New("invalid request")
)

// Mailbox is the goroutine of one owner with its queues. It has no goroutine while no job waits and no goroutine of Spawn
// runs, so that an idle owner costs no stack. Methods may be called from any goroutine unless they say that they belong to
// the mailbox, which means: to the functions that it runs.
type Mailbox struct {
	name string
	log  *slog.Logger
	idle func()
	over func() // set by Start

	inbox *inbox
	wg    sync.WaitGroup // goroutines of Spawn and After
	ctx   context.Context
	stop  context.CancelFunc
	shut  context.Context // ends with Shut
	close context.CancelFunc
	gone  chan struct{} // closed when the mailbox runs no more jobs

	// These belong to the mailbox.
	open  bool // takes requests
	ended bool
	taken int  // jobs that were taken from the inbox and wait for their turn
	busy  bool // an operation is under way
	ops   []Op // waiting
}

// New returns a mailbox that takes jobs but runs none before Start. name is the owner's in errors and in the log. idle runs
// on the mailbox after each operation.
func New(name string, log *slog.Logger, idle func()) *Mailbox {
	m := &Mailbox{name: name, log: log, idle: idle, inbox: newInbox(), gone: make(chan struct{})}
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.shut, m.close = context.WithCancel(m.ctx)
	return m
}

// Start runs jobs until End. over is called after the job that called End, and those that were taken with it.
func (m *Mailbox) Start(over func()) {
	m.over = over
	m.inbox.start(m.run)
}

// run is the mailbox's goroutine, from a job until nothing is under way.
func (m *Mailbox) run() {
	for !m.ended {
		select {
		case <-m.inbox.ready:
			jobs := m.inbox.take()
			for i, j := range jobs {
				m.taken = len(jobs) - i - 1
				m.do(j)
			}
		case run := <-m.inbox.feed:
			m.do(job{run: run})
		}
		if !m.ended && m.inbox.rest() {
			return
		}
	}
	m.over()
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

// UntilShut ends when further requests are refused: for work that nobody needs then.
func (m *Mailbox) UntilShut() context.Context { return m.shut }

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
// goroutines of Spawn. It ends the goroutine if the mailbox has given it up.
func (m *Mailbox) Feed(run func()) {
	select {
	case m.inbox.feed <- run:
	case <-m.gone:
		runtime.Goexit()
	}
}

// Wait runs a job on the mailbox, after the results that the goroutine has fed before, and waits for it. Only for goroutines
// of Spawn, and others that the mailbox outlives. It ends the goroutine if the mailbox has given it up.
func (m *Mailbox) Wait(run func()) {
	ran := make(chan struct{})
	m.Tell(func() {
		defer close(ran)
		m.takeFed()
		run()
	}, nil)
	select {
	case <-ran:
	case <-m.gone:
		runtime.Goexit()
	}
}

// takeFed runs the results of streams that are waiting. It belongs to the mailbox.
func (m *Mailbox) takeFed() {
	for range len(m.inbox.feed) {
		m.do(job{run: <-m.inbox.feed})
	}
}

// Spawn runs work in a goroutine that End waits for.
func (m *Mailbox) Spawn(work func()) {
	m.inbox.enter()
	m.wg.Go(func() {
		defer m.inbox.leave()
		work()
	})
}

// After runs work in a goroutine that End waits for, when ctx has ended, which must end with Context. It belongs to the
// mailbox and its goroutines.
func (m *Mailbox) After(ctx context.Context, work func()) {
	m.wg.Add(1)
	context.AfterFunc(ctx, func() {
		defer m.wg.Done()
		work()
	})
}

// Shut refuses further requests.
func (m *Mailbox) Shut() {
	m.inbox.close()
	m.close()
}

// ShutIfEmpty refuses further requests unless some are waiting, and reports whether it did. It belongs to the mailbox.
func (m *Mailbox) ShutIfEmpty() bool {
	shut := m.taken == 0 && m.inbox.closeIfEmpty()
	if shut {
		m.close()
	}
	return shut
}

// IsShut reports whether requests are refused.
func (m *Mailbox) IsShut() bool { return m.inbox.isShut() }

// EndLimit is how long End waits for goroutines that do not end with their context.
const EndLimit = 10 * time.Second

// End ends the mailbox: it ends the context, waits for the goroutines, and fails the waiting jobs with err. A goroutine that
// does not end with its context is given up after EndLimit. Later requests fail with err too. It belongs to the mailbox.
func (m *Mailbox) End(err error) {
	m.ended = true
	m.stop()
	m.close()
	m.await()
	close(m.gone)
	for _, j := range m.inbox.drain(err) {
		if j.fail != nil {
			j.fail(err)
		}
	}
}

// await waits for the goroutines of Spawn, as long as they may take.
func (m *Mailbox) await() {
	ended := make(chan struct{})
	go func() {
		m.wg.Wait()
		close(ended)
	}()
	timer := time.NewTimer(EndLimit)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		m.log.Error("goroutines given up: they do not end", slog.String("of", m.name))
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
