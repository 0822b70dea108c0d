package assembly

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/content"
	"strata/session/fit"
	"strata/session/profile"
	"strata/stability"
	"strata/tokens"
)

// stateOf returns the state of a chat with stored messages and without files, for a model with cache marks.
func stateOf(tb testing.TB, stored *talk, options stability.Options) State {
	tb.Helper()
	all, err := profile.All()
	if err != nil {
		tb.Fatal(err)
	}
	chat, now := all["chat"], func() time.Time { return time.Unix(0, 0) }
	mirrors := NewMirrors()
	layout, err := NewLayout(options, history.Layout{}, func(cache string) *stability.Mirror { return mirrors.Of(cache, now()) })
	if err != nil {
		tb.Fatal(err)
	}
	return State{
		Session: "sess_1", Store: stored, Log: slog.New(slog.DiscardHandler), Now: now,
		Measure: Measure{Model: llm.Model{Name: "local/test", Window: 40_000, MaxOutput: 1_000, Marks: true, MinCacheTokens: 1024}, Calibrations: NewCalibrations(nil), Drift: 1},
		Mirrors: mirrors, Layout: layout, Cache: new(fit.RenderCache), Diffs: new(Diffs), Pictures: new(content.Gallery), Counter: tokens.For(""),
		System: "Be brief.", Profile: &chat, Thought: llm.ThoughtOff, View: stored.view(),
	}
}

// unsaved returns a file whose text is the client's, so that no disk is read.
func unsaved(path, text string) filecontext.Entry {
	return filecontext.Entry{
		Content: filecontext.Content{Path: path, Text: text, Hash: fit.Hash(text), Size: int64(len(text)), Lines: strings.Count(text, "\n")},
		State:   filecontext.Full, Unsaved: true,
	}
}

// asked builds a request and lets the provider answer it. It returns the texts that were stored for the layout.
func asked(t *testing.T, s *State, stored *talk) (b Built, layout history.Layout, blobs []history.Blob) {
	t.Helper()
	b, err := s.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Mirror.Answered(b.Plan, stability.Usage{Write: b.Plan.Tokens, Input: b.Plan.Tokens})
	var change history.Change
	if err := s.Layout.Answered(&b, &change); err != nil {
		t.Fatal(err)
	}
	s.Layout.Stored()
	for _, blob := range change.Blobs {
		stored.blobs[blob.Hash] = blob.Bytes
	}
	if keep := change.KeepBlobs; keep != nil {
		maps.DeleteFunc(stored.blobs, func(hash string, _ []byte) bool { return !slices.Contains(keep, hash) })
	}
	for _, hash := range b.keep {
		if stored.blobs[hash] == nil {
			t.Errorf("the layout refers to %s, which is not stored", hash)
		}
	}
	return b, history.Layout{Head: change.Layout.Head, Rows: s.Layout.rows.rows}, change.Blobs
}

// replied adds a reply and the next prompt.
func replied(s *State, stored *talk, prompt string) {
	stored.say(history.RoleAssistant, "Done.")
	stored.say(history.RoleUser, prompt)
	s.View = stored.view()
}

func begun(prompt string) *talk {
	stored := &talk{blobs: make(map[string][]byte)}
	stored.say(history.RoleUser, prompt)
	return stored
}

func words(n int) string { return strings.Repeat("word ", n) }

// The sizes of a request's entries add up to what is counted. The system part leads; whatever is added later is context,
// also a document.
func TestARequestAddsUp(t *testing.T) {
	stored := begun(words(3000)) // too much to be laid out again for a short document
	s := stateOf(t, stored, stability.Options{})
	s.Documents = []history.Document{{Name: "design", Text: words(50), Priority: 80, Pinned: true}}
	s.Files = []filecontext.Entry{unsaved("a.go", words(300)), unsaved("b.go", words(200))}
	for step := range 3 {
		b, _, _ := asked(t, &s, stored)
		sum, left := 0, false
		for i, size := range b.Sizes {
			sum += size
			kind := b.Request.Entries[i].Kind
			if left = left || kind != llm.EntrySystem; left && kind == llm.EntrySystem {
				t.Errorf("step %d: entry %d of %d is of the system part again", step, i, len(b.Sizes))
			}
		}
		if sum != b.Counted || b.Counted < 500 {
			t.Errorf("step %d: entries of %d tokens, counted are %d", step, sum, b.Counted)
		}
		all := 0
		for _, n := range b.Categories {
			all += n
		}
		if all != b.Counted {
			t.Errorf("step %d: categories of %d tokens, counted are %d", step, all, b.Counted)
		}
		s.Documents = append(slices.Clone(s.Documents), history.Document{Name: "later" + string(rune('a'+step)), Text: words(30), Priority: 80})
		replied(&s, stored, "go on")
	}
}

