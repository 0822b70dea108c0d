package session

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"strata/history"
	"strata/llm/reply"
	"strata/session/compacting"
	"strata/session/finding"
	"strata/session/workspace"
)

func (a *acted) find(subject finding.Subject) finding.Found {
	a.t.Helper()
	found, err := answerOf(func(reply func(finding.Found, error)) { a.Finding().Find(subject, reply) })
	if err != nil {
		a.t.Fatal(err)
	}
	return found
}

func (a *acted) arrange(id string, action finding.Action) error {
	_, err := answerOf(func(reply func(finding.Arranged, error)) { a.Finding().Arrange(id, action, reply) })
	return err
}

// ids returns those of the messages of the transcript, oldest first.
func (a *acted) ids() (ids []string) {
	a.inside(func() {
		for _, h := range a.context.Transcript() {
			ids = append(ids, h.ID)
		}
	})
	return ids
}

// What a message is in the next request: whole, summarised, kept, taken out, and whole again by an undo.
func TestAMessageIsFoundAndArranged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := drafting(t, 20_000, "chat")
		a.talk("The word is **heliotrope**, see [the list](https://example.org/list).", "second question", "third question", "fourth question")
		ids := a.ids()
		whole := finding.Subject{Message: ids[0], Text: "The word is heliotrope, see the list."}
		if f := a.find(whole); f.State != finding.Whole || f.Text == nil || !f.Text.Here || f.Tokens == 0 || f.Tier == "" || !slices.Equal(f.Actions, []finding.Action{finding.Keep, finding.TakeOut}) {
			t.Errorf("whole: %+v %+v", f, f.Text)
		}
		if f := a.find(finding.Subject{Key: "msg:" + ids[0], Text: "the word was another"}); f.State != finding.Whole || f.Text.Here || f.Text.Elsewhere {
			t.Errorf("another text: %+v %+v", f, f.Text)
		}
		a.compactsNow("middle")
		f := a.find(finding.Subject{Message: ids[3], Text: "reply to second question"})
		if f.State != finding.Summarised && f.State != finding.Evicted || f.Rule != "middle" || f.EditID == "" || f.Tokens != 0 || f.Since.IsZero() || f.Text.Here {
			t.Fatalf("compacted: %+v %+v", f, f.Text)
		}
		if err := a.arrange(ids[3], finding.TakeOut); !errors.Is(err, ErrInvalid) {
			t.Errorf("a message that is not there was taken out: %v", err)
		}
		if err := a.arrange(ids[3], finding.Keep); err != nil {
			t.Fatal(err)
		}
		if f := a.find(finding.Subject{Message: ids[3], Text: "reply to second question"}); f.State != finding.Whole || !f.Kept || !f.Text.Here || f.Actions[0] != finding.Release {
			t.Errorf("kept: %+v %+v", f, f.Text)
		}
		a.compactsNow("middle")
		if f := a.find(finding.Subject{Message: ids[3]}); f.State != finding.Whole {
			t.Errorf("a compaction removed a kept message: %+v", f)
		}
		if err := a.arrange(ids[3], finding.TakeOut); err != nil {
			t.Fatal(err)
		}
		if f := a.find(finding.Subject{Message: ids[3], Text: "reply to second question"}); f.State != finding.NotIn || f.Rule != "taken_out" || f.Text.Here {
			t.Errorf("taken out: %+v %+v", f, f.Text)
		}
		if _, err := answerOf(a.Undo); err != nil {
			t.Fatal(err)
		}
		if f := a.find(finding.Subject{Message: ids[3]}); f.State != finding.Whole || !f.Kept {
			t.Errorf("undone: %+v", f)
		}
		var unknown *finding.UnknownError
		if err := a.arrange("msg_none", finding.Keep); !errors.As(err, &unknown) {
			t.Errorf("an unknown message: %v", err)
		}
	})
}

func (a *acted) compactsNow(strategy string) {
	a.t.Helper()
	if _, err := answerOf(func(reply func(compacting.Result, error)) {
		a.Compact(compacting.Request{Strategy: strategy, Keep: "none"}, reply)
	}); err != nil {
		a.t.Fatal(err)
	}
}

// A kept message outlives the evictions of every later request, and is refused nothing else: the request still fits.
func TestAKeptMessageIsNotEvicted(t *testing.T) {
	for _, profile := range []string{"chat", "evicting"} {
		t.Run(profile, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { checkKept(t, profile) }) })
	}
}

func checkKept(t *testing.T, profile string) {
	t.Helper()
	a := drafting(t, 12_000, profile)
	a.talk("first", "the second has a secret word: heliotrope", "third")
	kept := a.ids()[2]
	if err := a.arrange(kept, finding.Keep); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		synctest.Wait()
		b, state, c, done := a.send(text("on it goes" + wordsOf(1500)))
		if used := state.Calibrated(b.Counted); used > state.Room() {
			t.Errorf("%d tokens of %d", used, state.Room())
		}
		if !strings.Contains(sentText(&b), "heliotrope") {
			t.Fatal("the kept message is gone")
		}
		c.spend(history.Usage{Input: 100, Output: 10}, reply.StopEndTurn, text(wordsOf(500)))
		<-done
	}
	gone := 0
	for _, id := range a.ids()[6:] {
		if f := a.find(finding.Subject{Message: id}); f.State == finding.Evicted || f.State == finding.Summarised {
			gone++
		}
	}
	if gone == 0 {
		t.Error("nothing else has left")
	}
}

// Files are found as files, as outlines, and not at all.
func TestAFileIsFound(t *testing.T) {
	a := drafting(t, 20_000, "chat")
	if f := a.find(finding.Subject{Path: "a.go"}); f.State == finding.Whole || f.Actions[0] != finding.Add {
		t.Errorf("a file that was not added: %+v", f)
	}
	if _, err := answerOf(func(reply func(workspace.FileInfo, error)) {
		a.Workspace().AddFile(workspace.FileRequest{Path: "a.go"}, reply)
	}); err != nil {
		t.Fatal(err)
	}
	a.talk("What does it do?")
	f := a.find(finding.Subject{Path: a.folder + "/a.go", Text: "func Alpha"})
	if f.State != finding.Whole || f.Key != "file:a.go" || f.Requests != 1 || !f.Text.Here || f.Actions[0] != finding.Remove || f.Tokens == 0 {
		t.Errorf("a file of the context: %+v %+v", f, f.Text)
	}
	if f := a.find(finding.Subject{Key: "system"}); f.State != finding.Whole || f.Tokens == 0 {
		t.Errorf("the system prompt: %+v", f)
	}
	if f := a.find(finding.Subject{Key: "doc:none"}); f.State != finding.NotIn {
		t.Errorf("an unknown item: %+v", f)
	}
}

// While a turn runs, nothing is arranged.
func TestNothingIsArrangedWhileATurnRuns(t *testing.T) {
	a := drafting(t, 20_000, "chat")
	a.talk("first")
	done := a.prompt("second", nil)
	c := a.asked()
	if err := a.arrange(a.ids()[0], finding.TakeOut); !errors.Is(err, ErrBusy) {
		t.Errorf("the answer is %v", err)
	}
	c.end("done")
	<-done
}
