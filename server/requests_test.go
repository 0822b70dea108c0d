package server

import (
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/server/compare"
	"strata/server/past"
	"strata/server/wire"
)

func (s *stage) request(params map[string]any) past.GetResult {
	s.t.Helper()
	return call[past.GetResult](s.testServer, s.editor, "_strata/requests/get", s.sid, params)
}

func (s *stage) compare(params map[string]any) past.CompareResult {
	s.t.Helper()
	return call[past.CompareResult](s.testServer, s.editor, "_strata/requests/compare", s.sid, params)
}

func (s *stage) calls() []wire.Call {
	s.t.Helper()
	return call[wire.UsagePage](s.testServer, s.editor, "_strata/usage/list", s.sid, map[string]any{"limit": 500}).Calls
}

// The kept request of a call has the tokens and categories of the usage log, and the items of the breakdown before it.
func TestTheRequestOfACallIsKept(t *testing.T) {
	t.Parallel()
	for _, layout := range bothLayouts {
		s := newStage(t, layout)
		s.write("a.go", "package a\n\n// "+strings.Repeat("a long comment ", 300)+"\n")
		s.call("_strata/files/add", map[string]any{"path": "a.go"})
		for range 5 {
			before := s.breakdown()
			s.prompt("again")
			reply := lastReply(t, s.editor, s.sid)
			got := s.request(map[string]any{"messageId": reply.ID})
			logged := s.calls()
			last := logged[len(logged)-1]
			if !got.Kept || got.Call.ID != last.ID || got.Call.Usage != last.Usage || got.Request.MessageID != reply.ID || got.Request.Layout != layout {
				t.Fatalf("%s: %+v of the call %+v", layout, got, last)
			}
			sum, counted, known := got.Request.Overhead, 0, map[string]bool{}
			for _, it := range got.Request.Items {
				sum += it.Tokens
				known[it.Key] = true
			}
			for _, n := range last.Categories {
				counted += n
			}
			if sum != got.Request.Tokens || counted != got.Request.Tokens || got.Request.Overhead != last.Categories["overhead"] {
				t.Errorf("%s: %d tokens of items, %d in categories, of %d", layout, sum, counted, got.Request.Tokens)
			}
			for _, tier := range before.Tiers {
				for _, it := range tier.Items {
					if it.Kind != "note" && !known[it.Key] { // a note is named after its message
						t.Errorf("%s: %s is not in the kept request", layout, it.Key)
					}
				}
			}
		}
	}
}

// An edited file: `ripple` sends it in its place, so the cache ends there; `log` appends the change.
func TestAComparisonShowsWhereTheCacheEnds(t *testing.T) {
	t.Parallel()
	for _, layout := range bothLayouts {
		s := newStage(t, layout)
		text := "package a\n\n" + strings.Repeat("// a long comment\n", 300)
		s.write("turn.go", text)
		s.call("_strata/files/add", map[string]any{"path": "turn.go"})
		s.prompt("one")
		s.talk(s.editor, s.sid, 20)
		s.prompt("two")
		s.write("turn.go", text+"// edited\n")
		s.prompt("three")
		calls := s.calls()
		got := s.compare(map[string]any{"callId": calls[2].ID})
		if !got.Kept || got.With.ID != calls[1].ID || got.Call.ID != calls[2].ID {
			t.Fatalf("%+v", got)
		}
		if got.Anew.Basis != past.BasisReported || got.Anew.Tokens != calls[2].Input+calls[2].CacheWrite {
			t.Errorf("%+v of the call %+v", got.Anew, calls[2])
		}
		changed := 0
		for _, r := range got.Rows {
			if r.Key == "file:turn.go" && r.Reason == "edited" {
				changed++
			}
		}
		if changed != 1 {
			t.Errorf("%s: %+v", layout, got.Rows)
		}
		if layout == "log" {
			if got.First != nil || got.Resent != 0 {
				t.Errorf("%+v", got.First)
			}
			continue
		}
		if f := got.First; f == nil || f.Key != "file:turn.go" || f.Change != compare.Changed || f.Reason != "edited" {
			t.Errorf("the first change is %+v", f)
		}
		later := s.request(map[string]any{"callId": calls[2].ID}).Request
		if got.Prefix.Tokens+got.After+later.Overhead != later.Tokens {
			t.Errorf("%+v, %d after of %d", got.Prefix, got.After, later.Tokens)
		}
		first := s.compare(map[string]any{"callId": calls[2].ID, "with": calls[0].ID})
		if first.With.ID != calls[0].ID || first.Prefix.Items > got.Prefix.Items {
			t.Errorf("%+v", first)
		}
	}
}