// What is beside the history counts what is sent and needed, not what waits for the next rebuild.
func TestUnusedTextIsNotBesideTheHistory(t *testing.T) {
	stored := begun("hello")
	s := stateOf(t, stored, stability.Options{})
	s.Documents = []history.Document{{Name: "design", Text: words(2000), Priority: 80, Pinned: true}, {Name: "notes", Text: words(40), Priority: 80}}
	asked(t, &s, stored)
	s.Documents = s.Documents[:1]
	replied(&s, stored, "go on")
	b, _, _ := asked(t, &s, stored)
	if b.Plan.Dead == 0 {
		t.Fatal("nothing of the request is unused")
	}
	want := b.Counted - b.Categories[fit.CategoryOverhead] - b.Categories[fit.CategoryHistory] - b.Plan.Dead
	if got := s.Layout.Beside(); got != want {
		t.Errorf("%d tokens beside the history, want %d", got, want)
	}
}

// A text is stored with the first answer to a request that contains it, and not again.
func TestTextsOfALayoutAreStoredOnce(t *testing.T) {
	stored := begun("hello")
	s := stateOf(t, stored, stability.Options{})
	s.Files = []filecontext.Entry{unsaved("a.go", words(300)), unsaved("same.go", words(300))}
	_, _, first := asked(t, &s, stored)
	seen := make(map[string]bool)
	for _, blob := range first {
		if seen[blob.Hash] {
			t.Errorf("%.20q is stored twice", blob.Bytes)
		}
		seen[blob.Hash] = true
	}
	replied(&s, stored, "go on")
	_, _, second := asked(t, &s, stored)
	for _, blob := range second {
		if seen[blob.Hash] {
			t.Errorf("%.20q is stored again", blob.Bytes)
		}
	}
}

// A cache belongs to one model, before and after a restart.
func TestAnotherModelHasNotReadTheRequest(t *testing.T) {
	stored := begun(words(500))
	s := stateOf(t, stored, stability.Options{})
	s.Model.Marks = false
	_, layout, _ := asked(t, &s, stored)
	replied(&s, stored, "go on")
	restarted := s
	var asks []string
	var err error
	restarted.Layout, err = NewLayout(stability.Options{}, layout, func(cache string) *stability.Mirror {
		asks = append(asks, cache)
		return stability.NewMirror()
	})
	if err != nil || len(asks) != 1 || !strings.HasPrefix(asks[0], "local/test ") {
		t.Fatalf("%v, the mirrors of %q are asked for", err, asks)
	}
	for name, state := range map[string]State{"running": s, "restarted": restarted} {
		same, err := state.Build(t.Context())
		if err != nil || same.Plan.Expect < 500 {
			t.Errorf("%s: the same model has %d tokens, %v", name, same.Plan.Expect, err)
		}
		state.Model.Name = "local/other"
		other, err := state.Build(t.Context())
		if err != nil || other.Plan.Expect != 0 {
			t.Errorf("%s: another model has %d tokens, %v", name, other.Plan.Expect, err)
		}
	}
}

