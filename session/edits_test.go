package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/session/events"
	"strata/session/workspace"
)

func said(role history.Role, words string) history.Message {
	return history.Message{Role: role, Blocks: []history.Block{{Type: history.BlockText, Text: words}}}
}

// drained returns the kinds of events that a cursor has ready.
func drained(t *testing.T, c *events.Cursor) (kinds []string) {
	t.Helper()
	for {
		e, ok, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return kinds
		}
		kinds = append(kinds, string(e.Kind))
	}
}

func (a *acted) restore(req RestoreRequest) (Restored, error) {
	return answerOf(func(reply func(Restored, error)) { a.Restore(req, reply) })
}

func (a *acted) list(before int64, limit int) List {
	a.t.Helper()
	list, err := answerOf(func(reply func(List, error)) { a.List(before, limit, reply) })
	if err != nil {
		a.t.Fatal(err)
	}
	return list
}

// A replacement is an edit with the new messages after it; what it replaced stays in the transcript, and comes back.
func TestAReplacementCanBeUndone(t *testing.T) {
	a := act(t)
	a.talk("one", "two")
	before := a.told()
	replaced, err := answerOf(func(reply func(Replaced, error)) {
		a.Replace([]history.Message{said(history.RoleUser, "new"), said(history.RoleAssistant, "answer")}, nil, reply)
	})
	if err != nil || replaced.Seq != 5 || len(replaced.MessageIDs) != 2 {
		t.Fatalf("%+v, %v", replaced, err)
	}
	var seqs []int64
	for _, m := range a.list(0, 10).Messages {
		seqs = append(seqs, m.Seq)
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 4, 6, 7}, seqs); diff != "" {
		t.Error(diff)
	}
	if info := a.told(); info.Messages != 6 || info.InView != 2 {
		t.Errorf("%d messages, %d in view", info.Messages, info.InView)
	}
	all, _, err := a.edited(0, 10)
	if err != nil || len(all) != 1 || all[0].Before != before.Tokens || all[0].After != a.told().Tokens || all[0].SavedTokens != all[0].Before-all[0].After {
		t.Errorf("%+v, %v", all, err)
	}
	restored, err := a.restore(RestoreRequest{Seq: 4})
	if err != nil || restored.Removed != 0 || a.told().Tokens != before.Tokens {
		t.Errorf("%+v, %v, %d tokens", restored, err, a.told().Tokens)
	}
}

func (a *acted) edited(before int64, limit int) (all []EditInfo, older int64, err error) {
	type page struct {
		all   []EditInfo
		older int64
	}
	p, err := answerOf(func(reply func(page, error)) {
		a.Edits(before, limit, func(all []EditInfo, older int64, err error) { reply(page{all, older}, err) })
	})
	return p.all, p.older, err
}

// Pages of edits and of messages follow each other without a gap and without a repetition, and none is empty.
func TestPagesOfATranscript(t *testing.T) {
	a := act(t)
	a.talk("one", "two", "three")
	for range 5 {
		if _, err := answerOf(a.Clear); err != nil {
			t.Fatal(err)
		}
	}
	for limit := 1; limit <= 6; limit++ {
		var edits, messages []int64
		for before, open := int64(0), true; open; open = before != 0 {
			page, older, err := a.edited(before, limit)
			if err != nil || len(page) > limit || len(page) == 0 {
				t.Fatalf("a page of %d edits, %v", len(page), err)
			}
			var seqs []int64
			for _, e := range page {
				seqs = append(seqs, e.Seq)
			}
			edits, before = append(seqs, edits...), older
		}
		for before, open := int64(0), true; open; open = before != 0 {
			page := a.list(before, limit)
			var seqs []int64
			for _, m := range page.Messages {
				seqs = append(seqs, m.Seq)
			}
			if len(seqs) > limit || len(seqs) == 0 || len(page.Fates) != len(seqs) {
				t.Fatalf("a page of %d messages, %d fates", len(seqs), len(page.Fates))
			}
			messages, before = append(seqs, messages...), page.Older
		}
		if diff := cmp.Diff([]int64{7, 8, 9, 10, 11}, edits) + cmp.Diff([]int64{1, 2, 3, 4, 5, 6}, messages); diff != "" {
			t.Errorf("pages of %d: %s", limit, diff)
		}
	}
}