func TestAComparisonKnowsTheEditsBetween(t *testing.T) {
	t.Parallel()
	s := newStage(t, "log")
	s.prompt("one")
	s.prompt("two")
	s.call("_strata/history/clear", nil)
	s.prompt("three")
	calls := s.calls()
	got := s.compare(map[string]any{"callId": calls[2].ID})
	cleared := 0
	for _, r := range got.Rows {
		if r.Change == compare.Removed && r.Reason == string(history.EditClear) && strings.HasPrefix(r.Edit, "edit_") {
			cleared++
		}
	}
	if cleared != 3 || got.First == nil || got.First.Reason != string(history.EditClear) {
		t.Errorf("%d messages left with the clear, first %+v: %+v", cleared, got.First, got.Rows)
	}
}

func TestCallsWithoutAKeptRequest(t *testing.T) {
	t.Parallel()
	s := newStage(t, "log")
	s.prompt("one")
	first := s.calls()[0].ID
	if got := s.compare(map[string]any{"callId": first}); got.Kept || got.Reason != past.NotKeptFirst || got.Call.ID != first || got.Comparison != nil {
		t.Errorf("%+v", got)
	}
	summary := history.Call{ID: "call_summary", Purpose: history.PurposeSummary, Model: "claude/a", At: s.clock.Now()}
	must(t, s.store.Commit(t.Context(), history.Change{Session: s.sid, Calls: []history.Call{summary}}))
	for _, got := range []past.GetResult{s.request(map[string]any{"callId": summary.ID})} {
		if got.Kept || got.Reason != past.NotKeptPurpose || got.Call.ID != summary.ID || got.Request != nil {
			t.Errorf("%+v", got)
		}
	}
	if got := s.request(map[string]any{"messageId": "msg_none"}); got.Kept || got.Reason != past.NotKept || got.Call != nil {
		t.Errorf("%+v", got)
	}
	s.clock.advance(historystore.RequestRetention + time.Hour)
	if _, err := historystore.RequestsOf(s.store).Purge(t.Context(), s.clock.Now().Add(-historystore.RequestRetention), historystore.MaxRequestBytes); err != nil {
		t.Fatal(err)
	}
	if got := s.request(map[string]any{"callId": first}); got.Kept || got.Reason != past.NotKeptExpired {
		t.Errorf("%+v", got)
	}
	if got := s.compare(map[string]any{"callId": first}); got.Kept || got.Reason != past.NotKeptExpired {
		t.Errorf("%+v", got)
	}
	for _, method := range []string{"_strata/requests/get", "_strata/requests/compare"} {
		wireFault(t, s.editor.Call(method, map[string]any{"sessionId": s.sid, "callId": "call_none"}, nil), wire.CodeNotFound)
		wireFault(t, s.editor.Call(method, map[string]any{"sessionId": "sess_none", "callId": first}, nil), wire.CodeNotFound)
		wireFault(t, s.editor.Call(method, map[string]any{"sessionId": s.sid}, nil), rpc.CodeInvalidParams)
	}
	both := map[string]any{"sessionId": s.sid, "callId": first, "messageId": "msg_x"}
	wireFault(t, s.editor.Call("_strata/requests/get", both, nil), rpc.CodeInvalidParams)
}

// A frontend's own call has a request too, which is compared with that of its last one.
func TestTheRequestsOfFrontendsAreKept(t *testing.T) {
	t.Parallel()
	s := newStage(t, "log")
	s.prompt("of the server")
	for range 2 {
		s.say(message("user", "of the frontend"))
		s.own(nil, message("assistant", "Fine."))
	}
	calls := s.calls()
	got := s.compare(map[string]any{"callId": calls[len(calls)-1].ID})
	if !got.Kept || got.Call.Purpose != history.PurposeFrontend || got.With.ID != calls[len(calls)-2].ID || got.First != nil {
		t.Errorf("%+v", got)
	}
}