// The marks of a request have the lifetime that is configured.
func TestMarksHaveTheConfiguredLifetime(t *testing.T) {
	for lifetime, want := range map[string]string{stability.Lifetime5m: "5m", stability.Lifetime1h: "1h"} {
		stored := begun(words(3000))
		s := stateOf(t, stored, stability.Options{Lifetime: lifetime})
		b, err := s.Build(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		marks := b.Assembled().Breakpoints
		if len(marks) == 0 || slices.ContainsFunc(marks, func(m Breakpoint) bool { return m.TTL != want }) {
			t.Errorf("%s: %+v", lifetime, marks)
		}
	}
}

// If the note on files leaves with its message, and no file is left, a note says so: the older one may still be sent.
func TestANoteThatLeftIsRevoked(t *testing.T) {
	stored := begun("hello")
	s := stateOf(t, stored, stability.Options{})
	s.Files = []filecontext.Entry{unsaved("a.go", words(300))}
	if b, _, _ := asked(t, &s, stored); !strings.Contains(textOf(&b), filesHeading+"FULL: a.go") {
		t.Fatalf("no note on the file in %q", textOf(&b))
	}
	replied(&s, stored, "go on")
	s.View, s.Files, s.Omitted = s.View[1:], nil, 1
	b, err := s.Build(t.Context())
	if err != nil || !strings.Contains(textOf(&b), noFiles) {
		t.Errorf("no note in %q, %v", textOf(&b), err)
	}
}

func textOf(b *Built) string {
	var all strings.Builder
	for _, e := range b.Request.Entries {
		for _, block := range e.Blocks {
			all.WriteString(block.Text + "\n")
		}
	}
	return all.String()
}

func TestNotesOnFilesTellWhatChanged(t *testing.T) {
	const changes = "Changes to the files available for this step:\n"
	type files = map[string]string
	for name, tt := range map[string]struct {
		told, now files
		want      string
	}{
		"the first":       {nil, files{"b": fullFile, "a": summaryFile}, filesHeading + "SUMMARY: a\nFULL: b\n"},
		"of a new layout": {files{}, files{"a": fullFile}, filesHeading + "FULL: a\n"},
		"nothing":         {files{"a": fullFile}, files{"a": fullFile}, ""},
		"another state":   {files{"a": fullFile, "b": fullFile}, files{"a": summaryFile, "b": fullFile}, changes + "SUMMARY: a\n"},
		"removed":         {files{"a": fullFile, "b": fullFile}, files{"b": fullFile}, changes + "REMOVED: a\n"},
		"removed before":  {files{"a": removedFile, "b": fullFile}, files{"b": fullFile}, ""},
		"back again":      {files{"a": removedFile}, files{"a": fullFile}, changes + "FULL: a\n"},
	} {
		if diff := cmp.Diff(tt.want, availabilityNote(tt.told, tt.now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A diff begins with a text that the request shows: the newest whole text of the file or a change after it. A file of which
// a part is shown has none.
func TestTextsThatADiffCanBeginWith(t *testing.T) {
	stored := begun("hello")
	s := stateOf(t, stored, stability.Options{})
	versions := []string{words(300) + "\none\n", words(300) + "\ntwo\n", strings.Repeat("all new\n", 300)}
	for _, text := range versions {
		s.Files = []filecontext.Entry{unsaved("a.go", text)}
		asked(t, &s, stored)
		replied(&s, stored, "go on")
		var bases int
		for _, e := range s.Layout.entries() {
			if e.Kind == stability.Base && e.Key == "file:a.go" {
				bases++
			}
		}
		item := fit.Item{Item: stability.Item{Key: "file:a.go", Rev: fit.Hash("now")}}
		revs := s.shownRevisions(map[string]*fit.Item{item.Key: &item}, nil)[item.Key]
		if len(revs) == 0 || revs[len(revs)-1] != fit.Hash(text) || bases > 1 && len(revs) != 1 {
			t.Errorf("with %d whole texts a diff can begin with %d texts: %q", bases, len(revs), revs)
		}
		numbered, part := item, item
		numbered.Rev, part.Partial = item.Rev+fit.NoDiff, true
		for _, it := range []fit.Item{numbered, part} {
			if revs := s.shownRevisions(map[string]*fit.Item{it.Key: &it}, nil); len(revs) != 0 {
				t.Errorf("%+v: %q", it.Item, revs)
			}
		}
	}
}

// Beyond these limits a file is sent whole.
func TestDiffsThatAreTooMuchWork(t *testing.T) {
	lines := func(text string, n int) string { return strings.Repeat(text+"\n", n) }
	for name, tt := range map[string]struct {
		old, now string
		want     bool
	}{
		"the same":                  {lines("a", 5000), lines("a", 5000), true},
		"one line of many":          {lines("a", 5000) + "b\n" + lines("a", 5000), lines("a", 5000) + "c\n" + lines("a", 5000), true},
		"as many lines as may":      {lines("a", 2000), lines("b", 2000), true},
		"a line more on each side":  {lines("a", 2001), lines("b", 2001), false},
		"many lines of one side":    {lines("a", 50_000), "", true},
		"as many bytes as may":      {strings.Repeat("a", maxDiffBytes/2), strings.Repeat("b", maxDiffBytes/2), true},
		"a byte more in one of two": {strings.Repeat("a", maxDiffBytes/2), strings.Repeat("b", maxDiffBytes/2+1), false},
	} {
		if affordable(tt.old, tt.now) != tt.want {
			t.Errorf("%s: affordable %t", name, !tt.want)
		}
	}
}

// The buffer is the profile's, or what the other shares leave of the room.
func TestTheBufferIsWhatTheSharesLeave(t *testing.T) {
	s := stateOf(t, begun("hello"), stability.Options{})
	own := *s.Profile
	s.Profile = &own
	b := Built{Plan: &stability.Plan{Entries: []stability.Entry{
		{Kind: stability.Document, Key: "doc:types", Tokens: 70}, {Kind: stability.Message, Key: "msg:1", Tokens: 20}, {Kind: stability.Base, Key: "file:a", Tokens: 5},
	}}, Categories: map[string]int{fit.CategoryOverhead: 3}}
	for _, tt := range []struct {
		shares map[string]int
		want   []Share
	}{
		{nil, nil},
		{map[string]int{"types": 500, "history": 900}, []Share{{"history", 20, 900}, {"types", 70, 500}, {"buffer", 8, s.Room() - 1400}}},
		{map[string]int{"types": 500, "buffer": 77}, []Share{{"types", 70, 500}, {"buffer", 28, 77}}},
		{map[string]int{"types": 50_000}, []Share{{"types", 70, 50_000}, {"buffer", 28, 0}}},
	} {
		own.Budget.Shares = tt.shares
		if diff := cmp.Diff(tt.want, s.shares(&b)); diff != "" {
			t.Errorf("%v: %s", tt.shares, diff)
		}
	}
}

// Only a whole reply of a turn proves that the provider took what came before it.
func TestTheNewestAnswer(t *testing.T) {
	reply := func(seq int64, status history.MessageStatus, turn string) history.Viewed {
		return history.Viewed{Head: history.Head{Seq: seq, Role: history.RoleAssistant, Status: status, Turn: turn}}
	}
	for name, tt := range map[string]struct {
		view []history.Viewed
		want int64
	}{
		"none":      {nil, 0},
		"the last":  {[]history.Viewed{reply(2, history.StatusComplete, "turn_1"), reply(4, history.StatusComplete, "turn_2")}, 4},
		"failed":    {[]history.Viewed{reply(2, history.StatusComplete, "turn_1"), reply(4, history.StatusFailed, "turn_2")}, 2},
		"appended":  {[]history.Viewed{reply(2, history.StatusComplete, "turn_1"), reply(4, history.StatusComplete, "")}, 2},
		"no answer": {[]history.Viewed{{Head: history.Head{Seq: 3, Role: history.RoleUser, Status: history.StatusComplete, Turn: "turn_1"}}}, 0},
	} {
		s := State{View: tt.view}
		if got := s.answeredSeq(); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// An earlier unit that was sent stays as long as everything fits; one that was not has its share of the room.
func TestAUnitThatWasSentStays(t *testing.T) {
	unit := func(name string, order int) history.Document {
		return history.Document{Name: name, Status: "approved", Implementation: words(900), Order: order, Priority: fit.PriorityUnit}
	}
	stored := begun("hello")
	s := stateOf(t, stored, stability.Options{})
	s.Model.Window = 5000
	s.Phase = &profile.Phase{ID: "code", Units: 5}
	s.AllDocuments = []history.Document{unit("u1", 1)}
	b, _, _ := asked(t, &s, stored)
	if b.Documents["u1"] == 0 {
		t.Fatalf("omitted are %+v", b.Omitted)
	}
	replied(&s, stored, words(2300))
	s.AllDocuments = append(s.AllDocuments, unit("u2", 2))
	b, err := s.Build(t.Context())
	if err != nil || b.Documents["u1"] == 0 || b.Documents["u2"] != 0 {
		t.Errorf("documents %v, %v", b.Documents, err)
	}
	if len(b.Omitted) != 1 || b.Omitted[0].Key != "doc:u2" || b.Omitted[0].Reason != fit.ReasonBudget {
		t.Errorf("omitted are %+v", b.Omitted)
	}
}

// A document that did not fit stays as it was shown until it is set again.
func TestADocumentThatDidNotFit(t *testing.T) {
	d := history.Document{Name: "notes", Text: words(100), Priority: 7}
	for name, tt := range map[string]struct {
		cut    history.DocumentCut
		shown  bool
		reason string
	}{
		"shortened":       {history.DocumentCut{Version: fit.DocumentVersion(&d), Keep: 50}, true, fit.ReasonTruncated},
		"left":            {history.DocumentCut{Version: fit.DocumentVersion(&d)}, false, fit.ReasonBudget},
		"set again since": {history.DocumentCut{Version: "another", Keep: 50}, true, ""},
	} {
		s := stateOf(t, begun("hello"), stability.Options{})
		s.Truncated = map[string]history.DocumentCut{"notes": tt.cut}
		var c collected
		it, shown := s.shownDocument(&c, d)
		if shown != tt.shown || (len(c.omitted) == 0) != (tt.reason == "") {
			t.Errorf("%s: shown %t, omitted %+v", name, shown, c.omitted)
		} else if tt.reason != "" && (c.omitted[0].Reason != tt.reason || c.omitted[0].Tokens <= 0 || c.omitted[0].Score != 7) {
			t.Errorf("%s: omitted %+v", name, c.omitted)
		}
		if whole := s.Item(d, len(d.Text)).Tokens; shown && (it.Tokens < whole) != (tt.reason != "") {
			t.Errorf("%s: %d tokens of %d", name, it.Tokens, whole)
		}
	}
}
