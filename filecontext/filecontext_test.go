package filecontext

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func paths(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

func TestFilesAreAddedAndRemoved(t *testing.T) {
	f := New()
	put(t, f, text("b", "1"), AddOptions{})
	put(t, f, text("a", "2"), AddOptions{State: SummaryOnly, Reason: "asked for"})
	if diff := cmp.Diff([]string{"a", "b"}, paths(f.List())); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	if e, ok := f.Get("a"); !ok || e.Text != "2" || e.State != SummaryOnly || e.Reason != "asked for" {
		t.Errorf("Get(a) = %+v, %v", e, ok)
	}
	if !f.Remove("a") || f.Remove("a") {
		t.Error("wrong result of Remove")
	}
	if n := f.Clear(); n != 1 || len(f.List()) != 0 || f.bytes != 0 {
		t.Errorf("Clear removed %d files, left %d bytes", n, f.bytes)
	}
}

func TestTryChangesNothing(t *testing.T) {
	f := New()
	put(t, f, text("a", "old"), AddOptions{})
	e, err := f.Try(text("a", "new"), AddOptions{LineNumbers: true})
	if err != nil || e.Text != "new" || !e.LineNumbers {
		t.Errorf("Try = %+v, %v", e, err)
	}
	if e, _ := f.Get("a"); e.Text != "old" || f.Len() != 1 {
		t.Errorf("after Try: %+v of %d", e, f.Len())
	}
	_, err = f.Try(text("a", ""), AddOptions{Range: Range{1, 1}})
	wantReason(t, "an empty range", err, ReasonRange)
}

func TestAFileGrowsIntoItsRange(t *testing.T) {
	e, err := New().Put(text("a", "1\n2\n3\n"), AddOptions{Range: Range{2, 4}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		body string
		want string
	}{
		{"1\n2\n3\n", "a (lines 2 to 3 of 3)\n```\n2\n3\n```\n"},
		{"1\n2\n3\n4\n5\n", "a (lines 2 to 4 of 5)\n```\n2\n3\n4\n```\n"},
		{"1\n", "a (lines 2 to 4 of 1)\n```\n```\n"},
	} {
		e.Content = text("a", tt.body)
		if got := e.Render(); got != tt.want {
			t.Errorf("%q is shown as %q, want %q", tt.body, got, tt.want)
		}
	}
}

func TestRangesArePartial(t *testing.T) {
	tests := []struct {
		body   string
		lines  Range
		want   Range
		reason Reason
	}{
		{"1\n2\n3\n", Range{}, Range{}, ""},
		{"1\n2\n3\n", Range{2, 3}, Range{2, 3}, ""},
		{"1\n2\n3", Range{2, 99}, Range{2, 3}, ""},
		{"1\n2\n3\n", Range{4, 9}, Range{}, ReasonRange},
		{"1\n2\n3\n", Range{0, 2}, Range{}, ReasonRange},
		{"1\n2\n3\n", Range{3, 2}, Range{}, ReasonRange},
		{"1\n2\n3\n", Range{-1, -1}, Range{}, ReasonRange},
		{"", Range{1, 1}, Range{}, ReasonRange},
	}
	for _, tt := range tests {
		e, err := New().Put(text("a", tt.body), AddOptions{Range: tt.lines})
		wantReason(t, fmt.Sprintf("%q %v", tt.body, tt.lines), err, tt.reason)
		if err == nil && (e.Visible() != tt.want || (e.State == Partial) == tt.want.IsWhole()) {
			t.Errorf("%q %v: %v, %s", tt.body, tt.lines, e.Visible(), e.State)
		}
	}
}

func TestUnsavedTextWinsUntilItIsSaved(t *testing.T) {
	f := New()
	put(t, f, text("a", "unsaved"), AddOptions{Unsaved: true})
	e := put(t, f, text("a", "on disk"), AddOptions{LineNumbers: true})
	if e.Text != "unsaved" || !e.Unsaved || !e.LineNumbers {
		t.Errorf("after adding the file again: %+v", e)
	}
	put(t, f, text("a", "newer"), AddOptions{Unsaved: true})
	if !f.Saved("a") || f.Saved("b") {
		t.Error("wrong result of Saved")
	}
	if e = put(t, f, text("a", "on disk"), AddOptions{}); e.Text != "on disk" || e.Unsaved {
		t.Errorf("after saving: %+v", e)
	}
	put(t, f, text("a", "unsaved"), AddOptions{Unsaved: true})
	f.Remove("a")
	if e = put(t, f, text("a", "on disk"), AddOptions{}); e.Text != "on disk" {
		t.Errorf("after removing: %+v", e)
	}
}

func TestTwoSpellingsOnAFoldingDiskAreOneFile(t *testing.T) {
	f := New()
	c := text("Src/Main.go", "1")
	c.foldsCase = true
	put(t, f, c, AddOptions{})
	c = text("src/main.go", "2")
	c.foldsCase = true
	if e := put(t, f, c, AddOptions{}); e.Path != "Src/Main.go" || e.Text != "2" || len(f.List()) != 1 {
		t.Errorf("second spelling: %+v of %d", e, len(f.List()))
	}
	if !f.Remove("SRC/MAIN.GO") {
		t.Error("third spelling not found")
	}
	put(t, f, text("a", ""), AddOptions{})
	put(t, f, text("A", ""), AddOptions{})
	if n := len(f.List()); n != 2 {
		t.Errorf("on another disk two spellings are %d files", n)
	}
}

func TestOnceFilesAreRemovedAfterTheReply(t *testing.T) {
	f := New()
	put(t, f, text("once", ""), AddOptions{Once: true})
	put(t, f, text("stays", ""), AddOptions{})
	f.MarkSent("once", "", false)
	f.MarkSent("stays", "", true)
	put(t, f, text("added during the reply", ""), AddOptions{Once: true})
	if diff := cmp.Diff([]string{"once"}, paths(f.AfterReply())); diff != "" {
		t.Errorf("AfterReply (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"added during the reply", "stays"}, paths(f.List())); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
}

func TestTheNumberOfFilesIsBounded(t *testing.T) {
	f := New()
	for i := range MaxFiles {
		put(t, f, text(fmt.Sprint(i), ""), AddOptions{})
	}
	_, err := f.Put(text("one more", ""), AddOptions{})
	wantReason(t, "one more", err, ReasonFull)
	put(t, f, text("0", "again"), AddOptions{})
}

func TestTheBytesAreBounded(t *testing.T) {
	f := New()
	block := text("", strings.Repeat("a", DefaultFileBytes))
	add := func(prefix string, i int, unsaved bool) error {
		c := block
		c.Path = fmt.Sprint(prefix, i)
		_, err := f.Put(c, AddOptions{Unsaved: unsaved})
		return err
	}
	for i := range MaxBufferBytes / DefaultFileBytes {
		must(t, add("buffer", i, true))
	}
	wantReason(t, "one more buffer", add("buffer", -1, true), ReasonFull)
	must(t, add("buffer", 0, true)) // replaces itself
	for i := range (MaxBytes - MaxBufferBytes) / DefaultFileBytes {
		must(t, add("file", i, false))
	}
	wantReason(t, "one more file", add("file", -1, false), ReasonFull)
	f.Remove("file0")
	must(t, add("file", -1, false))
}

func TestEditsNeedTheWholeCurrentVersion(t *testing.T) {
	body := text("a", "1\n2\n")
	newer := text("a", "1\n2\n3\n")
	tests := []struct {
		name string
		do   func(f *FileContext)
		base string
		want EditReason
	}{
		{"not in the set", func(f *FileContext) {}, "", EditNotAvailable},
		{"never sent", func(f *FileContext) { f.Put(body, AddOptions{}) }, "", EditNotAvailable},
		{"an outline", func(f *FileContext) { f.Put(body, AddOptions{State: SummaryOnly}) }, "", EditSummaryOnly},
		{"a range", func(f *FileContext) { f.Put(body, AddOptions{Range: Range{1, 1}}) }, "", EditSummaryOnly},
		{"sent in part", func(f *FileContext) { f.Put(body, AddOptions{}); f.MarkSent("a", body.Hash, false) }, "", EditNotAvailable},
		{"sent", func(f *FileContext) { f.Put(body, AddOptions{}); f.MarkSent("a", body.Hash, true) }, "", ""},
		{"sent, right base", func(f *FileContext) { f.Put(body, AddOptions{}); f.MarkSent("a", body.Hash, true) }, strings.ToUpper(body.Hash), ""},
		{"sent, other base", func(f *FileContext) { f.Put(body, AddOptions{}); f.MarkSent("a", body.Hash, true) }, newer.Hash, EditStale},
		{"sent, then changed", func(f *FileContext) {
			f.Put(body, AddOptions{})
			f.MarkSent("a", body.Hash, true)
			f.Put(newer, AddOptions{})
		}, "", EditStale},
		{"sent, then truncated", func(f *FileContext) {
			f.Put(body, AddOptions{})
			f.MarkSent("a", body.Hash, true)
			f.Shorten("a", Partial, "cut to fit", Range{Start: 1, End: 1}, Range{})
		}, "", EditSummaryOnly},
		{"an older version sent late", func(f *FileContext) { f.Put(newer, AddOptions{}); f.MarkSent("a", body.Hash, true) }, "", EditStale},
		{"removed", func(f *FileContext) { f.Put(body, AddOptions{}); f.MarkSent("a", body.Hash, true); f.Remove("a") }, "", EditNotAvailable},
	}
	for _, tt := range tests {
		f := New()
		tt.do(f)
		var got EditReason
		var refused *EditRefusedError
		if errors.As(f.CheckEdit("a", tt.base), &refused) {
			got = refused.Reason
		}
		if got != tt.want {
			t.Errorf("%s: refused for %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The set agrees with a simple model over random operations, also after being stored and restored at each step.
func TestRandomOperations(t *testing.T) {
	type model struct {
		body    string
		unsaved bool
		sent    string // body that was sent
	}
	r := rand.New(rand.NewPCG(1, 1))
	f, want := New(), map[string]model{}
	for step := range 5000 {
		path := string(rune('a' + r.IntN(8)))
		body := strings.Repeat("x\n", r.IntN(4))
		m, in := want[path]
		switch r.IntN(8) {
		case 0:
			put(t, f, text(path, body), AddOptions{})
			if !m.unsaved {
				m.body = body
			}
			want[path] = m
		case 1:
			put(t, f, text(path, body), AddOptions{Unsaved: true})
			want[path] = model{body, true, m.sent}
		case 2:
			if f.Remove(path) != in {
				t.Fatalf("step %d: Remove(%s) != %v", step, path, in)
			}
			delete(want, path)
		case 3:
			f.Saved(path)
			if m.unsaved = false; in {
				want[path] = m
			}
		case 4:
			f.MarkSent(path, text(path, m.body).Hash, true)
			if m.sent = m.body; in {
				want[path] = m
			}
		case 5:
			e, _ := f.Get(path)
			f.Apply([]Change{{Path: path, Kind: Changed, Content: text(path, body), version: e.version - uint64(r.IntN(2))}})
			if after, _ := f.Get(path); in && after.version != e.version {
				m.body, m.unsaved = body, false
				want[path] = m
			}
		case 6:
			restored, err := Restore(stored(f))
			must(t, err)
			for _, e := range restored.List() { // as Refresh does
				if !e.Unsaved {
					restored.Apply([]Change{{Path: e.Path, Content: text(e.Path, want[e.Path].body), version: e.version}})
				}
			}
			f = restored
		case 7:
			if n := f.Clear(); n != len(want) {
				t.Fatalf("step %d: Clear() = %d, want %d", step, n, len(want))
			}
			clear(want)
		}
		bytes, buffers := 0, 0
		for path, m := range want {
			e, ok := f.Get(path)
			if !ok || e.Text != m.body || e.Unsaved != m.unsaved || e.Hash != text(path, m.body).Hash {
				t.Fatalf("step %d: %s is %+v, want %+v", step, path, e, m)
			}
			if mayEdit := f.CheckEdit(path, "") == nil; mayEdit != (e.Sent != "" && m.sent == m.body) {
				t.Fatalf("step %d: %s may be edited: %v, want %+v", step, path, mayEdit, m)
			}
			bytes += len(m.body)
			if m.unsaved {
				buffers += len(m.body)
			}
		}
		if len(f.List()) != len(want) || f.bytes != bytes || f.buffers != buffers || !slices.IsSorted(paths(f.List())) {
			t.Fatalf("step %d: %d files, %d and %d bytes; want %d, %d, %d", step, len(f.List()), f.bytes, f.buffers, len(want), bytes, buffers)
		}
	}
}

func TestSinceFollowsAddsAndChanges(t *testing.T) {
	f := New()
	put := func(path, text string) {
		if _, err := f.Put(newContent(path, text, []byte(text)), AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	put("b", "1")
	put("a", "1")
	b, _ := f.Get("b")
	f.MarkSent("b", b.Hash, true)
	f.MarkSent("b", b.Hash, true)
	a, _ := f.Get("a")
	if b, _ = f.Get("b"); b.Since >= a.Since || b.Held != 2 || a.Held != 0 {
		t.Errorf("b since %d, held %d; a since %d, held %d", b.Since, b.Held, a.Since, a.Held)
	}
	again, err := Restore(stored(f))
	if err != nil {
		t.Fatal(err)
	}
	if now, _ := again.Get("b"); now.Since != b.Since || now.Held != 2 {
		t.Errorf("restored: since %d, held %d", now.Since, now.Held)
	}
	f = again
	changed := newContent("b", "2", []byte("2"))
	b, _ = f.Get("b")
	f.Apply([]Change{{Path: "b", Kind: touched, Content: b.Content, version: b.version}})
	if now, _ := f.Get("b"); now.Since != b.Since || now.Held != 2 {
		t.Errorf("after a look: since %d, held %d", now.Since, now.Held)
	}
	b, _ = f.Get("b")
	f.Apply([]Change{{Path: "b", Kind: Changed, Content: changed, version: b.version}})
	if now, _ := f.Get("b"); now.Since <= a.Since || now.Held != 0 {
		t.Errorf("changed: since %d, held %d", now.Since, now.Held)
	}
	if e, err := f.Try(changed, AddOptions{}); err != nil || e.Since <= a.Since {
		t.Errorf("tried: %+v, %v", e.Since, err)
	}
}

// A refused edit says what has to be done first.
func TestP18ARefusedEditTellsTheRemedy(t *testing.T) {
	for reason, want := range map[EditReason]string{
		EditNotAvailable: "edit of a.go refused: not_available; add the file, and send a prompt with it, before editing it",
		EditSummaryOnly:  "edit of a.go refused: summary_only; add the whole file, and send a prompt, before editing it",
		EditStale:        "edit of a.go refused: stale; it has changed: send a prompt, so that the model sees the current version, and edit that",
	} {
		if err := (&EditRefusedError{"a.go", reason}); err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
