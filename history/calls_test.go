package history

import (
	"strings"
	"testing"
)

// say returns a message of a script: "a:c1,c2" has calls, "t:c1" has results, "u" is the user's.
func say(id, script string) *Message {
	role, ids, _ := strings.Cut(script, ":")
	m := &Message{ID: id, Role: map[string]Role{"u": RoleUser, "a": RoleAssistant, "t": RoleTool}[role]}
	for _, call := range strings.FieldsFunc(ids, func(r rune) bool { return r == ',' }) {
		kind := BlockToolCall
		if m.Role == RoleTool {
			kind = BlockToolResult
		}
		m.Blocks = append(m.Blocks, Block{Type: kind, CallID: call})
	}
	return m
}

// Results are accepted once each, for the newest call with their id, and told as late if they do not follow their calls.
func TestF21ResultsAndTheirCalls(t *testing.T) {
	for script, want := range map[string]string{ // the late result's calls, or a part of the error, of the last message
		"a:c1 t:c1":                     "",
		"a:c1,c2 t:c1 t:c2":             "",
		"a:c1,c2 t:c1 u t:c2":           "m1",
		"a:c1 a:c2 t:c1":                "m1",
		"a:c1 a:c2 t:c2":                "",
		"a:c1 t:c1 t:c1":                "has a result",
		"a:c1 t:c1,c1":                  "[1].callId",
		"a:c1 t:c2":                     "[0].callId: there is no tool call",
		"t:c1":                          "there is no tool call",
		"a:c1 u a:c2 t:c2,c1":           "[1].callId: the results in one message",
		"a:c1 t:c1 a:c1 t:c1":           "",
		"a:c1 u a:c1 u t:c1":            "m3",
		"a:c1 t:c1 u a:c1 t:c1 t:c1":    "has a result",
		"a:c1,c2 u t:c1 t:c2":           "m1",
		"a:c1,c2 u t:c1 a:c3 t:c3 t:c2": "m1",
	} {
		var calls Calls
		var late string
		var err error
		for i, step := range strings.Fields(script) {
			if err != nil {
				t.Errorf("%s: %v", script, err)
			}
			late, err = calls.Take(say("m"+string(rune('1'+i)), step))
		}
		failed := strings.Contains(want, " ") || strings.Contains(want, "[")
		if failed != (err != nil) || failed && !strings.Contains(err.Error(), want) || !failed && late != want {
			t.Errorf("%s: late for %q, %v, want %q", script, late, err, want)
		}
	}
}

// A copy does not change with the original, and after a restore a call may get its result again.
func TestCallsAreCopiedAndRestored(t *testing.T) {
	var calls Calls
	calls.Take(say("m1", "a:c1"))
	clone := calls.Clone()
	calls.Take(say("m2", "t:c1"))
	if late, err := clone.Take(say("m2", "t:c1")); err != nil || late != "" {
		t.Errorf("%q, %v", late, err)
	}
	if _, err := calls.Take(say("m3", "t:c1")); err == nil {
		t.Error("a second result is accepted")
	}
	calls.Restored()
	if _, err := calls.Take(say("m3", "t:c1")); err != nil || calls.Len() != 1 {
		t.Errorf("%v, %d calls", err, calls.Len())
	}
}

// A late result stands behind its calls and their other results, wherever messages were removed, and nothing else moves.
func TestF21LateResultsInTheView(t *testing.T) {
	l := NewLog(nil, nil)
	add := func(seq int64, role Role, calls bool) {
		l.Append(Head{ID: "m" + string(rune('0'+seq)), Seq: seq, Role: role, HasCalls: calls})
	}
	add(1, RoleUser, false)
	add(2, RoleAssistant, true)
	add(3, RoleTool, false)
	add(4, RoleUser, false)
	add(5, RoleTool, false)
	move := func(seq int64, what, calls string) {
		l.Apply(Edit{ID: "e", Seq: seq, Kind: EditResult, Messages: []string{what}, CallsMessage: calls})
	}
	for i, wrong := range [][2]string{{"m4", "m2"}, {"m5", "m1"}, {"m9", "m2"}, {"m5", "m9"}, {"m3", "m5"}} {
		move(int64(6+i), wrong[0], wrong[1])
	}
	order := func(l *Log) string {
		var ids []string
		for _, v := range l.View() {
			ids = append(ids, v.ID)
		}
		return strings.Join(ids, " ")
	}
	if got := order(l); got != "m1 m2 m3 m4 m5" {
		t.Errorf("wrong moves give %s", got)
	}
	held := l.View()
	move(11, "m5", "m2")
	for name, l := range map[string]*Log{"in memory": l, "reloaded": NewLog(l.Transcript(), l.Edits())} {
		if got := order(l); got != "m1 m2 m3 m5 m4" {
			t.Errorf("%s: %s", name, got)
		}
		if v, ok := l.Find(5); !ok || v.Exchange != 1 {
			t.Errorf("%s: the late result is %+v, %v", name, v, ok)
		}
	}
	if held[3].ID != "m4" {
		t.Error("a slice that a reader holds has changed")
	}
}
