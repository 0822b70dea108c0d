package fit

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/session/content"
	"strata/session/profile"
	"strata/stability"
	"strata/tokens"
)

// desk is a request of random items, with their messages.
type desk struct {
	request  Request
	messages map[int64]history.Message
}

// Body implements Documents.
func (d *desk) Body(document *history.Document) string { return document.Text }

// Item implements Documents.
func (d *desk) Item(document history.Document, keep int) Item {
	it := TextItem(DocumentPrefix+document.Name, stability.Document, WithMarker(document.Text, keep), d.request.Counter)
	it.Priority, it.Document, it.Pinned = document.Priority, &document, document.Pinned
	return it
}

// newDesk returns a request with documents, files and a conversation; most exceed their limit.
func newDesk(r *rand.Rand, greedy bool) *desk {
	d := &desk{messages: make(map[int64]history.Message)}
	counter := tokens.For("")
	d.request = Request{
		Budget: &profile.Budget{}, Counter: counter, Cache: new(RenderCache), Pictures: new(content.Gallery), Log: slog.New(slog.DiscardHandler),
		Name: func(path string) string { return path }, Documents: d,
		Read: func(_ context.Context, seqs []int64) ([]history.Message, error) {
			read := make([]history.Message, len(seqs))
			for i, seq := range seqs {
				read[i] = d.messages[seq]
			}
			return read, nil
		},
		Notes: func(others, _ []Item, _ []filecontext.Entry, untold []string) ([]Item, map[string]string) {
			if slices.Contains(untold, "note:1") {
				return nil, nil
			}
			note := TextItem("note:1", stability.Note, fmt.Sprint(len(others), " items"), counter)
			note.Pinned = true
			return []Item{note}, map[string]string{"told": fmt.Sprint(len(others))}
		},
	}
	if greedy {
		d.request.Budget.CodeShare, d.request.Budget.HistoryShare = 70, 30
		d.request.History = 100 + r.IntN(400)
	}
	words := func(most int) string { return strings.Repeat(" word", 1+r.IntN(most)) }
	items := []Item{TextItem(SystemKey, stability.System, words(20), counter)}
	items[0].Pinned = true
	for i := range r.IntN(5) {
		items = append(items, d.Item(history.Document{Name: fmt.Sprint("d", i), Text: words(300), Priority: r.IntN(100), Pinned: r.IntN(4) == 0}, 1<<20))
	}
	for i := range r.IntN(5) {
		text := strings.Repeat("a line of a file\n", 1+r.IntN(60))
		e := filecontext.Entry{
			Content: filecontext.Content{Path: fmt.Sprint("f", i), Text: text, Hash: Hash(text), Size: int64(len(text)), Lines: strings.Count(text, "\n")},
			State:   filecontext.Full, Since: uint64(i),
		}
		d.request.Files = append(d.request.Files, e)
		shows := d.request.Cache.Of(e, counter)
		items = append(items, Item{
			Item:     stability.Item{Key: FilePrefix + e.Path, Kind: stability.File, Hash: shows.Hash, Tokens: shows.Tokens, Rev: shows.Rev},
			Priority: FilePriority(&e), Since: int64(i), File: &e,
		})
	}
	var heads []history.Head
	for i := range 1 + r.IntN(30) {
		role := history.RoleUser
		if i%2 == 1 {
			role = history.RoleAssistant
		}
		text := words(80)
		if r.IntN(3) == 0 {
			text = "--- FULL CONTENT: a.go ---\n" + strings.Repeat("the same\n", 20)
		}
		m := history.Message{ID: fmt.Sprint("m", i), Seq: int64(i + 1), Role: role, Blocks: []history.Block{{Type: history.BlockText, Text: text}}}
		m.Tokens = content.Tokens(context.Background(), counter, m.Blocks)
		d.messages[m.Seq] = m
		d.request.Pictures.Add(&m)
		heads = append(heads, m.Head(content.Bytes(m.Blocks)))
	}
	d.request.Items = append(items, Conversation(history.NewLog(heads, nil).View())...)
	newest := d.request.Items[len(d.request.Items)-1]
	d.request.Limit = items[0].Size() + newest.Size() + 60 + r.IntN(Size(d.request.Items))
	d.request.Goal = int(float64(d.request.Limit) * KeepShare)
	return d
}

