package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"strata/compaction"
	"strata/history"
	"strata/historystore"
	"strata/session/compacting"
	"strata/session/documents"
	"strata/session/events"
	"strata/session/profile"
	"strata/session/workspace"
)

// forgetful is a real store that loses the answers of commits: the change is stored, and the caller gets an error.
type forgetful struct {
	*historystore.Store
	loses func(ch *history.Change) bool

	mu   sync.Mutex
	lost map[string]int // by kind of change
}

var errLost = errors.New("the answer was lost")

func kindOf(ch *history.Change) string {
	switch {
	case ch.Create != nil:
		return "create"
	case ch.Begin != nil:
		return "begin"
	case ch.Partial != nil:
		return "partial"
	case ch.End != nil:
		return "end"
	case len(ch.Edits) > 0:
		return string(ch.Edits[0].Kind)
	case len(ch.Messages) > 0:
		return "append"
	case ch.Compaction != nil:
		return "compaction"
	case len(ch.PutCheckpoints) > 0:
		return "checkpoint"
	case len(ch.PutDocuments) > 0:
		return "document"
	case len(ch.PutFiles) > 0:
		return "file"
	case ch.Update != nil:
		return "update"
	}
	return "other"
}

func (s *forgetful) Commit(ctx context.Context, ch history.Change) error {
	if err := s.Store.Commit(ctx, ch); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loses(&ch) {
		s.lost[kindOf(&ch)]++
		return errLost
	}
	return nil
}