// A state is named in one way, and lies in the past.
func TestStatesThatCanBeRestored(t *testing.T) {
	a := act(t)
	a.talk("one", "two")
	second := a.list(0, 10).Messages[2].ID
	named, err := answerOf(func(reply func(history.Checkpoint, error)) { a.CreateCheckpoint("here", reply) })
	if err != nil || named.Seq != 4 {
		t.Fatalf("%+v, %v", named, err)
	}
	for name, tt := range map[string]struct {
		req     RestoreRequest
		missing bool
	}{
		"nothing named": {RestoreRequest{}, false}, "two ways": {RestoreRequest{Seq: 2, Before: second}, false}, "below 0": {RestoreRequest{Seq: -1}, false},
		"the edit itself": {RestoreRequest{Seq: 5}, false}, "no message": {RestoreRequest{Before: "msg_x"}, true}, "no checkpoint": {RestoreRequest{Checkpoint: "cp_x"}, true},
	} {
		_, err := a.restore(tt.req)
		if _, missing := errors.AsType[*MissingError](err); err == nil || missing != tt.missing || !missing && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	restored, err := a.restore(RestoreRequest{Before: second})
	if err != nil || restored.Removed != 2 || a.told().InView != 2 {
		t.Errorf("%+v, %v, %d in view", restored, err, a.told().InView)
	}
	if restored, err = a.restore(RestoreRequest{Checkpoint: named.ID}); err != nil || restored.Removed != 0 || a.told().InView != 4 {
		t.Errorf("%+v, %v, %d in view", restored, err, a.told().InView)
	}
	undone, err := answerOf(a.Undo)
	if err != nil || a.told().InView != 2 || undone.Removed != 2 {
		t.Errorf("%+v, %v, %d in view", undone, err, a.told().InView)
	}
}

func TestTheNumberOfCheckpointsIsLimited(t *testing.T) {
	a := act(t)
	a.talk("one")
	for i := range MaxCheckpoints + 1 {
		_, err := answerOf(func(reply func(history.Checkpoint, error)) { a.CreateCheckpoint(fmt.Sprint(i), reply) })
		if full := i == MaxCheckpoints; full != errors.Is(err, ErrInvalid) || !full && err != nil {
			t.Fatalf("checkpoint %d: %v", i, err)
		}
	}
}

// A title that a user gives is tidied and stays; an empty one is refused. The change counts as one of the session.
func TestATitleThatAUserGives(t *testing.T) {
	a := act(t)
	before := a.told().Session.UpdatedAt
	rename := func(title string) (Info, error) {
		return answerOf(func(reply func(Info, error)) { a.Rename(title, reply) })
	}
	for _, empty := range []string{"", " \n", "### "} {
		if _, err := rename(empty); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", empty, err)
		}
	}
	info, err := rename("  my\ttitle ")
	if err != nil || info.Session.Title != "my title" || !info.Session.TitleByUser || !info.Session.UpdatedAt.After(before) {
		t.Errorf("%+v, %v", info.Session, err)
	}
	a.talk("a first prompt")
	if got := a.told().Session.Title; got != "my title" {
		t.Errorf("after a prompt the title is %q", got)
	}
}

// Further folders are open as soon as they are set.
func TestFoldersThatAreSet(t *testing.T) {
	a := act(t)
	further := t.TempDir()
	add := func() error {
		_, err := answerOf(func(reply func(workspace.FileInfo, error)) {
			text := "unsaved"
			a.Workspace().AddFile(workspace.FileRequest{Path: further + "/a", Content: &text}, reply)
		})
		return err
	}
	if add() == nil {
		t.Error("a file outside of the folders is added")
	}
	if _, err := answerOf(func(reply func(Info, error)) { a.SetFolders(a.told().Session.CWD, []string{further}, reply) }); err != nil {
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Error(err)
	}
}

// A message that is appended is in the next request and in the events of everybody but its author, and the usage is told.
func TestAppendedMessages(t *testing.T) {
	a := act(t)
	author, reader := a.NewCursor(func() {}), a.NewCursor(func() {})
	for _, c := range []*events.Cursor{author, reader} {
		if _, err := answerOf(func(reply func(Attached, error)) { a.Attach(c, events.Since{Epoch: a.Epoch()}, reply) }); err != nil {
			t.Fatal(err)
		}
	}
	ids, err := answerOf(func(reply func([]string, error)) {
		a.Append([]history.Message{said(history.RoleUser, "one"), said(history.RoleAssistant, "two")}, author, reply)
	})
	if err != nil || len(ids) != 2 || ids[0] == ids[1] {
		t.Fatalf("%q, %v", ids, err)
	}
	if got := drained(t, author); slices.Contains(got, string(events.Block)) || slices.Contains(got, string(events.Text)) || !slices.Contains(got, string(events.ContextChanged)) {
		t.Errorf("the author receives %q", got)
	}
	if got := drained(t, reader); !slices.Contains(got, string(events.Block)) || !slices.Contains(got, string(events.Text)) {
		t.Errorf("another one receives %q", got)
	}
	result := a.prompt("three", nil)
	c := a.asked()
	var texts []string
	for _, e := range c.req.Entries {
		for _, b := range e.Blocks {
			texts = append(texts, b.Text)
		}
	}
	if all := strings.Join(texts, "|"); !strings.HasSuffix(all, "one|two|three") {
		t.Errorf("the request has %q", all)
	}
	c.end("done")
	<-result
}

// Tokens are counted of a text, of messages with their framing, or of both.
func TestTokensAreCountedOfSomething(t *testing.T) {
	a := act(t)
	count := func(text string, messages ...history.Message) (int, error) {
		return answerOf(func(reply func(int, error)) { a.Accounts().Count(text, messages, reply) })
	}
	if _, err := count(""); !errors.Is(err, ErrInvalid) {
		t.Errorf("of nothing: %v", err)
	}
	text, err1 := count("some words")
	message, err2 := count("", said(history.RoleUser, "some words"))
	both, err3 := count("some words", said(history.RoleUser, "some words"))
	if err := errors.Join(err1, err2, err3); err != nil || text < 2 || message <= text || both != text+message {
		t.Errorf("%d, %d, %d tokens, %v", text, message, both, err)
	}
	a.deps.Calibrations.Learn("local/test", 10_000, 20_000)
	if more, err := count("some words"); err != nil || more <= text {
		t.Errorf("of a provider that counts twice as many: %d after %d, %v", more, text, err)
	}
}
