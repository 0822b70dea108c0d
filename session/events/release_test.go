package events

import (
	"strings"
	"testing"

	"strata/history"
)

// Events that the log has dropped keep no text in memory.
func TestDroppedEventsAreReleased(t *testing.T) {
	l := newEventLog(100, 5*(eventOverhead+1000))
	for range 12 {
		l.append(textEvent("m", strings.Repeat("x", 1000)))
	}
	held := 0
	for i := range l.ring {
		if l.ring[i].Text != "" {
			held++
		}
	}
	if held != l.count || held != 5 {
		t.Errorf("%d events are in memory, %d in the log", held, l.count)
	}
}

// A subscriber does not receive its own messages again, but what else is told of them: that one cannot be read.
func TestANoticeOfAnOwnMessageIsSent(t *testing.T) {
	b := backlog{own: map[string]bool{"msg_1": true}}
	for _, tt := range []struct {
		status history.MessageStatus
		id     string
		want   bool
	}{
		{history.StatusComplete, "msg_1", false}, {history.StatusComplete, "msg_2", true},
		{history.StatusDamaged, "msg_1", true}, {history.StatusDamaged, "msg_2", true},
	} {
		m := history.Message{ID: tt.id, Role: history.RoleUser, Status: tt.status, Blocks: []history.Block{{Type: history.BlockText, Text: "hello"}}}
		events := appendEvents(nil, &m)
		if len(events) != 1 || b.trim(&events[0]) != tt.want {
			t.Errorf("%s, %s: %d events, sent %t", tt.id, tt.status, len(events), !tt.want)
		}
	}
}
