package session

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/fit"
	"strata/stability"
)

// cached returns a manager whose model's provider accepts breakpoints and caches.
func cached(t testing.TB) *managed {
	m := manage(t, 400_000)
	m.model.Marks, m.model.MinCacheTokens = true, 100
	return m
}

// sent makes the next request; the provider replies and caches it.
func (m *managed) sent(tools ...llm.Tool) assembly.Built {
	m.t.Helper()
	_, b := m.build(tools...)
	b.Mirror.Answered(b.Plan, stability.Usage{Read: b.Plan.Expect, Write: b.Plan.Tokens - b.Plan.Expect, Input: b.Plan.Tokens})
	var change history.Change
	m.workspace.Refreshed(b.Refreshed)
	if err := m.Answered(&b, &change); err != nil {
		m.t.Fatal(err)
	}
	m.workspace.TakeDirty(&change)
	m.keep(change)
	return b
}

// keep stores a layout like the store: it drops blobs to which the layout does not refer.
func (m *managed) keep(change history.Change) {
	m.t.Helper()
	if err := m.store.Commit(context.Background(), change); err != nil {
		m.t.Fatal(err)
	}
	m.Layout.Stored()
	if change.KeepBlobs == nil {
		return
	}
	kept := make(map[string][]byte)
	for _, hash := range change.KeepBlobs {
		if bytes, ok := m.store.blobs[hash]; ok {
			kept[hash] = bytes
		}
	}
	m.store.blobs = kept
}

// forgotten restarts the session; afterwards only the stored state of caches is known.
func (m *managed) forgotten() *managed {
	again := *m
	deps := *m.deps
	deps.Mirrors = assembly.NewMirrors()
	again.load(&deps)
	return &again
}

