package historystore

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"strata/history"
)

// sendRequest returns the change that stores call n of a session, whose request repeats n items and adds one.
func sendRequest(session string, n int, at time.Time) history.Change {
	r := history.Request{
		Call: fmt.Sprintf("call_%d", n), Message: fmt.Sprintf("msg_%d", n), At: at, Seq: int64(n), Layout: "log", Tokens: 10*n + 15, Overhead: 5,
		Omitted: []history.RequestOmission{{Key: "msg:old", Count: 2, Tokens: 3, Reason: "over_budget"}},
	}
	for i := range n + 1 {
		r.Items = append(r.Items, history.RequestItem{Key: fmt.Sprintf("msg:item_%d", i), Kind: "message", Hash: fmt.Sprintf("item_%d", i), Tokens: 10, Tier: "active", N: n - i})
	}
	return history.Change{
		Session: session, Requests: []history.Request{r},
		Calls: []history.Call{{ID: r.Call, Purpose: history.PurposeTurn, Model: "m", At: at}},
	}
}

func requestOf(t *testing.T, s *Store, session string, n int) *history.Request {
	t.Helper()
	k, err := RequestsOf(s).Of(ctx, session, fmt.Sprintf("call_%d", n))
	if err != nil {
		t.Fatal(err)
	}
	return k.Request
}

func TestRequestsAreKeptWithTheirCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := openTest(t, path, Options{})
	commit(t, s, createSession("sess_a"), createSession("sess_b"))
	for n := range 30 {
		commit(t, s, sendRequest("sess_a", n, epoch), sendRequest("sess_b", n, epoch))
		if n == 12 { // the bases are forgotten
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openTest(t, path, Options{})
		}
	}
	for n := range 30 {
		equal(t, "request", *requestOf(t, s, "sess_a", n), sendRequest("sess_a", n, epoch).Requests[0])
	}
	k, err := RequestsOf(s).OfReply(ctx, "sess_a", "msg_7")
	if err != nil || k.Call.ID != "call_7" || k.Request.Call != "call_7" {
		t.Errorf("the request of a reply: %+v, %v", k, err)
	}
	if k, err = RequestsOf(s).Before(ctx, "sess_a", "call_7"); err != nil || k.Call.ID != "call_6" {
		t.Errorf("the request before: %+v, %v", k.Call, err)
	}
	_, err = RequestsOf(s).Before(ctx, "sess_a", "call_0")
	wantError(t, err, history.ErrNotFound)
	for _, id := range []string{"call_30", ""} {
		_, err = RequestsOf(s).Of(ctx, "sess_a", id)
		wantError(t, err, history.ErrNotFound)
	}
	_, err = RequestsOf(s).Of(ctx, "sess_x", "call_1")
	wantError(t, err, history.ErrNotFound)
	_, err = RequestsOf(s).OfReply(ctx, "sess_a", "")
	wantError(t, err, history.ErrNotFound)
}

// A summary is no request for a reply: it is not the one before.
func TestTheRequestBeforeHasTheSamePurpose(t *testing.T) {
	s := openTest(t, "", Options{})
	summary := history.Change{Session: "sess_a", Calls: []history.Call{{ID: "call_s", Purpose: history.PurposeSummary, Model: "m", At: epoch}}}
	frontend := sendRequest("sess_a", 2, epoch)
	frontend.Calls[0].Purpose = history.PurposeFrontend
	commit(t, s, createSession("sess_a"), sendRequest("sess_a", 1, epoch), summary, frontend, sendRequest("sess_a", 3, epoch))
	k, err := RequestsOf(s).Before(ctx, "sess_a", "call_3")
	if err != nil || k.Call.ID != "call_1" {
		t.Errorf("%q, %v", k.Call.ID, err)
	}
	if k, err = RequestsOf(s).Of(ctx, "sess_a", "call_s"); err != nil || k.Request != nil || k.Call.Purpose != history.PurposeSummary {
		t.Errorf("%+v, %v", k, err)
	}
}

// A change that is not stored leaves no base to which a later request would be a difference.
func TestARequestThatWasNotStoredIsNoBase(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	bad := sendRequest("sess_a", 1, epoch)
	bad.End = &history.Turn{ID: "turn_none", Status: history.TurnCompleted}
	if err := s.Commit(ctx, bad); err == nil {
		t.Fatal("stored")
	}
	commit(t, s, sendRequest("sess_a", 2, epoch), sendRequest("sess_a", 3, epoch))
	equal(t, "request", *requestOf(t, s, "sess_a", 3), sendRequest("sess_a", 3, epoch).Requests[0])
}

