package session

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
)

// The view can be restored to a time: to the state after the newest message or edit that is not later. Later edits no longer
// count, and the restore can be undone.
func TestP13TheViewIsRestoredToATime(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var minutes atomic.Int64
	at := func(minute int64) time.Time { return begin.Add(time.Duration(minute) * time.Minute) }
	a := &acted{t: t, store: newLockedStore(), provider: newProvider()}
	a.Session = loneOf(t, a.store, a.provider, describingHost{}, func(d *Deps) { d.Now = func() time.Time { return at(minutes.Load()) } })
	add := func(minute int64, words string) {
		t.Helper()
		minutes.Store(minute)
		messages := []history.Message{said(history.RoleUser, words), said(history.RoleAssistant, "reply to "+words)}
		if _, err := answerOf(func(reply func([]string, error)) { a.Append(messages, nil, reply) }); err != nil {
			t.Fatal(err)
		}
	}
	add(1, "one")
	add(2, "two")
	minutes.Store(3)
	if _, err := answerOf(a.Clear); err != nil {
		t.Fatal(err)
	}
	add(4, "three")
	minutes.Store(100)
	for _, tt := range []struct {
		at     time.Time
		inView int
	}{
		{at(1), 2}, {at(2).Add(-time.Nanosecond), 2}, {at(2).In(time.FixedZone("", 7200)), 4}, {at(3).Add(-time.Second), 4},
		{at(3), 0}, {at(4).Add(-1), 0}, {at(4), 2}, {at(50), 2}, {at(1 << 20), 2},
	} {
		before := a.told().InView
		if restored, err := a.restore(RestoreRequest{At: tt.at}); err != nil || a.told().InView != tt.inView {
			t.Errorf("%s: %+v, %v, %d in view, want %d", tt.at, restored, err, a.told().InView, tt.inView)
		}
		if _, err := answerOf(a.Undo); err != nil || a.told().InView != before {
			t.Errorf("%s undone: %v, %d in view, want %d", tt.at, err, a.told().InView, before)
		}
	}
	for name, req := range map[string]RestoreRequest{
		"before the session": {At: at(1).Add(-1)}, "two ways": {At: at(2), Seq: 2}, "long ago": {At: time.Unix(-1<<40, 0)},
	} {
		if _, err := a.restore(req); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
