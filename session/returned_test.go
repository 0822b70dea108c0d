package session

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/documents"
	"strata/session/fit"
	"strata/session/profile"
	"strata/session/workspace"
	"strata/stability"
)

// crowded returns a session in a phase that requires types, in a window that has no room for all of its items: types, which
// has the lowest priority, notes, a file and a range of another one.
func crowded(t *testing.T) *managed {
	t.Helper()
	m := phasedIn(t, "implementation", func(p *profile.Profile) { p.Budget.ContextWindow, p.Budget.ReservedOutput = 8000, 2000 })
	low, high, no := 10, 95, false
	m.document("design", wordsOf(50), false)
	m.document("unit", wordsOf(50), false)
	m.setDocument(documents.Request{Name: "types", Text: wordsOf(2500), Priority: &low, Pinned: &no})
	m.setDocument(documents.Request{Name: "notes", Text: wordsOf(1500), Priority: &high, Pinned: &no})
	m.add("a.go", linesOf("a", 150))
	m.write("b.go", linesOf("b", 400))
	m.attach(workspace.FileRequest{Path: "b.go", Range: &workspace.FileRange{Start: 11, End: 160}})
	m.ask("go")
	return m
}

// edit stores an edit of the view and applies it.
func (m *managed) edit(e history.Edit) {
	m.t.Helper()
	e.ID, e.Seq = m.deps.NewID("edit_"), m.NextSeq()
	if err := m.store.Commit(m.t.Context(), history.Change{Edits: []history.Edit{e}}); err != nil {
		m.t.Fatal(err)
	}
	m.Apply(e)
}

// growing is a model whose window a test makes larger.
type growing struct {
	Streamer
	window *atomic.Int64
}

func (g growing) Model(string) (llm.Model, bool) {
	return llm.Model{Name: "local/test", Window: int(g.window.Load()), MaxOutput: 1000}, true
}

func (growing) LimitWindow(string, int) {}

// wantAll checks that a request contains everything that a crowded session has, the range of lines as it was requested.
func wantAll(t *testing.T, when string, m *managed, b *assembly.Built) {
	t.Helper()
	names := documentsIn(b)
	slices.Sort(names)
	if !slices.Equal(names, []string{"design", "notes", "types", "unit"}) || len(b.Omitted) > 0 {
		t.Errorf("%s: the documents %v, omitted %+v", when, names, b.Omitted)
	}
	if stateOf(t, m, "a.go") != filecontext.Full {
		t.Errorf("%s: a.go is %s", when, stateOf(t, m, "a.go"))
	}
	if e, _ := m.file("b.go"); e.State != filecontext.Partial || e.Range != (filecontext.Range{Start: 11, End: 160}) {
		t.Errorf("%s: of b.go %v is shown, it is %s", when, e.Range, e.State)
	}
	if text := sentText(b); !strings.Contains(text, "b 00010 =") || !strings.Contains(text, "b 00159 =") || strings.Contains(text, "b 00160 =") {
		t.Errorf("%s: the requested lines of b.go are not those in the request", when)
	}
}

// What did not fit is in a request again as soon as there is room: after a clear, a compaction, with a larger model, or when
// another item was removed. It stays until the room is exceeded again, also after a restart.
func TestP10WhatWasOmittedReturns(t *testing.T) {
	widen := func(m *managed) {
		m.c.Profile.Budget.ContextWindow = 20_000
		m.model.Window = 1_000_000
		m.enter("implementation")
	}
	for when, free := range map[string]func(m *managed){
		"a larger window": widen,
		"a clear": func(m *managed) {
			m.document("notes", wordsOf(10), false)
			m.workspace.Hide([]fit.FileChange{{Path: "a.go"}, {Path: "b.go", Lines: filecontext.Range{Start: 11, End: 12}}})
			m.edit(history.Edit{Kind: history.EditClear})
		},
		"a compaction": func(m *managed) {
			widen(m)
			var ids []string
			for _, h := range m.Transcript() {
				ids = append(ids, h.ID)
			}
			m.edit(history.Edit{Kind: history.EditCompact, Messages: ids, Summary: "It was long.", SummaryTokens: 5})
		},
	} {
		m := crowded(t)
		_, b := m.request()
		if len(b.Omitted) == 0 {
			t.Fatal("everything fits")
		}
		for _, o := range b.Omitted {
			if o.Key == "doc:types" {
				t.Errorf("%s: a required document left for another: %+v", when, b.Omitted)
			}
		}
		if strings.Contains(when, "compaction") {
			for range 10 {
				m.answer(wordsOf(500))
				m.ask(wordsOf(500))
			}
			m.request()
		}
		m.answer("done")
		free(m)
		m.ask("and now?")
		_, b = m.request()
		wantAll(t, when, m, &b)
		m.answer("yes")
		m = m.restarted()
		m.c.Profile = profileNamed(t, "phased")
		widen(m)
		m.ask("then?")
		if _, b = m.request(); !b.Changes.Empty() || b.Plan.Cut != stability.NoCut {
			t.Errorf("%s: the next request changes %+v, cut %q", when, b.Changes, b.Plan.Cut)
		}
		wantAll(t, when+", after a restart", m, &b)
	}
}

// If there is no room for everything the required document returns first, and it never leaves for another.
func TestP10RequiredDocumentsReturnFirst(t *testing.T) {
	m := crowded(t)
	for i := range 12 {
		m.answer(wordsOf(300))
		m.ask(wordsOf(300))
		_, b := m.request()
		names := documentsIn(&b)
		if slices.Contains(names, "notes") && !slices.Contains(names, "types") {
			t.Fatalf("request %d has notes, not types: %v", i, names)
		}
	}
	cut := func(name string) history.DocumentCut {
		d := &m.Documents[documents.Find(m.Documents, name)]
		return history.DocumentCut{Name: name, Version: fit.DocumentVersion(d)}
	}
	m.edit(history.Edit{Kind: history.EditClear})
	m.edit(history.Edit{Kind: history.EditTruncate, Documents: []history.DocumentCut{cut("types"), cut("notes")}})
	m.ask(wordsOf(800))
	_, b := m.request()
	if names := documentsIn(&b); !slices.Contains(names, "types") || slices.Contains(names, "notes") {
		t.Errorf("with room for one of them the documents are %v", names)
	}
}

// Messages that were evicted return too, the newest first, with the texts that were truncated.
func TestP10MessagesReturn(t *testing.T) {
	var window atomic.Int64
	window.Store(8000)
	a := &acted{t: t, store: newLockedStore(), provider: newProvider()}
	a.Session = loneOf(t, a.store, a.provider, describingHost{}, func(d *Deps) { d.Models = growing{a.provider, &window} })
	for i := range 12 {
		a.talk(fmt.Sprint("question ", i, wordsOf(700)))
	}
	shown := func() (n, omitted int) {
		done := make(chan struct{})
		a.tell(func() {
			n, omitted = len(a.context.View()), a.context.Log.Omitted()
			close(done)
		})
		<-done
		return n, omitted
	}
	if n, omitted := shown(); omitted == 0 || n+omitted != 24 {
		t.Fatalf("%d messages in the view, %d omitted", n, omitted)
	}
	window.Store(100_000)
	a.talk("go on")
	if n, omitted := shown(); omitted != 0 || n != 26 {
		t.Errorf("in a larger window %d messages are in the view, %d omitted", n, omitted)
	}
	stored := len(a.store.edits)
	a.talk("go on again")
	if n, _ := shown(); n != 28 || len(a.store.edits) != stored {
		t.Errorf("%d messages in the view, %d further edits", n, len(a.store.edits)-stored)
	}
}
