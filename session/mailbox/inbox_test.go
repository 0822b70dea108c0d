package mailbox

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
)

func TestInboxIsFirstInFirstOut(t *testing.T) {
	b := newInbox()
	var got []int
	for i := range 10 {
		b.put(job{run: func() { got = append(got, i) }})
	}
	for _, j := range b.take() {
		j.run()
	}
	for i, n := range got {
		if i != n {
			t.Fatalf("done in the order %v", got)
		}
	}
	if len(got) != 10 || len(b.take()) != 0 {
		t.Errorf("took %d jobs, then more", len(got))
	}
}

func TestInboxTellsThatJobsWait(t *testing.T) {
	b := newInbox()
	b.put(job{})
	b.put(job{})
	<-b.ready
	select {
	case <-b.ready:
		t.Error("called twice")
	default:
	}
	b.take()
	b.putOwn(job{})
	<-b.ready
}

func TestInboxIsBoundedForClients(t *testing.T) {
	b := newInbox()
	for i := range MaxWaiting {
		if b.put(job{}) != putDone {
			t.Fatalf("job %d was refused", i)
		}
	}
	if b.put(job{}) != putFull {
		t.Error("it accepts more jobs than its limit")
	}
	if !b.putOwn(job{}) {
		t.Error("a result was refused")
	}
	b.take()
	if b.put(job{}) != putDone {
		t.Error("it stays full")
	}
}

func TestInboxThatIsShut(t *testing.T) {
	b := newInbox()
	b.put(job{})
	if b.closeIfEmpty() || b.isShut() {
		t.Error("shut although a job waits")
	}
	b.take()
	if !b.closeIfEmpty() || !b.isShut() {
		t.Error("not shut")
	}
	if b.put(job{}) != putShut {
		t.Error("it accepts requests")
	}
	if !b.putOwn(job{}) {
		t.Error("it refuses results")
	}
	if jobs := b.drain(nil); len(jobs) != 1 {
		t.Errorf("%d jobs remained", len(jobs))
	}
	if b.putOwn(job{}) || b.put(job{}) != putShut || len(b.drain(nil)) != 0 || len(b.take()) != 0 {
		t.Error("it accepts jobs after it was drained")
	}
}

func TestCloseRefusesAFullInboxToo(t *testing.T) {
	b := newInbox()
	for range MaxWaiting {
		b.put(job{})
	}
	b.close()
	if b.put(job{}) != putShut {
		t.Error("a full inbox that is shut reports that it is full")
	}
}

// Exactly one function of every job is called, whenever the inbox is shut and drained.
func TestEveryJobIsAnsweredOnce(t *testing.T) {
	b := newInbox()
	var ran, failed, refused atomic.Int64
	const putters, each = 8, 200
	var writers sync.WaitGroup
	for i := range putters {
		writers.Go(func() {
			for range each {
				j := job{run: func() { ran.Add(1) }, fail: func(error) { failed.Add(1) }}
				if i%2 == 0 && b.put(j) != putDone || i%2 == 1 && !b.putOwn(j) {
					refused.Add(1)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for taken := 0; taken < putters*each/2; {
			<-b.ready
			jobs := b.take()
			taken += len(jobs)
			for _, j := range jobs {
				j.run()
			}
		}
		b.close()
		for _, j := range b.drain(nil) {
			j.fail(errors.New("ended"))
		}
	}()
	writers.Wait()
	<-ended
	if n := ran.Load() + failed.Load() + refused.Load(); n != putters*each {
		t.Errorf("%d jobs of %d were called", n, putters*each)
	}
}

// Nothing is taken any more that nobody would run: neither after the end, nor after it was shut while jobs were waiting.
func TestAnInboxStaysShut(t *testing.T) {
	drained := newInbox()
	drained.drain(nil)
	if got := drained.put(job{run: func() {}}); got != putShut || !drained.isShut() {
		t.Errorf("after the end a request gets %v", got)
	}
	waiting := newInbox()
	waiting.put(job{run: func() {}})
	if waiting.closeIfEmpty() || waiting.isShut() {
		t.Error("an inbox with a request is shut as an empty one")
	}
	waiting.close()
	if !waiting.closeIfEmpty() || !waiting.isShut() || waiting.put(job{run: func() {}}) != putShut {
		t.Error("an inbox that was shut takes requests again")
	}
}

// A request that comes when the mailbox has just ended fails for the same reason as those that waited.
func TestRequestsAfterTheEnd(t *testing.T) {
	m := New("session x", slog.New(slog.DiscardHandler), func() {})
	gone := errors.New("gone")
	fails := func() (err error) {
		m.Post(func() { t.Error("a request ran") }, func(e error) { err = e })
		return err
	}
	m.Shut()
	if err := fails(); !errors.Is(err, ErrClosed) {
		t.Errorf("before the end: %v", err)
	}
	m.End(gone)
	if err := fails(); !errors.Is(err, gone) {
		t.Errorf("after the end: %v", err)
	}
}
