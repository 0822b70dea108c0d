package hudtest

import (
	"fmt"
	"testing"

	"strata/internal/testclient"
)

// entry is the selector of a deleted session on the bin's page.
func entry(sid string) string { return fmt.Sprintf("[data-deleted='%s']", sid) }

// deletedSessions returns the ids of the sessions in the bin, as the protocol has them.
func deletedSessions(t *testing.T, e *testclient.Editor) []binEntry {
	t.Helper()
	var page struct{ Sessions []binEntry }
	if err := e.Call("_strata/session/list_deleted", map[string]any{}, &page); err != nil {
		t.Fatal(err)
	}
	return page.Sessions
}

type binEntry struct {
	SessionID, DeletedAt, PurgeAt string
	Messages                      int
	Cost                          float64
}

// Deleted sessions are in a bin, from which each comes back or is erased.
func TestH31Bin(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid, other := e.NewSession(w.Home.Project), e.NewSession(w.Home.Project)
	for _, id := range []string{sid, other} {
		if _, err := e.Prompt(id, "The prompt of "+id); err != nil {
			t.Fatal(err)
		}
	}
	p := Open(t, w.Server)
	p.Click("a[aria-label='Deleted sessions']")
	p.WaitText("main", "No deleted sessions")

	// The page follows what other clients delete.
	for _, id := range []string{sid, other} {
		if err := e.Call("session/delete", map[string]any{"sessionId": id}, nil); err != nil {
			t.Fatal(err)
		}
	}
	p.Wait(`document.querySelectorAll(".bin-entry").length === 2`)
	p.Wait(fmt.Sprintf(`document.querySelector(".bin-entry").matches(%s)`, quote(entry(other)))) // the last deleted is first
	told := deletedSessions(t, e)[1]
	p.WaitText(entry(sid), fmt.Sprintf("%d messages, $%.4f.", told.Messages, told.Cost))
	if told.Cost == 0 {
		t.Error("the session has no cost")
	}
	for _, at := range []string{told.DeletedAt, told.PurgeAt} {
		p.Wait(fmt.Sprintf("document.querySelector(%s)", quote(entry(sid)+" time[datetime='"+at+"']")))
	}

	p.Click(entry(sid) + " button[aria-label^='Undelete']")
	p.WaitText(".toast", "undeleted.")
	p.Wait(fmt.Sprintf("document.querySelector(%s) && !document.querySelector(%s)", quote(rowOf(sid)), quote(entry(sid))))
	p.Wait(`document.activeElement !== document.body`) // the focus is not lost with the entry

	p.Click(entry(other) + " button[aria-label^='Delete permanently']")
	p.WaitText(entry(other), "This cannot be undone.")
	p.Click(entry(other) + " .confirm button:last-child") // Cancel
	if got := deletedSessions(t, e); len(got) != 1 {
		t.Fatalf("after a cancel the bin has %+v", got)
	}
	p.Click(entry(other) + " button[aria-label^='Delete permanently']")
	p.Click(entry(other) + " .confirm .primary")
	p.WaitText("main", "No deleted sessions")
	if err := e.Call("_strata/session/undelete", map[string]any{"sessionId": other}, nil); err == nil {
		t.Error("a session that was deleted permanently came back")
	}
}

// A bin with many sessions is shown in pages.
func TestH31BinIsPaged(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	for range 60 {
		if err := e.Call("session/delete", map[string]any{"sessionId": e.NewSession(w.Home.Project)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	p := Open(t, w.Server)
	p.Click("a[aria-label='Deleted sessions']")
	p.Wait(`document.querySelectorAll(".bin-entry").length === 50`)
	p.Click("main .button.wide")
	p.Wait(`document.querySelectorAll(".bin-entry").length === 60 && !document.querySelector("main .button.wide")`)
	p.Click(".bin-entry:last-child button[aria-label^='Undelete']")
	p.Wait(`document.querySelectorAll(".bin-entry").length === 59`) // what was loaded stays
}
