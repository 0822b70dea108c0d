package rpc

import "testing"

// attached returns an outbox with a source that was pulled once and had nothing.
func attached(t *testing.T) (*outbox, *feedLog, *subscription) {
	t.Helper()
	o, src := newOutbox(1<<20, 64), new(feedLog)
	if _, err := o.attach(src); err != nil {
		t.Fatal(err)
	}
	r, s, done := o.next()
	if r != nil || s == nil || done {
		t.Fatalf("a new source is not pulled: %v, %v, %t", r, s, done)
	}
	return o, src, s
}

// wantNext fails the test unless the outbox returns this response or this subscription next.
func wantNext(t *testing.T, what string, o *outbox, r *outgoing, s *subscription) {
	t.Helper()
	if gotR, gotS, done := o.next(); gotR != r || gotS != s || done {
		t.Fatalf("%s: got response %v, subscription %v, done %t", what, gotR, gotS, done)
	}
}

// A source that announces its notifications after the response was queued is pulled first all the same.
func TestResponseWaitsForASourceThatWakesLate(t *testing.T) {
	o, src, s := attached(t)
	r := new(outgoing)
	o.put(r, src, 2)
	for seq := uint64(1); seq <= 2; seq++ {
		wantNext(t, "before the notification", o, nil, s)
		if !o.pulled(s) {
			t.Fatal("detached")
		}
		o.sent(s, seq)
	}
	wantNext(t, "after both notifications", o, r, nil)
	wantNext(t, "the source may have more", o, nil, s)
	wantNext(t, "at the end", o, nil, nil)
}

// A source that has nothing to send has sent all that there was: the response does not wait for a number.
func TestResponseIsReleasedByASourceThatHasNothing(t *testing.T) {
	o, src, s := attached(t)
	r := new(outgoing)
	o.put(r, src, 1000)
	wantNext(t, "the source may have something", o, nil, s)
	wantNext(t, "the source had nothing", o, r, nil)
	wantNext(t, "at the end", o, nil, nil)
}

// Notifications without a number, or with a lower one, do not take back what was sent.
func TestSentNumbersNeverGoBack(t *testing.T) {
	for _, later := range []uint64{0, 4} {
		o, src, s := attached(t)
		o.sent(s, 5)
		o.sent(s, later)
		r := new(outgoing)
		o.put(r, src, 5)
		wantNext(t, "number 5 is sent", o, r, nil)
	}
}

// A source that wakes while it is being pulled is pulled again, and the writer is told once.
func TestASourceIsRousedOnce(t *testing.T) {
	o, src := newOutbox(1<<20, 64), new(feedLog)
	wake, err := o.attach(src)
	if err != nil {
		t.Fatal(err)
	}
	<-o.wake
	wake() // it is ready
	if len(o.wake) != 0 {
		t.Error("the writer is told of a source that was ready")
	}
	_, s, _ := o.next()
	wake()
	if len(o.wake) != 1 {
		t.Error("the writer is not told")
	}
	wantNext(t, "after the wake", o, nil, s)
	o.detach(src)
	<-o.wake
	wake()
	if len(o.wake) != 0 {
		t.Error("the writer is told of a source that is detached")
	}
	wantNext(t, "detached", o, nil, nil)
}
