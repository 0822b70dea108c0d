package events

import (
	"runtime"
	"testing"
	"weak"

	"strata/history"
)

// The log must not keep subscribers that have left: each holds its connection with all of its buffers.
func TestTheLogKeepsNoSubscriber(t *testing.T) {
	st := newStage(t, 100)
	defer st.end()
	gone := func() weak.Pointer[Cursor] {
		c := st.NewCursor(func() {})
		st.onMailbox(func() {
			st.Subscribe(c, st.now(), nil)
			st.EmitMessage(&history.Message{ID: "msg_1", Seq: 1, Role: history.RoleUser, Blocks: []history.Block{{Type: history.BlockText, Text: "mine"}}}, c)
			st.Emit(Event{Kind: Usage, Origin: c.Identity()})
			st.Unsubscribe(c)
		})
		return weak.Make(c)
	}()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("a subscriber that left is still in memory")
	}
}