func kindsOf(b assembly.Built, key string) (kinds []stability.Kind) {
	for _, e := range b.Plan.Entries {
		if e.Key == key {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// A cut between a file's base version and later diffs needs a diff from the base version, which is no longer on disk.
func TestACutInsideTheLogMergesDiffs(t *testing.T) {
	m := cached(t)
	m.add("a.go", linesOf("a", 200))
	m.ask(wordsOf(200))
	m.sent()
	m.answer(wordsOf(100))
	for i := range 2 {
		m.write("a.go", linesOf("a", 200)+linesOf("more", i+1))
		m.ask(fmt.Sprint("question ", i))
		m.sent()
		m.answer(fmt.Sprint("answer ", i))
	}
	again := m.forgotten()
	question := again.View()[2] // there are diffs before and after it
	again.Apply(history.Edit{ID: "edit_1", Seq: again.NextSeq(), Kind: history.EditTruncate, Messages: []string{question.ID}})
	again.write("a.go", linesOf("a", 200)+linesOf("end", 3))
	again.ask("And now?")
	b := again.sent()
	if got := kindsOf(b, "file:a.go"); len(got) != 2 || got[0] != stability.Base || got[1] != stability.Diff {
		t.Errorf("the file is shown as %v, want its base and one diff; cut %q, kept %d", got, b.Plan.Cut, b.Plan.Kept)
	}
	if !strings.Contains(sentText(&b), "+end 00002 = value") {
		t.Errorf("the request does not contain the current content:\n%s", sentText(&b))
	}
}

// After a restart, the requests to one cache must not be taken for the content of another.
func TestARestartKnowsWhichCacheHoldsWhat(t *testing.T) {
	tool := llm.Tool{Name: "look", Schema: []byte(`{"type":"object"}`)}
	for name, test := range map[string]struct {
		before, after []llm.Tool
		other         bool // another model afterwards
		want          bool
	}{
		"no tools":                      {nil, nil, false, true},
		"tools":                         {[]llm.Tool{tool}, []llm.Tool{tool}, false, true},
		"tools gone":                    {[]llm.Tool{tool}, nil, false, false},
		"tools new":                     {nil, []llm.Tool{tool}, false, false},
		"another model":                 {nil, nil, true, false},
		"another model, the same tools": {[]llm.Tool{tool}, []llm.Tool{tool}, true, false},
	} {
		m := cached(t)
		m.add("a.go", linesOf("a", 200))
		m.ask("first")
		m.sent(test.before...)
		m.answer("answer")
		if test.other {
			m.model.Name = "local/other"
		}
		again := m.forgotten()
		again.ask("second")
		if b := again.sent(test.after...); (b.Plan.Expect > 0) != test.want {
			t.Errorf("%s: %d tokens are expected of %d", name, b.Plan.Expect, b.Plan.Tokens)
		}
	}
}

// For a model that caches automatically, no read is expected before its first request.
func TestAnotherModelHasNothingCached(t *testing.T) {
	m := manage(t, 400_000)
	m.add("a.go", linesOf("a", 200))
	m.ask("first")
	m.sent()
	m.ask("second")
	if b := m.sent(); b.Plan.Expect == 0 {
		t.Error("nothing is expected of the second request")
	}
	m.model.Name = "local/other"
	m.ask("third")
	if b := m.sent(); b.Plan.Expect != 0 {
		t.Errorf("%d tokens are expected of another model", b.Plan.Expect)
	}
}

// If messages leave the view, the model must be informed again about files that were announced with them.
func TestNotesAreToldAnewWhenTheirMessageIsGone(t *testing.T) {
	m := cached(t)
	m.add("a.go", linesOf("a", 20))
	m.ask("first")
	m.sent()
	m.answer("answer")
	m.add("b.go", linesOf("b", 20))
	m.ask("second")
	if b := m.sent(); !strings.Contains(sentText(&b), "Changes to the files available for this step:\nFULL: b.go\n") {
		t.Errorf("b.go is not listed as a change:\n%s", sentText(&b))
	}
	m.Apply(history.Edit{ID: "edit_1", Seq: m.NextSeq(), Kind: history.EditClear})
	m.ask("third")
	const all = "Files available for this step:\nFULL: a.go\nFULL: b.go\n"
	b := m.sent()
	if got := strings.Count(sentText(&b), all); got != 1 {
		t.Errorf("the list occurs %d times:\n%s", got, sentText(&b))
	}
	m.ask("fourth")
	if b := m.forgotten().sent(); strings.Count(sentText(&b), all) != 1 || len(kindsOf(b, fit.NotePrefix+m.View()[1].ID)) > 0 {
		t.Errorf("the list is repeated:\n%s", sentText(&b))
	}
}

// Before the first message, the breakdown includes the note of the first request.
func TestTheFirstNoteIsAccountedFor(t *testing.T) {
	m := cached(t)
	m.add("a.go", linesOf("a", 20))
	_, before := m.build()
	m.ask("first")
	_, b := m.build()
	if before.Categories[fit.CategoryNotes] == 0 || before.Categories[fit.CategoryNotes] != b.Categories[fit.CategoryNotes] {
		t.Errorf("%d tokens of notes, then %d", before.Categories[fit.CategoryNotes], b.Categories[fit.CategoryNotes])
	}
}

// The categories add up to the counted tokens, whatever the log contains besides the items.
func TestCategoriesComeToTheCount(t *testing.T) {
	m := cached(t)
	for i := range 6 {
		m.add("a.go", linesOf("a", 100)+linesOf("more", i))
		m.document("design", wordsOf(50+i), true)
		m.ask("question")
		b := m.sent()
		m.answer("answer")
		sum := 0
		for _, n := range b.Categories {
			sum += n
		}
		if sum != b.Counted {
			t.Errorf("request %d: the sum of categories is %d, the count %d: %v", i, sum, b.Counted, b.Categories)
		}
	}
}

func TestNothingIsExpectedOfAModelWithoutACache(t *testing.T) {
	for _, none := range []bool{false, true} {
		m := manage(t, 400_000)
		m.model.NoCache = none
		m.ask("start " + wordsOf(3000))
		m.sent()
		m.answer("answer")
		m.ask("go on")
		if b := m.sent(); (b.Plan.Expect == 0) != none {
			t.Errorf("without a cache: %v, %d tokens are expected", none, b.Plan.Expect)
		}
	}
}

// Files are part of the context at any position; only leading entries are system text.
func TestFilesAreNeverSystemText(t *testing.T) {
	m := manage(t, 400_000)
	m.deps.Rules.Stability = stability.Options{Layout: stability.LayoutRipple, Target: 50}
	m.load(m.deps)
	m.model.Marks, m.model.MinCacheTokens = true, 100
	m.document("design", wordsOf(200), true)
	for i := range 30 {
		if i%5 == 0 {
			m.add(fmt.Sprintf("f%d.go", i), linesOf("f", 100))
			m.document(fmt.Sprint("types", i), wordsOf(200), false)
		}
		m.ask("question")
		b := m.sent()
		m.answer("answer")
		for _, e := range b.Request.Entries {
			if e.Kind == llm.EntrySystem && strings.Contains(e.Blocks[0].Text, "```") {
				t.Fatalf("request %d has a file in its system text:\n%s", i, e.Blocks[0].Text)
			}
		}
	}
}