// For all requests: the remaining items fit and include all required items, and the request itself is not changed.
func TestEverythingFitsAndNothingIsChanged(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 8))
		d := newDesk(r, seed%2 == 1)
		before, files, shown := slices.Clone(d.request.Items), slices.Clone(d.request.Files), shownBy(d.request.Items)
		result, err := Fit(t.Context(), d.request)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shown, shownBy(d.request.Items)); diff != "" {
			t.Fatalf("seed %d: the items were changed: %s", seed, diff)
		}
		for i := range files {
			if now := d.request.Files[i]; now.State != files[i].State || now.Range != files[i].Range {
				t.Fatalf("seed %d: the file %s was changed", seed, now.Path)
			}
		}
		if size := Size(result.Items); size > d.request.Limit {
			t.Fatalf("seed %d: %d of %d tokens", seed, size, d.request.Limit)
		}
		if result.Items[0].Key != SystemKey || result.Items[len(result.Items)-1].Key != before[len(before)-1].Key {
			t.Fatalf("seed %d: the first and the newest are not there: %+v", seed, result.Items)
		}
		fitted := Size(before) <= d.request.Limit && (d.request.History == 0 || historySize(before) <= d.request.History)
		if fitted != (result.Changes.Empty() && len(result.Omitted) == 0) {
			t.Fatalf("seed %d: of %d tokens for %d these change: %+v, %+v", seed, Size(before), d.request.Limit, result.Changes, result.Omitted)
		}
		checkOmitted(t, seed, before, &result)
	}
}

// shownBy describes items and the messages or files to which they refer.
func shownBy(items []Item) []string {
	lines := make([]string, len(items))
	for i := range items {
		it := &items[i]
		lines[i] = fmt.Sprintf("%+v %d %v %s", it.Item, it.Priority, it.Messages, it.Text)
		if it.File != nil {
			lines[i] += fmt.Sprint(it.File.State, it.File.Range, it.File.Hash)
		}
		if it.Document != nil {
			lines[i] += it.Document.Text
		}
	}
	return lines
}

// checkOmitted checks that exactly the evicted and truncated items are listed.
func checkOmitted(t *testing.T, seed uint64, before []Item, result *Result) {
	t.Helper()
	now := make(map[string]*Item)
	for i := range result.Items {
		now[result.Items[i].Key] = &result.Items[i]
	}
	named := make(map[string]bool)
	for _, o := range result.Omitted {
		named[o.Key] = true
	}
	for i := range before {
		it := &before[i]
		left := now[it.Key]
		if missing := left == nil || left.Tokens < it.Tokens; missing != named[it.Key] {
			t.Fatalf("seed %d: %s is missing: %v, named: %v", seed, it.Key, missing, named[it.Key])
		}
	}
}

func TestDedupeAloneRemovesCopiesOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d := newDesk(r, false)
	for seed := uint64(2); len(d.messages) < 20; seed++ {
		d = newDesk(rand.New(rand.NewPCG(seed, 1)), false)
	}
	result, err := Dedupe(t.Context(), d.request)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Changes.Dedupe) == 0 || len(result.Changes.Evict)+len(result.Changes.Truncate)+len(result.Changes.Files)+len(result.Changes.Documents) > 0 {
		t.Errorf("%+v", result.Changes)
	}
	newest := -1
	for i := range d.request.Items {
		it := &d.request.Items[i]
		if it.Kind != stability.Message {
			continue
		}
		if m := d.messages[it.Messages[0].Seq]; strings.Contains(m.PlainText(), "FULL CONTENT") {
			newest = i
		}
	}
	if result.Items[newest].Tokens != d.request.Items[newest].Tokens {
		t.Error("the newest copy was removed")
	}
	if len(result.Items) != len(d.request.Items) || Size(result.Items) != Size(d.request.Items)-Saved(result.Changes.Dedupe) {
		t.Errorf("%d tokens of %d, saved %d", Size(result.Items), Size(d.request.Items), Saved(result.Changes.Dedupe))
	}
}