// forgetting returns a session on a real store that loses answers.
func forgetting(t *testing.T, loses func(ch *history.Change) bool) (*acted, *forgetful) {
	t.Helper()
	store, err := historystore.Open(t.Context(), filepath.Join(t.TempDir(), "strata.db"), historystore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := compaction.NewPool(compaction.PoolOptions{Workers: 1})
	f := &forgetful{Store: store, loses: loses, lost: map[string]int{}}
	t.Cleanup(func() {
		pool.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	a := &acted{t: t, provider: newProvider()}
	profiles, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	a.Session = loneOf(t, f, a.provider, describingHost{}, func(d *Deps) { d.Pool, d.Rules.Profiles = pool, profiles })
	return a, f
}

// everyFirst returns a function that loses the first answer of every change.
func everyFirst() func(ch *history.Change) bool {
	seen := make(map[string]bool)
	return func(ch *history.Change) bool {
		id := fmt.Sprintf("%s %+v %v %v %v", kindOf(ch), ch.Partial, ids(ch), ch.Update, ch.Compaction)
		again := seen[id]
		seen[id] = true
		return !again
	}
}

// ids returns the ids of all that a change inserts.
func ids(ch *history.Change) (all []string) {
	for _, turn := range []*history.Turn{ch.Begin, ch.End} {
		if turn != nil {
			all = append(all, turn.ID, string(turn.Status))
		}
	}
	for i := range ch.Messages {
		all = append(all, ch.Messages[i].ID)
	}
	for i := range ch.Edits {
		all = append(all, ch.Edits[i].ID)
	}
	for _, c := range ch.PutCheckpoints {
		all = append(all, c.ID)
	}
	for _, d := range ch.PutDocuments {
		all = append(all, d.Name)
	}
	for _, f := range ch.PutFiles {
		all = append(all, f.Path, string(f.State))
	}
	return all
}

// sameAsStored fails if the session's memory and its store differ.
func (a *acted) sameAsStored(f *forgetful) {
	a.t.Helper()
	loaded, err := f.Load(a.t.Context(), a.ID())
	if err != nil {
		a.t.Fatal(err)
	}
	stored, err := answerOf(func(reply func([]history.Head, error)) {
		a.mailbox.Post(func() { reply(a.context.Transcript(), nil) }, nil)
	})
	if err != nil {
		a.t.Fatal(err)
	}
	if len(stored) != len(loaded.Heads) {
		a.t.Fatalf("%d messages in memory, %d are stored", len(stored), len(loaded.Heads))
	}
	for i := range stored {
		if stored[i].ID != loaded.Heads[i].ID || stored[i].Seq != loaded.Heads[i].Seq {
			a.t.Errorf("message %d: %s in memory, %s is stored", i, stored[i].ID, loaded.Heads[i].ID)
		}
	}
	edits := 0
	a.mailbox.Wait(func() { edits = len(a.context.Log.Edits()) })
	if edits != len(loaded.Edits) || loaded.Unfinished != nil {
		a.t.Errorf("%d edits in memory, %d are stored; unfinished %v", edits, len(loaded.Edits), loaded.Unfinished)
	}
}

// A change that is stored although its answer was lost has succeeded, whatever it is: nobody receives an error, nothing is
// stored twice, and the session goes on.
func TestR11LostAnswersOfEveryKind(t *testing.T) {
	a, f := forgetting(t, everyFirst())
	check := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	a.talk("first", strings.Repeat("a long question about the parser. ", 200), "third", strings.Repeat("a long question about the lexer. ", 200))
	appended, err := answerOf(func(reply func([]string, error)) {
		a.Append([]history.Message{{Role: history.RoleUser, Blocks: []history.Block{{Type: history.BlockText, Text: "said elsewhere"}}}}, nil, reply)
	})
	check("append", err)
	_, err = answerOf(func(reply func(history.Checkpoint, error)) { a.CreateCheckpoint("here", reply) })
	check("checkpoint", err)
	_, err = answerOf(func(reply func(documents.Info, error)) {
		a.SetDocument(documents.Request{Name: "rules", Text: "Be brief."}, reply)
	})
	check("document", err)
	text := "unsaved\n"
	_, err = answerOf(func(reply func(workspace.FileInfo, error)) {
		a.Workspace().AddFile(workspace.FileRequest{Path: "a.go", Content: &text}, reply)
	})
	check("file", err)
	_, err = answerOf(func(reply func(Info, error)) { a.Rename("named", reply) })
	check("rename", err)
	compacted, err := answerOf(func(reply func(compacting.Result, error)) { a.Compact(compacting.Request{}, reply) })
	check("compact", err)
	if compacted.Outcome != "compacted" {
		t.Errorf("the compaction is %s: %s", compacted.Outcome, compacted.Reason)
	}
	a.talk("after the compaction")
	_, err = answerOf(func(reply func(Restored, error)) { a.Restore(RestoreRequest{Before: appended[0]}, reply) })
	check("restore", err)
	_, err = answerOf(a.Undo)
	check("undo", err)
	_, err = answerOf(a.Clear)
	check("clear", err)
	_, err = answerOf(func(reply func(Replaced, error)) {
		a.Replace([]history.Message{{Role: history.RoleUser, Blocks: []history.Block{{Type: history.BlockText, Text: "anew"}}}}, nil, reply)
	})
	check("replace", err)
	a.talk("last")
	a.sameAsStored(f)
	for _, kind := range []string{
		"create", "begin", "end", "append", "checkpoint", "document", "file", "update", "compact", "compaction", "restore", "clear", "replace",
	} {
		if f.lost[kind] == 0 {
			t.Errorf("no answer was lost of the kind %s: %v", kind, f.lost)
		}
	}
}

// The result of a turn is told as not stored while all answers are lost, and as stored once one arrives. The text of a
// running reply goes on being saved.
func TestR11LostAnswersOfAResult(t *testing.T) {
	losing := true
	var mu sync.Mutex
	a, f := forgetting(t, func(ch *history.Change) bool {
		mu.Lock()
		defer mu.Unlock()
		return losing && (ch.End != nil || ch.Partial != nil)
	})
	reader := a.NewCursor(func() {})
	if _, err := answerOf(func(reply func(Attached, error)) { a.Attach(reader, events.Since{Epoch: a.Epoch()}, reply) }); err != nil {
		t.Fatal(err)
	}
	result := a.prompt("hello", reader)
	c := a.asked()
	c.say("one ")
	c.say("two")
	c.end("one two")
	if r := <-result; r.err != nil {
		t.Fatal(r.err)
	}
	if !a.told().Unsaved {
		t.Error("the result is told as stored although no answer came")
	}
	mu.Lock()
	losing = false
	mu.Unlock()
	kinds := make(map[events.Kind]int)
	for kinds[events.Saved] == 0 {
		e, ok, err := reader.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			kinds[e.Kind]++
		}
	}
	if kinds[events.SaveFailed] != 1 || a.told().Unsaved {
		t.Errorf("events %v", kinds)
	}
	a.talk("and now")
	a.sameAsStored(f)
}

// A chunk of a running reply whose save has an unknown outcome does not grow: the next attempt saves the same chunk.
func TestR11AChunkThatWasTriedStaysAsItIs(t *testing.T) {
	a, f := forgetting(t, everyFirst())
	result := a.prompt("hello", nil)
	c := a.asked()
	for i := range 30 {
		c.say(strings.Repeat(fmt.Sprintf("%d ", i), 1000))
	}
	stored := func() (n int) {
		loaded, err := f.Load(t.Context(), a.ID())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range loaded.Partials {
			n += len(p.Text)
		}
		return n
	}
	want := 0
	for i := range 30 {
		want += 1000 * len(fmt.Sprintf("%d ", i))
	}
	for stored() < want {
		a.told() // lets the session go on
	}
	c.end("fine")
	if r := <-result; r.err != nil {
		t.Error(r.err)
	}
	if f.lost["partial"] == 0 {
		t.Errorf("no answer was lost: %v", f.lost)
	}
	a.sameAsStored(f)
}
