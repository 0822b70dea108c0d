package session

import "sync"

// maxPending bounds the jobs that wait in a session's inbox. Requests in flight are bounded per
// connection already; this holds off a crowd of connections on one session.
const maxPending = 1024

// job is one thing for the mailbox to do. Exactly one of its functions is called, on the mailbox
// goroutine or, when the session ended first, on whichever goroutine ends it.
type job struct {
	run  func()
	fail func(error) // the session could not be loaded or has ended; nil where nobody waits
}

// inbox is the first-in-first-out queue of a session. It accepts jobs from the moment that the session
// has an entry in the registry, also while it is loading, until it is shut; results of the session's own
// goroutines are accepted until it is drained.
type inbox struct {
	ready chan struct{} // has one token when jobs wait

	mu      sync.Mutex
	jobs    []job
	shut    bool
	drained bool
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

type putResult int

const (
	putDone putResult = iota
	putFull
	putShut
)

// put queues a request of a client.
func (b *inbox) put(j job) putResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.shut:
		return putShut
	case len(b.jobs) >= maxPending:
		return putFull
	}
	b.add(j)
	return putDone
}

// putOwn queues what must not be refused while the session lives: results, cancels, the end of a
// subscription. Each of those answers something that is bounded itself.
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

// drain refuses everything and returns what still waits.
func (b *inbox) drain() []job {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut, b.drained = true, true
	jobs := b.jobs
	b.jobs = nil
	return jobs
}

func (b *inbox) isShut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut
}