func TestTheHighestScoresStay(t *testing.T) {
	for _, greedy := range []bool{false, true} {
		d := newDesk(rand.New(rand.NewPCG(1, 2)), greedy)
		items := d.request.Items[:1]
		for i, priority := range []int{20, 90, 10, 80} {
			items = append(items, d.Item(history.Document{Name: fmt.Sprint("p", priority), Text: fmt.Sprint(i, strings.Repeat(" word", 200)), Priority: priority}, 1<<20))
		}
		d.request.Items, d.request.Files, d.request.History = append(items, Conversation([]history.Viewed{{Head: history.Head{ID: "m", Role: history.RoleUser, Tokens: 10}}})...), nil, 0
		d.request.Limit = Size(d.request.Items) - 10
		d.request.Goal = Size(d.request.Items) - 2*items[1].Size() + 20 // and the note
		result, err := Fit(t.Context(), d.request)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, it := range result.Items {
			if it.Document != nil {
				left = append(left, it.Document.Name)
			}
		}
		if diff := cmp.Diff([]string{"p90", "p80"}, left); diff != "" {
			t.Errorf("greedy %v: %s", greedy, diff)
		}
	}
}

// The summary and the marker of omitted messages follow the first exchange if they stand for later messages, and never
// separate a prompt from its answer.
func TestTheSummaryIsAtItsPlace(t *testing.T) {
	d := newDesk(rand.New(rand.NewPCG(1, 2)), false)
	message := func(exchange int, seq int64, role history.Role) history.Viewed {
		return history.Viewed{Head: history.Head{ID: fmt.Sprint(seq), Seq: seq, Role: role, Tokens: 10}, Exchange: exchange}
	}
	view := []history.Viewed{
		message(1, 1, history.RoleUser), message(1, 2, history.RoleAssistant),
		message(7, 13, history.RoleUser), message(7, 14, history.RoleAssistant),
	}
	for since, want := range map[int64]string{
		3:  "msg:1 msg:2 summary:e summary:omitted msg:13 msg:14",
		2:  "msg:1 msg:2 summary:e summary:omitted msg:13 msg:14", // of a step between them
		20: "msg:1 msg:2 summary:e summary:omitted msg:13 msg:14",
		0:  "summary:e msg:1 msg:2 summary:omitted msg:13 msg:14",
	} {
		summary := TextItem("summary:e", stability.Summary, "a summary", d.request.Counter)
		talk := Marked(Summarized(Conversation(view), summary, &history.Summary{Since: since}), 3, d.request.Counter)
		var keys []string
		for _, it := range talk {
			keys = append(keys, it.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("since %d: %s, want %s", since, got, want)
		}
	}
}

// If not even the marker of omitted messages fits with the required items, it is omitted too.
func TestTheMarkerGoesLast(t *testing.T) {
	d := newDesk(rand.New(rand.NewPCG(1, 2)), false)
	d.request.Notes = func([]Item, []Item, []filecontext.Entry, []string) ([]Item, map[string]string) { return nil, nil }
	talk := Conversation([]history.Viewed{{Head: history.Head{ID: "m", Role: history.RoleUser, Tokens: 10}}})
	d.request.Items = slices.Concat(d.request.Items[:1], Marked(talk, 7, d.request.Counter))
	d.request.Files, d.request.Omitted = nil, 7
	d.request.Limit = Size(d.request.Items) - 1
	d.request.Goal = d.request.Limit
	result, err := Fit(t.Context(), d.request)
	if err != nil || len(result.Items) != 2 || Size(result.Items) > d.request.Limit {
		t.Errorf("%d items, %v", len(result.Items), err)
	}
}

func TestAnErrorOfReadingEndsTheFitting(t *testing.T) {
	d := newDesk(rand.New(rand.NewPCG(3, 3)), false)
	d.request.Limit, d.request.Goal = 1, 1
	d.request.Read = func(context.Context, []int64) ([]history.Message, error) { return nil, context.Canceled }
	if _, err := Fit(t.Context(), d.request); err == nil {
		t.Error("no error")
	}
}