func TestDamageOfARequestIsItsOwn(t *testing.T) {
	for name, damage := range map[string]string{
		"body": "UPDATE request SET body = CAST(body || x'00' AS BLOB) WHERE call = ?",
		"base": "UPDATE request SET base = (SELECT rowid FROM request WHERE session = 'sess_b' AND base = 0) WHERE call = ?",
	} {
		t.Run(name, func(t *testing.T) { damageOneOf8(t, damage) })
	}
}

// damageOneOf8 keeps eight requests, damages a difference, and reads all of them. Another session has requests too.
func damageOneOf8(t *testing.T, damage string) {
	s := openTest(t, "", Options{})
	for _, session := range []string{"sess_b", "sess_a"} {
		commit(t, s, createSession(session))
		for n := range 8 {
			commit(t, s, sendRequest(session, n, epoch))
		}
	}
	damaged, err := first(ctx, s.writer.tx, scanOne[string], "SELECT call FROM request WHERE session = 'sess_a' AND base <> 0 LIMIT 1")
	if err != nil || damaged == "" {
		t.Fatalf("no differences, %v", err)
	}
	if err := s.write(ctx, "damage", nil, func(tx *writeTx) error {
		return tx.must(damage+" AND session = 'sess_a'", damaged)
	}); err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		id := fmt.Sprintf("call_%d", n)
		k, err := RequestsOf(s).Of(ctx, "sess_a", id)
		switch {
		case id == damaged:
			wantError(t, err, ErrRequest)
		case err != nil || !reflect.DeepEqual(*k.Request, sendRequest("sess_a", n, epoch).Requests[0]):
			t.Errorf("%s: %v", id, err)
		}
	}
	load(t, s, "sess_a")
}

// countRequests returns the numbers of the calls whose requests are kept, and checks that all of them can be read.
func keptNumbers(t *testing.T, s *Store, session string, most int) (all []int) {
	t.Helper()
	for n := range most {
		k, err := RequestsOf(s).Of(ctx, session, fmt.Sprintf("call_%d", n))
		switch {
		case err != nil && !errors.Is(err, history.ErrNotFound):
			t.Errorf("request %d: %v", n, err)
		case k.Request != nil:
			all = append(all, n)
		}
	}
	return all
}

func TestOldRequestsArePurged(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	for n := range 40 {
		commit(t, s, sendRequest("sess_a", n, epoch.Add(time.Duration(n)*time.Hour)))
	}
	const oldest = 25
	if _, err := RequestsOf(s).Purge(ctx, epoch.Add(oldest*time.Hour), 1<<40); err != nil {
		t.Fatal(err)
	}
	kept := keptNumbers(t, s, "sess_a", 40)
	differences := 0
	for _, n := range kept {
		if n < oldest {
			differences++ // the whole one of later differences
		}
	}
	if len(kept) != 40-oldest+differences || differences > 1 {
		t.Errorf("kept %v", kept)
	}
	commit(t, s, sendRequest("sess_a", 40, epoch.Add(40*time.Hour)))
	if _, err := RequestsOf(s).Purge(ctx, epoch.Add(1000*time.Hour), 1<<40); err != nil {
		t.Fatal(err)
	}
	if kept := keptNumbers(t, s, "sess_a", 41); len(kept) > 0 {
		t.Errorf("kept %v", kept)
	}
	commit(t, s, sendRequest("sess_a", 41, epoch.Add(41*time.Hour))) // its base is gone
	equal(t, "request", *requestOf(t, s, "sess_a", 41), sendRequest("sess_a", 41, epoch.Add(41*time.Hour)).Requests[0])
}

func TestRequestsAreBoundedBySize(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"))
	for n := range 60 {
		commit(t, s, sendRequest("sess_a", n, epoch.Add(time.Duration(n)*time.Minute)))
	}
	size := func() int64 {
		sum, err := first(ctx, s.writer.tx, scanOne[int64], "SELECT coalesce(sum(length(body)), 0) FROM request")
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	limit := size() / 3
	purged, err := RequestsOf(s).Purge(ctx, epoch, limit)
	if err != nil || purged == 0 {
		t.Fatalf("%d purged, %v", purged, err)
	}
	const whole = 1000 // the whole one of the oldest difference
	if now := size(); now > limit+whole || now < limit/2 {
		t.Errorf("%d bytes are left, the limit is %d", now, limit)
	}
	kept := keptNumbers(t, s, "sess_a", 60)
	if len(kept) == 0 || kept[len(kept)-1] != 59 {
		t.Errorf("kept %v", kept)
	}
}

func TestPurgeOfASessionPurgesItsRequests(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), sendRequest("sess_a", 1, epoch), sendRequest("sess_a", 2, epoch))
	if err := s.Delete(ctx, "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Purge(ctx, epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left := dump(t, s); strings.Contains(left, "call_") {
		t.Error(left)
	}
}
