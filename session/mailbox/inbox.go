package mailbox

import "sync"

// MaxWaiting limits the requests that wait in a mailbox, and the operations. Each connection has its own limit already;
// this one is for a crowd of connections.
const MaxWaiting = 1024

// feedLength is how many results of a stream wait at most: a stream that is faster than the mailbox has to wait.
const feedLength = 64

// job is a function that the mailbox runs. Exactly one of its functions is called, both on the mailbox.
type job struct {
	run  func()
	fail func(error) // the mailbox ended before; nil if nobody waits
}

// inbox is a first-in-first-out queue. It accepts requests until it is shut, and results of the mailbox's own goroutines
// until it is drained. It starts the goroutine that takes them when there is something to take.
type inbox struct {
	ready chan struct{} // has one token when jobs wait, or when the goroutine may rest
	feed  chan func()   // results of streams

	mu      sync.Mutex
	run     func() // the goroutine; nil before start
	running bool   // it runs
	helpers int    // goroutines that may feed
	jobs    []job
	shut    bool
	drained bool
	ending  error // of requests that come after drain
}

func newInbox() *inbox {
	return &inbox{ready: make(chan struct{}, 1), feed: make(chan func(), feedLength)}
}

// start lets run take the jobs: now if there are any, and each time when there are some again after a rest.
func (b *inbox) start(run func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.run = run
	if len(b.jobs) > 0 || b.helpers > 0 {
		b.wake()
	}
}

// rest reports whether there is nothing to take, and then regards run as ended.
func (b *inbox) rest() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.jobs) > 0 || b.helpers > 0 || len(b.feed) > 0 {
		return false
	}
	b.running = false
	return true
}

func (b *inbox) wake() {
	if b.run != nil && !b.running {
		b.running = true
		go b.run()
	}
}

// enter notes a goroutine that may feed: run does not rest before it has left.
func (b *inbox) enter() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.helpers++
	b.wake()
}

func (b *inbox) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.helpers--
	b.signal()
}

type putResult int

const (
	putDone putResult = iota
	putFull
	putShut
)

// put queues a request.
func (b *inbox) put(j job) putResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.shut:
		return putShut
	case len(b.jobs) >= MaxWaiting:
		return putFull
	}
	b.add(j)
	return putDone
}

// putOwn queues a job that must not be refused before the end. Each of those follows a request, whose number is limited.
func (b *inbox) putOwn(j job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drained {
		return false
	}
	b.add(j)
	return true
}

func (b *inbox) add(j job) {
	b.jobs = append(b.jobs, j)
	b.signal()
	b.wake()
}

func (b *inbox) signal() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take returns all waiting jobs.
func (b *inbox) take() []job {
	b.mu.Lock()
	defer b.mu.Unlock()
	jobs := b.jobs
	b.jobs = nil
	return jobs
}

// close refuses further requests.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = true
}

// closeIfEmpty refuses further requests unless some wait, and reports whether it did.
func (b *inbox) closeIfEmpty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = b.shut || len(b.jobs) == 0
	return b.shut
}

// drain refuses everything, requests with err, and returns what still waits.
func (b *inbox) drain(err error) []job {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut, b.drained, b.ending = true, true, err
	jobs := b.jobs
	b.jobs = nil
	return jobs
}

// refusal returns the error of requests after drain, nil before.
func (b *inbox) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ending
}

func (b *inbox) isShut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut
}
