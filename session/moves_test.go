package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/session/assembly"
	"strata/session/documents"
	"strata/session/events"
	"strata/session/workspace"
)

// moves returns the moves between tiers that were told since the last call, by key.
func (a *acted) moves(c *events.Cursor) map[string][]assembly.TierChange {
	a.t.Helper()
	told := make(map[string][]assembly.TierChange)
	for {
		e, ok, err := c.Next(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		if !ok {
			return told
		}
		if e.Kind == events.TiersChanged {
			for _, change := range e.Data.(assembly.TiersChanged).Changes {
				told[change.Key] = append(told[change.Key], change)
			}
		}
	}
}

// A file that was edited on the disk and a document that was removed move when the next request is sent, and each move is
// told once, with its reason, before the reply.
func TestP05MovesAreToldWhenARequestIsSent(t *testing.T) {
	a := act(t)
	c := a.NewCursor(func() {})
	a.attach(c)
	path := filepath.Join(a.told().Session.CWD, "a.go")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("package a\n")
	if _, err := answerOf(func(reply func(workspace.FileInfo, error)) {
		a.Workspace().AddFile(workspace.FileRequest{Path: "a.go"}, reply)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := answerOf(func(reply func(documents.Info, error)) {
		a.SetDocument(documents.Request{Name: "notes", Text: "Some notes."}, reply)
	}); err != nil {
		t.Fatal(err)
	}
	a.talk("one", "two")
	a.told() // also what the replies moved
	a.moves(c)
	write("package a\n\nvar changed = true\n")
	if _, err := answerOf(func(reply func(bool, error)) { a.RemoveDocument("notes", reply) }); err != nil {
		t.Fatal(err)
	}
	result := a.prompt("three", c)
	call := a.asked()
	a.told() // the mailbox has come so far
	sent := a.moves(c)
	for key, want := range map[string]assembly.TierChange{
		"file:a.go": {Key: "file:a.go", From: "active", To: "active", Reason: "changed"},
		"doc:notes": {Key: "doc:notes", From: "active", To: "", Reason: "removed"},
	} {
		if got := sent[key]; len(got) != 1 || got[0] != want {
			t.Errorf("when the request is sent, of %s is told %+v, want %+v", key, got, want)
		}
	}
	call.end("done")
	if r := <-result; r.err != nil {
		t.Fatal(r.err)
	}
	a.talk("four")
	if later := a.moves(c); len(later["doc:notes"]) > 0 {
		t.Errorf("told again: %+v", later["doc:notes"])
	}
}

// A plan of the moves with a reply that is still under way when the next request is sent is older than that request: it tells
// nothing, and the request tells of all moves, also of the new messages.
func TestP05ARequestIsNewerThanALatePlan(t *testing.T) {
	a := act(t)
	c := a.NewCursor(func() {})
	a.attach(c)
	a.talk("one")
	a.told()
	a.moves(c)
	var state assembly.State
	a.mailbox.Wait(func() { state = a.state() })
	built, err := state.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.mailbox.Wait(func() {
		a.accounts.TellTiers("turn_1")
		a.accounts.TellSent("turn_2", &built)
	})
	for key := range a.moves(c) {
		if strings.HasPrefix(key, "msg:") {
			return
		}
	}
	t.Error("the request does not tell of the new messages")
}
